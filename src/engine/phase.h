/*
 * Thread phases, and which must come before which: not in this run, in every
 * run of these threads.
 *
 * A thread's forks, joins and barriers cut its life into phases. Of two points
 * in a run one must come before the other where a chain of these says so:
 *
 *  - earlier and later in one thread;
 *  - before fork(T), and in T;
 *  - in T, and after the first join(T) (a thread ends once: a second join
 *    brings nothing);
 *  - before a thread arrives at a barrier, and after another of the same round
 *    has gone on from it.
 *
 * Two points are concurrent where neither must come before the other. Locks
 * order nothing here: another run may take them the other way round. Nor do
 * condition variables.
 *
 * A barrier event is an arrival. It does not say how many are awaited, so
 * rounds are seen by what follows: threads that arrive one after the other
 * belong to one round until one of them does something else, or is joined; then
 * the round is over. A trace that has the event behind the barrier instead of
 * before it, once a thread goes on before all have passed, shows rounds that are
 * too small: less is ordered then, and nothing wrongly. One that has it on both
 * sides is understood. Where more threads use a barrier than it awaits, two
 * rounds may be taken for one.
 *
 * How: vector clocks, one a thread, counting phases. A clock is indexed by
 * slots. The slot of a thread that was joined goes to one whose forker knows of
 * that join: all of the old comes before all of the new, so a slot is one
 * sequence of phases and a clock needs no more of it than one number (a chain
 * decomposition of the order). Thus clocks are as long as there were threads at
 * one time, not in all.
 *
 * Cost: a load and a branch an event; at fork, join and barrier, and once for
 * each thread that goes on from a barrier, one clock. Memory: a clock for each
 * thread that was not joined.
 *
 * Who may include this: engines that ask what other runs could do.
 */
#ifndef ATOMSAN_ENGINE_PHASE_H
#define ATOMSAN_ENGINE_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* A phase: the index counts along the slot from 1, and never repeats in it. */
struct phase {
	uint32_t slot, index;
};

/* at[slot] is the last phase there that must come before; its own slot's is its own. */
struct phase_clock {
	uint32_t *at;
	size_t cap;
	uint32_t n;
};

struct phase_thread {
	bool runs; /* has a clock, and nothing to catch up with */
	struct phase now;
	struct phase_clock clock;
	struct phase_round *round; /* at a barrier: not NULL until it goes on */
	uint32_t barrier;          /* which */
};

struct phases {
	struct phase_thread *thread;
	size_t thread_cap;
	uint32_t *last; /* of a slot: the highest index given out */
	size_t last_cap;
	uint32_t nslots;
	uint32_t *free; /* slots of joined threads */
	size_t nfree, free_cap;
	struct phase_round **open; /* of a barrier: the round that can still be entered */
	size_t open_cap;
};

void phases_free(struct phases *p);

/* Make room for so many threads and locks: before the events that mention them. */
void phases_room(struct phases *p, uint32_t nthreads, uint32_t nlocks);

/* Not for callers: an event that needs a closer look. */
void phases_look(struct phases *p, const struct event *e);

/*
 * Take each event but OP_NONE, before anything else is asked about its thread.
 * After a fork, a join or the return from a barrier the thread is in a new phase.
 */
static inline void phases_take(struct phases *p, const struct event *e)
{
	bool quiet = e->op != OP_FORK && e->op != OP_JOIN && e->op != OP_BARRIER;

	if (__builtin_expect(!(p->thread[e->thread].runs & quiet), 0))
		phases_look(p, e);
}

/* Where the thread is now: for a thread that had an event. */
static inline struct phase phases_now(const struct phases *p, uint32_t thread)
{
	return p->thread[thread].now;
}

static inline const struct phase_clock *phases_clock(const struct phases *p, uint32_t thread)
{
	return &p->thread[thread].clock;
}

/*
 * Must what was done in phase `a` come before what is done under this clock?
 * Also true of what the same thread did in the same phase, earlier.
 */
static inline bool phase_before(struct phase a, const struct phase_clock *clock)
{
	return a.slot < clock->n && a.index <= clock->at[a.slot];
}

#endif
