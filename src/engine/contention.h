/*
 * What takes part: which variables and locks threads can contend for at all.
 *
 * Of a variable, two accesses that are concurrent (phase.h) and not both reads;
 * of a lock, two acquires that are concurrent and not both shared. Where there
 * are none, the order of all that matters is fixed by fork, join and barriers in
 * every run: the variable is one thread's own, or was handed over, or nobody
 * writes it since others have it; the lock keeps nobody out.
 *
 * Memory that is allocated or freed begins a new life, and what was done in
 * another life of it says nothing. So this counts lives, from 0, in the order in
 * which they are first used. Each pass over a trace numbers them alike.
 *
 * How: while nothing is found, each write comes after all accesses before it.
 * So a life keeps its last write, and for each slot its last read since
 * (FastTrack's epochs, Flanagan and Freund 2009, with phases for times). Once
 * found it keeps nothing, and one bit says so: with a million variables, that
 * these bits are in the cache is what counts.
 *
 * Who may include this: engines that ask what other runs could do.
 */
#ifndef ATOMSAN_ENGINE_CONTENTION_H
#define ATOMSAN_ENGINE_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/phase.h"
#include "trace/event.h"

/* A read: the last one. CONTENTION_MANY in place of the slot: `index` is the number of a list. */
enum { CONTENTION_MANY = UINT32_MAX };

struct contention_last {
	struct phase write, read; /* index 0: none */
};

struct contention_list {
	struct phase *v; /* one a slot */
	uint32_t n, cap;
};

struct contention_bits {
	uint64_t *v;
	size_t cap;
};

struct contention {
	struct contention_last *life, *lock;
	size_t life_cap, lock_cap;
	struct contention_bits life_found, lock_found; /* takes part */
	uint32_t nlives, nlocks;
	bool learned;  /* the first pass is over */
	uint32_t *now; /* of a variable: 1 + its life, 0 where it begins a new one */
	size_t now_cap;
	uint32_t *var; /* of a life: the variable */
	size_t var_cap;
	struct contention_list *list;
	uint32_t nlists, *spare, nspare; /* lists that nobody has any more */
	size_t list_cap, spare_cap;
};

void contention_free(struct contention *c);
void contention_room(struct contention *c, uint32_t nvars, uint32_t nlocks);

/* The life that the variable is in; for an access. */
uint32_t contention_life(struct contention *c, uint32_t var);

/* Take each access, acquire, alloc and free of the first pass. */
void contention_look(struct contention *c, const struct phases *p, const struct event *e);

/* Begin to count lives anew: before the next pass. From then on nothing new is found. */
void contention_rewind(struct contention *c);
/* In later passes: an alloc or free. */
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
