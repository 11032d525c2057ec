/*
 * The order of transactions: would this edge close a cycle?
 *
 * Semantics. Transactions are nodes of a graph; edges come from conflicts and
 * from the order within a thread. A new edge always ends in the transaction
 * that its thread is executing now (an open block, or an operation outside
 * blocks), because only that one is doing anything. So a cycle can only be
 * closed at an open transaction A, by an edge from something that A reaches,
 * and all we ever need to know is what the open transactions reach.
 *
 * The trick. The transactions of a thread form a chain: whoever reaches one of
 * them reaches all later ones. So what A reaches in a thread s is fully told
 * by one number, the index of the first transaction of s that A reaches: A's
 * frontier in s. At most one transaction per thread is open, so the whole
 * state is a square matrix
 *
 *	reach[s][a]  the first index in s that the open transaction of a reaches
 *
 * (an open transaction reaches itself: reach[a][a] tells whether a has one).
 *
 * An edge from step (s, i) into thread t, with A open in t, closes a cycle iff
 * reach[s][t] <= i. Otherwise everybody open who reaches (s, i) now reaches
 * t's current transaction, and with it all that A reaches. No edges are
 * stored; a transaction that ends leaves the matrix and nothing is swept.
 *
 * Most edges change nothing, and one comparison tells: seen[t][s] is the
 * highest index of s from which t took an edge (for t itself: any); one from there or before
 * brings nothing new, now or later (what reaches (s, i) later does so through
 * a transaction that is open now, and so reaches t by the matrix).
 *
 * An operation outside blocks shares its predecessor's index unless its edge
 * brings somebody new: then the index goes up first, so that what was there
 * before is not reached.
 *
 * Slots. Rows and columns belong to slots, not threads. A slot that no open
 * transaction reaches, and whose thread has none open, can be given to another
 * thread: its index just goes on, so that steps from its former life compare
 * as reached by nobody, which is what they are. Memory is thus bounded by the
 * threads that are entangled at one time.
 *
 * Who may include this: the files of precise/, the runtime, tests.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_ORDER_H
#define ATOMSAN_ENGINE_PRECISE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An engine counts transactions. The runtime counts what a thread does, so that
 * an index tells more than which transaction it was: any number from the
 * begin of one to the begin of the next stands for it. Those need more bits.
 */
#ifdef ORDER_WIDE
typedef int64_t order_index;
#define ORDER_INDEX_BITS 43
#define ORDER_NEVER      INT64_MAX /* an index that nobody reaches */
#else
typedef int32_t order_index;
#define ORDER_INDEX_BITS 32
#define ORDER_NEVER      INT32_MAX
#endif
#define ORDER_NO_SLOT  UINT32_MAX
#define ORDER_NAMELESS (UINT32_MAX - 1) /* a thread that slot_of has no place for */

/* A point in the order: slot, then index. 0 is nowhere; indices start at 1. */
typedef uint64_t step;
#define STEP_NONE ((step)0)

static inline uint32_t step_slot(step s)
{
	return (uint32_t)(s >> ORDER_INDEX_BITS);
}

static inline order_index step_index(step s)
{
	return (order_index)(s & ((1ull << ORDER_INDEX_BITS) - 1));
}

struct order_slot {
	step now; /* the thread's current transaction */
	/*
	 * Rows to compare a step's index with, by its slot: an index at or below
	 * the row's is known. ROW_SEEN is seen[t]; ROW_SELF knows only slot t
	 * itself, and STEP_NONE.
	 */
	const order_index *row[2];
	uint32_t thread;       /* whose it is, ORDER_NAMELESS, or ORDER_NO_SLOT */
	uint32_t reached : 31; /* how many other slots its open transaction reaches */
	uint32_t left : 1;     /* its thread has ended */
	uint32_t others;       /* how many open transactions of other slots reach it */
#ifdef ORDER_WIDE
	uint32_t touched; /* see order_end_alone() */
	bool reaches_all; /* see `nreaching_all` */
#endif
};
enum { ROW_SEEN, ROW_SELF }; /* as effect.h's `own` */

/* How a transaction came to reach a slot: the edge that did it. */
struct order_why {
	uint64_t src, dst; /* what the caller calls the two ends */
	uint32_t from;     /* slot of src */
};

struct order {
	uint32_t n;   /* slots ever used */
	uint32_t cap; /* row length: a multiple of ORDER_LANES */
	order_index *reach;
	order_index *seen;
	order_index *self;     /* zeros around one ORDER_NEVER: every ROW_SELF is a part of it */
	uint32_t *reached;     /* the list of slots that slot t's open transaction reaches */
	struct order_why *why; /* like reach; NULL unless asked for */
	struct order_slot *slot;
	uint32_t *free; /* slots to give away */
	uint32_t nfree, nleft;
	uint32_t *slot_of; /* by thread */
	size_t nthreads;
	order_index last_index; /* a thread moves to a new slot here; tests make it small */
	uint32_t take_idle;     /* idle slots are taken away from this many on; likewise */
#ifdef ORDER_WIDE
	/*
	 * Blame follows operations, also along an edge that closed a cycle and was left out. So a
	 * transaction that reaches the source of such an edge, and not its end, may come to hear
	 * of itself by a way that is not in the order. While it is open every slot counts as
	 * reached by it: the caller forgets nothing then.
	 */
	uint32_t nreaching_all;
#endif
	bool fixed; /* nothing may move: slots of ended threads are used again after a while, and
		     * where none is left order_enter() gives ORDER_NO_SLOT */
	/*
	 * As soon as can be: to the caller a slot is dear, and the next thread has that of the one
	 * which ended last, as a rule.
	 */
	bool early;
	uint32_t sweep_at; /* then: where more than this have ended */
};
enum { ORDER_LANES = 8 };

void order_init(struct order *o, bool keep_why);
void order_free(struct order *o);
/* Room for so many slots at once: nothing moves until there are more. */
void order_reserve(struct order *o, uint32_t slots);

/* Threads 0 .. n-1 may be used from now on. */
void order_threads(struct order *o, size_t n);

/* The slow half of order_slot_of(). */
uint32_t order_enter(struct order *o, uint32_t thread);

static inline uint32_t order_slot_of(struct order *o, uint32_t thread)
{
	uint32_t t = o->slot_of[thread];

	return t != ORDER_NO_SLOT ? t : order_enter(o, thread);
}

/* The thread has ended: no more of its events will come. Ends what it has open. */
void order_leave(struct order *o, uint32_t thread);

/*
 * The same for who knows the slots of its threads: order_threads() is not needed, and nothing is
 * kept for a thread that was. A slot that nobody has is left alone.
 */
uint32_t order_enter_slot(struct order *o);
void order_leave_slot(struct order *o, uint32_t t);
/* What can be had of the slots of threads that have ended is in `free` now. */
void order_sweep(struct order *o);

/*
 * A transaction begins or ends in slot t. order_begin() returns the slot to use
 * from now on, which is nearly always t itself.
 */
uint32_t order_begin(struct order *o, uint32_t t);
void order_end(struct order *o, uint32_t t);

/*
 * The usual begin or end, without a branch on which of them it is; false where
 * it is not usual and nothing was done.
 */
static inline bool order_toggle(struct order *o, uint32_t t, bool begin)
{
	struct order_slot *slot = &o->slot[t];

	if (slot->reached || step_index(slot->now) >= o->last_index)
		return false;
	slot->now += begin;
	o->reach[(size_t)t * o->cap + t] = begin ? step_index(slot->now) : ORDER_NEVER;
	return true;
}

#ifdef ORDER_WIDE
/*
 * Many threads share the order under a lock, but a thread begins and ends its own transactions
 * without it, as long as nobody has taken an edge that this transaction reaches. Whoever does,
 * under the lock, marks the slot as touched and then looks whether it is still open; the owner
 * closes it and then looks whether it was touched. One of the two sees the other. False:
 * order_end(), under the lock.
 */
static inline void order_begin_alone(struct order *o, uint32_t t, order_index index)
{
	o->slot[t].now = (step)t << ORDER_INDEX_BITS | (step)index;
	__atomic_store_n(&o->reach[(size_t)t * o->cap + t], index, __ATOMIC_RELEASE);
}

static inline bool order_end_alone(struct order *o, uint32_t t)
{
	__atomic_exchange_n(&o->reach[(size_t)t * o->cap + t], ORDER_NEVER, __ATOMIC_SEQ_CST);
	return !__atomic_load_n(&o->slot[t].touched, __ATOMIC_SEQ_CST);
}
#endif

/* Is an edge from `src` into slot t known to bring nothing? */
static inline bool order_knows(const struct order *o, uint32_t t, step src)
{
	return o->seen[(size_t)t * o->cap + step_slot(src)] >= step_index(src);
}

/*
 * The short way to take an edge that order_knows() does not know: where nobody
 * open reaches `src`, it brings nothing and closes nothing. False: order_add().
 */
static inline bool order_skip(struct order *o, uint32_t t, step src)
{
	uint32_t s = step_slot(src);

	if (o->slot[s].others || o->reach[(size_t)s * o->cap + s] <= step_index(src))
		return false;
	o->seen[(size_t)t * o->cap + s] = step_index(src);
	return true;
}

/* Does the open transaction of slot t, if there is one, reach `src`? */
static inline bool order_reaches(const struct order *o, uint32_t t, step src)
{
	return o->reach[(size_t)step_slot(src) * o->cap + t] <= step_index(src);
}

/* Is there any open transaction that reaches `src`, or is it in one? */
bool order_alive(const struct order *o, step src);

enum order_edge { ORDER_ADDED, ORDER_CYCLE };

/*
 * An edge from `src`, which order_knows() did not know, into what slot t is
 * doing now. ORDER_CYCLE: it would close a cycle, and was left out. `src_name`
 * and `dst_name` are kept where the order was asked to know why. Reload
 * o->slot[t].now afterwards; the slot itself may change: reload it as well.
 */
enum order_edge order_add(struct order *o, uint32_t t, step src, uint64_t src_name,
			  uint64_t dst_name);

#endif
