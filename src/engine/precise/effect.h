/*
 * How an operation on a variable or lock changes the last write and the reads that
 * an engine keeps for it, if its edges add nothing new.
 *
 * The trick. Reads, writes, acquires and releases share one code path, without a
 * branch on the kind of operation: the kind of the next event is hard to predict;
 * that its edges add nothing is easy to predict. So the differences between
 * operations are in masks, all ones or 0. A lock is a variable whose exclusive
 * release is a write and whose shared release is a read.
 *
 * Included by: the files of precise/ and doublechecker/.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_EFFECT_H
#define ATOMSAN_ENGINE_PRECISE_EFFECT_H

#include <stdint.h>

#include "trace/event.h"

struct effect {
	uint64_t ignore_w; /* no edge from the last write */
	uint64_t ignore_r; /* reads stay as they are */
	uint64_t set_w;    /* it becomes the last write */
	uint64_t set_r;    /* it becomes the read; otherwise reads are dropped, unless ignored */
	uint8_t usual;     /* it is an operation on a variable or lock */
	uint8_t table;     /* 0 variables, 1 locks */
	uint8_t own;       /* it may replace only a read of its own thread */
};
extern const struct effect effects[OP_COUNT];

static inline uint64_t effect_pick(uint64_t mask, uint64_t yes, uint64_t no)
{
	return no ^ ((yes ^ no) & mask);
}

/*
 * A table of variables larger than this does not stay in the nearest caches: then
 * prefetch the entry of an event some way ahead. (If the operand is not a variable,
 * this prefetches something harmless.)
 */
enum { EFFECT_LARGE_TABLE = 1 << 14, EFFECT_AHEAD = 16 };

static inline const struct event *effect_ahead(const struct event *e, const struct event *end)
{
	return end - e > EFFECT_AHEAD ? e + EFFECT_AHEAD : e;
}

#endif
