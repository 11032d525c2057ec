/*
 * What each thread did lately: a ring of units as in a recording
 * (trace/raw_format.h), for the reports. Calls and returns, operations on
 * locks, and those accesses that the check had to look at; what repeats one of
 * the same stretch is not there, and nothing is needed of it.
 *
 * The number of a unit, counted from the beginning of the slot's life, is the time that
 * the check speaks of (shadow.h): so a word of the shadow leads to the
 * unit, with its place and its clock.
 *
 * The ring is cut into chunks. Each begins with the calls that were open and the locks that
 * were held then, so that it can be read without those before it.
 *
 * A thread's history outlives it until another thread needs the memory.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_H
#define ATOMSAN_RUNTIME_HISTORY_H

#include "runtime/record.h"

enum {
	HISTORY_CHUNK = 1 << 12, /* units */
	HISTORY_CHUNKS_MAX = 512,
	HISTORY_STACK = 24, /* calls that are kept of where something came from */
};

struct history_stack {
	uint32_t n;
	struct {
		uintptr_t function, caller;
	} v[HISTORY_STACK]; /* outermost first */
};

struct history_chunk {
	uint64_t first; /* number of its first unit; 0: not in use */
	uint64_t base, pc_high;
	uint32_t prologue; /* so many units tell how things stood */
	bool started;      /* the function that the thread began with is not among them */
};

struct history {
	struct rt_thread *owner; /* NULL: it has ended, and `next` tells where */
	uint64_t *next, last; /* then: the end of its units, and their last time */
	uint32_t thread, slot;
	uint32_t nchunks, at; /* chunks in the ring; the one being written */
	uint64_t *units;
	uint64_t born; /* number of the first unit of all */
	uintptr_t stack_low, stack_high;
	struct history *next_free;
	struct history_chunk chunk[];
};

/* A thread begins: in a slot of the order, from a number on. False: no memory. */
bool history_begin(struct rt_thread *t, uint64_t number);
/* It ends; what it did can still be looked at. */
void history_end(struct rt_thread *t);
/* Only the caller's is left. */
void history_child(struct rt_thread *t);

/* Begin a chunk, with what is open now. */
void history_restart(struct rt_thread *t);
void history_room(struct rt_thread *t, uint64_t *time, uintptr_t pc);

/* The number that the next unit will have. */
static inline uint64_t history_now(const struct rt_thread *t)
{
	return ((uintptr_t)t->hist.next - t->hist_bias) >> 4;
}

static inline void history_put(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			       uint64_t time, uintptr_t pc)
{
	struct rt_log *l = &t->hist;

	if (RT_UNLIKELY(time < l->last))
		time = l->last;
	if (RT_UNLIKELY(l->next >= l->end || (time - l->base) >> 32 || (pc ^ l->pc_high) >> 32))
		history_room(t, &time, pc);
	l->last = time;
	l->next[0] = record_what(op, address, aux);
	l->next[1] = (uint32_t)(time - l->base) | (uint64_t)pc << 32;
	l->next += 2;
}

/* There is always room for the size as well. */
static inline void history_put_sized(struct rt_thread *t, enum raw_op op, uint64_t address,
				     uint64_t size, uint64_t time, uintptr_t pc)
{
	history_put(t, op, address, 0, time, pc);
	t->hist.next[0] = size;
	t->hist.next[1] = 0;
	t->hist.next += 2;
}

/* Before a unit whose number is needed: then it gets that number. */
static inline void history_ready(struct rt_thread *t, uint64_t *time, uintptr_t pc)
{
	struct rt_log *l = &t->hist;

	if (RT_UNLIKELY(*time < l->last))
		*time = l->last;
	if (RT_UNLIKELY(l->next >= l->end || (*time - l->base) >> 32 || (pc ^ l->pc_high) >> 32))
		history_room(t, time, pc);
}

/* The stack as it is now, its innermost part where it is deep. */
void history_stack(const struct rt_thread *t, struct history_stack *to);

/*
 * For reports, with the histories held still: threads go on, but none begins or ends.
 */
void history_hold(void);
void history_let_go(void);
struct history *history_of_slot(uint32_t slot);
/* All of them, NULL at the end. */
struct history *history_next(struct history *after);

struct history_unit {
	uint64_t address, time;
	uintptr_t pc;
	enum raw_op op;
	uint32_t aux;
};
/* The unit of that number; false: it is gone. */
bool history_look(const struct history *h, uint64_t number, struct history_unit *to);

/* Where the thread is writing now. */
static inline uint64_t *history_end_of(const struct history *h)
{
	return h->owner ? __atomic_load_n(&h->owner->hist.next, __ATOMIC_ACQUIRE) : h->next;
}

#endif
