/*
 * Lock sets with acquisition histories, interned: equal histories have the same
 * number, so storing, comparing or changing one costs a look-up.
 *
 * The history of a thread at one moment says which locks it holds and, for each of
 * them, which locks it has acquired since, whether or not it still holds those
 * (Kahlon, Ivancic and Gupta, CAV 2005). A lock is held or acquired exclusively or
 * shared; if it was acquired in both ways, the exclusive one is kept.
 *
 * Two threads cannot be at two given points at the same time
 *
 *  - if they would hold locks that exclude each other;
 *  - or if each has acquired, after a lock that it still holds, a lock that the
 *    other still holds: each would have had to go first.
 *
 * If all locks are nested and nothing else orders the two threads, they can
 * otherwise. Locks that are not nested may exclude more: then "compatible" means
 * "perhaps".
 *
 * Memory grows with the number of different histories and of different changes
 * from one to another. The latest answers are kept, LOCKHIST_ANSWERS at most.
 *
 * A history has at most LOCKHIST_HELD locks, and LOCKHIST_SINCE that were acquired since
 * each of them; further acquires do not change it. If all histories together have
 * LOCKHIST_WORDS words, there are no new ones: an operation that would need one changes
 * nothing. Then "compatible" means "perhaps", too.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_LOCKHIST_H
#define ATOMSAN_ENGINE_PREDICT_LOCKHIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "trace/event.h"

enum {
	LOCKHIST_EMPTY = 0,
	LOCKHIST_ANSWERS = 1 << 15,
	LOCKHIST_HELD = 64,
	LOCKHIST_SINCE = 256,
	LOCKHIST_WORDS = 1 << 26
};

/* A history, encoded as lockhist.c says. */
struct lockhist_one {
	const uint32_t *word;
	uint32_t n;
};

struct lockhist {
	struct lockhist_one *v;
	uint32_t n;
	size_t cap;
	struct map by_words; /* hash of the words -> number */
	struct map steps;    /* (number, operation on a lock) -> number */
	struct map unnested; /* the same keys: a release out of order */
	uint64_t *answers;   /* by a hash: two histories, and yes or no; 0: none */
	uint64_t words;      /* of all histories */
	uint64_t left_out;   /* operations that changed nothing because of the bounds */
	uint32_t *scratch;
	size_t scratch_cap;
	struct arena arena;
};

/* Begin with one history: LOCKHIST_EMPTY, of a thread that holds nothing. */
void lockhist_init(struct lockhist *h);
void lockhist_free(struct lockhist *h);

/*
 * Returns what a history becomes by an acquire or release of a lock. Sets *unnested if a
 * lock that was acquired later is still held.
 */
uint32_t lockhist_step(struct lockhist *h, uint32_t from, enum op op, uint32_t lock,
		       bool *unnested);

/*
 * A set of locks is stored as the history of a thread that holds just these and has
 * acquired none since: a thread that is compatible with it needs none of them.
 * Returns the set with one lock more, or with the same lock exclusively.
 */
uint32_t lockhist_add(struct lockhist *h, uint32_t set, enum op acquire, uint32_t lock);

/* Returns the set of locks held in both histories; exclusive if exclusive in both. */
uint32_t lockhist_both(struct lockhist *h, uint32_t a, uint32_t b);

/* Can two threads have these histories at the same time, as far as locks say? Symmetric. */
bool lockhist_compatible(struct lockhist *h, uint32_t a, uint32_t b);

#endif
