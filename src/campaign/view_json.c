/* The member "campaign" of the JSON form; docs/json-format.md describes it. */
#include "campaign/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

static void emit_number(struct json_emit *j, const char *key, uint64_t value)
{
	if (value)
		json_emit_u64(j, key, value);
	else
		json_emit_null(j, key);
}

static void emit_campaigns(struct json_emit *j, const struct merge *m)
{
	json_emit_open(j, "campaigns", '[', JSON_LINES);
	for (size_t i = 0; i < m->ncampaigns; i++) {
		const struct merge_campaign *c = &m->campaigns[i];

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "id", c->id);
		json_emit_str(j, "command", c->command ? c->command : "");
		emit_number(j, "tasks", c->tasks);
		json_emit_str(j, "spec", c->head);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static int compare_seen(const struct merge *m, const struct merge_seen *a,
			const struct merge_seen *b)
{
	const struct merge_finding *x = &m->findings[a->finding], *y = &m->findings[b->finding];
	int c = strcmp(m->engines[x->engine].ops->name, m->engines[y->engine].ops->name);

	return c ? c : (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/* A run has few findings; their order must not depend on the order of additions. */
static void sort_seen(const struct merge *m, struct merge_run *r)
{
	for (size_t i = 1; i < r->nseen; i++)
		for (size_t k = i; k && compare_seen(m, &r->seen[k], &r->seen[k - 1]) < 0; k--) {
			struct merge_seen s = r->seen[k];

			r->seen[k] = r->seen[k - 1];
			r->seen[k - 1] = s;
		}
	for (size_t i = 1; i < r->nrules; i++)
		for (size_t k = i; k && r->rules[k] < r->rules[k - 1]; k--) {
			uint32_t s = r->rules[k];

			r->rules[k] = r->rules[k - 1];
			r->rules[k - 1] = s;
		}
}

static void emit_run(struct json_emit *j, const struct merge *m, struct merge_run *r)
{
	sort_seen(m, r);
	json_emit_open(j, NULL, '{', JSON_ONE_LINE);
	json_emit_str(j, "name", r->name);
	json_emit_str(j, "campaign", r->campaign);
	json_emit_u64(j, "task", r->task);
	json_emit_double(j, "seconds", r->seconds);
	json_emit_u64(j, "status", (uint64_t)r->status);
	json_emit_str(j, "failure", r->failure);
	json_emit_str(j, "output", r->output);
	json_emit_open(j, "findings", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < r->nseen; i++) {
		const struct merge_finding *f = &m->findings[r->seen[i].finding];

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "engine", m->engines[f->engine].ops->name);
		json_emit_hex64(j, "fingerprint", f->fingerprint);
		json_emit_u64(j, "count", r->seen[i].count);
		json_emit_close(j);
	}
	json_emit_close(j);
	json_emit_open(j, "rules", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < r->nrules; i++)
		json_emit_str(j, NULL, m->rules[r->rules[i]].text);
	json_emit_close(j);
	json_emit_str(j, "schedule", r->schedule);
	json_emit_close(j);
}

static void emit_rules(struct json_emit *j, const struct merge *m)
{
	json_emit_open(j, "rules", '[', JSON_LINES);
	for (size_t i = 0; i < m->nrules; i++) {
		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "rule", m->rules[i].text);
		json_emit_str(j, "why", m->rules[i].why);
		json_emit_str(j, "first", m->rules[i].first.name);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static void emit_rows(struct json_emit *j, const struct view *v)
{
	json_emit_open(j, "seen", '[', JSON_LINES);
	for (size_t i = 0; i < v->nrows; i++) {
		const struct view_row *r = &v->rows[i];

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "engine", v->results[r->engine].ops->name);
		json_emit_hex64(j, "fingerprint", r->f->fingerprint);
		emit_number(j, "rank", r->rank);
		json_emit_u64(j, "runs", r->runs);
		json_emit_u64(j, "first", r->first);
		json_emit_str(j, "schedule", r->schedule);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static int compare_keys(const void *a, const void *b)
{
	const struct merge_finding *const *x = a, *const *y = b;

	if ((*x)->fingerprint != (*y)->fingerprint)
		return (*x)->fingerprint > (*y)->fingerprint ? 1 : -1;
	return merge_compare_runs(&(*x)->scheduled, &(*y)->scheduled);
}

static void emit_schedules(struct json_emit *j, const struct merge *m)
{
	const struct merge_finding **v = mem_alloc((m->nfindings + 1) * sizeof *v);
	size_t n = 0;

	for (size_t i = 0; i < m->nfindings; i++)
		if (m->findings[i].schedule)
			v[n++] = &m->findings[i];
	if (n)
		qsort(v, n, sizeof *v, compare_keys);
	json_emit_open(j, "schedules", '[', JSON_LINES);
	for (size_t i = 0; i < n; i++) {
		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "engine", m->engines[v[i]->engine].ops->name);
		json_emit_hex64(j, "fingerprint", v[i]->fingerprint);
		json_emit_str(j, "first", v[i]->scheduled.name);
		json_emit_str(j, "text", v[i]->schedule);
		json_emit_close(j);
	}
	json_emit_close(j);
	mem_free(v);
}

static void emit_points(struct json_emit *j, const struct view *v)
{
	json_emit_open(j, "curve", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < v->npoints; i++) {
		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_u64(j, "run", v->points[i].run);
		json_emit_u64(j, "findings", v->points[i].findings);
		json_emit_close(j);
	}
	json_emit_close(j);
}

void view_emit(struct json_emit *j, const struct report *rep)
{
	const struct view *v = (const struct view *)(const void *)rep;
	const struct estimate *e = &v->estimate;

	json_emit_open(j, "campaign", '{', JSON_LINES);
	emit_campaigns(j, v->m);
	emit_number(j, "tasks", v->tasks);
	json_emit_u64(j, "done", v->done);
	json_emit_u64(j, "failed", v->failed);
	json_emit_u64(j, "workers", v->workers);
	json_emit_double(j, "seconds", v->seconds);
	json_emit_u64(j, "known", v->known);
	json_emit_u64(j, "damaged", v->m->damaged);
	emit_rows(j, v);
	emit_points(j, v);
	json_emit_open(j, "estimate", '{', JSON_ONE_LINE);
	json_emit_u64(j, "once", e->once);
	json_emit_u64(j, "twice", e->twice);
	json_emit_double(j, "next", e->next);
	json_emit_double(j, "low", e->low);
	json_emit_double(j, "high", e->high);
	json_emit_double(j, "unseen", e->unseen);
	json_emit_close(j);
	emit_rules(j, v->m);
	emit_schedules(j, v->m);
	json_emit_open(j, "runs", '[', JSON_LINES);
	for (size_t i = 0; i < v->m->nruns; i++)
		emit_run(j, v->m, &v->m->runs[i]);
	json_emit_close(j);
	json_emit_close(j);
}
