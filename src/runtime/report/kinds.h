/*
 * Kinds of cycles: which ones the reporter has got, and how often each was found.
 *
 * Cycles of one kind have the same key, a hash of the block and the places. Only the
 * first cycle of a kind is sent. The number of kinds that are sent for one block is
 * limited. All other cycles are only counted.
 *
 * The places must be searched for in the histories, which takes some microseconds. A
 * program may close millions of cycles, so not all are searched for: what is known
 * without a search (the block, the closing operation) is a cycle's shortcut. The
 * first SHORTCUT_SURE cycles of a shortcut are searched for, then fewer and fewer, but
 * never less than one of SHORTCUT_GAP. If a search finds a new kind, the next ones
 * come sooner again. The cycles in between are counted as being of the kind that was
 * found last.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_KINDS_H
#define ATOMSAN_RUNTIME_REPORT_KINDS_H

#include "runtime/os/os.h"
#include "trace/live_format.h"

enum { SHORTCUT_SURE = 64, SHORTCUT_GAP = 256 };

/* Add a value to the hash of a key. */
static inline uint64_t kinds_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/*
 * Count a cycle by its shortcut, which is not 0. Returns false if it is to be searched for; then
 * nothing was counted, and kinds_add() does so. This takes no lock.
 */
bool kinds_count_known(uint64_t shortcut);

/*
 * Count a cycle. `place` is the place of the step before the last; `shortcut` is 0 if it has none.
 * Returns true if the cycle is to be sent.
 */
bool kinds_add(const struct live_finding *head, uint64_t place, uint64_t shortcut);

/* A finding of this many bytes is about to be sent. */
void kinds_add_bytes(const struct live_finding *head, size_t bytes);

/* Returns the number of kinds. */
uint32_t kinds_count(void);
/* The program ends: send how often each kind was found, and add the kinds that were not sent. */
void kinds_send_counts(struct live_end *end);

/* In a forked child: nothing was found so far. */
void kinds_child(void);

#endif
