/*
 * A finding whose history is gone: the runtime's own steps are all there is. Where the
 * recording still has a step, its stack is known.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/live_impl.h"
#include "engine/tell.h"
#include "trace/raw_file.h"

#include "base/banned.h"

/* What the operations of a recording are as events. */
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

/* The calls that were open when a thread came to a step, outermost first. */
struct calls {
	uint64_t *pc;
	size_t n, cap;
};

/*
 * Follow the thread to the step; false where the recording does not have it. What closed the cycle
 * is the thread's last unit, with a time of its own.
 */
static bool follow(const struct raw_file *file, const struct live_step *s, bool closes,
		   struct calls *calls)
{
	struct raw_cursor cursor;
	struct raw_item item;
	bool here = false;

	calls->n = 0;
	if (s->thread >= file->nthreads)
		return false;
	raw_cursor_init(&cursor, &file->threads[s->thread]);
	while (raw_cursor_next(&cursor, &item) && (closes || item.time <= s->time)) {
		here = item.op == s->op && item.pc == s->pc;
		if (here && !closes && item.time == s->time)
			return true;
		if (item.op == RAW_CALL) {
			MEM_GROW(calls->pc, calls->cap, calls->n + 1);
			calls->pc[calls->n++] = item.pc;
		} else if (item.op == RAW_RETURN && calls->n) {
			calls->n--;
		}
	}
	return closes && here;
}

/* The whole stack where the recording has the step, else the one place. */
static strref place_of(struct live_process *p, const struct raw_file *file,
		       const struct live_step *s, bool closes, struct calls *calls)
{
	strref place = 0;

	if (!s->pc)
		return 0;
	if (file && follow(file, s, closes, calls))
		for (size_t i = 0; i < calls->n; i++)
			place = raw_names_place(&p->raw, place, calls->pc[i]);
	return raw_names_place(&p->raw, place, s->pc);
}

/* The number of what lies at an address. */
static uint32_t memory_at(struct live_process *p, const struct live_step *s, bool lock)
{
	uint64_t size = lock || !s->aux ? 1 : s->aux, b = size << 1 | lock;
	uint32_t id = raw_map_get(&p->vars, s->address, b);

	if (id != RAW_MAP_NONE)
		return id;
	str_reset(&p->raw.text);
	if (lock)
		str_fmt(&p->raw.text, "%s ",
			raw_lock_names[s->op == RAW_SEM_WAIT || s->op == RAW_SEM_POST
					       ? RAW_SEMAPHORE
				       : s->aux < RAW_LOCKS ? s->aux
							    : RAW_MUTEX]);
	raw_names_add_memory(&p->raw, p->memory, s->address, size);
	id = raw_names_next(&p->raw, lock ? NAMES_LOCK : NAMES_VAR);
	raw_map_put(&p->vars, s->address, b, id);
	return id;
}

static const char *thread_name(struct finding *f, uint64_t thread)
{
	char name[24];

	snprintf(name, sizeof name, "T%llu", (unsigned long long)thread);
	return arena_strdup(&f->arena, name);
}

static void set_step(struct live_process *p, struct finding *f, struct finding_step *to,
		     const struct live_step *s, strref place)
{
	struct event e = {.op = (uint8_t)op_of(s->op)};

	to->thread = thread_name(f, s->thread);
	to->place = tell_string(f, &p->names, place);
	to->stack = tell_stack(f, &p->names, place);
	if (e.op == OP_NONE)
		return;
	to->op = op_info[e.op].spelling;
	to->past = op_info[e.op].past;
	if (op_info[e.op].operand == OPERAND_THREAD) {
		to->operand = thread_name(f, s->address);
		return;
	}
	e.operand = memory_at(p, s, op_is_lock(e.op));
	to->operand = tell_operand(f, &p->names, &e);
	if (op_is_access(e.op))
		tell_variable(f, &p->names, e.operand);
}

/* Steps in the order of the cycle, numbered in that of time. */
static void number(struct finding *f, const struct live_step *s)
{
	for (size_t i = 0; i < f->nsteps; i++) {
		uint64_t before = 1;

		for (size_t k = 0; k < f->nsteps; k++)
			before += k < i ? s[k].time <= s[i].time : s[k].time < s[i].time;
		f->steps[i].event = before + 1;
	}
}

/* The text of a label, in the recording. */
static strref marked_label(struct live_process *p, const struct raw_file *file, uint64_t number)
{
	struct raw_cursor cursor;
	struct raw_item item;

	if (!file->nthreads)
		return 0;
	raw_cursor_init(&cursor, &file->threads[0]);
	while (raw_cursor_next(&cursor, &item))
		if (item.op == RAW_LABEL && item.address == number)
			return raw_names_label(&p->raw, 'a', number, item.text, item.text_len);
	return 0;
}

/*
 * The transaction that the first and the last step belong to. It began before them all. Of the
 * blocks inside of it nothing is known.
 */
static void set_block(struct live_process *p, struct finding *f, const struct raw_file *file,
		      const struct live_finding *head)
{
	struct finding_step *ends[] = {f->steps, f->steps + f->nsteps - 1};
	strref label;

	if (!head->block || f->nsteps < 2)
		return;
	label = !head->marked ? raw_names_label(&p->raw, 'f', head->block, NULL, 0)
		: file        ? marked_label(p, file, head->block)
			      : 0;
	f->transaction.label = tell_string(f, &p->names, label);
	f->transaction.place = tell_string(f, &p->names, raw_names_place(&p->raw, 0, head->begin));
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

struct finding *live_evicted(struct live_process *p, const struct live_recording *r)
{
	struct finding *f = finding_new();
	struct calls calls = {0};
	struct raw_file file;
	struct err err = {0};
	char *bytes = mem_alloc(r->n + 1); /* aligned */
	bool open, locks = false;

	memcpy(bytes, r->bytes, r->n);
	open = !raw_file_open(&file, bytes, r->n, &err);

	f->status = FINDING_OBSERVED;
	f->kind = "cycle";
	f->evicted = f->recorded = true;
	f->out_of_order = !r->head->evicted && r->n;
	f->nsteps = r->head->nsteps;
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
		set_step(p, f, &f->steps[i], s,
			 place_of(p, open ? &file : NULL, s, i + 1 == f->nsteps, &calls));
		locks |= op_is_lock(op);
	}
	if (locks)
		f->rests_on = RESTS_ON_NOTHING; /* there may be another cycle */
	number(f, r->steps);
	f->event = f->nsteps ? f->steps[f->nsteps - 1].event : 0;
	f->transaction.thread = thread_name(f, r->head->thread);
	set_block(p, f, open ? &file : NULL, r->head);
	finding_seal(f);
	raw_file_close(&file);
	mem_free(bytes);
	mem_free(calls.pc);
	return f;
}
