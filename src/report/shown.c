#include "report/shown.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/rank.h"
#include "report/region.h"
#include "report/step.h"
#include "report/where.h"

#include "base/banned.h"

static bool is_run(const struct finding *f)
{
	return f->recorded || f->live;
}

static enum finding_hidden hidden_kind(const struct finding *f)
{
	if (f->feasible == FEASIBLE_NO && f->status == FINDING_PREDICTED)
		return HIDDEN_POSSIBLE;
	/* What was seen to happen is not a weak guess. */
	if (f->rank_class == CLASS_WEAK && f->status == FINDING_PREDICTED)
		return HIDDEN_WEAK;
	if (f->rank_class == CLASS_ATOMIC_VARIABLE)
		return HIDDEN_ATOMIC;
	return f->rank_class == CLASS_SYNCHRONISATION ? HIDDEN_SYNCHRONISATION : HIDDEN_KINDS;
}

bool shown_is_hidden(const struct finding *f)
{
	return is_run(f) && hidden_kind(f) != HIDDEN_KINDS;
}

/* --- causes --- */

/* Add the name without what distinguishes objects of one kind: "accounts[3].b #2" ->
 * "accounts[].b".
 */
static void add_kind_of_variable(struct str *b, const char *name)
{
	struct str plain = STR_INIT;

	step_add_without_aside(&plain, name);
	for (const char *s = plain.s; *s; s++) {
		if (*s == ' ' && s[1] == '#' && isdigit((unsigned char)s[2])) {
			s += 1 + strspn(s + 2, "0123456789");
			continue;
		}
		str_addc(b, *s);
		if (*s == '[')
			s += strspn(s + 1, "0123456789");
	}
	str_free(&plain);
}

static void add_line(struct str *b, const struct finding_step *s)
{
	struct where w = WHERE_INIT;

	if (where_of_step(&w, s))
		str_fmt(b, "%s:%" PRIu32, w.file.s, w.line);
	else if (s->place)
		str_add(b, s->place);
	str_addc(b, '\n');
	where_free(&w);
}

static void add_part(struct str *b, const char *s)
{
	str_fmt(b, "%s\n", s ? s : "");
}

/*
 * Does the cut say no more than that the region as a whole is not one step? Then its lines and
 * variables do not matter: a function that works on several lists or locks has many of these.
 */
static bool is_about_whole_region(const struct finding *f, const struct rank_cut *cut)
{
	return f->status == FINDING_OBSERVED && region_name(f) &&
	       (f->rank_class == CLASS_LOCK_ORDER ||
		(f->rank_class == CLASS_OTHER &&
		 !step_same_name(cut->before->operand, cut->after->operand)));
}

void shown_add_cause(struct str *b, const struct finding *f)
{
	struct rank_cut cut;

	str_fmt(b, "%s\n%d\n", f->kind ? f->kind : "", (int)f->status);
	add_part(b, region_name(f));
	/* A stretch or round may begin at any of several places. */
	add_part(b, f->region.kind > REGION_MARKED ? NULL : region_place(f));
	if (f->evicted || !rank_find_cut(f, &cut)) {
		str_fmt(b, "%016" PRIx64, f->fingerprint);
		return;
	}
	if (is_about_whole_region(f, &cut)) {
		str_fmt(b, "class %d", (int)f->rank_class);
		return;
	}
	if (cut.before->operand)
		add_kind_of_variable(b, cut.before->operand);
	str_addc(b, '\n');
	if (cut.after->operand)
		add_kind_of_variable(b, cut.after->operand);
	str_addc(b, '\n');
	add_line(b, cut.before);
	add_line(b, cut.after);
}

/* A finding on its way into the order. */
struct entry {
	struct finding *f;
	size_t index;  /* in the list */
	size_t leader; /* entry of the best finding with this cause */
	struct str cause;
};

static bool is_same_transaction(const struct finding *a, const struct finding *b)
{
	if (!step_same_name(a->transaction.thread, b->transaction.thread))
		return false;
	if (a->live && b->live)
		return a->group && a->group == b->group;
	return a->transaction.begin && a->transaction.begin == b->transaction.begin;
}

/* Does the cycle of locks `a` come with the finding `b` about data? */
static bool comes_with(const struct finding *a, const struct finding *b)
{
	return b->rank_class < CLASS_LOCK_ORDER && a->status == b->status &&
	       (is_same_transaction(a, b) ||
		(region_name(a) && region_name(b) && !strcmp(region_name(a), region_name(b))));
}

static int compare_causes(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = strcmp(x->cause.s, y->cause.s);

	if (!c)
		c = rank_compare(x->f, y->f);
	return c ? c : (x->index > y->index) - (x->index < y->index);
}

static int compare_indices(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

/* Set the leaders of all entries, which are sorted by index afterwards. */
static void find_leaders(struct entry *e, size_t n)
{
	size_t first = 0;

	qsort(e, n, sizeof *e, compare_causes);
	for (size_t i = 0; i < n; i++) {
		if (i && strcmp(e[i].cause.s, e[i - 1].cause.s) != 0)
			first = i;
		e[i].leader = e[first].index;
	}
	qsort(e, n, sizeof *e, compare_indices);
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		if (e[i].f->rank_class != CLASS_LOCK_ORDER)
			continue;
		while (k < n && !comes_with(e[i].f, e[k].f))
			k++;
		if (k < n)
			e[i].leader = e[k].leader;
	}
	/* A leader of lock cycles may itself have found a leader. */
	for (size_t i = 0; i < n; i++)
		e[i].leader = e[e[i].leader].leader;
}

/* The cause of a finding in a trace that is not of a run: its transaction. */
static void add_transaction(struct str *b, const struct finding *f, size_t index)
{
	if (f->transaction.thread && f->transaction.begin)
		str_fmt(b, "%s %" PRIu64, f->transaction.thread, f->transaction.begin);
	else
		str_fmt(b, "%zu", index);
}

/* The number of the cause and the position in the new order. */
struct place {
	const struct entry *leader, *e;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = rank_compare(x->leader->f, y->leader->f);

	if (!c)
		c = (x->leader->index > y->leader->index) - (x->leader->index < y->leader->index);
	/* The leader comes first. */
	if (!c)
		c = (x->e != x->leader) - (y->e != y->leader);
	return c ? c : (x->e->index > y->e->index) - (x->e->index < y->e->index);
}

/* Number the causes, and put the findings of a run into that order. */
static void put_in_order(struct finding_list *l, const struct entry *e, bool run, bool verbose)
{
	struct place *p = mem_alloc((l->n + 1) * sizeof *p);
	uint32_t rank = 0;

	for (size_t i = 0; i < l->n; i++)
		p[i] = (struct place){&e[e[i].leader], &e[i]};
	qsort(p, l->n, sizeof *p, compare_places);
	l->nshown = run && !verbose ? 0 : l->n;
	for (size_t i = 0; i < l->n; i++) {
		bool hidden = shown_is_hidden(p[i].leader->f);

		rank += p[i].e == p[i].leader;
		p[i].e->f->rank = rank;
		if (!run)
			continue;
		l->v[i] = p[i].e->f;
		if (!verbose && !hidden)
			l->nshown = i + 1;
		if (!verbose && hidden && p[i].e == p[i].leader)
			l->hidden[hidden_kind(p[i].leader->f)]++;
	}
	mem_free(p);
}

/* Two variables that are read without a lock are checked by the counter that the region reads. */
static void join_sequence(struct finding *f, const struct finding_list *l)
{
	if (!f->nreasons || !f->nsteps || f->steps[0].nheld)
		return;
	for (size_t i = 0; i < l->n && f->rank_class == CLASS_SEVERAL; i++)
		if (l->v[i]->rank_class == CLASS_SYNCHRONISATION && rank_is_sequence(l->v[i]) &&
		    step_same_name(region_name(l->v[i]), region_name(f))) {
			f->rank_class = CLASS_SYNCHRONISATION;
			f->reasons[0] = "the function recognises a change by a counter";
		}
}

void shown_select(struct finding_list *l, bool verbose, bool all)
{
	struct entry *e = mem_zalloc((l->n + 1) * sizeof *e);
	bool run = l->n && is_run(l->v[0]);

	for (size_t i = 0; i < l->n; i++)
		rank_classify(l->v[i]);
	for (size_t i = 0; i < l->n; i++) {
		struct finding *f = l->v[i];

		join_sequence(f, l);
		e[i] = (struct entry){.f = f, .index = i, .leader = i, .cause = STR_INIT};
		if (!run)
			add_transaction(&e[i].cause, f, i);
		else
			shown_add_cause(&e[i].cause, f);
	}
	if (!all || !run)
		find_leaders(e, l->n);
	put_in_order(l, e, run, verbose);
	l->selected = true;
	for (size_t i = 0; i < l->n; i++)
		str_free(&e[i].cause);
	mem_free(e);
}

static int compare_ranks(const struct finding *a, const struct finding *b)
{
	return (a->rank > b->rank) - (a->rank < b->rank);
}

struct groups shown_groups(const struct finding_list *l)
{
	return group_by(l, l->selected && l->n && is_run(l->v[0]) ? compare_ranks
								  : group_order_transaction);
}

size_t shown_count(const struct finding_list *l)
{
	struct groups g = shown_groups(l);
	size_t n = 0;

	for (size_t i = 0; i < g.n; i++)
		n += hidden_kind(g.v[i].v[0]) != HIDDEN_POSSIBLE;
	group_free(&g);
	return n;
}

uint64_t shown_add_hidden(struct str *b, const struct finding_list *l)
{
	static const char *const texts[HIDDEN_KINDS] = {
		[HIDDEN_WEAK] = "probably not meant as one step",
		[HIDDEN_ATOMIC] = "about one atomic variable",
		[HIDDEN_SYNCHRONISATION] = "in code that synchronises threads",
		[HIDDEN_POSSIBLE] = "merely possible",
	};
	uint64_t n = 0;

	for (size_t i = 0; i < HIDDEN_KINDS; i++) {
		if (!l->hidden[i])
			continue;
		str_fmt(b, "%s%" PRIu64 " %s", n ? ", " : "", l->hidden[i], texts[i]);
		n += l->hidden[i];
	}
	return n;
}
