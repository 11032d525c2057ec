#include "campaign/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "report/rank.h"
#include "report/shown.h"

#include "base/banned.h"

/* --- the lists --- */

static int compare_findings(const void *a, const void *b)
{
	const struct merge_finding *x = a, *y = b;
	int c = merge_compare_runs(&x->first, &y->first);

	return c ? c : (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

/* The place of an engine in the table, for sorting; those that it lacks come last. */
static size_t engine_place(const struct engine_ops *ops)
{
	size_t i = 0;

	while (engines[i] && engines[i] != ops)
		i++;
	return i;
}

static int compare_engines(const void *a, const void *b)
{
	const struct engine_result *x = a, *y = b;
	size_t i = engine_place(x->ops), k = engine_place(y->ops);

	return i != k ? (i > k) - (i < k) : strcmp(x->ops->name, y->ops->name);
}

/* How often each finding was seen, in all runs. */
static void count_findings(struct merge *m)
{
	for (size_t i = 0; i < m->nfindings; i++)
		if (m->findings[i].f)
			m->findings[i].f->count = 0;
	for (size_t i = 0; i < m->nruns; i++)
		for (size_t k = 0; k < m->runs[i].nseen; k++) {
			struct merge_seen *s = &m->runs[i].seen[k];

			if (m->findings[s->finding].f)
				m->findings[s->finding].f->count += s->count;
		}
}

static void fill_lists(struct view *v)
{
	struct merge *m = v->m;
	struct merge_finding *sorted = mem_alloc((m->nfindings + 1) * sizeof *sorted);
	size_t n = 0;

	v->results = mem_zalloc((m->nengines + 1) * sizeof *v->results);
	for (size_t i = 0; i < m->nengines; i++) {
		struct engine_result *r = &v->results[i];

		r->ops = m->engines[i].ops;
		finding_list_init(&r->findings, true);
		memcpy(r->findings.hidden, m->engines[i].hidden, sizeof r->findings.hidden);
	}
	for (size_t i = 0; i < m->nfindings; i++)
		if (m->findings[i].f)
			sorted[n++] = m->findings[i];
	if (n)
		qsort(sorted, n, sizeof *sorted, compare_findings);
	for (size_t i = 0; i < n; i++) {
		struct finding_sink *sink = &v->results[sorted[i].engine].findings.sink;

		sink->emit(sink, sorted[i].f);
	}
	for (size_t i = 0; i < m->nfindings; i++)
		m->findings[i].f = NULL;
	mem_free(sorted);
	if (m->nengines)
		qsort(v->results, m->nengines, sizeof *v->results, compare_engines);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The name of a run without its number is the worker's. */
static uint64_t count_workers(const struct merge *m)
{
	char **names = mem_alloc((m->nruns + 1) * sizeof *names);
	uint64_t n = 0;

	for (size_t i = 0; i < m->nruns; i++) {
		const char *name = m->runs[i].name, *dash = strrchr(name, '-');

		names[i] = mem_strndup(name, dash ? (size_t)(dash - name) : strlen(name));
	}
	if (m->nruns)
		qsort(names, m->nruns, sizeof *names, compare_strings);
	for (size_t i = 0; i < m->nruns; i++)
		n += !i || strcmp(names[i], names[i - 1]) != 0;
	for (size_t i = 0; i < m->nruns; i++)
		mem_free(names[i]);
	mem_free(names);
	return n;
}

static void add_up(struct view *v)
{
	const struct merge *m = v->m;
	bool endless = false;

	for (size_t i = 0; i < m->nruns; i++) {
		const struct merge_run *r = &m->runs[i], *before = i ? r - 1 : NULL;

		v->seconds += r->seconds;
		v->failed += r->failure != NULL;
		v->done += !before || before->task != r->task ||
			   strcmp(before->campaign, r->campaign) != 0;
	}
	for (size_t i = 0; i < m->ncampaigns; i++) {
		v->tasks += m->campaigns[i].tasks;
		endless |= !m->campaigns[i].tasks;
		if (m->campaigns[i].command && *m->campaigns[i].command)
			str_fmt(&v->title, "%s%s", v->title.n ? "; " : "", m->campaigns[i].command);
	}
	if (endless)
		v->tasks = 0;
	v->workers = count_workers(m);
}

void view_begin(struct view *v, struct merge *m)
{
	*v = (struct view){.m = m, .title = STR_INIT};
	merge_sort(m);
	count_findings(m);
	fill_lists(v);
	add_up(v);
	v->rep.results = v->results;
	v->rep.nresults = m->nengines;
	v->rep.source.program = v->title.s;
	v->rep.more = view_emit;
}

void view_free(struct view *v)
{
	for (size_t i = 0; i < v->rep.nresults; i++)
		engine_result_free(&v->results[i]);
	mem_free(v->results);
	mem_free(v->rows);
	mem_free(v->points);
	str_free(&v->title);
}

/* --- what is known --- */

struct known {
	struct map fingerprints;
	char **causes; /* sorted */
	size_t n, cap;
};

static bool is_known(const struct known *k, const struct finding *f)
{
	struct str cause = STR_INIT;
	bool found = map_get(&k->fingerprints, f->fingerprint) != MAP_NONE;

	if (!found && k->n) {
		shown_add_cause(&cause, f);
		found = bsearch(&cause.s, k->causes, k->n, sizeof *k->causes, compare_strings);
		str_free(&cause);
	}
	return found;
}

static void learn(struct known *k, const struct finding_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct str cause = STR_INIT;

		map_set(&k->fingerprints, l->v[i]->fingerprint, 0);
		rank_classify(l->v[i]);
		shown_add_cause(&cause, l->v[i]);
		MEM_GROW(k->causes, k->cap, k->n + 1);
		k->causes[k->n++] = mem_strdup(cause.s);
		str_free(&cause);
	}
	if (k->n)
		qsort(k->causes, k->n, sizeof *k->causes, compare_strings);
}

static bool has_known_rank(const struct finding *f, void *arg)
{
	return map_get(arg, f->rank) != MAP_NONE;
}

/* All findings of a cause are known if one of them is. Returns how many causes are dropped. */
static uint64_t drop_known(const struct known *k, struct finding_list *l)
{
	struct map ranks = {0};
	uint64_t n;

	shown_select(l, true, false); /* numbers the causes */
	for (size_t i = 0; i < l->n; i++)
		if (is_known(k, l->v[i]))
			map_set(&ranks, l->v[i]->rank, 0);
	n = ranks.n;
	finding_list_drop(l, has_known_rank, &ranks);
	map_free(&ranks);
	return n;
}

int view_forget(struct view *v, const char *path, struct err *err)
{
	struct json_loaded l;
	struct str text = STR_INIT;

	if (file_read(path, &text, err) || json_load(&l, path, text.s, text.n, err)) {
		str_free(&text);
		return -1;
	}
	str_free(&text);
	for (size_t i = 0; i < l.rep.nresults; i++)
		for (size_t k = 0; k < v->rep.nresults; k++) {
			struct known known = {0};

			if (strcmp(l.results[i].ops->name, v->results[k].ops->name) != 0)
				continue;
			learn(&known, &l.results[i].findings);
			v->known += drop_known(&known, &v->results[k].findings);
			map_free(&known.fingerprints);
			while (known.n)
				mem_free(known.causes[--known.n]);
			mem_free(known.causes);
		}
	json_loaded_free(&l);
	return 0;
}

/* --- rows --- */

static size_t result_of(const struct view *v, uint32_t engine)
{
	size_t i = 0;

	while (v->results[i].ops != v->m->engines[engine].ops)
		i++;
	return i;
}

/* The rows of all engines, in the order of the report. Returns the row of each finding. */
static struct map make_rows(struct view *v)
{
	struct map row_of = {0}; /* of a fingerprint and the number of a result */
	size_t cap = 0;

	for (size_t i = 0; i < v->rep.nresults; i++) {
		struct groups g = shown_groups(&v->results[i].findings);

		for (size_t k = 0; k < g.n; k++) {
			const struct finding *f = group_best(&g.v[k]);

			MEM_GROW0(v->rows, cap, v->nrows + 1);
			v->rows[v->nrows] = (struct view_row){
				.engine = (uint32_t)i,
				.rank = f->rank,
				.f = f,
			};
			for (size_t x = 0; x < g.v[k].n; x++)
				map_set2(&row_of, g.v[k].v[x]->fingerprint, i, (uint32_t)v->nrows);
			v->nrows++;
		}
		group_free(&g);
	}
	return row_of;
}

static void walk_runs(struct view *v, const struct map *row_of)
{
	struct merge *m = v->m;
	size_t *last = mem_zalloc((v->nrows + 1) * sizeof *last), cap = 0;
	uint64_t found = 0;

	for (size_t i = 0; i < m->nruns; i++) {
		uint64_t had = found;

		for (size_t k = 0; k < m->runs[i].nseen; k++) {
			const struct merge_finding *f = &m->findings[m->runs[i].seen[k].finding];
			uint32_t row = map_get2(row_of, f->fingerprint, result_of(v, f->engine));

			if (row == MAP_NONE || last[row] == i + 1)
				continue;
			last[row] = i + 1;
			if (!v->rows[row].runs++) {
				v->rows[row].first = i + 1;
				found++;
			}
		}
		if (found == had)
			continue;
		MEM_GROW(v->points, cap, v->npoints + 1);
		v->points[v->npoints++] = (struct view_point){i + 1, found};
	}
	mem_free(last);
}

static void find_schedules(struct view *v, const struct map *row_of)
{
	for (size_t i = 0; i < v->m->nfindings; i++) {
		const struct merge_finding *f = &v->m->findings[i];
		uint32_t row = map_get2(row_of, f->fingerprint, result_of(v, f->engine));
		struct view_row *r = row == MAP_NONE ? NULL : &v->rows[row];
		int c;

		if (!r || !f->schedule)
			continue;
		c = r->scheduled ? merge_compare_runs(&f->scheduled, &r->scheduled->scheduled) : -1;
		if (c < 0 || (!c && f->fingerprint < r->scheduled->fingerprint)) {
			r->schedule = f->schedule;
			r->scheduled = f;
		}
	}
}

static int write_schedule(const char *folder, const char *name, const char *text, struct err *err)
{
	struct str path = STR_INIT;
	int rc;

	str_fmt(&path, "%s/%s.sched", folder, name);
	rc = file_replace(path.s, text, strlen(text), err);
	str_free(&path);
	return rc;
}

int view_write_schedules(const struct view *v, const char *folder, size_t *n, struct err *err)
{
	char name[64];

	*n = 0;
	if (mkdir(folder, 0777) && errno != EEXIST)
		return err_sys(err, "%s", folder);
	for (size_t i = 0; i < v->nrows; i++) {
		if (!v->rows[i].schedule)
			continue;
		snprintf(name, sizeof name, "%u-%016" PRIx64, (unsigned)v->rows[i].rank,
			 v->rows[i].scheduled->fingerprint);
		if (write_schedule(folder, name, v->rows[i].schedule, err))
			return -1;
		++*n;
	}
	for (size_t i = 0; i < v->m->nruns; i++) {
		if (!v->m->runs[i].schedule)
			continue;
		snprintf(name, sizeof name, "failure-%zu", i + 1);
		if (write_schedule(folder, name, v->m->runs[i].schedule, err))
			return -1;
		++*n;
	}
	return 0;
}

void view_rank(struct view *v, bool verbose)
{
	uint64_t once = 0, twice = 0;
	struct map row_of;

	for (size_t i = 0; i < v->rep.nresults; i++)
		shown_select(&v->results[i].findings, verbose, false);
	row_of = make_rows(v);
	walk_runs(v, &row_of);
	find_schedules(v, &row_of);
	map_free(&row_of);
	for (size_t i = 0; i < v->nrows; i++) {
		once += v->rows[i].runs == 1;
		twice += v->rows[i].runs == 2;
	}
	estimate_compute(&v->estimate, v->m->nruns, v->nrows, once, twice);
}

size_t view_count(const struct view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->rep.nresults; i++)
		n += shown_count(&v->results[i].findings);
	return n;
}
