/*
 * What each thread did lately: a ring of units as in a recording
 * (trace/raw_format.h), for the reports. Calls and returns, operations on
 * locks, and those accesses that the check had to look at; what repeats one of
 * the same transaction is not there.
 *
 * A unit's time is the check's time (check.h), and so the time in a word of
 * the shadow leads to the unit. RAW_TIME says which clock the units
 * behind it have, for putting the threads' units in order.
 *
 * The ring is cut into chunks. Each begins with the calls that were open and the locks that
 * were held then, so that it can be read without those before it.
 *
 * What is overwritten and may still be of interest is gone, but for operations on locks: these go
 * to a ring of their own then, with their calls. There are few of them, as a rule, and a block that
 * works for itself for long does not overwrite them.
 *
 * A history belongs to a slot. What a thread did can be looked at until the next one has its slot,
 * and by then nobody asks: see order.h.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_HISTORY_H
#define ATOMSAN_RUNTIME_HISTORY_HISTORY_H

#include "runtime/history/unit.h"
#include "runtime/shadow/slot.h"

enum {
	HISTORY_CHUNK = 1 << 12, /* units */
	HISTORY_STACK = 24,      /* calls that are kept of where something came from */
	HISTORY_EDGE = RAW_OPS,  /* an edge from a word, which is the size behind it */
	HISTORY_LOCKS = 1 << 10, /* operations on locks */
	HISTORY_CALLS = 6,       /* and the calls that are kept of each */
	HISTORY_MARKS = 1 << 6,  /* places in a chunk to begin at */
};

struct history_stack {
	uint32_t n;
	struct {
		uintptr_t function, caller;
	} v[HISTORY_STACK]; /* outermost first */
};

struct history_chunk {
	uint64_t serial; /* 1 + how many there were before; 0: not in use */
	uint64_t base;   /* time that its units count from */
	uint64_t clock, pc_high;
	uint64_t *end;     /* of its units, when it is full */
	uint32_t prologue; /* so many units tell how things stood */
	bool started;      /* the function that the thread began with is not among them */
	bool locks;        /* there are operations on some among them */
	uint32_t nmarks;   /* where `marked` is its serial */
	uint64_t marked;
};

/*
 * For who looks for something later: begin behind this unit. Made by who looks, see
 * history_walk_to().
 */
struct history_mark {
	const uint64_t *u;
	uint64_t time, clock, pc_high; /* of the unit */
};

/* One of those operations, with where it was called. */
struct history_lock_op {
	uint64_t address, time, clock;
	uint64_t pc, call[HISTORY_CALLS]; /* innermost first, 0 behind the last */
	uint64_t op;                      /* enum raw_op */
	uint32_t aux;
	bool edge; /* one came in with it */
};
/* In the ring: see history_locks.c. */
struct history_lock {
	uint64_t stamp, word[sizeof(struct history_lock_op) / sizeof(uint64_t)];
};

struct history {
	struct rt_thread *owner; /* NULL: it has ended, and `next` tells where */
	uint64_t *next, last;    /* then: the end of its units, and their last clock */
	uint64_t last_time;      /* and the time behind them */
	uint32_t thread, slot;
	uint32_t nchunks, at; /* chunks in the ring; the one being written */
	uint64_t *units;
	uint64_t serial; /* of the last chunk */
	uint64_t telling,
		told_serial; /* the report that was being made lately; the one at its start */
	uintptr_t stack_low, stack_high;
	struct history_lock *locks; /* HISTORY_LOCKS; NULL: these are not kept */
	struct history_mark *marks; /* HISTORY_MARKS of each chunk */
	uint64_t nlocks;            /* that were written since its thread began */
	struct history_chunk chunk[];
};

/*
 * Histories are replayed (doublechecker): they are four times as long, have markers (edges without
 * an address), and keep no operations on locks apart. Set before the first begins.
 */
extern bool history_for_replay;

/* A thread begins. False: no memory. */
bool history_begin(struct rt_thread *t);
/* It ends; what it did can still be looked at. */
void history_end(struct rt_thread *t);
/* Nobody has the slot: its history is empty, and takes no memory. */
void history_forget(uint32_t slot);
/* Only the caller's is left. */
void history_child(struct rt_thread *t);

/* Begin a chunk, with what is open now. */
void history_restart(struct rt_thread *t);
void history_room(struct rt_thread *t, enum raw_op op, uintptr_t pc);

/* Before a lock is held: a chunk that begins while it is being noted would have it twice. */
static inline void history_reserve(struct rt_thread *t)
{
	enum { NOTED = 64 };

	if (RT_UNLIKELY(t->hist.next + (size_t)2 * NOTED >= t->hist.end))
		history_restart(t);
}

/* At the thread's time and clock. There is always room for two more. */
static inline bool history_has_room(const struct rt_thread *t, uintptr_t pc)
{
	const struct rt_log *l = &t->hist;

	return RT_LIKELY(!(l->next >= l->end || t->time.clock != l->clock ||
			   (pc ^ l->pc_high) >> 32 ||
			   ((t->time.now >> SHADOW_TIME_SHIFT) - l->base) >> 32));
}

/* Where there is room. */
static inline void history_put_here(struct rt_thread *t, enum raw_op op, uint64_t address,
				    uint32_t aux, uintptr_t pc)
{
	struct rt_log *l = &t->hist;
	uint64_t *to = l->next;

	to[0] = unit_what(op, address, aux);
	to[1] = (uint32_t)((t->time.now >> SHADOW_TIME_SHIFT) - l->base) | (uint64_t)pc << 32;
	__atomic_store_n(&l->next, to + 2, __ATOMIC_RELEASE);
}

static inline void history_put(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
			       uintptr_t pc)
{
	if (RT_UNLIKELY(!history_has_room(t, pc)))
		history_room(t, op, pc);
	history_put_here(t, op, address, aux, pc);
}

static inline void history_put_sized(struct rt_thread *t, enum raw_op op, uint64_t address,
				     uint64_t size, uintptr_t pc)
{
	history_put(t, op, address, 0, pc);
	t->hist.next[0] = size;
	t->hist.next[1] = 0;
	t->hist.next += 2;
}

/* The same, if the thread has a history. */
static inline void history_note(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
				uintptr_t pc)
{
	if (RT_LIKELY(t->history != NULL))
		history_put(t, op, address, aux, pc);
}

/* An operation on a lock, or a join: history_locks.c looks only at chunks that have some. */
static inline void history_note_lock(struct rt_thread *t, enum raw_op op, uint64_t address,
				     uint32_t aux, uintptr_t pc)
{
	if (RT_LIKELY(t->history != NULL)) {
		history_put(t, op, address, aux, pc);
		t->history->chunk[t->history->at].locks = true;
	}
}

/* A function was entered. The thread has a history. */
static inline void history_put_call(struct rt_thread *t, struct rt_frame *f)
{
	f->begin = t->time.now;
	history_put(t, RAW_CALL, f->function, f->kind, f->caller);
	f->unit = t->hist.next;
}

/*
 * A function returns. A call during which nothing was noted is taken back, unless the thread began
 * with it. The thread has a history.
 */
static inline void history_put_return(struct rt_thread *t, struct rt_frame *f)
{
	if (t->hist.next == f->unit && !f->starts)
		t->hist.next -= 2;
	else
		history_put(t, RAW_RETURN, 0, 0, t->hist.pc_high);
}

/* An edge came in from a step: the access that it is for follows. */
void history_put_edge(struct rt_thread *t, uint64_t word);

/* The stack as it is now, its innermost part where it is deep. */
void history_stack(const struct rt_thread *t, struct history_stack *to);

/*
 * For reports, with the histories held still: threads go on, but none begins or ends.
 */
void history_hold(void);
void history_let_go(void);
/*
 * While a report is made of them a thread that has overwritten half of its history waits, since the
 * rest may be needed; but not for ever.
 */
void history_tell_begin(void);
void history_tell_end(void);
struct history *history_of_slot(uint32_t slot);
/* All of them, NULL at the end. */
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

/* Going through the units of a chunk. */
struct history_walk {
	const uint64_t *u, *end;
	uint64_t base, pc_high;
	/* The unit: */
	uint64_t address, time, clock, size;
	uintptr_t pc;
	enum raw_op op;
	uint32_t aux;
	bool prologue;
	const uint64_t *prologue_end;
};
/* False: it is not in use, or was about to be overwritten. */
bool history_walk(struct history_walk *w, const struct history *h, uint32_t chunk);
/*
 * The same, with the histories held: units before a time may be left out, and most are. `w->time`
 * and `w->clock` are those of the last that was; no time: none was.
 */
bool history_walk_to(struct history_walk *w, struct history *h, uint32_t chunk, uint64_t time);
/* False: that was all. */
bool history_walk_next(struct history_walk *w);

/*
 * Where the first of what was done at this time is: in this chunk, or one behind it. False: it may
 * be gone, and this is the oldest chunk.
 */
bool history_chunk_of(const struct history *h, uint64_t time, uint32_t *chunk);

/*
 * By the thread itself: a chunk is about to be overwritten. Operations on locks in it that may be
 * steps of a cycle, from the time `dead` on, go to the ring.
 */
void history_keep_locks(struct history *h, uint32_t chunk, uint64_t dead);
void history_put_lock(struct history *h, const struct history_lock_op *op);

/*
 * The operations that were kept, by their numbers, the times of which go up: from *first on, before
 * what history_locks() says. False: it was overwritten meanwhile, and so were those before it.
 */
uint64_t history_locks(const struct history *h, uint64_t *first);
bool history_lock_at(const struct history *h, uint64_t number, struct history_lock_op *to);

/* Where the thread is writing now. */
static inline uint64_t *history_end_of(const struct history *h)
{
	return h->owner ? __atomic_load_n(&h->owner->hist.next, __ATOMIC_ACQUIRE) : h->next;
}

#endif
