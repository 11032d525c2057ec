/*
 * Happens-before on operations, for blame: sparse vector clocks that remember
 * how they got there.
 *
 * Blame asks one thing of a transaction D of thread t: does one of its
 * operations happen before an operation of somebody else that happens before a
 * later one of its own? With vector clocks on operations that is V[t] at a
 * join: the latest operation of t that the other side has heard of. Only the
 * components of transactions known to close a cycle are of interest (the first
 * pass has named them), so a clock is a short list of marks, one a such
 * transaction: usually none, mostly one.
 *
 * A mark is a number, the latest operation of D heard of, and the edge by which
 * the word came, linked to the mark at that edge's other end. Following the
 * links gives the path that a report shows. Marks are shared and counted, so
 * memory is bounded by the clocks that are alive.
 *
 * Who may include this: cycle_find.c.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_VCLOCK_H
#define ATOMSAN_ENGINE_PRECISE_VCLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A transaction that is watched, from its begin to its last closing event. */
struct target {
	bool watched;
	uint64_t heard;      /* latest own operation that came back in; 0 none */
	struct mark *now;    /* by the event being taken: the other side's mark, or NULL */
	uint64_t now_src;    /* and the event there, */
	uint32_t now_thread; /* and its thread */
	uint64_t last;       /* watched until this event */
};

struct mark {
	struct target *target;
	uint64_t value;    /* the operation of the target that was heard of */
	struct mark *from; /* NULL: the target's own */
	uint64_t src, dst; /* the edge: events */
	uint32_t src_thread;
	uint32_t refs;
};

struct vclock {
	struct mark **v;
	uint32_t n, cap;
};

void vclock_free(struct vclock *c);

/*
 * `to` hears all that `from` has heard of others, by an edge from event `src`
 * of thread `src_thread` to event `dst`. `own`, the target that the hearing
 * thread is in (or NULL), hears of itself: that goes into its `heard` and `now`.
 */
void vclock_join(struct vclock *to, const struct vclock *from, struct target *own, uint64_t src,
		uint32_t src_thread, uint64_t dst);

/* `to` becomes `from`, with `own` (or NULL) at its operation `event`. */
void vclock_copy(struct vclock *to, const struct vclock *from, struct target *own, uint64_t event);

/* Give up a mark that a target holds in `now`. */
void mark_drop(struct mark *m);

#endif
