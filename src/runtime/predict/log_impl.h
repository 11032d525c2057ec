/*
 * What the files of log.h share: log.c has the log, transactions and locks; log_access.c decides
 * which accesses bring something new.
 *
 * Who may include this: log.c, log_access.c.
 */
#ifndef ATOMSAN_RUNTIME_PREDICT_LOG_IMPL_H
#define ATOMSAN_RUNTIME_PREDICT_LOG_IMPL_H

#include "runtime/predict/log.h"
#include "runtime/thread/state.h"

static inline uint64_t plog_mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	h ^= h >> 32;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ h >> 29;
}

static inline bool plog_is_access(const struct plog_record *r)
{
	enum raw_op op = (enum raw_op)(r->what >> 48 & 0xff);

	return op >= RAW_READ && op <= RAW_WRITE_RANGE;
}

/* Of so many states the engine counts accesses that are alike. */
enum { PLOG_STATES_LIKE = 64 };
static inline bool plog_is_known(const struct plog *l, uint64_t state)
{
	for (uint64_t at = state % PLOG_KNOWN; l->known[at]; at = (at + 1) % PLOG_KNOWN)
		if (l->known[at] == state)
			return true;
	return false;
}

/* --- log.c --- */

/* Room for one more; zeroed behind what there is. False: there is none, and the log is full. */
bool plog_grow(struct plog *l, void *array, size_t *cap, size_t n, size_t size);
/* The same for a table. The high half of a slot says where it belongs. */
bool plog_table_room(struct plog *l, struct plog_table *t);
/* An index by a hash: `is` says whether it is the one. 0: not there. */
uint32_t plog_look_up(const struct plog *l, const struct plog_table *t, uint64_t hash,
		      bool (*is)(const struct plog *l, uint32_t index, const void *what),
		      const void *what);
bool plog_add(struct plog *l, struct plog_table *t, uint64_t hash, uint32_t index);
void plog_append(struct plog *l, uint64_t what, uint64_t pc, uint64_t more, uint32_t node,
		 uint32_t prev);

/*
 * From now on, no stretch with locks has been gone through: something that brings something new was
 * done (`outside`), or bytes were accessed for the first time in their transaction.
 */
void plog_refresh(struct plog *l, bool outside);

/* --- log_access.c --- */

/*
 * What an access brings: something new; the first of these bytes in the transaction; one that is
 * not what was done last, in this segment.
 */
enum { PLOG_NOVEL = 1, PLOG_FIRST = 2, PLOG_OTHER = 4 };
/* Of an operation on a semaphore, as if it were an update. */
unsigned plog_semaphore(struct plog *l, uint64_t address, uint32_t node, uint64_t pc);
/* A record of several entries is taken back: those before it are kept already. */
void plog_forget_chains(struct plog *l, const struct plog_record *r);
/* Does it read, or write? */
bool plog_does(const struct plog_record *r, int writes);
/* Where it was, and what it did. */
uint64_t plog_place(const struct plog *l, const struct plog_record *r);
bool plog_is_same(const struct plog_record *a, const struct plog_record *b);

#endif
