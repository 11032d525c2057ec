/*
 * Look up the events of cycles, and make findings of them. All events of a
 * cycle lie at or before its closing event, so a finding is complete, and
 * emitted, when that one passes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/cycle.h"

#include "base/banned.h"

/* An event that some cycle mentions, and the transaction that it is in. */
struct told {
	uint64_t event;
	uint64_t begin; /* 0: outside blocks */
	strref begin_label, begin_place;
	struct event e;
};

struct thread {
	uint32_t depth;
	uint64_t begin;
	strref label, place;
};

struct cycle_tell {
	const struct cycle *cycles;
	size_t ncycles, next_cycle;
	struct told *told; /* sorted by event */
	size_t ntold, next_told;
	struct thread *thread;
	size_t thread_cap;
	struct finding_sink *sink;
};

static int by_event(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

struct cycle_tell *cycle_tell_new(const struct cycle *v, size_t n, struct finding_sink *sink)
{
	struct cycle_tell *t = mem_zalloc(sizeof *t);
	size_t cap = 0, kept = 0;

	t->cycles = v;
	t->ncycles = n;
	t->sink = sink;
	for (size_t i = 0; i < n; i++) {
		MEM_GROW(t->told, cap, t->ntold + v[i].nsteps + v[i].nrefuted + 1);
		t->told[t->ntold++] = (struct told){.event = v[i].closing.begin};
		for (uint32_t k = 0; k < v[i].nsteps; k++)
			t->told[t->ntold++] = (struct told){.event = v[i].steps[k]};
		for (uint32_t k = 0; k < v[i].nrefuted; k++)
			t->told[t->ntold++] = (struct told){.event = v[i].refuted[k]};
	}
	qsort(t->told, t->ntold, sizeof *t->told, by_event);
	for (size_t i = 0; i < t->ntold; i++)
		if (!kept || t->told[kept - 1].event != t->told[i].event)
			t->told[kept++] = t->told[i];
	t->ntold = kept;
	return t;
}

void cycle_tell_free(struct cycle_tell *t)
{
	mem_free(t->told);
	mem_free(t->thread);
	mem_free(t);
}

static const struct told *look_up(const struct cycle_tell *t, uint64_t event)
{
	struct told key = {.event = event};

	return bsearch(&key, t->told, t->ntold, sizeof key, by_event);
}

/* A string of the trace, owned by the finding; NULL for none. */
static const char *string(struct finding *f, const struct names *names, strref ref)
{
	struct str s = STR_INIT;
	char *copy = NULL;

	if (ref) {
		names_add_string(names, ref, &s);
		copy = arena_strndup(&f->arena, s.s, s.n);
	}
	str_free(&s);
	return copy;
}

static const char *operand(struct finding *f, const struct names *names, const struct event *e)
{
	struct str s = STR_INIT;
	char *copy = NULL;

	names_add_operand(names, e, &s);
	if (s.n)
		copy = arena_strndup(&f->arena, s.s, s.n);
	str_free(&s);
	return copy;
}

static bool writes(const struct told *x)
{
	return x->e.op == OP_WRITE || x->e.op == OP_UPDATE;
}

static bool acquires(const struct told *x)
{
	return x->e.op == OP_ACQUIRE || x->e.op == OP_ACQUIRE_SHARED;
}

static bool releases(const struct told *x)
{
	return x->e.op == OP_RELEASE || x->e.op == OP_RELEASE_SHARED;
}

/* Can b follow a in a cycle? They conflict, in this order, or are of one transaction. */
static bool follows(const struct told *a, const struct told *b, bool locks_too)
{
	if (a->e.thread == b->e.thread)
		return a->event < b->event || (a->begin && a->begin == b->begin);
	if (a->event > b->event || a->e.operand != b->e.operand)
		return false;
	if (op_is_access(a->e.op) && op_is_access(b->e.op))
		return writes(a) || writes(b);
	/* Any two would do; people think of who gave the lock to whom. */
	return locks_too && releases(a) && acquires(b) &&
	       (a->e.op == OP_RELEASE || b->e.op == OP_ACQUIRE);
}

/*
 * The cycle with every detour cut off that its own steps show to be one: from
 * each step to the last that can follow it. It still leaves the transaction.
 */
static uint32_t shorten(const struct cycle_tell *t, const struct cycle *c, const struct told **out)
{
	uint32_t n = 0, last = c->nsteps - 1;

	for (uint32_t i = 0;;) {
		uint32_t next = i + 1;

		out[n++] = look_up(t, c->steps[i]);
		if (i == last)
			return n;
		for (uint32_t j = i ? last : last - 1; j > next; j--)
			if (follows(out[n - 1], look_up(t, c->steps[j]),
				    c->rests_on == RESTS_ON_LOCKS))
				next = j; /* ends the loop */
		i = next;
	}
}

static void add_steps(struct finding *f, const struct told *const *steps, uint32_t n,
		      const struct names *names)
{
	f->nsteps = n;
	f->steps = arena_alloc(&f->arena, n * sizeof *f->steps);
	for (uint32_t i = 0; i < n; i++) {
		const struct told *told = steps[i];

		f->steps[i] = (struct finding_step){
			.thread = arena_strdup(&f->arena, names_thread(names, told->e.thread)),
			.event = told->event,
			.op = op_info[told->e.op].spelling,
			.past = op_info[told->e.op].past,
			.operand = operand(f, names, &told->e),
			.label = string(f, names, told->begin_label),
			.begin = told->begin,
			.begin_place = string(f, names, told->begin_place),
			.place = string(f, names, told->e.place),
		};
	}
}

/* "r-w-w" where the cycle is three accesses of one variable. */
static void add_pattern(struct finding *f, const struct told *const *steps, uint32_t n)
{
	char pattern[8] = "";

	if (n != 3)
		return;
	for (uint32_t i = 0; i < 3; i++) {
		const struct event *e = &steps[i]->e;

		if (!op_is_access(e->op) || e->operand != steps[0]->e.operand)
			return;
		pattern[2 * i] = op_info[e->op].spelling[0];
		pattern[2 * i + 1] = i < 2 ? '-' : 0;
	}
	f->pattern = arena_strdup(&f->arena, pattern);
}

static void tell(const struct cycle_tell *t, const struct cycle *c, const struct names *names)
{
	struct finding *f = finding_new();
	const struct told *begin = look_up(t, c->closing.begin);
	const struct told *last = look_up(t, c->closing.event);
	const struct told **steps;
	uint32_t n;

	f->status = FINDING_OBSERVED;
	f->kind = "cycle";
	f->rests_on = c->rests_on;
	f->event = c->closing.event;
	f->transaction = (struct finding_block){
		.thread = arena_strdup(&f->arena, names_thread(names, c->closing.thread)),
		.label = string(f, names, event_label(&begin->e)),
		.place = string(f, names, begin->e.place),
		.begin = c->closing.begin,
	};
	if (c->blamed)
		f->blame = f->transaction;
	f->nrefuted = c->nrefuted;
	f->refuted = arena_alloc(&f->arena, c->nrefuted * sizeof *f->refuted);
	for (uint32_t i = 0; i < c->nrefuted; i++)
		f->refuted[i] = string(f, names, event_label(&look_up(t, c->refuted[i])->e));
	if (op_is_access(last->e.op))
		f->variable = operand(f, names, &last->e);
	steps = mem_alloc(c->nsteps * sizeof *steps);
	n = shorten(t, c, steps);
	add_steps(f, steps, n, names);
	add_pattern(f, steps, n);
	mem_free(steps);
	finding_seal(f);
	t->sink->emit(t->sink, f);
}

void cycle_tell_take(struct cycle_tell *t, const struct batch *b)
{
	MEM_GROW0(t->thread, t->thread_cap, b->names->table[NAMES_THREAD].n);
	for (uint32_t i = 0; i < b->n && t->next_cycle < t->ncycles; i++) {
		const struct event *e = &b->ev[i];
		struct thread *thread = &t->thread[e->thread];
		uint64_t event = b->first + i;

		if (e->op == OP_BEGIN && !thread->depth++) {
			thread->begin = event;
			thread->label = event_label(e);
			thread->place = e->place;
		}
		if (t->next_told < t->ntold && t->told[t->next_told].event == event) {
			struct told *told = &t->told[t->next_told++];

			told->e = *e;
			if (thread->depth) {
				told->begin = thread->begin;
				told->begin_label = thread->label;
				told->begin_place = thread->place;
			}
		}
		if (t->cycles[t->next_cycle].closing.event == event)
			tell(t, &t->cycles[t->next_cycle++], b->names);
		if (e->op == OP_END)
			thread->depth--;
	}
}
