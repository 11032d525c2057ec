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
 * in ascending order, so no thread waits for ever. The scripts are in
 * gen_shapes.c.
 *
 * Why a trace is serializable unless `inject` or the shape's `blocks` is set.
 * Give each transaction a point in time, inside it, so that every conflict goes
 * from an earlier point to a later one; then there is no cycle. The variables
 * come in four kinds:
 *
 *  - guarded: variable v only under lock v % locks. Every block acquires all
 *    its locks before it releases any and touches no guarded variable after
 *    its first release (two-phase locking). Its point lies between its last
 *    acquire and its first release. If A comes before B because of a lock or a
 *    variable that the lock guards, A released that lock before B acquired it;
 *    A's point is before that release, B's point after that acquire.
 *  - shared: written by T0 before it forks, and only read afterwards.
 *  - own: used by one thread, whose transactions come one after the other.
 *  - racy: used by all threads without a lock, but at most once in a block,
 *    between its acquires and releases: then that access is the point.
 *
 * An operation outside blocks is its own point. The open transaction of the
 * "open" shapes writes one more variable before any other thread but T0 runs,
 * which is its point, and touches only shared variables and its own afterwards:
 * the other threads read what it wrote, and it reads nothing of theirs.
 *
 * Shapes for `predict` (those with `blocks`) make no such promise: their blocks
 * acquire and release locks over and over, and read guarded variables without a
 * lock. `inject` must be 0 for them.
 *
 * What `inject` plants. A block labelled GEN_VICTIM reads a variable under its
 * lock, and writes it under the same lock acquired again; in between, another
 * thread's block, labelled GEN_INTRUDER, has updated it under that lock: the
 * lost update. Each victim begins in the second half of the trace, and ends
 * before the next one begins. Every cycle goes through a victim, since the
 * argument above holds for all other transactions. So exactly as many
 * transactions violate atomicity as were asked for, and an engine that does not
 * add the edges that close cycles finds exactly those.
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

/* A row of the table of shapes; a row without a name ends the table. */
struct gen_shape {
	const char *name;
	const char *summary;           /* one line, for people */
	uint32_t threads, vars, locks; /* defaults for the options */
	uint32_t shared;               /* variables that are only read */
	bool open;                     /* T1 is one transaction that never ends before the trace */
	/*
	 * Approximate number of blocks, however long that makes them; other threads'
	 * events may make them not serializable. 0: as many blocks as the scripts give.
	 */
	uint32_t blocks;
	const struct gen_script *script; /* private: gen_impl.h */
};
extern const struct gen_shape gen_shapes[];

struct gen_options {
	const char *shape;
	uint64_t events; /* length of the trace, T0's forks and joins included */
	uint64_t seed;
	uint64_t inject;  /* number of violations to plant */
	uint64_t threads; /* T0 included; here and below 0 means the shape's default */
	uint64_t vars;    /* guarded ones; the other kinds add a few for each thread */
	uint64_t locks;
};

struct gen;

/*
 * Returns a generator, for gen_close(). NULL, with a sentence in `err`, if there is no such shape
 * or it cannot have these options.
 */
struct gen *gen_open(const struct gen_options *options, struct err *err);
void gen_close(struct gen *g);

/* Fills `ev` with the next events, at most GEN_BATCH, and returns how many; 0 at the end. */
int gen_next(struct gen *g, struct event *ev);

/* Returns the names so far: they have every number of a delivered event. */
const struct names *gen_names(const struct gen *g);

#endif
