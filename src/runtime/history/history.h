/*
 * The history of each thread: its last units (trace/raw_format.h), kept for reports.
 * Units are calls and returns, operations on locks, allocations, and the accesses
 * that were new to the shadow. An access that repeats another one of the same
 * stretch has no unit.
 *
 * Times. The time of a unit is the thread's time (shadow/time.h), so the time in a
 * word of the shadow leads to a unit. A RAW_TIME unit sets the clock of the units
 * after it; clocks put the units of all threads in order.
 *
 * Chunks. A history is a ring of chunks. Each chunk begins with a prologue: the
 * calls that were open and the locks that were held at that moment. So a chunk can
 * be read without those before it.
 *
 * Saved operations. When a chunk is overwritten, its operations that are not dead are
 * saved, with the calls around them (history_locks.c): a step of a cycle may be as old
 * as the oldest open transaction. Operations on locks go to a ring; there are few of
 * them as a rule, so they outlast a long stretch of work without locks. Accesses go to
 * a table by their place in the program: a few for each place, so that a loop over
 * much memory takes no room from other places.
 *
 * A history belongs to a slot. What a thread did can be read until another thread
 * gets the slot. By then all of its steps are dead (engine/precise/order.h), so no
 * report needs them.
 *
 * Only its thread writes units. Other threads read them meanwhile: a reader loads
 * a chunk's serial before and after, and drops what it read if they differ.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_HISTORY_H
#define ATOMSAN_RUNTIME_HISTORY_HISTORY_H

#include "runtime/history/unit.h"
#include "runtime/shadow/slot.h"

enum {
	HISTORY_CHUNK = 1 << 12,    /* units of a chunk */
	HISTORY_SPARE = 8,          /* units after rt_log.end: for RAW_TIME, RAW_PC_HIGH, a size */
	HISTORY_STACK = 24,         /* calls in the stack of an origin */
	HISTORY_EDGE = RAW_OPS,     /* operation of an edge's unit, see history_put_edge() */
	HISTORY_LOCKS = 1 << 10,    /* saved operations on locks */
	HISTORY_CALLS = 6,          /* calls that are saved with each */
	HISTORY_WAYS = 4,           /* saved accesses of the places with the same hash */
	HISTORY_ACCESSES = 1 << 12, /* saved accesses */
	HISTORY_BOOKMARKS = 1 << 6, /* bookmarks of a chunk */
};

struct history_stack {
	uint32_t n;
	struct {
		uintptr_t function, caller;
	} v[HISTORY_STACK]; /* outermost first */
};

struct history_chunk {
	uint64_t serial;         /* counts the chunks of the history from 1; 0: not in use */
	uint64_t base;           /* the time that its units count from */
	uint64_t clock, pc_high; /* those of its first unit */
	uint64_t *end;           /* the end of its units; set when the next chunk begins */
	uint32_t prologue;       /* number of units in the prologue */
	bool left_start;         /* the thread had left its start function when the chunk began */
	uint32_t nbookmarks;     /* 0 unless `bookmarked` is the serial */
	uint64_t bookmarked;     /* the serial that the bookmarks belong to */
};

/* A place to start reading from, made by history_walk_to(). */
struct history_bookmark {
	const uint64_t *u;             /* the end of a unit */
	uint64_t time, clock, pc_high; /* those of the unit */
};

/* A saved operation on a lock, or a saved access. */
struct history_lock_op {
	uint64_t address, time, clock;
	uint64_t pc, call[HISTORY_CALLS]; /* calls around it, innermost first; 0 after the last */
	uint64_t op;                      /* enum raw_op */
	uint32_t aux;
	bool edge;      /* an edge came in with it */
	uint64_t since; /* of an access: the time of the last edge before it, or one after that */
	uint64_t size;  /* of an access */
};
/* The same in its ring or table, see history_locks.c. */
struct history_lock {
	uint64_t stamp, data[sizeof(struct history_lock_op) / sizeof(uint64_t)];
};

struct history {
	struct rt_thread *owner; /* NULL: the thread has ended */
	uint64_t *end;           /* if it has ended: the end of its units, */
	uint64_t last_clock;     /* their last clock, */
	uint64_t last_time;      /* and the thread's last time; UINT64_MAX: not known */
	uint32_t thread, slot;
	uint32_t nchunks, at;           /* number of chunks; the one being written */
	uint64_t *units;                /* HISTORY_CHUNK for each chunk */
	uint64_t serial;                /* of the last chunk */
	uint64_t report, report_serial; /* the last report seen by the writer; `serial` then */
	uintptr_t stack_low, stack_high;
	struct history_lock *locks;    /* ring of HISTORY_LOCKS; NULL: operations are not saved */
	struct history_lock *accesses; /* table of HISTORY_ACCESSES; NULL likewise */
	struct history_bookmark *bookmarks; /* HISTORY_BOOKMARKS for each chunk */
	uint64_t nlocks; /* number of lock operations saved since the thread began */
	struct history_chunk chunk[];
};

/*
 * The tool replays histories (doublechecker). They are four times as long then, have markers (edges
 * without an address), and save no lock operations. Set before the first history begins.
 */
extern bool history_for_replay;

/* --- a history's life --- */

/* Begin the history of a thread that has got its slot. False: no memory. */
bool history_begin(struct rt_thread *t);
/* The thread ends; its history can still be read. */
void history_end(struct rt_thread *t);
/* Empty the history of a slot that no thread has, and give its memory back. */
void history_forget(uint32_t slot);
/* In a forked child: all other threads have ended. */
void history_child(struct rt_thread *t);

/* --- writing, by the history's thread --- */

/* Begin a new chunk now. */
void history_restart(struct rt_thread *t);
/* Make room for a unit of `op` at `pc`: the slow half of history_put(). */
void history_make_room(struct rt_thread *t, enum raw_op op, uintptr_t pc);

/*
 * Make room for all units of an operation on a lock. Call it before the held locks change: a chunk
 * that begins after that would have the lock twice, in its prologue and in its units.
 */
static inline void history_reserve(struct rt_thread *t)
{
	enum { UNITS = 64 };

	if (RT_UNLIKELY(t->hist.next + (size_t)2 * UNITS >= t->hist.end))
		history_restart(t);
}

/*
 * Can history_put_here() write a unit now? It can if the chunk is not full and the unit's time,
 * clock and pc can be expressed without another unit. The end of a chunk leaves room for the second
 * unit of a sized one.
 */
static inline bool history_has_room(const struct rt_thread *t, uintptr_t pc)
{
	const struct rt_log *l = &t->hist;

	return RT_LIKELY(!(l->next >= l->end || t->time.clock != l->clock ||
			   (pc ^ l->pc_high) >> 32 ||
			   ((t->time.now >> SHADOW_TIME_SHIFT) - l->base) >> 32));
}

/* Write a unit at the thread's time and clock. There is room: see history_has_room(). */
static inline void history_put_here(struct rt_thread *t, enum raw_op op, uint64_t address,
				    uint32_t aux, uintptr_t pc)
{
	struct rt_log *l = &t->hist;
	uint64_t *to = l->next;

	RT_ASSERT(t->time.clock == l->clock && !((pc ^ l->pc_high) >> 32) &&
		  !(((t->time.now >> SHADOW_TIME_SHIFT) - l->base) >> 32));
	RT_ASSERT(to < l->end + 2 * (HISTORY_SPARE - 1)); /* room for a size, too */
	RT_ASSERT(!t->history || t->history->owner == t);
	to[0] = unit_what(op, address, aux);
	to[1] = (uint32_t)((t->time.now >> SHADOW_TIME_SHIFT) - l->base) | (uint64_t)pc << 32;
	__atomic_store_n(&l->next, to + 2, __ATOMIC_RELEASE);
}

/* Write a unit at the thread's time and clock. */
static inline void history_put(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			       uintptr_t pc)
{
	if (RT_UNLIKELY(!history_has_room(t, pc)))
		history_make_room(t, op, pc);
	history_put_here(t, op, address, aux, pc);
}

/* Write a unit and its size. */
static inline void history_put_sized(struct rt_thread *t, enum raw_op op, uint64_t address,
				     uint64_t size, uintptr_t pc)
{
	history_put(t, op, address, 0, pc);
	t->hist.next[0] = size;
	t->hist.next[1] = 0;
	t->hist.next += 2;
}

/* history_put(), if the thread has a history. */
static inline void history_note(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
				uintptr_t pc)
{
	if (RT_LIKELY(t->history != NULL))
		history_put(t, op, address, aux, pc);
}

/* Write the call of a function that was entered. The thread has a history. */
static inline void history_put_call(struct rt_thread *t, struct rt_frame *f)
{
	f->begin = t->time.now;
	history_put(t, RAW_CALL, f->function, f->kind, f->caller);
	f->unit = t->hist.next;
}

/*
 * Write the return of a function. If no unit was written since its call, the call is removed
 * instead, unless it is the call of the start function. The thread has a history.
 */
static inline void history_put_return(struct rt_thread *t, struct rt_frame *f)
{
	if (t->hist.next == f->unit && !f->starts)
		t->hist.next -= 2;
	else
		history_put(t, RAW_RETURN, 0, 0, t->hist.pc_high);
}

/*
 * Write that an edge came in from `word`: a unit with the address of the accessed memory (0: none),
 * and the word as its size. The unit of the operation that took the edge comes next.
 */
void history_put_edge(struct rt_thread *t, uint64_t word);

/* Copy the thread's present stack; of a deep one, the innermost calls. */
void history_stack(const struct rt_thread *t, struct history_stack *to);

/* --- reading, for reports --- */

/* Hold the histories: threads go on writing, but no history begins or ends meanwhile. */
void history_hold(void);
void history_let_go(void);
/*
 * A report is being made from the histories. A thread that has overwritten half of its history
 * since the report began waits, for about half a second at most, since the report may need the
 * rest.
 */
void history_report_begin(void);
void history_report_end(void);

/* The rest is called with the histories held, or by the history's own thread. */

/* Returns NULL if no thread ever had the slot. */
struct history *history_of_slot(uint32_t slot);
/* Go through all histories, from NULL to NULL. */
struct history *history_next(struct history *after);

static inline bool history_is_access(enum raw_op op)
{
	return op == RAW_READ || op == RAW_WRITE || op == RAW_UPDATE || op == RAW_READ_RANGE ||
	       op == RAW_WRITE_RANGE;
}

static inline bool history_is_on_lock(enum raw_op op)
{
	return op >= RAW_ACQUIRE && op <= RAW_SEM_POST;
}

/* A walk through the units of a chunk. RAW_TIME and RAW_PC_HIGH are read, but not shown. */
struct history_walk {
	const uint64_t *u, *end; /* the end of the present unit; the end of all */
	uint64_t base, pc_high;
	/* The present unit: */
	uint64_t address, time, clock, size;
	uintptr_t pc;
	enum raw_op op;
	uint32_t aux;
	bool prologue; /* it belongs to the prologue */
	const uint64_t *prologue_end;
};
/* Start a walk. False: the chunk is not in use, or is just being overwritten. */
bool history_walk(struct history_walk *w, const struct history *h, uint32_t chunk);
/*
 * The same, but most units before `time` are skipped. w->time and w->clock are those of the last
 * skipped unit; if w->time is 0, no unit was skipped. This makes bookmarks, so the caller must hold
 * the histories.
 */
bool history_walk_to(struct history_walk *w, struct history *h, uint32_t chunk, uint64_t time);
/* Go to the next unit. False: there is none. */
bool history_walk_next(struct history_walk *w);

/*
 * Find where to look for the first unit of `time`: it is in `*chunk` or in a later one. False: it
 * may have been overwritten, and `*chunk` is the oldest chunk.
 */
bool history_chunk_of(const struct history *h, uint64_t time, uint32_t *chunk);

/* --- saved operations --- */

/*
 * Save the operations of a chunk that is about to be overwritten: those from the time `dead` on
 * that can be a step of a cycle. Called by the history's thread.
 */
void history_save_ops(struct history *h, uint32_t chunk, uint64_t dead);
/* Save one operation. */
void history_put_lock(struct history *h, const struct history_lock_op *op);

/*
 * Saved operations are numbered from 0, and their times do not decrease. Returns how many were
 * saved; `*first` is the first of them that is still in the ring.
 */
uint64_t history_locks(const struct history *h, uint64_t *first);
/* Copy one. False: it was overwritten meanwhile, and so were those before it. */
bool history_lock_at(const struct history *h, uint64_t number, struct history_lock_op *to);

/*
 * Find the saved access that a step stands for. If `address` is not 0, an edge came from it: it
 * accessed that address, at `time` or later in the same stretch. If it is 0, an edge went to it: it
 * has that time.
 */
bool history_access_at(const struct history *h, uint64_t time, uint64_t address,
		       struct history_lock_op *to);

/* Returns the end of the history's units, where its thread is writing now. */
static inline uint64_t *history_end_of(const struct history *h)
{
	return h->owner ? __atomic_load_n(&h->owner->hist.next, __ATOMIC_ACQUIRE) : h->end;
}

#endif
