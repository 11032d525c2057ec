/*
 * Random numbers that are the same on every machine: splitmix64 (Steele, Lea,
 * Flood 2014), one word of state, good for any seed, 0 and 1 included.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_RNG_H
#define ATOMSAN_TESTS_PROPERTY_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Returns 0 .. n-1; n > 0. The bias is negligible for the small n here. */
static inline unsigned rng_below(struct rng *r, unsigned n)
{
	return (unsigned)(rng_next(r) % n);
}

static inline unsigned rng_between(struct rng *r, unsigned low, unsigned high)
{
	return low + rng_below(r, high - low + 1);
}

static inline bool rng_percent(struct rng *r, unsigned percent)
{
	return rng_below(r, 100) < percent;
}

#endif
