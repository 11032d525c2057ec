/*
 * Writes the JSON format. docs/json-format.md lists the fields, which stay as they are; new ones
 * are added at the end of an object.
 */
#include "report/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "report/json_emit.h"
#include "report/shown.h"
#include "report/step.h"
#include "report/story.h"

#include "base/banned.h"

static void write_source(struct json_emit *j, const struct report_source *src)
{
	json_emit_open(j, "source", '{', JSON_ONE_LINE);
	json_emit_str(j, "trace", src->trace);
	json_emit_u64(j, "events", src->events);
	json_emit_u64(j, "threads", src->threads);
	json_emit_u64(j, "transactions", src->transactions);
	json_emit_u64(j, "variables", src->variables);
	json_emit_u64(j, "locks", src->locks);
	json_emit_u64(j, "skipped", src->skipped);
	json_emit_str(j, "error", src->error);
	if (src->program)
		json_emit_str(j, "program", src->program);
	if (src->skeleton)
		json_emit_bool(j, "skeleton", true);
	json_emit_close(j);
}

/* Write a number that counts from 1; 0 means unknown and becomes null. */
static void write_number(struct json_emit *j, const char *key, uint64_t value)
{
	if (value)
		json_emit_u64(j, key, value);
	else
		json_emit_null(j, key);
}

/* Open a block's object and leave it open for more members. Live findings have no event numbers. */
static void open_block(struct json_emit *j, const char *key, const struct finding *f,
		       const struct finding_block *block)
{
	json_emit_open(j, key, '{', JSON_ONE_LINE);
	json_emit_str(j, "thread", block->thread);
	json_emit_str(j, "label", block->label);
	if (f->live)
		json_emit_null(j, "begin");
	else
		json_emit_u64(j, "begin", block->begin);
}

static void close_block(struct json_emit *j, const struct finding *f,
			const struct finding_block *block)
{
	json_emit_str(j, "place", block->place);
	if (f->live)
		write_number(j, "begin_order", block->begin);
	json_emit_close(j);
}

static void write_blame(struct json_emit *j, const struct finding *f)
{
	if (!f->blame.thread) {
		json_emit_null(j, "blame");
		return;
	}
	open_block(j, "blame", f, &f->blame);
	json_emit_open(j, "refuted", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < f->nrefuted; i++)
		json_emit_str(j, NULL, f->refuted[i]);
	json_emit_close(j);
	close_block(j, f, &f->blame);
}

/* Write a stack, or null if it is empty. */
static void write_stack(struct json_emit *j, const char *key, const struct finding_stack *stack)
{
	if (!stack->n) {
		json_emit_null(j, key);
		return;
	}
	json_emit_open(j, key, '[', JSON_LINES);
	for (size_t i = 0; i < stack->n; i++) {
		const struct finding_frame *frame = &stack->v[i];

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "function", frame->function);
		json_emit_str(j, "file", frame->file);
		write_number(j, "line", frame->line);
		write_number(j, "column", frame->column);
		json_emit_str(j, "module", frame->module);
		json_emit_u64(j, "offset", frame->offset);
		json_emit_bool(j, "inlined", frame->inlined);
		json_emit_close(j);
	}
	json_emit_close(j);
}

/* Write a list of names, or null if they are unknown. */
static void write_names(struct json_emit *j, const char *key, const char *const *v, size_t n)
{
	if (!v) {
		json_emit_null(j, key);
		return;
	}
	json_emit_open(j, key, '[', JSON_ONE_LINE);
	for (size_t i = 0; i < n; i++)
		json_emit_str(j, NULL, v[i]);
	json_emit_close(j);
}

/* Write the step's blocks, or null if they were not determined. */
static void write_blocks(struct json_emit *j, const struct finding_step *s)
{
	if (!s->blocks) {
		json_emit_null(j, "blocks");
		return;
	}
	json_emit_open(j, "blocks", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < s->nblocks; i++) {
		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "label", s->blocks[i].label);
		json_emit_u64(j, "begin", s->blocks[i].begin);
		json_emit_str(j, "place", s->blocks[i].place);
		json_emit_str(j, "kind", region_kind_names[s->blocks[i].kind]);
		write_names(j, "locks", s->blocks[i].held, s->blocks[i].nheld);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static void write_steps(struct json_emit *j, const struct finding *f)
{
	json_emit_open(j, "steps", '[', JSON_LINES);
	for (size_t i = 0; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];

		json_emit_open(j, NULL, '{', s->stack.n ? JSON_LINES : JSON_ONE_LINE);
		json_emit_str(j, "thread", s->thread);
		if (f->live)
			json_emit_null(j, "event");
		else
			json_emit_u64(j, "event", s->event);
		json_emit_str(j, "op", s->op);
		json_emit_str(j, "operand", s->operand);
		json_emit_str(j, "label", s->label);
		json_emit_str(j, "place", s->place);
		write_number(j, "begin", f->live ? 0 : s->begin);
		write_stack(j, "stack", &s->stack);
		write_names(j, "locks", s->held, s->nheld);
		if (f->live) {
			write_number(j, "order", s->event);
			write_number(j, "begin_order", s->begin);
		}
		json_emit_str(j, "begin_place", s->begin_place);
		write_blocks(j, s);
		if (f->recorded)
			json_emit_str(j, "expression", s->expression);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static void write_schedule(struct json_emit *j, const struct finding *f)
{
	if (!f->nschedule) {
		json_emit_null(j, "schedule");
		return;
	}
	json_emit_open(j, "schedule", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < f->nschedule; i++)
		json_emit_u64(j, NULL, f->schedule[i]);
	json_emit_close(j);
}

static void write_moves(struct json_emit *j, const struct finding *f)
{
	if (!f->nmoves) {
		json_emit_null(j, "schedule_events");
		return;
	}
	json_emit_open(j, "schedule_events", '[', JSON_LINES);
	for (size_t i = 0; i < f->nmoves; i++) {
		const struct finding_move *m = &f->moves[i];

		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_u64(j, "event", m->event);
		json_emit_str(j, "thread", m->thread);
		json_emit_str(j, "op", m->op);
		json_emit_str(j, "operand", m->operand);
		json_emit_str(j, "place", m->place);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static void write_story(struct json_emit *j, const struct finding *f)
{
	struct str b = STR_INIT;

	story_add_title(&b, f);
	story_untie(b.s);
	json_emit_str(j, "title", b.s);
	str_reset(&b);
	story_add(&b, f, false);
	story_untie(b.s);
	json_emit_open(j, "story", '[', JSON_LINES);
	for (char *line = b.s, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		*end = 0;
		/* A list item starts with "- ". */
		if (*line == STORY_ITEM) {
			struct str item = STR_INIT;

			str_fmt(&item, "- %s", line + 1);
			json_emit_str(j, NULL, item.s);
			str_free(&item);
		} else {
			json_emit_str(j, NULL, line);
		}
	}
	json_emit_close(j);
	str_free(&b);
}

static void write_with(struct json_emit *j, const struct finding *f)
{
	if (!f->nwith) {
		json_emit_null(j, "with");
		return;
	}
	json_emit_open(j, "with", '[', JSON_LINES);
	for (size_t i = 0; i < f->nwith; i++) {
		open_block(j, NULL, f, &f->with[i]);
		close_block(j, f, &f->with[i]);
	}
	json_emit_close(j);
}

static void write_threads(struct json_emit *j, const struct finding *f)
{
	if (!f->nthreads) {
		json_emit_null(j, "threads");
		return;
	}
	json_emit_open(j, "threads", '[', JSON_LINES);
	for (size_t i = 0; i < f->nthreads; i++) {
		json_emit_open(j, NULL, '{', JSON_LINES);
		json_emit_str(j, "name", f->threads[i].name);
		json_emit_str(j, "creator", f->threads[i].creator);
		write_stack(j, "created", &f->threads[i].created);
		json_emit_close(j);
	}
	json_emit_close(j);
}

/* Only `confirm` has it. */
static void write_confirm(struct json_emit *j, const struct finding *f)
{
	const struct finding_confirm *c = f->confirm;

	if (!c)
		return;
	json_emit_open(j, "confirm", '{', JSON_LINES);
	json_emit_str(j, "outcome", confirm_outcome_names[c->outcome]);
	json_emit_str(j, "why", c->why);
	json_emit_u64(j, "runs", c->runs);
	json_emit_u64(j, "replayed", c->replayed);
	json_emit_u64(j, "of", c->of);
	json_emit_str(j, "schedule", c->schedule);
	if (c->harm == CONFIRM_HARM_UNKNOWN) {
		json_emit_null(j, "harm");
	} else {
		json_emit_open(j, "harm", '{', JSON_ONE_LINE);
		json_emit_str(j, "kind", confirm_harm_names[c->harm]);
		json_emit_str(j, "text", c->harm_text);
		json_emit_close(j);
	}
	json_emit_close(j);
}

static void write_feasible(struct json_emit *j, const struct finding *f)
{
	if (f->feasible == FEASIBLE_UNKNOWN)
		json_emit_null(j, "feasible");
	else
		json_emit_bool(j, "feasible", f->feasible == FEASIBLE_YES);
	if (f->feasible != FEASIBLE_YES) {
		json_emit_null(j, "changed_reads");
		return;
	}
	json_emit_open(j, "changed_reads", '[', JSON_ONE_LINE);
	for (size_t i = 0; i < f->nchanged; i++)
		json_emit_u64(j, NULL, f->changed[i]);
	json_emit_close(j);
}

static void write_region(struct json_emit *j, const struct finding *f)
{
	const struct finding_region *r = &f->region;

	if (r->kind == REGION_UNKNOWN) {
		json_emit_null(j, "region");
		return;
	}
	json_emit_open(j, "region", '{', JSON_ONE_LINE);
	json_emit_str(j, "kind", region_kind_names[r->kind]);
	json_emit_str(j, "name", r->name);
	json_emit_str(j, "place", r->place);
	json_emit_str(j, "why", r->why);
	json_emit_close(j);
}

static void write_rank(struct json_emit *j, const struct finding *f)
{
	write_number(j, "rank", f->rank);
	write_names(j, "reasons", f->reasons, f->nreasons);
	write_region(j, f);
	json_emit_str(j, "class", finding_class_names[f->rank_class]);
}

/* Write where the memory is that has a name of the source. */
static void write_memory(struct json_emit *j, const struct finding *f)
{
	if (!f->nmemory) {
		json_emit_null(j, "memory");
		return;
	}
	json_emit_open(j, "memory", '[', JSON_LINES);
	for (size_t i = 0; i < f->nmemory; i++) {
		json_emit_open(j, NULL, '{', JSON_ONE_LINE);
		json_emit_str(j, "name", f->memory[i].name);
		json_emit_str(j, "location", f->memory[i].location);
		json_emit_close(j);
	}
	json_emit_close(j);
}

/* `count`: how often it was found, together with those of the same cause that are not written. */
static void write_finding(struct json_emit *j, const struct finding *f, uint64_t count)
{
	static const char *const rests_on[] = {
		[RESTS_ON_NOTHING] = NULL,
		[RESTS_ON_DATA] = "data",
		[RESTS_ON_LOCKS] = "locks",
	};

	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_str(j, "status", report_status_name(f->status));
	json_emit_str(j, "kind", f->kind);
	json_emit_str(j, "rests_on", rests_on[f->rests_on]);
	if (f->live)
		json_emit_null(j, "event");
	else
		json_emit_u64(j, "event", f->event);
	if (f->transaction.thread) {
		open_block(j, "transaction", f, &f->transaction);
		close_block(j, f, &f->transaction);
	} else {
		json_emit_null(j, "transaction");
	}
	write_blame(j, f);
	json_emit_str(j, "variable", f->variable);
	json_emit_str(j, "pattern", f->pattern);
	write_steps(j, f);
	write_schedule(j, f);
	json_emit_hex64(j, "fingerprint", f->fingerprint);
	json_emit_u64(j, "count", count);
	write_with(j, f);
	write_names(j, "locks", f->nlocks ? f->locks : NULL, f->nlocks);
	write_stack(j, "allocated", &f->allocated);
	write_threads(j, f);
	json_emit_bool(j, "recorded", f->recorded);
	write_moves(j, f);
	write_story(j, f);
	if (f->live) {
		json_emit_bool(j, "evicted", f->evicted);
		json_emit_bool(j, "out_of_order", f->out_of_order);
		json_emit_u64(j, "group", f->group);
		write_number(j, "order", f->event);
	}
	write_rank(j, f);
	if (f->recorded)
		write_memory(j, f);
	write_feasible(j, f);
	write_confirm(j, f);
	json_emit_close(j);
}

/*
 * Is it a cycle? Then all findings are written in the order of their events, because the first
 * must have the first event of the trace that is not serializable.
 */
static bool is_in_order(const struct finding *f)
{
	return step_same_name(f->kind, "cycle");
}

static int compare_events(const void *a, const void *b)
{
	const struct finding *const *x = a, *const *y = b;

	if ((*x)->event != (*y)->event && !(*x)->live)
		return (*x)->event > (*y)->event ? 1 : -1;
	return ((*x)->rank > (*y)->rank) - ((*x)->rank < (*y)->rank);
}

static void write_in_order(struct json_emit *j, const struct finding_list *l)
{
	size_t n = finding_list_shown(l);
	const struct finding **v = mem_alloc((n + 1) * sizeof *v);

	for (size_t i = 0; i < n; i++)
		v[i] = l->v[i];
	qsort(v, n, sizeof *v, compare_events);
	for (size_t i = 0; i < n; i++)
		write_finding(j, v[i], v[i]->count);
	mem_free(v);
}

/* Write one finding for each cause. */
static void write_causes(struct json_emit *j, const struct finding_list *l)
{
	struct groups found = shown_groups(l);

	for (size_t i = 0; i < found.n; i++)
		write_finding(j, group_best(&found.v[i]), group_seen(&found.v[i]));
	group_free(&found);
}

static void write_findings(struct json_emit *j, const struct finding_list *l)
{
	size_t n = finding_list_shown(l);

	json_emit_open(j, "findings", '[', JSON_LINES);
	if (n && l->selected && is_in_order(l->v[0]))
		write_in_order(j, l);
	else if (n && l->selected && (l->v[0]->recorded || l->v[0]->live))
		write_causes(j, l);
	else
		for (size_t i = 0; i < n; i++)
			write_finding(j, l->v[i], l->v[i]->count);
	json_emit_close(j);
}

static void write_hidden(struct json_emit *j, const struct finding_list *l)
{
	json_emit_open(j, "hidden", '{', JSON_ONE_LINE);
	json_emit_u64(j, "atomic_variable", l->hidden[HIDDEN_ATOMIC]);
	json_emit_u64(j, "synchronisation", l->hidden[HIDDEN_SYNCHRONISATION]);
	json_emit_u64(j, "possible", l->hidden[HIDDEN_POSSIBLE]);
	json_emit_u64(j, "weak", l->hidden[HIDDEN_WEAK]);
	json_emit_close(j);
}

/* `incomplete`: why not everything was checked, or NULL. */
static void write_result(struct json_emit *j, const struct engine_result *res,
			 const char *incomplete)
{
	json_emit_open(j, NULL, '{', JSON_LINES);
	json_emit_str(j, "engine", res->ops->name);
	json_emit_str(j, "verdict",
		      shown_count(&res->findings) ? "violation"
		      : incomplete                ? "incomplete"
						  : "pass");
	json_emit_open(j, "stats", '{', JSON_ONE_LINE);
	json_emit_double(j, "seconds", res->seconds);
	for (size_t i = 0; i < res->nstats; i++)
		json_emit_u64(j, res->stats[i].name, res->stats[i].value);
	json_emit_close(j);
	write_findings(j, &res->findings);
	write_hidden(j, &res->findings);
	json_emit_str(j, "reason", incomplete);
	if (res->explored.schedules) {
		json_emit_open(j, "explored", '{', JSON_ONE_LINE);
		json_emit_u64(j, "schedules", res->explored.schedules);
		json_emit_u64(j, "violations", res->explored.violations);
		json_emit_u64(j, "failures", res->explored.failures);
		json_emit_bool(j, "exhausted", res->explored.exhausted);
		json_emit_close(j);
	}
	json_emit_close(j);
}

void json_emit_report(struct json_emit *j, const char *key, const struct report *rep)
{
	json_emit_open(j, key, '{', JSON_LINES);
	json_emit_str(j, "tool", "atomsan");
	json_emit_str(j, "version", ATOMSAN_VERSION);
	json_emit_u64(j, "format", JSON_FORMAT);
	write_source(j, &rep->source);
	json_emit_open(j, "results", '[', JSON_LINES);
	for (size_t i = 0; i < rep->nresults; i++)
		write_result(j, &rep->results[i], rep->source.error);
	json_emit_close(j);
	if (rep->more)
		rep->more(j, rep);
	json_emit_close(j);
}

static void json_write(const struct report *rep, FILE *out)
{
	struct json_emit j = JSON_EMIT_INIT(out);

	json_emit_report(&j, NULL, rep);
}

const struct report_format json_format = {
	.name = "json",
	.summary = "for programs; its fields are stable",
	.context = true,
	.write = json_write,
};
