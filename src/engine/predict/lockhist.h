/*
 * Lock sets with acquisition histories, interned: equal ones have one number,
 * so that to keep, to compare and to change one costs a look-up.
 *
 * A history says, of a thread at one moment, which locks it holds and, for
 * each of them, which locks it has acquired since it acquired that one,
 * whether or not it still holds them (Kahlon, Ivancic and Gupta, CAV 2005). A
 * lock is held or acquired exclusively or shared; where a lock was acquired in
 * both ways the exclusive one is kept.
 *
 * Two threads cannot stand at two moments together where they would hold a lock
 * that excludes the other, or where each has acquired, after a lock that it
 * still holds, one that the other still holds: each would have had to go first.
 * Where all locks are nested and nothing else orders the two threads, they can
 * otherwise. Locks that are not nested may exclude more: there, compatible is
 * "perhaps".
 *
 * Memory grows with the number of different histories and of different changes
 * from one to another. The answers last given are kept, LOCKHIST_ANSWERS at most.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_LOCKHIST_H
#define ATOMSAN_ENGINE_PREDICT_LOCKHIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/map.h"
#include "trace/event.h"

enum { LOCKHIST_EMPTY = 0, LOCKHIST_ANSWERS = 1 << 15 };

/* Its words: see lockhist.c. */
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
	uint64_t *answers;   /* by a hash: two numbers and yes or no; 0: none */
	uint32_t *scratch;
	size_t scratch_cap;
	struct arena arena;
};

/* After this, there is one: LOCKHIST_EMPTY, of a thread that holds nothing. */
void lockhist_init(struct lockhist *h);
void lockhist_free(struct lockhist *h);

/*
 * What a history becomes by an acquire or release of a lock. `unnested` is
 * set where a lock that was acquired later is still held.
 */
uint32_t lockhist_step(struct lockhist *h, uint32_t from, enum op op, uint32_t lock,
		       bool *unnested);

/*
 * A set of locks, as the history of somebody who holds just these and has
 * acquired none since: what such a history becomes with one more, or the same one
 * exclusively. So who can stand where this one does needs none of them.
 */
uint32_t lockhist_add(struct lockhist *h, uint32_t set, enum op acquire, uint32_t lock);

/* The set of locks that are held in both; exclusively where they are in both. */
uint32_t lockhist_both(struct lockhist *h, uint32_t a, uint32_t b);

/* Can two threads stand there together, as far as this tells? Symmetric. */
bool lockhist_compatible(struct lockhist *h, uint32_t a, uint32_t b);

#endif
