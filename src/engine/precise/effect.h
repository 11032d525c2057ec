/*
 * What an operation on a variable or lock does to the last write and the reads
 * that an engine keeps of it, where its edges bring nothing new.
 *
 * The trick. Reads, writes, acquires and releases take one way through, with no
 * branch on which of them it is: what comes next in a trace is hard to predict,
 * that its edges bring nothing is not. So what differs between operations is in
 * masks, all ones or 0. A lock is a variable whose exclusive release is a write
 * and whose shared release is a read.
 *
 * Who may include this: the files of precise/ and doublechecker/.
 */
#ifndef ATOMSAN_ENGINE_PRECISE_EFFECT_H
#define ATOMSAN_ENGINE_PRECISE_EFFECT_H

#include <stdint.h>

#include "trace/event.h"

struct effect {
	uint64_t ignore_w; /* no edge from the last write */
	uint64_t ignore_r; /* reads stay as they are */
	uint64_t set_w;    /* becomes the last write */
	uint64_t set_r;    /* becomes the read; otherwise reads go, unless ignored */
	uint8_t usual;     /* is it an operation on a variable or lock? */
	uint8_t table;     /* 0 variables, 1 locks */
	uint8_t own;       /* it may only take the place of a read of its own thread */
};
extern const struct effect effects[OP_COUNT];

static inline uint64_t effect_pick(uint64_t mask, uint64_t yes, uint64_t no)
{
	return no ^ ((yes ^ no) & mask);
}

/*
 * A table of variables beyond this does not stay in the nearest caches: then ask
 * for the entry of an event some way ahead. (A label's number is no variable's;
 * it prefetches something harmless.)
 */
enum { EFFECT_LARGE_TABLE = 1 << 14, EFFECT_AHEAD = 16 };

static inline const struct event *effect_ahead(const struct event *e, const struct event *end)
{
	return end - e > EFFECT_AHEAD ? e + EFFECT_AHEAD : e;
}

#endif
