/*
 * Makes a finding whose history is gone: the runtime's own steps are all there is. A step's stack
 * is known if the recording still has the step, or if its calls came with it; and what is at an
 * address is known if its allocation is.
 */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/describe.h"
#include "reporter/reporter_impl.h"
#include "symbol/symbol.h"
#include "trace/raw_file.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* Returns the event's operation for that of a unit. */
static enum op op_of(uint8_t raw)
{
	switch (raw) {
	case RAW_READ:
	case RAW_READ_RANGE:
		return OP_READ;
	case RAW_WRITE:
	case RAW_WRITE_RANGE:
		return OP_WRITE;
	case RAW_UPDATE:
		return OP_UPDATE;
	case RAW_ACQUIRE:
	case RAW_SEM_WAIT:
		return OP_ACQUIRE;
	case RAW_RELEASE:
	case RAW_SEM_POST:
		return OP_RELEASE;
	case RAW_ACQUIRE_SHARED:
		return OP_ACQUIRE_SHARED;
	case RAW_RELEASE_SHARED:
		return OP_RELEASE_SHARED;
	case RAW_FORK:
		return OP_FORK;
	case RAW_JOIN:
		return OP_JOIN;
	default:
		return OP_NONE;
	}
}

/* The calls that a thread was in when it came to a step, outermost first. */
struct calls {
	uint64_t *pc;
	size_t n, cap;
};

/* What a finding is made from, and its names. */
struct source {
	struct names names;
	struct raw_names raw;
	struct raw_memory *memory;   /* empty */
	struct map vars;             /* (address, what is there) -> number of its name */
	const struct raw_file *file; /* the recording, or NULL */
	const struct reader_facts *facts;
	struct calls calls; /* scratch */
};

static void source_init(struct source *s, const struct reporter_process *p,
			const struct raw_file *file, const struct reader_facts *facts)
{
	*s = (struct source){.file = file, .facts = facts};
	names_init(&s->names);
	raw_names_init(&s->raw, &s->names);
	str_add(&s->raw.text, RECORDED_NOTE);
	raw_names_note(&s->raw);
	for (size_t i = 0; i < p->nmodules; i++)
		raw_names_module(&s->raw, p->module[i].bias, p->module[i].text, p->module[i].len);
	s->memory = raw_memory_new(0);
	s->names.resolver = symbol_resolver_share(p->resolver);
}

static void source_free(struct source *s)
{
	struct names_resolver *resolver = s->names.resolver;

	raw_names_free(&s->raw);
	raw_memory_free(s->memory);
	map_free(&s->vars);
	names_free(&s->names);
	symbol_resolver_free(resolver);
	mem_free(s->calls.pc);
}

static void take_call(struct calls *c, const struct raw_item *item)
{
	if (item->op == RAW_CALL) {
		MEM_GROW(c->pc, c->cap, c->n + 1);
		c->pc[c->n++] = item->pc;
	} else if (item->op == RAW_RETURN && c->n) {
		c->n--;
	}
}

/* Returns the place with those calls around it. */
static strref stack_place(struct source *s, uint64_t pc)
{
	strref place = 0;

	for (size_t i = 0; i < s->calls.n; i++)
		place = raw_names_place(&s->raw, place, s->calls.pc[i]);
	return raw_names_place(&s->raw, place, pc);
}

/*
 * Follows the thread to the step, so that from->calls has the calls around it. Returns false if the
 * recording does not have the step. The step that closes the cycle is the thread's last unit, which
 * has another time.
 */
static bool follow_thread(struct source *from, const struct live_step *s, bool closes)
{
	struct raw_cursor cursor;
	struct raw_item item;
	bool here = false;

	from->calls.n = 0;
	if (!from->file || s->thread >= from->file->nthreads)
		return false;
	raw_cursor_init(&cursor, &from->file->threads[s->thread]);
	while (raw_cursor_next(&cursor, &item) && (closes || item.time <= s->time)) {
		here = item.op == s->op && item.pc == s->pc;
		if (here && !closes && item.time == s->time)
			return true;
		take_call(&from->calls, &item);
	}
	return closes && here;
}

/* Takes the calls that came with the step. */
static void take_step_calls(struct calls *c, const struct live_step *s)
{
	size_t n = 0;

	while (n < LIVE_CALLS && s->calls[n])
		n++;
	MEM_GROW(c->pc, c->cap, n);
	for (c->n = 0; c->n < n; c->n++)
		c->pc[c->n] = s->calls[n - 1 - c->n];
}

/* Returns the stack: from the recording, or as it came with the step, or else the one place. */
static strref place_of(struct source *from, const struct live_step *s, bool closes)
{
	if (!s->pc)
		return 0;
	if (s->kept)
		take_step_calls(&from->calls, s);
	else if (!follow_thread(from, s, closes))
		from->calls.n = 0;
	return stack_place(from, s->pc);
}

/* The last allocation before a step that has the step's address. */
struct allocation {
	uint64_t address, size, time;
	strref place; /* 0: there is no such allocation */
};

/* Is it an allocation with the step's address, before the step and not before `b`? */
static bool is_better(const struct raw_item *item, const struct live_step *s, bool closes,
		      const struct allocation *b)
{
	return item->op == RAW_ALLOC && s->address - item->address < item->size &&
	       (closes || item->time <= s->time) && (!b->place || item->time >= b->time);
}

/* Returns the allocation from before the recording, which has time 0. */
static struct allocation allocation_before(struct source *from, const struct live_step *s)
{
	struct allocation b = {0};

	for (size_t i = 0; i < from->facts->nallocations; i++) {
		const struct reader_origin *o = &from->facts->allocations[i];

		if (s->address - o->address >= o->size)
			continue;
		MEM_GROW(from->calls.pc, from->calls.cap, o->ncalls);
		from->calls.n = o->ncalls;
		if (o->ncalls)
			memcpy(from->calls.pc, o->calls, o->ncalls * sizeof *o->calls);
		b = (struct allocation){o->address, o->size, 0, stack_place(from, o->pc)};
	}
	return b;
}

/*
 * Was it freed before the step? If its time is not known, it is taken for freed, too, if there is
 * an allocation after the step: it may be that one.
 */
static bool is_freed(const struct source *from, const struct live_step *s, bool closes,
		     const struct allocation *b)
{
	struct raw_cursor cursor;
	struct raw_item item;

	for (uint32_t t = 0; t < from->file->nthreads; t++) {
		raw_cursor_init(&cursor, &from->file->threads[t]);
		while (raw_cursor_next(&cursor, &item)) {
			bool before = closes || item.time <= s->time;

			if (item.op == RAW_FREE && item.address == b->address && before &&
			    item.time > b->time)
				return true;
			if (item.op == RAW_ALLOC && s->address - item.address < item.size &&
			    !before && !b->time)
				return true;
		}
	}
	return false;
}

static struct allocation allocation_at(struct source *from, const struct live_step *s, bool closes)
{
	struct allocation b = allocation_before(from, s);
	struct raw_cursor cursor;
	struct raw_item item;

	for (uint32_t t = 0; from->file && t < from->file->nthreads; t++) {
		raw_cursor_init(&cursor, &from->file->threads[t]);
		from->calls.n = 0;
		while (raw_cursor_next(&cursor, &item)) {
			take_call(&from->calls, &item);
			if (is_better(&item, s, closes, &b))
				b = (struct allocation){item.address, item.size, item.time,
							stack_place(from, item.pc)};
		}
	}
	if (b.place && from->file && is_freed(from, s, closes, &b))
		b.place = 0;
	return b;
}

/* Returns the number of the name of what is at the step's address. */
static uint32_t memory_at(struct source *from, const struct live_step *s, bool lock, bool closes)
{
	struct allocation at = allocation_at(from, s, closes);
	uint64_t size = lock || !s->aux ? 1 : s->aux;
	uint64_t b = (uint64_t)at.place << 32 | size << 1 | lock;
	uint32_t id = map_get2(&from->vars, s->address, b);

	if (id != MAP_NONE)
		return id;
	str_reset(&from->raw.text);
	if (lock)
		str_fmt(&from->raw.text, "%s ",
			raw_lock_names[s->op == RAW_SEM_WAIT || s->op == RAW_SEM_POST
					       ? RAW_SEMAPHORE
				       : s->aux < RAW_LOCKS ? s->aux
							    : RAW_MUTEX]);
	if (at.place)
		raw_names_add_allocation(&from->raw, s->address - at.address, size, at.size,
					 at.place);
	else
		raw_names_add_memory(&from->raw, from->memory, s->address, size);
	id = raw_names_next(&from->raw, lock ? NAMES_LOCK : NAMES_VAR);
	map_set2(&from->vars, s->address, b, id);
	return id;
}

static const char *thread_name(struct finding *f, uint64_t thread)
{
	char name[24];

	snprintf(name, sizeof name, "T%llu", (unsigned long long)thread);
	return arena_strdup(&f->arena, name);
}

static void set_step(struct source *from, struct finding *f, struct finding_step *to,
		     const struct live_step *s, bool closes)
{
	strref place = place_of(from, s, closes);
	struct event e = {.op = (uint8_t)op_of(s->op)};

	to->thread = thread_name(f, s->thread);
	to->place = describe_string(f, &from->names, place);
	to->stack = describe_stack(f, &from->names, place);
	if (e.op == OP_NONE)
		return;
	to->op = op_info[e.op].spelling;
	to->past = op_info[e.op].past;
	if (op_info[e.op].operand == OPERAND_THREAD) {
		to->operand = thread_name(f, s->address);
		return;
	}
	e.operand = memory_at(from, s, op_is_lock(e.op), closes);
	e.place = place;
	if (op_is_lock(e.op))
		names_note_lock(&from->names, &e);
	describe_step_operand(f, &from->names, &e, to);
	if (op_is_access(e.op))
		describe_variable(f, &from->names, e.operand);
}

/*
 * Numbers the steps, which are in the order of the cycle, in the order of time. If the block is
 * blamed, each step happened before the next: then a step whose time is not known comes right after
 * the one before it.
 */
static void number_steps(struct finding *f, const struct finding_message *r)
{
	uint64_t *time = mem_alloc((f->nsteps + 1) * sizeof *time);

	for (size_t i = 0; i < f->nsteps; i++)
		time[i] =
			r->steps[i].evicted && r->head.blamed && i ? time[i - 1] : r->steps[i].time;
	for (size_t i = 0; i < f->nsteps; i++) {
		uint64_t before = 1;

		for (size_t k = 0; k < f->nsteps; k++)
			before += k < i ? time[k] <= time[i] : time[k] < time[i];
		f->steps[i].event = before + 1;
	}
	mem_free(time);
}

static strref marked_label(struct source *from, uint64_t number)
{
	for (size_t i = 0; i < from->facts->nlabels; i++) {
		const struct reader_label *l = &from->facts->labels[i];

		if (l->number == number)
			return raw_names_label(&from->raw, 'a', number, l->text, l->len);
	}
	return 0;
}

/*
 * Sets the transaction of the first and the last step. It began before all steps. Nothing is known
 * about blocks inside it.
 */
static void set_block(struct source *from, struct finding *f, const struct live_finding *head)
{
	struct finding_step *ends[] = {f->steps, f->steps + f->nsteps - 1};
	strref label;

	if (!head->block || f->nsteps < 2)
		return;
	label = head->marked ? marked_label(from, head->block)
			     : raw_names_label(&from->raw, 'f', head->block, NULL, 0);
	f->transaction.label = describe_string(f, &from->names, label);
	f->transaction.place =
		describe_string(f, &from->names, raw_names_place(&from->raw, 0, head->begin));
	f->transaction.begin = 1;
	for (size_t i = 0; i < 2; i++) {
		if (strcmp(ends[i]->thread, f->transaction.thread) != 0)
			continue;
		ends[i]->label = f->transaction.label;
		ends[i]->begin_place = f->transaction.place;
		ends[i]->begin = f->transaction.begin;
	}
	if (!head->blamed)
		return;
	f->blame = f->transaction;
	f->refuted = arena_alloc(&f->arena, sizeof *f->refuted);
	f->refuted[0] = f->blame.label;
	f->nrefuted = 1;
}

struct finding *explain_steps(struct reporter_process *p, const struct finding_message *r)
{
	struct finding *f = finding_new();
	struct source from;
	struct raw_file file;
	struct err err = {0};
	bool locks = false, readable;

	readable = !raw_file_open(&file, r->recording, r->recording_bytes, &err);
	source_init(&from, p, readable ? &file : NULL, &r->facts);

	f->status = FINDING_OBSERVED;
	f->kind = "cycle";
	f->evicted = f->recorded = true;
	f->out_of_order = !r->head.evicted && r->recording_bytes;
	f->nsteps = r->nsteps;
	f->steps = arena_alloc(&f->arena, (f->nsteps + 1) * sizeof *f->steps);
	memset(f->steps, 0, f->nsteps * sizeof *f->steps);
	f->rests_on = f->nsteps ? RESTS_ON_DATA : RESTS_ON_NOTHING;
	for (size_t i = 0; i < f->nsteps; i++) {
		const struct live_step *s = &r->steps[i];
		enum op op = op_of(s->op);

		if (s->evicted || op == OP_NONE) {
			f->steps[i].thread = thread_name(f, s->thread);
			f->rests_on = RESTS_ON_NOTHING;
			continue;
		}
		set_step(&from, f, &f->steps[i], s, i + 1 == f->nsteps);
		locks |= op_is_lock(op);
	}
	if (locks)
		f->rests_on = RESTS_ON_NOTHING; /* the data may have a cycle, too */
	number_steps(f, r);
	f->event = f->nsteps ? f->steps[f->nsteps - 1].event : 0;
	f->transaction.thread = thread_name(f, r->head.thread);
	set_block(&from, f, &r->head);
	finding_seal(f);
	source_free(&from);
	raw_file_close(&file);
	return f;
}
