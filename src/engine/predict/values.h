/*
 * Values: run threads of the model such that each read sees the write that it saw in
 * the run, or another write of the same value. Then no thread can notice that the order is another
 * one, so each does what it did in the run.
 *
 * Some reads may see another write:
 *
 *  - e2, which is the last event of the schedule;
 *  - f (or f2), and what its thread reads after it;
 *  - a read of f's thread that the cut changes on purpose, if the same code is in both
 *    threads. That is: e1 is a read of x, and after it its block A (or region) has an
 *    access g of x with the place and operation of f. In f's block, a read r0 of x at the
 *    place of e1 comes before f. Then reads of x from the last r0 to f that saw a write of
 *    A, after e1, in the run may see what a read of x in A, from e1 to g, at the same
 *    place, saw in the run: A went on to g after it, so f's thread goes on to f.
 *  - a read of f's thread that the cut changes on purpose, if a lock protects x. That is:
 *    e1 is a read of x, f writes x, and one lock is held at e1, e2 and f. Reads of x by f's
 *    thread since its last write of x, in f's block, with that lock held, that saw a write
 *    of A, after e1, in the run may see what e1 saw.
 *
 * A schedule uses one of the last two, not both. All but the first are about f's thread. A read
 * of it that sees another write is *off*, and what the thread does from there on is not known,
 * except that it goes on to f, and leaves the sections of locks that it is in at f. So after
 * such a read
 *
 *  - the thread does no more than that, and no other thread joins it;
 *  - no other thread reads what it writes; only e2 may do so.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_VALUES_H
#define ATOMSAN_ENGINE_PREDICT_VALUES_H

#include "engine/predict/closure.h"
#include "engine/predict/schedule.h"

/* Accesses between e1 and g, or r0 and f, at most. */
enum { VALUES_ALIKE = 1 << 12 };

/* The last write of a variable: the `access`-th access of a thread, from 1; 0: none yet. */
struct value {
	uint64_t stamp; /* of the execution that the rest is about */
	uint32_t thread, access;
};

struct values {
	struct model *model;
	struct value *now; /* by variable */
	size_t nvars;
	size_t *next; /* by thread: index of its next access, unless it has moved */
	uint64_t stamp;
	const struct closure *base; /* the events before its marks have happened; NULL: none have */
	uint64_t base_last;         /* the last of these in the run */
	struct schedule_goal goal;
	uint32_t var; /* x */
	/* Reads that may be changed on purpose: */
	bool alike;  /* there may be some */
	bool locked; /* because a lock protects x: */
	uint32_t lock;
	uint64_t first_alike; /* position of r0, or after the last write of x before f */
	uint64_t first_other; /* position from which on reads of other variables may be changed */
	uint64_t begin;       /* of e1's thread: where A begins */
	uint64_t g, end;      /* of e1's thread: g; the end of A */
	uint64_t tail;        /* up to here, f's thread only leaves sections after f2 */
	/* The last read that must not see what it would have seen: */
	const struct model_access *wrong; /* NULL: none since the last reset */
	bool f_is_free;                   /* it goes no further, so its reads may be off */
	uint64_t off;      /* position of its first read that is off; UINT64_MAX: none */
	uint64_t *changed; /* positions of reads that were changed, since the last reset */
	size_t nchanged, changed_cap;
	bool has_waiting;   /* reads wait for their turn: */
	struct map waiting; /* a write -> reads that have to see it before the next write */
};

/* The model must be ready, and stays the caller's. */
void values_init(struct values *v, struct model *model);
void values_free(struct values *v);

/* May reads be changed on purpose, and where do A and f's block end? */
enum values_alike { VALUES_EXACT, VALUES_IN_BLOCKS, VALUES_IN_REGIONS, VALUES_LOCKED };

void values_set_goal(struct values *v, const struct schedule_goal *goal, uint32_t var,
		     enum values_alike alike);

/* Position `off` if no read is off. */
#define VALUES_NONE_OFF UINT64_MAX

/* Put all threads back to the start, and all variables to their initial values. */
void values_reset(struct values *v);

/*
 * Put all threads to the marks of a closure, as if the events before that had happened in the order
 * of the run.
 */
void values_jump(struct values *v, const struct closure *base);

/*
 * Run a thread up to a position. Returns false if it stopped before: because of the model, because
 * a read does not see its write, or because a write must wait for reads.
 */
bool values_go(struct values *v, uint32_t thread, uint64_t position);

/* From now on, until the next reset, the thread's reads in [from, to) have to see their writes
 * before these are overwritten. */
void values_expect_reads(struct values *v, uint32_t thread, uint64_t from, uint64_t to);

/* Execute a schedule from the start, checking everything: values, and the order of the goal. */
bool values_execute(struct values *v, const struct model_schedule *s);

/* Would a read see now the write that it saw in the run? */
bool values_sees_same(struct values *v, const struct model_access *a);
/* Is this access of f's thread a read that may see another write? */
bool values_is_exempt(const struct values *v, const struct model_access *a);

#endif
