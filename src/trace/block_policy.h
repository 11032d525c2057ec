/*
 * The policy: which functions and marked blocks are blocks. The reader of
 * recordings (blocks.c) and the runtime (runtime/blocks/block_policy.c) both decide
 * by it, so that a run and its recording agree.
 *
 * Without rules every function and every marked block is a block, except main(),
 * start functions, functions seen to wait, and functions that the source declares
 * not atomic. A rule of a specification overrides all of that but the last.
 *
 * Included by: src/trace, the runtime, engine/predict/predict.c, engine/context.c.
 */
#ifndef ATOMSAN_TRACE_BLOCK_POLICY_H
#define ATOMSAN_TRACE_BLOCK_POLICY_H

#include <stdbool.h>

/* What a label stands for: the first character of a recorded label (recorded.h). */
enum block_kind {
	BLOCK_FUNCTION = 'f',
	BLOCK_START = 's', /* a thread's start function */
	BLOCK_MAIN = 'm',
	BLOCK_MARKED = 'a',
};

/* An answer of the specification is a set of these flags. */
enum {
	BLOCK_ATOMIC = 1,    /* it is a block */
	BLOCK_BY_RULE = 2,   /* a rule decided: only the source overrides the answer */
	BLOCK_HANDS_ON = 4,  /* a start function whose callees are start functions too */
	BLOCK_SUSPECTED = 8, /* a first run of doublechecker suspects it */
	BLOCK_OUTLINED = 16, /* the compiler made it of the body of an OpenMP region or task */
};

/* Returns the answer if there is no rule. `start`: it is called as a start function. */
static inline unsigned block_default(char kind, bool start)
{
	return kind == BLOCK_MARKED || (kind == BLOCK_FUNCTION && !start) ? BLOCK_ATOMIC : 0;
}

/*
 * Returns whether it is a block by this answer. `left_out`: it was seen to wait. `said_not`: the
 * source declares it not atomic.
 */
static inline bool block_is_one(unsigned answer, char kind, bool start, bool left_out,
				bool said_not)
{
	if (answer & BLOCK_BY_RULE)
		return answer & BLOCK_ATOMIC && !said_not;
	return !start && kind != BLOCK_MAIN && answer & BLOCK_ATOMIC && !left_out;
}

#endif
