/*
 * Which locks each thread holds, as numbered sets.
 *
 * A set is a sorted list of locks, each held exclusively or shared. Equal sets
 * have the same number, so two are compared as two numbers and an engine's
 * record of an access costs four bytes. Set 0 is the empty one. Numbers are
 * never reused, and not dense: a number is the place of the set in the pool.
 *
 * Locks need not nest: a release takes out its lock wherever it stands.
 *
 * Cost: for each acquire, and for each release of another lock than the last
 * acquired, a look-up in a small table of steps made lately (from this set by this
 * lock to that one); where it is not there, one in the hash table of sets. Memory:
 * grows with the number of different sets, by about six words and one for each lock.
 *
 * Who may include this: engines that ask what locks prevent.
 */
#ifndef ATOMSAN_ENGINE_HELDLOCKS_H
#define ATOMSAN_ENGINE_HELDLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/* A lock in a set: its number doubled, plus 1 where held exclusively. */
typedef uint32_t held;

static inline uint32_t held_lock(held h)
{
	return h >> 1;
}

static inline bool held_exclusive(held h)
{
	return h & 1;
}

/* Of two threads that hold, or want, the same lock: does one keep the other out? */
static inline bool held_conflict(held a, held b)
{
	return held_lock(a) == held_lock(b) && (held_exclusive(a) || held_exclusive(b));
}

typedef uint32_t heldset;
enum { HELD_NONE = 0 };

struct heldset_view {
	const held *v; /* ascending; valid until the next set is made */
	uint32_t n;
};

/* How a thread came to its set: what it acquired last, and the sets before that. */
struct heldlocks_thread {
	heldset now;
	uint32_t n;
	struct heldlocks_past *past;
	size_t cap;
};

struct heldlocks {
	held *pool; /* set s: how many at pool[s], and then its elements */
	size_t npool, pool_cap;
	uint32_t nsets;
	heldset *slot; /* hash of sets; 0: none */
	uint32_t nslots;
	struct heldlocks_step *step; /* STEPS of them, by hash; the last one made has the place */
	struct heldlocks_thread *thread;
	size_t thread_cap;
	held *scratch;
	size_t scratch_cap;
	uint64_t unnested; /* releases of another lock than the last acquired, as far as known */
};

void heldlocks_init(struct heldlocks *h);
void heldlocks_free(struct heldlocks *h);
void heldlocks_room(struct heldlocks *h, uint32_t nthreads);

/* An acquire or release, of either kind. */
void heldlocks_take(struct heldlocks *h, const struct event *e);

static inline heldset heldlocks_of(const struct heldlocks *h, uint32_t thread)
{
	return h->thread[thread].now;
}

static inline struct heldset_view heldlocks_view(const struct heldlocks *h, heldset s)
{
	return (struct heldset_view){h->pool + s + 1, h->pool[s]};
}

/* Can two threads not be in these sets at one time: is a lock in both, in one exclusively? */
bool heldlocks_exclude(const struct heldlocks *h, heldset a, heldset b);

/* Is all of `part` in `whole`, and exclusively where it is so in `part`? */
bool heldlocks_include(const struct heldlocks *h, heldset whole, heldset part);

/* What is exclusive in `s`. */
heldset heldlocks_exclusive(struct heldlocks *h, heldset s);
/* What is in either, exclusive where it is so in one. */
heldset heldlocks_union(struct heldlocks *h, heldset a, heldset b);
/* What is in both, shared where it is so in one. */
heldset heldlocks_common(struct heldlocks *h, heldset a, heldset b);

#endif
