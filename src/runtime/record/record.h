/*
 * The recorder: what happens, as units of the thread's own chunks in a mapped
 * file (trace/raw_format.h).
 *
 * The cost of a plain access: reading the clock (some 20 cycles), two stores
 * into memory that only this thread writes, and four predicted branches.
 *
 * Every function here is called between rt_enter() and rt_leave().
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_RECORD_RECORD_H
#define ATOMSAN_RUNTIME_RECORD_RECORD_H

#include <x86intrin.h>

#include "runtime/os/rt.h"
#include "trace/raw_format.h"

extern bool record_on;
/* Does anybody want to know when something happened? */
extern bool record_timed;

/* Open the file that the options name. */
void record_init(void);
/* A forked child starts anew, or not at all; only the calling thread is left. */
void record_child(struct rt_thread *t);
/* The program comes to its end. */
void record_close(void);
/* The thread does. */
void record_thread_gone(struct rt_thread *t);

/*
 * Make room for `units` units, and see to the base and the high half of the pc. A time before the
 * base becomes the base. False: give up.
 */
bool record_room(struct rt_thread *t, uint32_t units, uint64_t *time, uintptr_t pc);
void record_text(struct rt_thread *t, enum raw_op op, uint64_t address, const char *text, size_t n);

/*
 * The clock. An ordered one is read after everything before it in the program
 * has happened, and before anything behind it begins.
 */
static inline uint64_t record_now(void)
{
	return __rdtsc();
}

static inline uint64_t record_now_ordered(void)
{
	unsigned int cpu;
	uint64_t time = __rdtscp(&cpu);

	_mm_lfence();
	return time;
}

static inline void record_put(struct rt_thread *t, uint64_t what, uint64_t when)
{
	uint64_t *to = t->rec.next;

	to[1] = when;
	/* A unit without its operation is not there yet. */
	RT_COMPILER_BARRIER();
	to[0] = what;
	t->rec.next = to + 2;
}

static inline uint64_t record_what(enum raw_op op, uint64_t address, uint32_t aux)
{
	return (address & RAW_ADDRESS_MASK) | (uint64_t)op << 48 | (uint64_t)aux << 56;
}

static inline uint64_t record_when(const struct rt_thread *t, uint64_t time, uintptr_t pc)
{
	return (uint32_t)(time - t->rec.base) | (uint64_t)pc << 32;
}

/* One unit at a time that was taken before. */
static inline void record_at(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			     uint64_t time, uintptr_t pc)
{
	if (!record_on)
		return;
	if (RT_UNLIKELY(t->rec.next == t->rec.end || (time - t->rec.base) >> 32 ||
			(pc ^ t->rec.pc_high) >> 32) &&
	    !record_room(t, 1, &time, pc))
		return;
	record_put(t, record_what(op, address, aux), record_when(t, time, pc));
}

static inline void record(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			  uintptr_t pc)
{
	/* The clock costs more than all else that is done for a call. */
	if (RT_UNLIKELY(record_on))
		record_at(t, op, address, aux, record_now(), pc);
}

/* With a size behind it. */
void record_sized(struct rt_thread *t, enum raw_op op, uint64_t address, uint64_t size,
		  uint64_t time, uintptr_t pc);

/* An access, of a range or not. */
static inline void record_access(struct rt_thread *t, enum raw_op op, uintptr_t address,
				 size_t size, uint64_t time, uintptr_t pc)
{
	if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
		record_sized(t, op, address, size, time, pc);
	else
		record_at(t, op, address, (uint32_t)size, time, pc);
}

/*
 * Times of operations on one lock are in the order in which they happened, even
 * where the clocks of two processors are not: each object remembers, in a
 * table by hash, the last time of a release.
 */
uint64_t record_time_acquired(const void *lock);
uint64_t record_time_releasing(const void *lock);

#endif
