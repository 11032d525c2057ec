/*
 * Happens-before on operations, for blame: sparse vector clocks that remember how
 * each component got its value.
 *
 * A transaction D of thread t is to blame if one of its operations happens before
 * an operation of another transaction that happens before a later operation of D.
 * With vector clocks on operations that is V[t] at a join: the latest operation of
 * t that the other side has heard of. Only the components of the transactions that
 * close a cycle are needed (the first pass has found them), so a clock is a short
 * list of marks, one for each such transaction: usually none, otherwise mostly one.
 *
 * A mark is a number, the latest operation of D heard of, and the edge by which it
 * was heard of, linked to the mark at the other end of that edge. Following the
 * links gives the path that a report shows. Marks are shared and have reference
 * counts, so memory is bounded by the clocks that are alive.
 *
 * Included by: cycle_find.c.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_VCLOCK_H
#define ATOMSAN_ENGINE_PRECISE_VCLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A transaction that is watched, from its begin to its last closing event. */
struct target {
	bool watched;
	uint64_t heard;      /* latest own operation that it has heard of by an edge; 0: none */
	struct mark *now;    /* of the current event: the mark at the other end, or NULL */
	uint64_t now_src;    /* the event at the other end */
	uint32_t now_thread; /* the thread of that event */
	uint64_t last;       /* watched until this event */
};

struct mark {
	struct target *target;
	uint64_t value;    /* the operation of the target that was heard of */
	struct mark *from; /* the mark at the other end; NULL: the target's own mark */
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
 * Join `from` into `to`, by an edge from event `src` of thread `src_thread` to event
 * `dst`. `own` is the target that the receiving thread is in, or NULL: what `from`
 * knows of it goes into its `heard` and `now`.
 */
void vclock_join(struct vclock *to, const struct vclock *from, struct target *own, uint64_t src,
		 uint32_t src_thread, uint64_t dst);

/* Copy `from` to `to`, with operation `event` as the mark of `own` (or NULL). */
void vclock_copy(struct vclock *to, const struct vclock *from, struct target *own, uint64_t event);

/* Release a mark that a target holds in `now`. */
void mark_drop(struct mark *m);

#endif
