/*
 * Two variables, for `predict`: witnesses of violations of the form
 *
 *	e1 of x in a transaction of one thread,
 *	f1 of x and f2 of y in a transaction of another thread, in any order,
 *	e2 of y in the transaction of e1
 *
 * such that f1 and f2 come between e1 and e2, f1 conflicts with e1, and f2 with e2. Because of x
 *the first transaction comes before the other, because of y after it: no serial order explains
 *that, though each variable by itself looks fine.
 *
 * It can happen if the first thread can be at a point between e1 and e2 while the
 * other is at f1 and goes on to f2 without a lock that the first one holds there. If
 * locks are nested and nothing can deadlock, that is all: of the points between e1
 * and e2, the one with the fewest locks serves for both f1 and f2. So there are two
 * kinds of entries:
 *
 *  - outer, of e1 and e2: a witness for each state between, as for one variable;
 *  - inner, of f1 and f2: a witness for each state at the first of them and set of
 *    locks acquired since (`took`, a lockhist_add()), which together are a state of
 *    their own. If f2 comes first, the witness is WITNESS_REVERSED.
 *
 * Bounds:
 *
 *  - only variables that several threads access and at least one writes; a pass over
 *    the trace finds these first;
 *  - e1 or f1 is one of the last TWO_RECENT accesses of its transaction that differ
 *    in variable, operation, locks or place;
 *  - there are entries only for the first TWO_ENTRIES combinations of two variables
 *    and a thread: 50 MB of them;
 *  - of the accesses at one place, only the first TWO_LOOKS and some later ones are
 *    e2 or f2.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_TWO_H
#define ATOMSAN_ENGINE_PREDICT_TWO_H

#include "engine/predict/witness.h"

enum { TWO_RECENT = 16, TWO_ENTRIES = 1 << 16, TWO_LOOKS = 256, TWO_PLACES = 1 << 12 };

/* Accesses that differ only in time. */
struct two_access {
	uint64_t unit; /* the block, or the region itself: witness_thread.unit */
	uint32_t var;
	uint32_t took; /* set of the locks acquired since `last` */
	struct witness_access first, last;
};

struct two_thread {
	uint64_t tx;
	uint32_t n;
	struct two_access v[TWO_RECENT];
};

struct two {
	bool *shared; /* by variable */
	size_t nshared;
	struct two_thread *thread;
	size_t thread_cap;
	uint32_t *first; /* first entry of each two variables; the others follow by next_of_var */
	size_t nfirst, first_cap;
	struct map pairs;   /* (x, y) -> index into `first` */
	struct map entries; /* (that index, thread) -> outer entry; the inner one is the next */
	struct map states;  /* (state, took) -> state */
	uint64_t left_out;  /* entries that there was no room for */
	uint32_t looks[TWO_PLACES]; /* by a hash of the place: accesses there */
};

void two_free(struct two *two);

/* Take an access, or an operation on a lock, in an open transaction; `now` is before the access. */
void two_take_access(struct witnesses *w, const struct event *e, uint64_t event,
		     const struct witness_now *now);
void two_take_lock(struct witnesses *w, const struct event *e);

/*
 * Which variables are shared; this takes a pass of its own over the trace.
 *
 * A program that hands buffers from thread to thread shares millions of variables, and the
 * findings about one element of a buffer are those about the others. So if more than
 * TWO_SIMILAR_FROM variables are shared, those that are accessed in the same way (by the same
 * threads at the same places, in blocks of the same names, with the same locks held) are
 * similar, and TWO_SIMILAR of them are searched for findings: some of the first, and others
 * that are spread over the rest.
 */
enum { TWO_SIMILAR_FROM = 1 << 16, TWO_SIMILAR = 64, TWO_SIMILAR_FIRST = 16 };

struct two_sharing {
	uint32_t *thread; /* by variable: 1 + the first thread that accessed it */
	bool *many, *written;
	bool *searched; /* by variable: shared, and searched for findings; NULL before the end */
	uint64_t *ways; /* by variable: a bit, by a hash, for each way in which it is accessed */
	uint64_t *now;  /* by thread: a hash of its outermost block's name and of its locks */
	size_t n, thread_cap, many_cap, written_cap, ways_cap, now_cap;
	uint64_t left_out; /* variables that are shared and not searched */
};
void two_sharing_take(struct two_sharing *s, const struct batch *b);
/* Sets `many` for the variables that are shared, and `searched`; all that are shared, if `all`. */
void two_sharing_end(struct two_sharing *s, bool all);
void two_sharing_free(struct two_sharing *s);

#endif
