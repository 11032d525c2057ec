/*
 * Contention: which variables and locks two threads can use at the same time.
 *
 * A variable is contended if two of its accesses are concurrent (phase.h) and not
 * both reads; a lock, if two of its acquires are concurrent and not both shared.
 * For all others, fork, join and barriers fix the order of the operations that
 * matter, in every run: the variable belongs to one thread, or was handed over, or
 * is only read once several threads have it; the lock never excludes a thread.
 * Such variables and locks do not take part.
 *
 * Allocating or freeing memory begins a new life of it, and accesses in one life
 * say nothing about another. So lives are numbered, from 0, in the order of their
 * first use. Each pass over a trace gives them the same numbers.
 *
 * How: as long as no contention was found, each write comes after all earlier
 * accesses. So a life keeps its last write, and for each slot its last read since
 * then (FastTrack's epochs, Flanagan and Freund 2009, with phases for times). Once
 * contention was found, it keeps nothing, and one bit says so: with a million
 * variables, speed depends on these bits being in the cache.
 *
 * Included by: engines that ask what other runs could do, refine_learn.c.
 */
#ifndef ATOMSAN_ENGINE_CONTENTION_H
#define ATOMSAN_ENGINE_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/phase.h"
#include "trace/event.h"

/* In place of the slot of a last read: several slots have read, `index` is the number of a list. */
enum { CONTENTION_MANY = UINT32_MAX };

/* The last accesses of a life, or acquires of a lock. */
struct contention_last {
	struct phase write, read; /* index 0: none */
};

struct contention_list {
	struct phase *v; /* at most one for each slot */
	uint32_t n, cap;
};

struct contention_bits {
	uint64_t *v;
	size_t cap;
};

struct contention {
	struct contention_last *life, *lock;
	size_t life_cap, lock_cap;
	struct contention_bits life_found, lock_found; /* contention was found: it takes part */
	uint32_t nlives, nlocks;
	bool learned;  /* the first pass is over */
	uint32_t *now; /* of a variable: 1 + its life; 0: its next access begins a life */
	size_t now_cap;
	uint32_t *var; /* of a life: the variable */
	size_t var_cap;
	struct contention_list *list;
	uint32_t nlists, *spare, nspare; /* lists that are free */
	size_t list_cap, spare_cap;
};

void contention_free(struct contention *c);
void contention_room(struct contention *c, uint32_t nvars, uint32_t nlocks);

/* Returns the life that the variable is in, beginning one if needed. Call it for each access. */
uint32_t contention_life(struct contention *c, uint32_t var);

/* Take each access, acquire, alloc and free of the first pass. */
void contention_look(struct contention *c, const struct phases *p, const struct event *e);

/* Start numbering lives again, before the next pass. From then on no contention is looked for. */
void contention_rewind(struct contention *c);
/* Take an alloc or free in a later pass. */
void contention_reborn(struct contention *c, uint32_t var);

static inline bool contention_bit(const struct contention_bits *b, uint32_t i)
{
	return b->v[i / 64] >> i % 64 & 1;
}

static inline bool contention_life_takes_part(const struct contention *c, uint32_t life)
{
	return contention_bit(&c->life_found, life);
}

static inline bool contention_lock_takes_part(const struct contention *c, uint32_t lock)
{
	return lock < c->nlocks && contention_bit(&c->lock_found, lock);
}

#endif
