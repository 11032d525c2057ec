/*
 * Kinds of cycles: which ones the reporter has got, and how often each was found.
 *
 * Cycles of one kind have the same key, a hash of the block and the places. Only the
 * first cycle of a kind is sent. The number of kinds that are sent for one block is
 * limited. All other cycles are only counted.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_KINDS_H
#define ATOMSAN_RUNTIME_REPORT_KINDS_H

#include "runtime/os/os.h"
#include "trace/live_format.h"

/* Add a value to the hash of a key. */
static inline uint64_t kinds_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * Count a cycle. `place` is the place of the step before the last. Returns true if the cycle is to
 * be sent.
 */
bool kinds_add(const struct live_finding *head, uint64_t place);

/* Returns the number of kinds. */
uint32_t kinds_count(void);
/* The program ends: send how often each kind was found, and add the kinds that were not sent. */
void kinds_send_counts(struct live_end *end);

/* In a forked child: nothing was found so far. */
void kinds_child(void);

#endif
