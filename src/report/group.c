#include "report/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

struct entry {
	const struct finding *f;
	size_t index;
};

static int compare_entries(const void *a, const void *b, void *order)
{
	const struct entry *x = a, *y = b;
	int c = (*(group_order **)order)(x->f, y->f);

	return c ? c : (x->index > y->index) - (x->index < y->index);
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

struct groups group_by(const struct finding_list *list, group_order *order)
{
	size_t n = finding_list_shown(list);
	struct entry *e = mem_alloc(n * sizeof *e);
	struct groups out = {
		.v = mem_alloc(n * sizeof *out.v),
		.all = mem_alloc(n * sizeof *out.all),
	};

	for (size_t i = 0; i < n; i++)
		e[i] = (struct entry){list->v[i], i};
	qsort_r(e, n, sizeof *e, compare_entries, &order);
	for (size_t i = 0; i < n; i++) {
		out.all[i] = e[i].f;
		if (!i || order(e[i - 1].f, e[i].f))
			out.v[out.n++] = (struct group){.v = &out.all[i], .first = e[i].index};
		out.v[out.n - 1].n++;
	}
	qsort(out.v, out.n, sizeof *out.v, compare_groups);
	mem_free(e);
	return out;
}

void group_free(struct groups *groups)
{
	mem_free(groups->v);
	mem_free(groups->all);
	*groups = (struct groups){0};
}

int group_order_string(const char *a, const char *b)
{
	if (!a || !b)
		return !!a - !!b;
	return strcmp(a, b);
}

int group_order_transaction(const struct finding *a, const struct finding *b)
{
	int c = group_order_string(a->transaction.thread, b->transaction.thread);

	if (c)
		return c;
	if (a->live && b->live) /* each live finding numbers its own events */
		return (a->group > b->group) - (a->group < b->group);
	if (a->transaction.begin != b->transaction.begin)
		return a->transaction.begin > b->transaction.begin ? 1 : -1;
	if (a->transaction.thread && a->transaction.begin)
		return 0;
	return (a > b) - (a < b);
}

const struct finding *group_best(const struct group *g)
{
	const struct finding *best = g->v[0];
	int most = -1;

	/* The findings of a cause have the best one first: shown.h. */
	if (best->rank && (best->recorded || best->live))
		return best;
	for (size_t i = 0; i < g->n; i++) {
		int score = 2 * (g->v[i]->rests_on == RESTS_ON_DATA) + !!g->v[i]->blame.thread;

		if (score > most) {
			most = score;
			best = g->v[i];
		}
	}
	return best;
}

uint64_t group_seen(const struct group *g)
{
	uint64_t seen = 0;

	for (size_t i = 0; i < g->n; i++)
		seen += g->v[i]->count;
	return seen;
}
