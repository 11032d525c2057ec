#include "campaign/merge.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/mem.h"
#include "campaign/claim.h"

#include "base/banned.h"

static int compare_runs(const struct merge_run *a, const struct merge_run *b)
{
	int c = (a->task > b->task) - (a->task < b->task);

	if (!c)
		c = strcmp(a->campaign, b->campaign);
	return c ? c : strcmp(a->name, b->name);
}

int merge_compare_runs(const void *a, const void *b)
{
	return compare_runs(a, b);
}

static void free_engine(struct merge_engine *e)
{
	if (!e->own)
		return;
	mem_free((char *)e->own->name);
	mem_free(e->own);
}

void merge_free(struct merge *m)
{
	for (size_t i = 0; i < m->nruns; i++) {
		mem_free(m->runs[i].seen);
		mem_free(m->runs[i].rules);
	}
	for (size_t i = 0; i < m->nfindings; i++)
		finding_free(m->findings[i].f);
	for (size_t i = 0; i < m->nengines; i++)
		free_engine(&m->engines[i]);
	mem_free(m->runs);
	mem_free(m->findings);
	mem_free(m->engines);
	mem_free(m->rules);
	mem_free(m->campaigns);
	map_free(&m->run_index);
	map_free(&m->finding_index);
	arena_free(&m->arena);
	*m = (struct merge){0};
}

static const char *keep(struct merge *m, const char *s)
{
	return s ? arena_strdup(&m->arena, s) : NULL;
}

static uint32_t find_engine(struct merge *m, const char *name)
{
	struct merge_engine *e;

	for (size_t i = 0; i < m->nengines; i++)
		if (!strcmp(m->engines[i].ops->name, name))
			return (uint32_t)i;
	MEM_GROW0(m->engines, m->engines_cap, m->nengines + 1);
	e = &m->engines[m->nengines++];
	*e = (struct merge_engine){.ops = engine_by_name(name)};
	if (!e->ops) {
		e->own = mem_zalloc(sizeof *e->own);
		e->own->name = mem_strdup(name);
		e->own->noun = "finding";
		e->ops = e->own;
	}
	return (uint32_t)(m->nengines - 1);
}

static uint32_t find_finding(struct merge *m, uint32_t engine, uint64_t fingerprint)
{
	uint32_t i = map_get2(&m->finding_index, fingerprint, engine);

	if (i != MAP_NONE)
		return i;
	MEM_GROW0(m->findings, m->findings_cap, m->nfindings + 1);
	i = (uint32_t)m->nfindings++;
	m->findings[i] = (struct merge_finding){.engine = engine, .fingerprint = fingerprint};
	map_set2(&m->finding_index, fingerprint, engine, i);
	return i;
}

/* Returns the index of the run's name; *is_new if it was not there. The run is empty then. */
static uint32_t find_run(struct merge *m, const char *name, bool *is_new)
{
	/* Two names with one hash: the next number is tried. */
	for (uint64_t key = XXH3_64bits(name, strlen(name));; key++) {
		uint32_t i = map_get(&m->run_index, key);

		*is_new = i == MAP_NONE;
		if (!*is_new && !strcmp(m->runs[i].name, name))
			return i;
		if (!*is_new)
			continue;
		MEM_GROW0(m->runs, m->runs_cap, m->nruns + 1);
		i = (uint32_t)m->nruns++;
		m->runs[i] = (struct merge_run){.name = keep(m, name)};
		map_set(&m->run_index, key, i);
		return i;
	}
}

/* The finding of this run stands for all with its fingerprint if no earlier run has it. */
static void offer_finding(struct merge *m, uint32_t i, struct finding **f,
			  const struct merge_run *run)
{
	struct merge_finding *known = &m->findings[i];

	if (known->f && compare_runs(&known->first, run) <= 0)
		return;
	finding_free(known->f);
	known->f = *f;
	known->first = *run;
	*f = NULL;
}

/* The same for schedules. */
static void offer_schedule(struct merge *m, uint32_t i, const char *text,
			   const struct merge_run *run)
{
	struct merge_finding *known = &m->findings[i];

	if (known->schedule && compare_runs(&known->scheduled, run) <= 0)
		return;
	known->schedule = keep(m, text);
	known->scheduled = *run;
}

/* The lines "finding FINGERPRINT" of a schedule say what it shows. */
static void take_schedule(struct merge *m, struct merge_run *run, const char *text)
{
	static const char line[] = "\nfinding ";
	bool shows = false;

	for (const char *at = text; (at = strstr(at, line)) != NULL;) {
		uint64_t fingerprint = strtoull(at + strlen(line), NULL, 16);

		at += strlen(line);
		for (size_t k = 0; k < run->nseen; k++)
			if (m->findings[run->seen[k].finding].fingerprint == fingerprint) {
				offer_schedule(m, run->seen[k].finding, text, run);
				shows = true;
			}
	}
	if (!shows && !run->schedule)
		run->schedule = keep(m, text);
}

static void see_finding(struct merge_run *run, uint32_t finding, uint64_t count)
{
	for (size_t i = 0; i < run->nseen; i++)
		if (run->seen[i].finding == finding) {
			run->seen[i].count += count;
			return;
		}
	run->seen = mem_resize(run->seen, (run->nseen + 1) * sizeof *run->seen);
	run->seen[run->nseen++] = (struct merge_seen){finding, count};
}

static void note_hidden(struct merge *m, uint32_t engine, const struct finding_list *l)
{
	for (size_t i = 0; i < HIDDEN_KINDS; i++)
		if (m->engines[engine].hidden[i] < l->hidden[i])
			m->engines[engine].hidden[i] = l->hidden[i];
}

/* --- specifications --- */

static uint32_t find_rule(struct merge *m, const char *text, const char *why,
			  const struct merge_run *run)
{
	size_t i = 0;

	while (i < m->nrules && strcmp(m->rules[i].text, text) != 0)
		i++;
	if (i == m->nrules) {
		MEM_GROW0(m->rules, m->rules_cap, m->nrules + 1);
		m->rules[m->nrules++] = (struct merge_rule){keep(m, text), keep(m, why), *run};
	} else if (compare_runs(run, &m->rules[i].first) < 0) {
		m->rules[i].why = keep(m, why);
		m->rules[i].first = *run;
	}
	return (uint32_t)i;
}

static void see_rule(struct merge_run *run, uint32_t rule)
{
	for (size_t i = 0; i < run->nrules; i++)
		if (run->rules[i] == rule)
			return;
	run->rules = mem_resize(run->rules, (run->nrules + 1) * sizeof *run->rules);
	run->rules[run->nrules++] = rule;
}

static const char removed[] = "\n# Removed by atomsan refine, with what refuted each.\n";

/* Takes the rules that a `refine` added. Returns the length of what it started from. */
static size_t take_rules(struct merge *m, struct merge_run *run, const char *spec)
{
	const char *at = NULL, *line, *end;
	struct str why = STR_INIT, rule = STR_INIT;

	/* The file that it started from may have such a part, too. */
	for (line = spec; (line = strstr(line, removed)) != NULL; line++)
		at = line;
	if (!at)
		return strlen(spec);
	for (line = at + strlen(removed); *line; line = *end ? end + 1 : end) {
		size_t n = strcspn(line, "\n");

		end = line + n;
		if (*line == '#') {
			str_addn(&why, line, n);
			str_addc(&why, '\n');
		} else if (n) {
			str_reset(&rule);
			str_addn(&rule, line, n);
			see_rule(run, find_rule(m, rule.s, why.s, run));
			str_reset(&why);
		}
	}
	str_free(&why);
	str_free(&rule);
	return (size_t)(at - spec);
}

/* --- campaigns --- */

static struct merge_campaign *find_campaign(struct merge *m, const char *id)
{
	for (size_t i = 0; i < m->ncampaigns; i++)
		if (!strcmp(m->campaigns[i].id, id))
			return &m->campaigns[i];
	MEM_GROW0(m->campaigns, m->campaigns_cap, m->ncampaigns + 1);
	m->campaigns[m->ncampaigns++] = (struct merge_campaign){.id = keep(m, id)};
	return &m->campaigns[m->ncampaigns - 1];
}

/* The larger text wins, so that the order of additions does not matter. */
static void choose_text(struct merge *m, const char **had, const char *s)
{
	if (s && (!*had || strcmp(s, *had) > 0))
		*had = keep(m, s);
}

/* A folder that was copied may know an older number of tasks. */
static void note_campaign(struct merge *m, const char *id, const char *command, uint64_t tasks,
			  bool endless)
{
	struct merge_campaign *c = find_campaign(m, id);
	bool known = c->command;

	choose_text(m, &c->command, command);
	if (endless || (known && !c->tasks))
		c->tasks = 0;
	else if (tasks > c->tasks)
		c->tasks = tasks;
}

/* --- results --- */

static void add_result(struct merge *m, const struct result *r, struct json_loaded *l)
{
	bool is_new;
	uint32_t index = find_run(m, r->run, &is_new);
	struct merge_run *run = &m->runs[index];

	if (!is_new)
		return;
	run->campaign = find_campaign(m, r->campaign)->id;
	run->failure = keep(m, r->failure);
	run->output = keep(m, r->output);
	run->task = r->task;
	run->seconds = r->seconds;
	run->status = r->status;
	for (size_t i = 0; i < l->rep.nresults; i++) {
		struct finding_list *list = &l->results[i].findings;
		uint32_t engine = find_engine(m, l->results[i].ops->name);

		note_hidden(m, engine, list);
		for (size_t k = 0; k < list->n; k++) {
			uint32_t f = find_finding(m, engine, list->v[k]->fingerprint);

			see_finding(run, f, list->v[k]->count);
			offer_finding(m, f, &list->v[k], run);
		}
	}
	for (const struct json *s = r->schedule_list ? r->schedule_list->first : NULL; s;
	     s = s->next)
		take_schedule(m, run, s->string);
	if (r->spec) {
		struct merge_campaign *c = find_campaign(m, r->campaign);
		size_t n = take_rules(m, run, r->spec);
		struct str head = STR_INIT;

		str_addn(&head, r->spec, n);
		choose_text(m, &c->head, head.s);
		str_free(&head);
	}
}

/* --- files that were merged before --- */

struct again {
	struct merge *m;
	const char *path;
	struct err *err;
};

static int fail_shape(const struct again *a, const struct json *j, const char *key)
{
	return err_fail(a->err, "%s:%zu: '%s' is not what 'campaign merge' writes", a->path,
			j->line, key);
}

static const char *get_text(const struct json *j, const char *key)
{
	const struct json *v = json_member(j, key);

	return v && v->kind == JSON_STRING ? v->string : NULL;
}

/* 0 if it is absent. */
static uint64_t get_u64(const struct json *j, const char *key)
{
	const struct json *v = json_member(j, key);

	return v && v->kind == JSON_NUMBER && v->is_u64 ? v->u64 : 0;
}

static const struct json *get_list(const struct json *j, const char *key)
{
	const struct json *v = json_member(j, key);

	return v && v->kind == JSON_ARRAY ? v->first : NULL;
}

static int add_campaigns(const struct again *a, const struct json *root)
{
	for (const struct json *j = get_list(root, "campaigns"); j; j = j->next) {
		const char *id = get_text(j, "id"), *command = get_text(j, "command");
		const struct json *tasks = json_member(j, "tasks");
		struct merge_campaign *c;

		if (!id || !command || !tasks)
			return fail_shape(a, j, "campaigns");
		note_campaign(a->m, id, command, get_u64(j, "tasks"), tasks->kind == JSON_NULL);
		c = find_campaign(a->m, id);
		choose_text(a->m, &c->head, get_text(j, "spec"));
	}
	return 0;
}

static int add_seen(const struct again *a, const struct json *j, struct merge_run *run)
{
	const char *engine = get_text(j, "engine"), *hex = get_text(j, "fingerprint");
	uint64_t count = get_u64(j, "count"), fingerprint;
	char *end;

	if (!engine || !hex || strlen(hex) != 16 || !count)
		return fail_shape(a, j, "findings");
	fingerprint = strtoull(hex, &end, 16);
	if (*end)
		return fail_shape(a, j, "fingerprint");
	see_finding(run, find_finding(a->m, find_engine(a->m, engine), fingerprint), count);
	return 0;
}

static int add_runs(const struct again *a, const struct json *root)
{
	for (const struct json *j = get_list(root, "runs"); j; j = j->next) {
		const char *campaign = get_text(j, "campaign"), *name = get_text(j, "name");
		const struct json *seconds = json_member(j, "seconds");
		uint64_t task = get_u64(j, "task");
		struct merge_run *run;
		uint32_t index;
		bool is_new;

		if (!name || !*name || !campaign || !*campaign || !task ||
		    task > CAMPAIGN_TASKS_MAX || !seconds || seconds->kind != JSON_NUMBER ||
		    seconds->number < 0)
			return fail_shape(a, j, "runs");
		index = find_run(a->m, name, &is_new);
		run = &a->m->runs[index];
		if (!is_new)
			continue;
		run->campaign = find_campaign(a->m, campaign)->id;
		run->task = task;
		run->seconds = result_round(seconds->number);
		run->status = (int)(get_u64(j, "status") & 0xff);
		run->failure = keep(a->m, get_text(j, "failure"));
		run->output = keep(a->m, get_text(j, "output"));
		run->schedule = keep(a->m, get_text(j, "schedule"));
		for (const struct json *s = get_list(j, "findings"); s; s = s->next)
			if (add_seen(a, s, run))
				return -1;
		for (const struct json *s = get_list(j, "rules"); s; s = s->next) {
			if (s->kind != JSON_STRING)
				return fail_shape(a, s, "rules");
			see_rule(run, find_rule(a->m, s->string, "", run));
		}
	}
	return 0;
}

/* The comment above a rule is that of the first run with it. */
static int add_rules(const struct again *a, const struct json *root)
{
	for (const struct json *j = get_list(root, "rules"); j; j = j->next) {
		const char *text = get_text(j, "rule"), *why = get_text(j, "why"),
			   *first = get_text(j, "first");
		struct merge_run *run;
		struct merge_rule *r;
		uint32_t index;
		bool is_new;

		if (!text || !why || !first)
			return fail_shape(a, j, "rules");
		index = find_run(a->m, first, &is_new);
		run = &a->m->runs[index];
		if (is_new)
			return fail_shape(a, j, "first");
		index = find_rule(a->m, text, why, run);
		r = &a->m->rules[index];
		if (!compare_runs(&r->first, run) && !*r->why)
			r->why = keep(a->m, why);
	}
	return 0;
}

static int add_schedules(const struct again *a, const struct json *root)
{
	for (const struct json *j = get_list(root, "schedules"); j; j = j->next) {
		const char *engine = get_text(j, "engine"), *hex = get_text(j, "fingerprint"),
			   *first = get_text(j, "first"), *text = get_text(j, "text");
		bool is_new = true;
		uint32_t run;

		if (!engine || !hex || !first || !text)
			return fail_shape(a, j, "schedules");
		run = find_run(a->m, first, &is_new);
		if (is_new)
			return fail_shape(a, j, "first");
		offer_schedule(
			a->m,
			find_finding(a->m, find_engine(a->m, engine), strtoull(hex, NULL, 16)),
			text, &a->m->runs[run]);
	}
	return 0;
}

/* The first of the file's own runs that has each of its findings. */
static int offer_all(const struct again *a, const struct json *root, struct json_loaded *l)
{
	struct merge *m = a->m;
	struct map first = {0};

	for (const struct json *j = get_list(root, "runs"); j; j = j->next) {
		bool is_new;
		uint32_t i = find_run(m, get_text(j, "name"), &is_new);

		for (size_t k = 0; k < m->runs[i].nseen; k++) {
			uint32_t f = m->runs[i].seen[k].finding, had = map_get(&first, f);

			if (had == MAP_NONE || compare_runs(&m->runs[i], &m->runs[had]) < 0)
				map_set(&first, f, i);
		}
	}
	for (size_t i = 0; i < l->rep.nresults; i++) {
		struct finding_list *list = &l->results[i].findings;
		uint32_t engine = find_engine(m, l->results[i].ops->name);

		note_hidden(m, engine, list);
		for (size_t k = 0; k < list->n; k++) {
			uint32_t f = find_finding(m, engine, list->v[k]->fingerprint);
			uint32_t run = map_get(&first, f);

			if (run == MAP_NONE) {
				map_free(&first);
				return err_fail(a->err, "%s: no run has the finding %016" PRIx64,
						a->path, list->v[k]->fingerprint);
			}
			offer_finding(m, f, &list->v[k], &m->runs[run]);
		}
	}
	map_free(&first);
	return 0;
}

static int add_merged(struct merge *m, const char *path, const struct json *root,
		      struct json_loaded *l, struct err *err)
{
	struct again a = {m, path, err};

	return add_campaigns(&a, root) || add_runs(&a, root) || add_rules(&a, root) ||
			       add_schedules(&a, root) || offer_all(&a, root, l)
		       ? -1
		       : 0;
}

/* --- files and folders --- */

int merge_add_text(struct merge *m, const char *name, const char *text, size_t n, struct err *err)
{
	const struct json *merged;
	struct json_loaded l;
	struct result r;
	int rc;

	if (json_load(&l, name, text, n, err))
		return -1;
	merged = json_member(l.doc.root, "campaign");
	if (merged && merged->kind == JSON_OBJECT) {
		rc = add_merged(m, name, merged, &l, err);
	} else {
		rc = result_read(&r, name, l.doc.root, err);
		if (!rc)
			add_result(m, &r, &l);
	}
	json_loaded_free(&l);
	return rc;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_result_file(struct merge *m, const char *path, struct str *text, bool lenient,
			   struct err *err)
{
	str_reset(text);
	if (!file_read(path, text, err) && !merge_add_text(m, path, text->s, text->n, err))
		return 0;
	if (!lenient)
		return -1;
	m->damaged++;
	err->text[0] = 0;
	return 0;
}

static int add_folder(struct merge *m, const struct campaign *c, bool lenient, struct err *err)
{
	struct str path = STR_INIT, text = STR_INIT;
	size_t n = 0, cap = 0;
	char **names = NULL;
	const struct dirent *e;
	uint64_t task;
	DIR *d;
	int rc = 0;

	campaign_add_words(&text, c->command);
	note_campaign(m, c->id, text.s, c->tasks, !c->tasks);
	campaign_path(c, &path, "results", "");
	d = opendir(path.s);
	if (!d)
		rc = err_sys(err, "%s", path.s);
	while (d && (e = readdir(d)) != NULL) {
		if (!claim_parse_task(e->d_name, &task))
			continue;
		MEM_GROW(names, cap, n + 1);
		names[n++] = mem_strdup(e->d_name);
	}
	if (d)
		closedir(d);
	if (n)
		qsort(names, n, sizeof *names, compare_names);
	for (size_t i = 0; i < n; i++) {
		campaign_path(c, &path, "results", names[i]);
		if (!rc)
			rc = add_result_file(m, path.s, &text, lenient, err);
		mem_free(names[i]);
	}
	mem_free(names);
	str_free(&path);
	str_free(&text);
	return rc;
}

int merge_add(struct merge *m, const char *path, bool lenient, struct err *err)
{
	struct str text = STR_INIT;
	struct campaign c;
	struct stat st;
	int rc;

	if (stat(path, &st))
		return err_sys(err, "%s", path);
	if (!S_ISDIR(st.st_mode)) {
		rc = file_read(path, &text, err) || merge_add_text(m, path, text.s, text.n, err)
			     ? -1
			     : 0;
		str_free(&text);
		return rc;
	}
	if (campaign_open(&c, path, err))
		return -1;
	rc = add_folder(m, &c, lenient, err);
	campaign_free(&c);
	return rc;
}

/* --- order --- */

static int compare_rules(const void *a, const void *b)
{
	const struct merge_rule *x = a, *y = b;

	return strcmp(x->text, y->text);
}

static int compare_campaigns(const void *a, const void *b)
{
	const struct merge_campaign *x = a, *y = b;

	return strcmp(x->id, y->id);
}

void merge_sort(struct merge *m)
{
	uint32_t *at = mem_alloc((m->nrules + 1) * sizeof *at);
	struct map where = {0};

	if (m->nruns)
		qsort(m->runs, m->nruns, sizeof *m->runs, merge_compare_runs);
	if (m->ncampaigns)
		qsort(m->campaigns, m->ncampaigns, sizeof *m->campaigns, compare_campaigns);
	/* Runs refer to rules by number. */
	for (size_t i = 0; i < m->nrules; i++)
		map_set(&where, (uint64_t)(uintptr_t)m->rules[i].text, (uint32_t)i);
	if (m->nrules)
		qsort(m->rules, m->nrules, sizeof *m->rules, compare_rules);
	for (size_t i = 0; i < m->nrules; i++)
		at[map_get(&where, (uint64_t)(uintptr_t)m->rules[i].text)] = (uint32_t)i;
	for (size_t i = 0; i < m->nruns; i++)
		for (size_t k = 0; k < m->runs[i].nrules; k++)
			m->runs[i].rules[k] = at[m->runs[i].rules[k]];
	map_free(&where);
	mem_free(at);
	/* The indices of runs are no longer right. */
	map_free(&m->run_index);
}
