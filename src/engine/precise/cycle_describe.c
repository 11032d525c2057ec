/*
 * Look up the events of cycles, and make findings of them. All events of a cycle are
 * at or before its closing event, so a finding is complete, and emitted, at that
 * event.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/event_ref.h"
#include "engine/heldlocks.h"
#include "engine/precise/cycle.h"
#include "engine/describe.h"

#include "base/banned.h"

/* An event of a cycle. */
struct cycle_event {
	struct event_ref at;
	heldset held;
};

struct cycle_describe {
	const struct cycle *cycles;
	size_t ncycles, next_cycle;
	struct cycle_event *events; /* sorted by event */
	size_t nevents, next_event;
	struct event_ref_blocks blocks;
	struct heldlocks held;
	struct finding_sink *sink;
};

static int by_event(const void *a, const void *b)
{
	const struct cycle_event *x = a, *y = b;

	return (x->at.event > y->at.event) - (x->at.event < y->at.event);
}

struct cycle_describe *cycle_describe_new(const struct cycle *v, size_t n,
					  struct finding_sink *sink)
{
	struct cycle_describe *t = mem_zalloc(sizeof *t);
	size_t cap = 0, kept = 0;

	t->cycles = v;
	t->ncycles = n;
	t->sink = sink;
	for (size_t i = 0; i < n; i++) {
		MEM_GROW(t->events, cap, t->nevents + v[i].nsteps + v[i].nrefuted);
		for (uint32_t k = 0; k < v[i].nsteps; k++)
			t->events[t->nevents++] = (struct cycle_event){.at.event = v[i].steps[k]};
		for (uint32_t k = 0; k < v[i].nrefuted; k++)
			t->events[t->nevents++] = (struct cycle_event){.at.event = v[i].refuted[k]};
	}
	if (t->nevents)
		qsort(t->events, t->nevents, sizeof *t->events, by_event);
	for (size_t i = 0; i < t->nevents; i++)
		if (!kept || t->events[kept - 1].at.event != t->events[i].at.event)
			t->events[kept++] = t->events[i];
	t->nevents = kept;
	heldlocks_init(&t->held);
	return t;
}

void cycle_describe_free(struct cycle_describe *t)
{
	mem_free(t->events);
	event_ref_blocks_free(&t->blocks);
	heldlocks_free(&t->held);
	mem_free(t);
}

static const struct cycle_event *find_event(const struct cycle_describe *t, uint64_t event)
{
	struct cycle_event key = {.at.event = event};

	return bsearch(&key, t->events, t->nevents, sizeof key, by_event);
}

static bool is_write(const struct cycle_event *x)
{
	return x->at.op == OP_WRITE || x->at.op == OP_UPDATE;
}

static bool is_acquire(const struct cycle_event *x)
{
	return x->at.op == OP_ACQUIRE || x->at.op == OP_ACQUIRE_SHARED;
}

static bool is_release(const struct cycle_event *x)
{
	return x->at.op == OP_RELEASE || x->at.op == OP_RELEASE_SHARED;
}

/* Can b follow a in a cycle: do they conflict, in this order, or are they in one transaction? */
static bool can_follow(const struct cycle_event *a, const struct cycle_event *b, bool locks_too)
{
	if (a->at.thread == b->at.thread)
		return a->at.event < b->at.event || (a->at.begin && a->at.begin == b->at.begin);
	if (a->at.event > b->at.event || a->at.operand != b->at.operand)
		return false;
	if (op_is_access(a->at.op) && op_is_access(b->at.op))
		return is_write(a) || is_write(b);
	/* Any two operations conflict, but a release before an acquire is what people expect. */
	return locks_too && is_release(a) && is_acquire(b) &&
	       (a->at.op == OP_RELEASE || b->at.op == OP_ACQUIRE);
}

/*
 * Shorten the cycle: go from each step to the last step that can follow it. The
 * result still leaves the transaction.
 */
static uint32_t shorten_cycle(const struct cycle_describe *t, const struct cycle *c,
			      const struct cycle_event **out)
{
	uint32_t n = 0, last = c->nsteps - 1;

	for (uint32_t i = 0;;) {
		uint32_t next = i + 1;

		out[n++] = find_event(t, c->steps[i]);
		if (i == last)
			return n;
		for (uint32_t j = i ? last : last - 1; j > next; j--)
			if (can_follow(out[n - 1], find_event(t, c->steps[j]),
				       c->rests_on == RESTS_ON_LOCKS))
				next = j; /* this ends the loop */
		i = next;
	}
}

static void add_steps(const struct cycle_describe *t, struct finding *f,
		      const struct cycle_event *const *steps, uint32_t n, const struct names *names)
{
	f->nsteps = n;
	f->steps = arena_alloc(&f->arena, n * sizeof *f->steps);
	for (uint32_t i = 0; i < n; i++) {
		f->steps[i] = event_ref_step(f, names, &steps[i]->at);
		describe_held(f, names, &f->steps[i], heldlocks_view(&t->held, steps[i]->held));
	}
}

/* Set the pattern, "r-w-w", if the cycle is three accesses of one variable. */
static void add_pattern(struct finding *f, const struct cycle_event *const *steps, uint32_t n)
{
	char pattern[8] = "";

	if (n != 3)
		return;
	for (uint32_t i = 0; i < 3; i++) {
		const struct event_ref *at = &steps[i]->at;

		if (!op_is_access(at->op) || at->operand != steps[0]->at.operand)
			return;
		pattern[2 * i] = op_info[at->op].spelling[0];
		pattern[2 * i + 1] = i < 2 ? '-' : 0;
	}
	f->pattern = arena_strdup(&f->arena, pattern);
}

/* Returns the label of a refuted block, which is known by its begin. */
static const char *refuted_label(const struct cycle_describe *t, struct finding *f, uint64_t begin,
				 const struct names *names)
{
	const struct event_ref *at = &find_event(t, begin)->at;
	struct event e = {.operand = at->operand, .place = at->place};

	return describe_string(f, names, event_label(&e));
}

static void emit_cycle(const struct cycle_describe *t, const struct cycle *c,
		       const struct names *names)
{
	struct finding *f = finding_new();
	const struct event_ref *last = &find_event(t, c->closing.event)->at;
	const struct cycle_event **steps;
	uint32_t n;

	f->status = FINDING_OBSERVED;
	f->kind = "cycle";
	f->rests_on = c->rests_on;
	f->event = c->closing.event;
	f->nrefuted = c->nrefuted;
	f->refuted = arena_alloc(&f->arena, c->nrefuted * sizeof *f->refuted);
	for (uint32_t i = 0; i < c->nrefuted; i++)
		f->refuted[i] = refuted_label(t, f, c->refuted[i], names);
	if (op_is_access(last->op))
		describe_variable(f, names, last->operand);
	steps = mem_alloc(c->nsteps * sizeof *steps);
	n = shorten_cycle(t, c, steps);
	add_steps(t, f, steps, n, names);
	add_pattern(f, steps, n);
	mem_free(steps);
	f->transaction = describe_block(&f->steps[n - 1]);
	if (c->blamed)
		f->blame = f->transaction;
	finding_seal(f);
	t->sink->emit(t->sink, f);
}

void cycle_describe_take(struct cycle_describe *t, const struct batch *b)
{
	uint32_t nthreads = b->names->table[NAMES_THREAD].n;

	event_ref_blocks_room(&t->blocks, nthreads);
	heldlocks_room(&t->held, nthreads);
	for (uint32_t i = 0; i < b->n && t->next_cycle < t->ncycles; i++) {
		const struct event *e = &b->ev[i];
		uint64_t event = b->first + i;

		/* A begin and an end are part of their block. */
		if (e->outer == OUTER_BEGIN)
			event_ref_blocks_take(&t->blocks, e, event);
		if (t->next_event < t->nevents && t->events[t->next_event].at.event == event) {
			struct cycle_event *told = &t->events[t->next_event++];

			told->at = event_ref_of(&t->blocks, e, event);
			told->held = heldlocks_of(&t->held, e->thread);
		}
		if (t->cycles[t->next_cycle].closing.event == event) {
			const struct cycle *c = &t->cycles[t->next_cycle++];

			if (c->nsteps)
				emit_cycle(t, c, b->names);
		}
		if (e->outer == OUTER_END)
			event_ref_blocks_take(&t->blocks, e, event);
		else if (op_is_lock(e->op))
			heldlocks_take(&t->held, e);
	}
}
