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
 * The trick. The transactions of a thread form a chain: a transaction that
 * reaches one of them reaches all later ones. So what A reaches in a thread s is
 * described by one number, the index of the first transaction of s that A reaches: A's
 * frontier in s. At most one transaction per thread is open, so the whole
 * state is a square matrix
 *
 *	reach[s][a]  the first index in s that the open transaction of a reaches
 *
 * (an open transaction reaches itself: reach[a][a] says whether a has one).
 *
 * An edge from step (s, i) into thread t, with A open in t, closes a cycle iff
 * reach[s][t] <= i. Otherwise every open transaction that reaches (s, i) now
 * reaches t's current transaction, and with it all that A reaches. No edges are
 * stored; a transaction that ends leaves the matrix and nothing is swept.
 *
 * Most edges change nothing, and one comparison shows it: seen[t][s] is the highest
 * index of s from which t took an edge (for t itself: any). An edge from there or
 * from before adds nothing, now or later (what reaches (s, i) later does so through
 * a transaction that is open now, and so reaches t by the matrix).
 *
 * An operation outside blocks shares its predecessor's index, unless by its edge
 * one more open transaction reaches the thread: then the index goes up first, so
 * that the earlier operations are not reached.
 *
 * Slots. Rows and columns belong to slots, not threads. A slot that no open
 * transaction reaches, and whose thread has none open, can be given to another
 * thread: its index just goes on, so that steps from its former life compare
 * as not reached, which is right. Memory is thus bounded by the threads that
 * conflict with each other at one time.
 *
 * Included by: the files of precise/, the runtime, tests.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_ORDER_H
#define ATOMSAN_ENGINE_PRECISE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * An engine's index counts transactions. The runtime's index counts what a thread
 * does, which says more: any number from the begin of a transaction to the begin of
 * the next stands for that transaction. This needs more bits.
 */
#ifdef ORDER_WIDE
typedef int64_t order_index;
#define ORDER_INDEX_BITS 43
#define ORDER_NEVER      INT64_MAX /* an index that is never reached */
#else
typedef int32_t order_index;
#define ORDER_INDEX_BITS 32
#define ORDER_NEVER      INT32_MAX
#endif
#define ORDER_NO_SLOT  UINT32_MAX
#define ORDER_NAMELESS (UINT32_MAX - 1) /* a thread that is not in slot_of */

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
	 * Rows to compare a step's index with, by its slot: an edge from an index at or
	 * below the row's is known to add nothing. ROW_SEEN is seen[t]; by ROW_SELF only
	 * steps of slot t itself are known, and STEP_NONE.
	 */
	const order_index *row[2];
	uint32_t thread;       /* its owner, ORDER_NAMELESS, or ORDER_NO_SLOT */
	uint32_t reached : 31; /* how many other slots its open transaction reaches */
	uint32_t left : 1;     /* its thread has ended */
	uint32_t others;       /* how many open transactions of other slots reach it */
#ifdef ORDER_WIDE
	uint32_t touched; /* see order_end_alone() */
	bool reaches_all; /* see `nreaching_all` */
#endif
};
enum { ROW_SEEN, ROW_SELF }; /* as effect.h's `own` */

/* The edge by which a transaction came to reach a slot. */
struct order_why {
	uint64_t src, dst; /* the caller's names of the two ends */
	uint32_t from;     /* slot of src */
};

struct order {
	uint32_t n;   /* slots ever used */
	uint32_t cap; /* row length: a multiple of ORDER_LANES */
	order_index *reach;
	order_index *seen;
	order_index *self;     /* zeros around one ORDER_NEVER: each ROW_SELF points into it */
	uint32_t *reached;     /* the list of slots that slot t's open transaction reaches */
	struct order_why *why; /* indexed like reach; NULL unless order_init() asked for it */
	struct order_slot *slot;
	uint32_t *free; /* free slots */
	uint32_t nfree, nleft;
	uint32_t *slot_of; /* by thread */
	size_t nthreads;
	order_index last_index; /* a thread moves to a new slot here; tests make it small */
	uint32_t take_idle;     /* with this many slots, idle ones are taken away; likewise */
#ifdef ORDER_WIDE
	/*
	 * Blame follows operations, also along an edge that closed a cycle and was left out. So a
	 * transaction that reaches the source of such an edge, but not its end, may be to blame by
	 * a path that is not in the order. While it is open, every slot counts as reached by it, so
	 * that the caller forgets nothing. This is the number of such transactions.
	 */
	uint32_t nreaching_all;
#endif
	/*
	 * Nothing may move: slots of ended threads are reused after a while, and order_enter()
	 * returns ORDER_NO_SLOT if none is left.
	 */
	bool fixed;
	/*
	 * Reuse slots as soon as possible, because they are expensive for the caller. As a rule a
	 * new thread gets the slot of the thread that ended last.
	 */
	bool early;
	uint32_t sweep_at; /* with `early`: sweep when more threads than this have ended */
};
enum { ORDER_LANES = 8 };

void order_init(struct order *o, bool keep_why);
void order_free(struct order *o);
/* Make room for this many slots: nothing moves until there are more. */
void order_reserve(struct order *o, uint32_t slots);

/* Allow threads 0 .. n-1 from now on. */
void order_threads(struct order *o, size_t n);

/* The slow half of order_slot_of(). */
uint32_t order_enter(struct order *o, uint32_t thread);

static inline uint32_t order_slot_of(struct order *o, uint32_t thread)
{
	uint32_t t = o->slot_of[thread];

	return t != ORDER_NO_SLOT ? t : order_enter(o, thread);
}

/* The thread has ended and will have no more events. Ends its open transaction. */
void order_leave(struct order *o, uint32_t thread);

/*
 * The same for a caller that knows the slots of its threads: order_threads() is not needed, and
 * nothing is kept for a thread that has ended. A slot without a thread is left alone.
 */
uint32_t order_enter_slot(struct order *o);
void order_leave_slot(struct order *o, uint32_t t);
/* Move the slots of ended threads into `free`, as far as they can be reused. */
void order_sweep(struct order *o);

/*
 * A transaction begins or ends in slot t. order_begin() returns the slot to use
 * from now on, which is nearly always t itself.
 */
uint32_t order_begin(struct order *o, uint32_t t);
void order_end(struct order *o, uint32_t t);

/*
 * The usual begin or end, without a branch on which of them it is. Returns false,
 * and does nothing, if it is not the usual case.
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
 * Threads share the order under a lock, but a thread begins and ends its own transactions without
 * it, as long as no other thread has taken an edge from what this transaction reaches. A thread
 * that takes such an edge, under the lock, marks the slot as touched and then checks whether it is
 * still open; the owner closes it and then checks whether it was touched. One of the two sees the
 * other. If order_end_alone() returns false, call order_end() under the lock.
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

/* Is an edge from `src` into slot t known to add nothing? */
static inline bool order_knows(const struct order *o, uint32_t t, step src)
{
	return o->seen[(size_t)t * o->cap + step_slot(src)] >= step_index(src);
}

/*
 * The fast path for an edge that order_knows() does not know: if no open transaction
 * reaches `src`, it adds nothing and closes no cycle. If this returns false, call
 * order_add().
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
 * Add an edge from `src`, which order_knows() did not know, into the current
 * transaction of slot t. Returns ORDER_CYCLE if it would close a cycle; it is left
 * out then. `src_name` and `dst_name` are kept in `why`, if the order has that.
 * Afterwards reload o->slot[t].now; the thread may have another slot: reload that
 * as well.
 */
enum order_edge order_add(struct order *o, uint32_t t, step src, uint64_t src_name,
			  uint64_t dst_name);

#endif
