/*
 * Phases of threads, and which must come before which: not only in this run, but in
 * every run of these threads.
 *
 * A thread's forks, joins and barriers cut its life into phases. One point of a run
 * must come before another if a chain of these rules says so:
 *
 *  - earlier and later in one thread;
 *  - before fork(T), and in T;
 *  - in T, and after the first join(T) (a thread ends once: a second join
 *    adds nothing);
 *  - before a thread arrives at a barrier, and after another of the same round
 *    has gone on from it.
 *
 * Two points are concurrent if neither must come before the other. Locks and
 * condition variables order nothing here: another run may use them in another
 * order.
 *
 * A barrier event is an arrival. It does not say how many threads the barrier waits
 * for, so rounds are inferred from what follows: threads that arrive one after the
 * other belong to one round until one of them does something else, or is joined;
 * then the round is over. Consequences:
 *
 *  - A trace may have the event after the barrier instead of before it. If a thread
 *    then goes on before all have passed, rounds are too small: less is ordered,
 *    and nothing wrongly.
 *  - A trace with the event on both sides is understood.
 *  - If more threads use a barrier than it waits for, two rounds may be taken for
 *    one.
 *
 * How: each thread has a vector clock that counts phases. A clock is indexed by
 * slots. The slot of a joined thread is given to a new thread whose parent knows of
 * that join: then all of the old thread comes before all of the new one, so a slot
 * is one sequence of phases, and a clock needs only one number for it (a chain
 * decomposition of the order). So the length of a clock is the number of threads
 * alive at one time, not of all threads.
 *
 * Cost: a load and a branch for each event; one clock operation at each fork, join
 * and barrier, and when a thread goes on from a barrier. Memory: a clock for each
 * thread that was not joined.
 *
 * Included by: engines that ask what other runs could do.
 */
#ifndef ATOMSAN_ENGINE_PHASE_H
#define ATOMSAN_ENGINE_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* A phase: `index` counts the phases of the slot from 1, and never repeats. */
struct phase {
	uint32_t slot, index;
};

/* at[slot] is the last phase of that slot that must come before; in its own slot, itself. */
struct phase_clock {
	uint32_t *at;
	size_t cap;
	uint32_t n;
};

struct phase_thread {
	bool runs; /* has a clock, and is not at a barrier */
	struct phase now;
	struct phase_clock clock;
	struct phase_round *round; /* at a barrier: its round, until the thread goes on */
	uint32_t barrier;          /* that barrier */
};

struct phases {
	struct phase_thread *thread;
	size_t thread_cap;
	uint32_t *last; /* of a slot: the highest index in use */
	size_t last_cap;
	uint32_t nslots;
	uint32_t *free; /* slots of joined threads */
	size_t nfree, free_cap;
	struct phase_round **open; /* of a barrier: the round that threads can still join */
	size_t open_cap;
};

void phases_free(struct phases *p);

/* Make room for this many threads and locks, before the events that mention them. */
void phases_room(struct phases *p, uint32_t nthreads, uint32_t nlocks);

/* Not for callers: take an event that may change phases. */
void phases_look(struct phases *p, const struct event *e);

/*
 * Take an event; call this for each but OP_NONE, before other questions about its
 * thread. After a fork, a join or the return from a barrier the thread is in a new phase.
 */
static inline void phases_take(struct phases *p, const struct event *e)
{
	bool quiet = e->op != OP_FORK && e->op != OP_JOIN && e->op != OP_BARRIER;

	if (__builtin_expect(!(p->thread[e->thread].runs & quiet), 0))
		phases_look(p, e);
}

/* Returns the phase that a thread is in; the thread must have had an event. */
static inline struct phase phases_now(const struct phases *p, uint32_t thread)
{
	return p->thread[thread].now;
}

static inline const struct phase_clock *phases_clock(const struct phases *p, uint32_t thread)
{
	return &p->thread[thread].clock;
}

/*
 * Must phase `a` come before the point that has this clock? Also true if `a` is the
 * phase of that point.
 */
static inline bool phase_before(struct phase a, const struct phase_clock *clock)
{
	return a.slot < clock->n && a.index <= clock->at[a.slot];
}

#endif
