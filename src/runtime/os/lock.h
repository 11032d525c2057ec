/*
 * Internal locks: held for a few instructions, except RT_REPLAY, and never while
 * the program's own code runs.
 *
 * Each lock has a rank. A thread that holds a lock may take another one only if
 * the rank of that one comes later in the list below. If compiled with
 * ATOMSAN_DEBUG, a violation ends the program with a message (lock_rank.c).
 * docs/architecture.md says what each lock protects, and which locks a thread
 * takes while it holds it.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_LOCK_H
#define ATOMSAN_RUNTIME_OS_LOCK_H

#include "runtime/os/os.h"

enum rt_rank {
	RT_MODULES = 1, /* the list of loaded modules */
	RT_LABELS,      /* the table of label numbers */
	RT_STRIPE,      /* a stripe of the shadow; one at a time */
	RT_GRAPH,       /* doublechecker's graph; taken before RT_ORDER at a fork */
	RT_ORDER,       /* the order of transactions */
	RT_REPLAY,      /* doublechecker's replay; held for as long as that takes */
	RT_HISTORIES,   /* the set of histories: none begins or ends; threads go on writing */
	RT_REGIONS,     /* the shadow's regions; taken before its lists at a fork */
	RT_LEAF,        /* any other lock; only RT_MODE may be taken while it is held */
	RT_MODE,        /* the choice of the mode */
	RT_REPORTER,    /* the connection; taken only by a thread that holds no lock */
};

/* Wait until the lock is free, and take it. */
void rt_lock_slow(uint32_t *l);

#ifdef ATOMSAN_DEBUG
/* The calling thread is about to take a lock; die if the rank does not allow it. */
void rt_rank_take(const uint32_t *l, enum rt_rank rank);
/* The calling thread is about to release a lock; die if it does not hold it. */
void rt_rank_give(const uint32_t *l);
/* In a forked child: forget the locks that the thread held before fork(). */
void rt_rank_child(void);
#else
static inline void rt_rank_take(const uint32_t *l, enum rt_rank rank)
{
	(void)l;
	(void)rank;
}
static inline void rt_rank_give(const uint32_t *l)
{
	(void)l;
}
static inline void rt_rank_child(void)
{
}
#endif

static inline void rt_lock_ranked(uint32_t *l, enum rt_rank rank)
{
	rt_rank_take(l, rank);
	if (RT_UNLIKELY(__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE)))
		rt_lock_slow(l);
}

/* Take a lock of rank RT_LEAF. */
static inline void rt_lock(uint32_t *l)
{
	rt_lock_ranked(l, RT_LEAF);
}

static inline void rt_unlock(uint32_t *l)
{
	rt_rank_give(l);
	__atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

/* Take the lock if it is free. This never waits, so the lock's rank does not matter. */
static inline bool rt_try_lock(uint32_t *l)
{
	return !__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE);
}

/* Release a lock that rt_try_lock() has taken. */
static inline void rt_unlock_tried(uint32_t *l)
{
	__atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

#endif
