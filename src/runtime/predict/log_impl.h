/*
 * What the two files that implement log.h share. log.c has the log, its transactions and
 * locks; log_access.c decides which accesses bring something new.
 *
 * Included by: log.c, log_access.c.
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

/*
 * The engine counts accesses that are alike only in a thread's first states: so many. Is this one
 * of them?
 */
enum { PLOG_STATES_LIKE = 64 };
static inline bool plog_is_known(const struct plog *l, uint64_t state)
{
	for (uint64_t at = state % PLOG_KNOWN; l->known[at]; at = (at + 1) % PLOG_KNOWN)
		if (l->known[at] == state)
			return true;
	return false;
}

/* --- log.c --- */

/*
 * Make room for element `n` of an array of `cap` elements; new elements are zero. `array` is the
 * address of the pointer. Returns false if there is no memory: then the log is full.
 */
bool plog_grow(struct plog *l, void *array, size_t *cap, size_t n, size_t size);
/* Make room for one more in a table. The high half of a slot's value says where it belongs. */
bool plog_table_room(struct plog *l, struct plog_table *t);
/* Returns the index that was added with this hash and for which is() is true; 0 if none. */
uint32_t plog_look_up(const struct plog *l, const struct plog_table *t, uint64_t hash,
		      bool (*is)(const struct plog *l, uint32_t index, const void *what),
		      const void *what);
/* Add an index to a table. Returns false if there is no memory. */
bool plog_add(struct plog *l, struct plog_table *t, uint64_t hash, uint32_t index);
/* Append a record, unless there is no memory. */
void plog_append(struct plog *l, uint64_t what, uint64_t pc, uint64_t more, uint32_t node,
		 uint32_t prev);

/*
 * Begin new scopes: from now on, no critical section counts as already passed. Called after an
 * operation that brought something new or orders threads (`outside`), and after the first access of
 * bytes in their transaction; the latter leaves the scope outside transactions as it is.
 */
void plog_refresh(struct plog *l, bool outside);

/* --- log_access.c --- */

/*
 * What an access brings: something new; the first access of its bytes in the transaction; an access
 * that differs from the last one of its bytes, or is the first since the burst began.
 */
enum { PLOG_NOVEL = 1, PLOG_FIRST = 2, PLOG_OTHER = 4 };
/* Returns what an operation on a semaphore brings if it is taken for an update of a variable. */
unsigned plog_judge_semaphore(struct plog *l, uint64_t address, uint32_t node, uint64_t pc);
/*
 * A record of several entries is removed: let their chains end. The records before it are kept
 * already.
 */
void plog_forget_chains(struct plog *l, const struct plog_record *r);
/* Does the access read (0) or write (1)? An update does both. */
bool plog_does(const struct plog_record *r, int writes);
/* Returns a hash of an access's place and of what it does. */
uint64_t plog_place(const struct plog *l, const struct plog_record *r);
/* Are two records the same operation at the same place? */
bool plog_is_same(const struct plog_record *a, const struct plog_record *b);

#endif
