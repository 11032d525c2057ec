/*
 * Which locks each thread holds, as numbered sets.
 *
 * A set is a sorted list of locks, each held exclusively or shared. Equal sets
 * have the same number, so comparing two sets is comparing two numbers, and an
 * engine stores the set of an access in four bytes. Set 0 is the empty set.
 * Numbers are never reused. They are not dense: a number is the position of the
 * set in the pool.
 *
 * Locks need not be nested: a release removes its lock from any position.
 *
 * Cost: an acquire, or a release of a lock that is not the last acquired, is a
 * look-up in a small table of recent changes (from a set, by a lock, to a set); if
 * it is not there, a look-up in the hash table of sets. Memory grows with the
 * number of different sets, by about six words for each and one for each lock.
 *
 * Included by: engines that ask what locks prevent.
 */
#ifndef ATOMSAN_ENGINE_HELDLOCKS_H
#define ATOMSAN_ENGINE_HELDLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* A lock in a set: twice its number, plus 1 if it is held exclusively. */
typedef uint32_t held;

static inline uint32_t held_lock(held h)
{
	return h >> 1;
}

static inline bool held_exclusive(held h)
{
	return h & 1;
}

/* Two threads hold or want these: is it the same lock, and does one exclude the other? */
static inline bool held_conflict(held a, held b)
{
	return held_lock(a) == held_lock(b) && (held_exclusive(a) || held_exclusive(b));
}

typedef uint32_t heldset;
enum { HELD_NONE = 0 };

struct heldset_view {
	const held *v; /* ascending; valid until another set is made */
	uint32_t n;
};

/* The set of a thread, the locks in the order of their acquires, and the set before each. */
struct heldlocks_thread {
	heldset now;
	uint32_t n;
	struct heldlocks_past *past;
	size_t cap;
};

struct heldlocks {
	held *pool; /* set s: its size at pool[s], then its elements */
	size_t npool, pool_cap;
	uint32_t nsets;
	heldset *slot; /* hash of sets; 0: empty */
	uint32_t nslots;
	struct heldlocks_step *step; /* recent changes, by hash; a new one replaces the old */
	struct heldlocks_thread *thread;
	size_t thread_cap;
	held *scratch;
	size_t scratch_cap;
	uint64_t unnested; /* releases of a lock that is not the last acquired, as far as known */
};

void heldlocks_init(struct heldlocks *h);
void heldlocks_free(struct heldlocks *h);
void heldlocks_room(struct heldlocks *h, uint32_t nthreads);

/* Take an acquire or release, exclusive or shared. */
void heldlocks_take(struct heldlocks *h, const struct event *e);

static inline heldset heldlocks_of(const struct heldlocks *h, uint32_t thread)
{
	return h->thread[thread].now;
}

static inline struct heldset_view heldlocks_view(const struct heldlocks *h, heldset s)
{
	return (struct heldset_view){h->pool + s + 1, h->pool[s]};
}

/* Can no two threads hold these sets at the same time: do they conflict in a lock? */
bool heldlocks_exclude(const struct heldlocks *h, heldset a, heldset b);

/* Is each lock of `part` in `whole`, and exclusively if it is exclusive in `part`? */
bool heldlocks_include(const struct heldlocks *h, heldset whole, heldset part);

/* Returns the locks that are exclusive in `s`. */
heldset heldlocks_exclusive(struct heldlocks *h, heldset s);
/* Returns the locks that are in either set; exclusive if exclusive in one. */
heldset heldlocks_union(struct heldlocks *h, heldset a, heldset b);
/* Returns the locks that are in both sets; shared if shared in one. */
heldset heldlocks_common(struct heldlocks *h, heldset a, heldset b);

#endif
