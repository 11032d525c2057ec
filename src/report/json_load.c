/* Reads the JSON format back into findings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "trace/event.h"

#include "base/banned.h"

/*
 * The state of reading. `err` keeps the first error; wrong values are then read as
 * null, so that the caller needs to check only once, at the end.
 */
struct load {
	const char *path;
	struct finding *f; /* strings go into its arena */
	struct err *err;
};

static void fail_member(struct load *l, const struct json *j, const char *key, const char *wanted)
{
	if (!err_is_set(l->err))
		err_fail(l->err, "%s:%zu: '%s' is %s, not %s", l->path, j->line, key,
			 json_kind_name(j->kind), wanted);
}

/* A member of the given kind; NULL if it is null, absent or of another kind (an error). */
static const struct json *get_member(struct load *l, const struct json *j, const char *key,
				     enum json_kind kind)
{
	const struct json *m = json_member(j, key);

	if (!m || m->kind == JSON_NULL)
		return NULL;
	if (m->kind == kind)
		return m;
	fail_member(l, m, key, json_kind_name(kind));
	return NULL;
}

static const char *get_string(struct load *l, const struct json *j, const char *key)
{
	const struct json *m = get_member(l, j, key, JSON_STRING);

	return m ? arena_strdup(&l->f->arena, m->string) : NULL;
}

static uint64_t get_number(struct load *l, const struct json *j, const char *key)
{
	const struct json *m = get_member(l, j, key, JSON_NUMBER);

	if (m && !m->is_u64)
		fail_member(l, m, key, "an unsigned 64-bit integer");
	return m && m->is_u64 ? m->u64 : 0;
}

static uint32_t get_small(struct load *l, const struct json *j, const char *key)
{
	uint64_t value = get_number(l, j, key);

	if (value > UINT32_MAX)
		fail_member(l, json_member(j, key), key, "an unsigned 32-bit integer");
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static bool get_bool(struct load *l, const struct json *j, const char *key)
{
	const struct json *m = get_member(l, j, key, JSON_BOOL);

	return m && m->truth;
}

/* A member that is a list, and its length; NULL and 0 if there is none. */
static const struct json *get_list(struct load *l, const struct json *j, const char *key, size_t *n)
{
	const struct json *m = get_member(l, j, key, JSON_ARRAY);

	*n = m ? m->n : 0;
	return m;
}

static bool is_object(struct load *l, const struct json *j, const char *list)
{
	if (j->kind == JSON_OBJECT)
		return true;
	if (!err_is_set(l->err))
		err_fail(l->err, "%s:%zu: '%s' contains %s, not an object", l->path, j->line, list,
			 json_kind_name(j->kind));
	return false;
}

/* The index of a string member in `words`, which ends with NULL; SIZE_MAX if it is not there.
 */
static size_t get_word(struct load *l, const struct json *j, const char *key,
		       const char *const *words)
{
	const struct json *m = get_member(l, j, key, JSON_STRING);

	for (size_t i = 0; m && words[i]; i++)
		if (!strcmp(m->string, words[i]))
			return i;
	if (m && !err_is_set(l->err))
		err_fail(l->err, "%s:%zu: '%s' has an unknown value", l->path, m->line, key);
	return SIZE_MAX;
}

/* The index of a word in a table whose first entry is NULL: 0 if there is none. */
static size_t get_choice(struct load *l, const struct json *j, const char *key,
			 const char *const *words, size_t n)
{
	const struct json *m = get_member(l, j, key, JSON_STRING);

	for (size_t i = 1; m && i < n; i++)
		if (!strcmp(m->string, words[i]))
			return i;
	if (m && !err_is_set(l->err))
		err_fail(l->err, "%s:%zu: '%s' has an unknown value", l->path, m->line, key);
	return 0;
}

/* A list of strings, some of which may be null; NULL only if there is no list. */
static const char **get_names(struct load *l, const struct json *j, const char *key, size_t *n)
{
	const struct json *list = get_list(l, j, key, n);
	const char **v;
	size_t i = 0;

	if (!list)
		return NULL;
	v = arena_alloc(&l->f->arena, (*n + 1) * sizeof *v);
	v[*n] = NULL;
	for (const struct json *m = list->first; m; m = m->next) {
		if (m->kind != JSON_STRING && m->kind != JSON_NULL)
			fail_member(l, m, key, "a list of strings");
		v[i++] = m->kind == JSON_STRING ? arena_strdup(&l->f->arena, m->string) : NULL;
	}
	return v;
}

/* The same, but "?" in place of null. */
static const char **get_full_names(struct load *l, const struct json *j, const char *key, size_t *n)
{
	const char **v = get_names(l, j, key, n);

	for (size_t i = 0; v && i < *n; i++)
		if (!v[i])
			v[i] = "?";
	return v;
}

static struct finding_stack get_stack(struct load *l, const struct json *j, const char *key)
{
	struct finding_stack stack = {0};
	const struct json *list = get_list(l, j, key, &stack.n);

	if (!stack.n)
		return stack;
	stack.v = arena_alloc(&l->f->arena, stack.n * sizeof *stack.v);
	stack.n = 0;
	for (const struct json *m = list->first; m; m = m->next)
		if (is_object(l, m, key))
			stack.v[stack.n++] = (struct finding_frame){
				.function = get_string(l, m, "function"),
				.file = get_string(l, m, "file"),
				.module = get_string(l, m, "module"),
				.line = get_small(l, m, "line"),
				.column = get_small(l, m, "column"),
				.offset = get_number(l, m, "offset"),
				.inlined = get_bool(l, m, "inlined"),
			};
	return stack;
}

static struct finding_block get_block(struct load *l, const struct json *j)
{
	struct finding_block block = {
		.thread = get_string(l, j, "thread"),
		.label = get_string(l, j, "label"),
		.place = get_string(l, j, "place"),
		.begin = get_number(l, j, "begin"),
	};

	/* Live findings have no event numbers; their order stands in for them. */
	if (!block.begin)
		block.begin = get_number(l, j, "begin_order");
	/* A block without a thread would count as absent. */
	if (!block.thread)
		block.thread = "?";
	return block;
}

static struct finding_block get_block_member(struct load *l, const struct json *j, const char *key)
{
	const struct json *m = get_member(l, j, key, JSON_OBJECT);

	return m ? get_block(l, m) : (struct finding_block){0};
}

/* A list of blocks; NULL only if there is no list. */
static struct finding_block *get_blocks(struct load *l, const struct json *j, const char *key,
					const char *thread, size_t *n)
{
	const struct json *list = get_list(l, j, key, n);
	struct finding_block *v;

	if (!list)
		return NULL;
	v = arena_alloc(&l->f->arena, (*n + 1) * sizeof *v);
	*n = 0;
	for (const struct json *m = list->first; m; m = m->next) {
		if (!is_object(l, m, key))
			continue;
		v[*n] = get_block(l, m);
		if (thread)
			v[*n].thread = thread;
		v[*n].kind =
			(enum region_kind)get_choice(l, m, "kind", region_kind_names, REGION_KINDS);
		v[*n].held = get_full_names(l, m, "locks", &v[*n].nheld);
		++*n;
	}
	return v;
}

static const char *past_of_op(const char *op)
{
	for (int i = 0; op && i < OP_COUNT; i++)
		if (!strcmp(op_info[i].spelling, op))
			return op_info[i].past;
	return NULL;
}

static void get_step(struct load *l, const struct json *j, struct finding_step *s)
{
	*s = (struct finding_step){
		.thread = get_string(l, j, "thread"),
		.event = get_number(l, j, "event"),
		.op = get_string(l, j, "op"),
		.operand = get_string(l, j, "operand"),
		.label = get_string(l, j, "label"),
		.begin = get_number(l, j, "begin"),
		.place = get_string(l, j, "place"),
		.begin_place = get_string(l, j, "begin_place"),
		.stack = get_stack(l, j, "stack"),
	};
	s->past = past_of_op(s->op);
	s->expression = get_string(l, j, "expression");
	if (l->f->live) {
		s->event = get_number(l, j, "order");
		s->begin = get_number(l, j, "begin_order");
	}
	s->held = get_names(l, j, "locks", &s->nheld);
	s->blocks = get_blocks(l, j, "blocks", s->thread ? s->thread : "?", &s->nblocks);
}

static void get_steps(struct load *l, const struct json *j, struct finding *f)
{
	size_t n;
	const struct json *list = get_list(l, j, "steps", &n);

	if (!n)
		return;
	f->steps = arena_alloc(&f->arena, n * sizeof *f->steps);
	for (const struct json *m = list->first; m; m = m->next)
		if (is_object(l, m, "steps"))
			get_step(l, m, &f->steps[f->nsteps++]);
}

static void get_schedule(struct load *l, const struct json *j, struct finding *f)
{
	size_t n;
	const struct json *list = get_list(l, j, "schedule", &n);

	if (n) {
		f->schedule = arena_alloc(&f->arena, n * sizeof *f->schedule);
		for (const struct json *m = list->first; m; m = m->next) {
			if (m->kind != JSON_NUMBER || !m->is_u64)
				fail_member(l, m, "schedule", "a list of event numbers");
			f->schedule[f->nschedule++] = m->u64;
		}
	}
	list = get_list(l, j, "schedule_events", &n);
	if (!n)
		return;
	f->moves = arena_alloc(&f->arena, n * sizeof *f->moves);
	for (const struct json *m = list->first; m; m = m->next)
		if (is_object(l, m, "schedule_events"))
			f->moves[f->nmoves++] = (struct finding_move){
				.event = get_number(l, m, "event"),
				.thread = get_string(l, m, "thread"),
				.op = get_string(l, m, "op"),
				.operand = get_string(l, m, "operand"),
				.place = get_string(l, m, "place"),
			};
}

static void get_feasible(struct load *l, const struct json *j, struct finding *f)
{
	size_t n;
	const struct json *m = get_member(l, j, "feasible", JSON_BOOL), *list;

	if (m)
		f->feasible = m->truth ? FEASIBLE_YES : FEASIBLE_NO;
	list = get_list(l, j, "changed_reads", &n);
	f->changed = arena_alloc(&f->arena, n * sizeof *f->changed);
	for (m = n ? list->first : NULL; m; m = m->next) {
		if (m->kind != JSON_NUMBER || !m->is_u64)
			fail_member(l, m, "changed_reads", "a list of event numbers");
		f->changed[f->nchanged++] = m->u64;
	}
}

static void get_threads(struct load *l, const struct json *j, struct finding *f)
{
	size_t n;
	const struct json *list = get_list(l, j, "threads", &n);

	if (!n)
		return;
	f->threads = arena_alloc(&f->arena, n * sizeof *f->threads);
	for (const struct json *m = list->first; m; m = m->next)
		if (is_object(l, m, "threads"))
			f->threads[f->nthreads++] = (struct finding_thread){
				.name = get_string(l, m, "name"),
				.creator = get_string(l, m, "creator"),
				.created = get_stack(l, m, "created"),
			};
}

static void get_memory(struct load *l, const struct json *j, struct finding *f)
{
	size_t n;
	const struct json *list = get_list(l, j, "memory", &n);

	if (!n)
		return;
	f->memory = arena_alloc(&f->arena, n * sizeof *f->memory);
	for (const struct json *m = list->first; m; m = m->next)
		if (is_object(l, m, "memory"))
			f->memory[f->nmemory++] = (struct finding_memory){
				.name = get_string(l, m, "name"),
				.location = get_string(l, m, "location"),
			};
}

static void get_fingerprint(struct load *l, const struct json *j, struct finding *f)
{
	const struct json *m = get_member(l, j, "fingerprint", JSON_STRING);

	if (!m) {
		finding_seal(f);
		return;
	}
	if (strlen(m->string) != 16 || strspn(m->string, "0123456789abcdef") != 16) {
		fail_member(l, m, "fingerprint", "16 hexadecimal digits");
		return;
	}
	f->fingerprint = strtoull(m->string, NULL, 16);
}

static void get_rank(struct load *l, const struct json *j, struct finding *f)
{
	const struct json *region = get_member(l, j, "region", JSON_OBJECT);

	f->rank = get_small(l, j, "rank");
	f->reasons = get_full_names(l, j, "reasons", &f->nreasons);
	f->rank_class = (enum finding_class)get_choice(l, j, "class", finding_class_names, CLASSES);
	if (!region)
		return;
	f->region = (struct finding_region){
		(enum region_kind)get_choice(l, region, "kind", region_kind_names, REGION_KINDS),
		get_string(l, region, "name"),
		get_string(l, region, "place"),
		get_string(l, region, "why"),
	};
}

static void get_confirm(struct load *l, const struct json *j, struct finding *f)
{
	static const char *const harms[] = {"none", "exit", "output", "crash", "hang", NULL};
	const struct json *m = get_member(l, j, "confirm", JSON_OBJECT), *harm;
	struct finding_confirm *c;
	size_t word;

	if (!m)
		return;
	c = f->confirm = arena_alloc(&f->arena, sizeof *c);
	word = get_word(l, m, "outcome", confirm_outcome_names);
	*c = (struct finding_confirm){
		.outcome = word == SIZE_MAX ? CONFIRM_NOT_REACHED : (enum confirm_outcome)word,
		.why = get_string(l, m, "why"),
		.runs = get_small(l, m, "runs"),
		.replayed = get_small(l, m, "replayed"),
		.of = get_small(l, m, "of"),
		.schedule = get_string(l, m, "schedule"),
	};
	harm = get_member(l, m, "harm", JSON_OBJECT);
	if (harm) {
		word = get_word(l, harm, "kind", harms);
		c->harm = word == SIZE_MAX ? CONFIRM_HARM_UNKNOWN : (enum confirm_harm)(word + 1);
		c->harm_text = get_string(l, harm, "text");
	}
}

static void get_finding(struct load *l, const struct json *j, struct finding *f)
{
	static const char *const statuses[] = {"observed", "predicted", "confirmed", NULL};
	static const char *const rests_on[] = {"data", "locks", NULL};
	size_t word;

	l->f = f;
	word = get_word(l, j, "status", statuses);
	f->status = word == SIZE_MAX ? FINDING_OBSERVED : (enum finding_status)word;
	f->kind = get_string(l, j, "kind");
	word = get_word(l, j, "rests_on", rests_on);
	f->rests_on = word == SIZE_MAX ? RESTS_ON_NOTHING : word ? RESTS_ON_LOCKS : RESTS_ON_DATA;
	/* Only live findings have these. */
	f->live = json_member(j, "group");
	f->group = get_number(l, j, "group");
	f->evicted = get_bool(l, j, "evicted");
	f->out_of_order = get_bool(l, j, "out_of_order");
	f->event = get_number(l, j, f->live ? "order" : "event");
	f->transaction = get_block_member(l, j, "transaction");
	f->blame = get_block_member(l, j, "blame");
	f->refuted = get_names(l, json_member(j, "blame"), "refuted", &f->nrefuted);
	f->variable = get_string(l, j, "variable");
	f->pattern = get_string(l, j, "pattern");
	get_steps(l, j, f);
	get_schedule(l, j, f);
	get_feasible(l, j, f);
	f->count = get_number(l, j, "count");
	if (!f->count)
		f->count = 1;
	f->with = get_blocks(l, j, "with", NULL, &f->nwith);
	f->locks = get_full_names(l, j, "locks", &f->nlocks);
	f->allocated = get_stack(l, j, "allocated");
	get_memory(l, j, f);
	get_threads(l, j, f);
	f->recorded = get_bool(l, j, "recorded");
	get_rank(l, j, f);
	get_confirm(l, j, f);
	get_fingerprint(l, j, f);
}

/* The names of statistics live as long as the document. */
static void get_stats(struct load *l, const struct json *j, struct engine_result *res)
{
	const struct json *stats = get_member(l, j, "stats", JSON_OBJECT);

	for (const struct json *m = stats ? stats->first : NULL; m; m = m->next) {
		if (m->kind != JSON_NUMBER && m->kind != JSON_NULL)
			fail_member(l, m, m->key, json_kind_name(JSON_NUMBER));
		else if (!strcmp(m->key, "seconds"))
			res->seconds = m->number;
		else if (m->is_u64 && res->nstats < ENGINE_STATS_MAX)
			res->stats[res->nstats++] = (struct engine_stat){m->key, m->u64};
	}
}

static void get_result(struct load *l, const struct json *j, struct engine_result *res,
		       struct engine_ops *unknown)
{
	const struct json *name = get_member(l, j, "engine", JSON_STRING), *list, *hidden;
	const struct json *explored;
	size_t n;

	finding_list_init(&res->findings, true);
	res->ops = name ? engine_by_name(name->string) : NULL;
	if (!res->ops) {
		unknown->name = name ? name->string : "?";
		unknown->noun = "finding";
		res->ops = unknown;
	}
	get_stats(l, j, res);
	hidden = get_member(l, j, "hidden", JSON_OBJECT);
	res->findings.hidden[HIDDEN_ATOMIC] = get_number(l, hidden, "atomic_variable");
	res->findings.hidden[HIDDEN_SYNCHRONISATION] = get_number(l, hidden, "synchronisation");
	res->findings.hidden[HIDDEN_POSSIBLE] = get_number(l, hidden, "possible");
	res->findings.hidden[HIDDEN_WEAK] = get_number(l, hidden, "weak");
	explored = json_member(j, "explored") ? get_member(l, j, "explored", JSON_OBJECT) : NULL;
	if (explored)
		res->explored = (struct engine_explored){
			get_number(l, explored, "schedules"), get_number(l, explored, "violations"),
			get_number(l, explored, "failures"), get_bool(l, explored, "exhausted")};
	list = get_list(l, j, "findings", &n);
	for (const struct json *m = list ? list->first : NULL; m; m = m->next) {
		struct finding *f;

		if (!is_object(l, m, "findings"))
			return;
		f = finding_new();
		get_finding(l, m, f);
		l->f = NULL;
		res->findings.sink.emit(&res->findings.sink, f);
	}
}

/* A string that lives as long as the document. */
static const char *get_doc_string(struct load *l, const struct json *j, const char *key)
{
	const struct json *m = get_member(l, j, key, JSON_STRING);

	return m ? m->string : NULL;
}

static void get_source(struct load *l, const struct json *root, struct report_source *src)
{
	const struct json *j = get_member(l, root, "source", JSON_OBJECT);

	*src = (struct report_source){
		.trace = get_doc_string(l, j, "trace"),
		.events = get_number(l, j, "events"),
		.threads = get_number(l, j, "threads"),
		.transactions = get_number(l, j, "transactions"),
		.variables = get_number(l, j, "variables"),
		.locks = get_number(l, j, "locks"),
		.skipped = get_number(l, j, "skipped"),
		.error = get_doc_string(l, j, "error"),
		.program = get_doc_string(l, j, "program"),
		.skeleton = get_bool(l, j, "skeleton"),
	};
}

/* Check that --format=json wrote the document, in a format that we read. */
static int check_head(struct load *l, const struct json *root)
{
	const struct json *tool = json_member(root, "tool");
	uint64_t format;

	if (!tool || tool->kind != JSON_STRING || strcmp(tool->string, "atomsan"))
		return err_fail(l->err, "%s: not a report that 'atomsan --format=json' wrote",
				l->path);
	format = get_number(l, root, "format");
	if (!err_is_set(l->err) && format != JSON_FORMAT)
		return err_fail(l->err,
				"%s: the report has format %" PRIu64
				"; this atomsan reads format %d",
				l->path, format, JSON_FORMAT);
	return err_is_set(l->err) ? -1 : 0;
}

int json_load(struct json_loaded *out, const char *path, const char *text, size_t n,
	      struct err *err)
{
	struct load l = {.path = path, .err = err};
	const struct json *list;
	size_t count, i = 0;

	*out = (struct json_loaded){0};
	if (json_parse(&out->doc, path, text, n, err))
		return -1;
	if (check_head(&l, out->doc.root)) {
		json_free(&out->doc);
		return -1;
	}
	get_source(&l, out->doc.root, &out->rep.source);
	list = get_list(&l, out->doc.root, "results", &count);
	if (!list && !err_is_set(err))
		err_fail(err, "%s: 'results' is missing", path);
	out->results = mem_zalloc(count * sizeof *out->results);
	out->unknown = mem_zalloc(count * sizeof *out->unknown);
	for (const struct json *m = list ? list->first : NULL; m; m = m->next)
		if (is_object(&l, m, "results")) {
			get_result(&l, m, &out->results[i], &out->unknown[i]);
			i++;
		}
	out->rep.results = out->results;
	out->rep.nresults = i;
	if (!err_is_set(err))
		return 0;
	json_loaded_free(out);
	return -1;
}

void json_loaded_free(struct json_loaded *l)
{
	for (size_t i = 0; i < l->rep.nresults; i++)
		engine_result_free(&l->results[i]);
	mem_free(l->results);
	mem_free(l->unknown);
	json_free(&l->doc);
	*l = (struct json_loaded){0};
}
