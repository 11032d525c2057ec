/*
 * What takes part: which variables and locks threads can contend for at all.
 *
 * Of a variable, two accesses that are concurrent (period.h) and not both reads;
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
 * (FastTrack's epochs, Flanagan and Freund 2009, with periods for times). Once
 * found it keeps nothing, and one bit says so: with a million variables, that
 * these bits are in the cache is what counts.
 *
 * Who may include this: engines that ask what other runs could do.
 */
#ifndef ATOMSAN_ENGINE_SHARE_H
#define ATOMSAN_ENGINE_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/period.h"
#include "trace/event.h"

/* A read: the last one. SHARE_MANY in place of the slot: `index` is the number of a list. */
enum { SHARE_MANY = UINT32_MAX };

struct share {
	struct period write, read; /* index 0: none */
};

struct share_list {
	struct period *v; /* one a slot */
	uint32_t n, cap;
};

struct share_bits {
	uint64_t *v;
	size_t cap;
};

struct shares {
	struct share *life, *lock;
	size_t life_cap, lock_cap;
	struct share_bits life_found, lock_found; /* takes part */
	uint32_t nlives, nlocks;
	bool learned;  /* the first pass is over */
	uint32_t *now; /* of a variable: 1 + its life, 0 where it begins a new one */
	size_t now_cap;
	uint32_t *var; /* of a life: the variable */
	size_t var_cap;
	struct share_list *list;
	uint32_t nlists, *spare, nspare; /* lists that nobody has any more */
	size_t list_cap, spare_cap;
};

void shares_free(struct shares *s);
void shares_room(struct shares *s, uint32_t nvars, uint32_t nlocks);

/* The life that the variable is in; for an access. */
uint32_t shares_life(struct shares *s, uint32_t var);

/* Take each access, acquire, alloc and free of the first pass. */
void shares_look(struct shares *s, const struct periods *p, const struct event *e);

/* Begin to count lives anew: before the next pass. From then on nothing new is found. */
void shares_rewind(struct shares *s);
/* In later passes: an alloc or free. */
void shares_reborn(struct shares *s, uint32_t var);

static inline bool share_bit(const struct share_bits *b, uint32_t i)
{
	return b->v[i / 64] >> i % 64 & 1;
}

static inline bool shares_life_takes_part(const struct shares *s, uint32_t life)
{
	return share_bit(&s->life_found, life);
}

static inline bool shares_lock_takes_part(const struct shares *s, uint32_t lock)
{
	return lock < s->nlocks && share_bit(&s->lock_found, lock);
}

#endif
