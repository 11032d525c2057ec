/*
 * Synthetic traces: for tests that want a known verdict, and for benchmarks.
 *
 *	g = gen_open(&options, &err);
 *	while ((n = gen_next(g, ev)))
 *		use(gen_names(g), ev, n);
 *	gen_close(g);
 *
 * The same options give the same events on any machine: one seeded generator
 * of 64-bit integers decides everything. Memory grows with threads, variables
 * and locks, not with the number of events. A trace is exactly as long as was
 * asked for, all its blocks are closed, all locks released, all threads joined.
 *
 * What the threads do. T0 first writes the variables that are only read
 * afterwards, forks the others, works as they do, and joins them at the end.
 * A thread picks one of its shape's short scripts at random, with random locks
 * and variables; a scheduler gives a random thread a turn of one to four
 * events, so that blocks of different threads overlap; a thread that wants a
 * lock that is held leaves the scheduler until it is released. Locks are taken
 * in ascending order, so nobody waits for ever. The scripts are in gen.c.
 *
 * Why a trace is serializable unless `inject` or the shape's `blocks` is set. Give each transaction
 *a point in time, inside it, so that every conflict goes from an earlier point to a later one; then
 *there is no cycle. The variables come in four kinds:
 *
 *  - guarded: variable v only under lock v % locks. Every block acquires all
 *    its locks before it releases any and touches no guarded variable after
 *    its first release (two phases). Its point stands between its last acquire
 *    and its first release. Where A comes before B by a lock or a variable that
 *    it guards, A released that lock before B acquired it; A's point is before
 *    the first, B's point after the second.
 *  - shared: written by T0 before it forks, and only read since.
 *  - own: of one thread; and a thread's transactions come one after the other.
 *  - racy: free for all, but in a block at most once, between its acquires and
 *    releases: there that access is the point.
 *
 * An operation outside blocks is its own point. The open transaction of the
 * "open" shapes writes one more variable before any other thread but T0 runs,
 * which is its point, and touches only shared variables and its own since: the
 * others read what it wrote, nothing of theirs comes back to it.
 *
 * Shapes for `predict` (those with `blocks`) make no such promise: their blocks
 * acquire and release locks over and over, and read guarded variables without a
 * lock. Nothing can be planted there.
 *
 * What `inject` plants. A block labelled GEN_VICTIM reads a variable under its
 * lock, and writes it under the same lock acquired again; meanwhile another
 * thread's block, labelled GEN_INTRUDER, has updated it under that lock: the
 * lost update. Each planted victim begins in the second half of the trace, one
 * is over before the next begins, and every cycle goes through a victim, since
 * the argument above holds for everybody else: as many transactions violate
 * as were asked for, and an engine that leaves out closing edges finds just
 * those.
 */
#ifndef ATOMSAN_TRACE_GEN_H
#define ATOMSAN_TRACE_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"
#include "trace/names.h"

#define GEN_VICTIM   "lost_update"
#define GEN_INTRUDER "update"

enum { GEN_BATCH = 1024 };

/* A row of the table of shapes; it ends with a row without a name. */
struct gen_shape {
	const char *name;
	const char *summary;           /* one line, for people */
	uint32_t threads, vars, locks; /* unless the options say otherwise */
	uint32_t shared;               /* variables that are only read */
	bool open;                     /* T1 is one transaction, open throughout */
	/*
	 * About so many blocks, however long that makes them, and they are cut
	 * through; 0: as many as come.
	 */
	uint32_t blocks;
	const struct gen_script *script; /* private to gen.c */
};
extern const struct gen_shape gen_shapes[];

struct gen_options {
	const char *shape;
	uint64_t events; /* how many, T0's forks and joins included */
	uint64_t seed;
	uint64_t inject;  /* how many violations */
	uint64_t threads; /* with T0; 0: as the shape says, and so below */
	uint64_t vars;    /* guarded ones; the other kinds are a few more a thread */
	uint64_t locks;
};

struct gen;

/* NULL, with the sentence in `err`, where there is no such shape or no room for it. */
struct gen *gen_open(const struct gen_options *options, struct err *err);
void gen_close(struct gen *g);

/* The next events, at most GEN_BATCH of them; 0 at the end. */
int gen_next(struct gen *g, struct event *ev);

/* Every number in a delivered event is in there. */
const struct names *gen_names(const struct gen *g);

#endif
