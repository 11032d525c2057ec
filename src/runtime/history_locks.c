/*
 * The ring of operations on locks. An entry is a line of the cache, since its thread writes one
 * with each operation, and others never look but for a report.
 *
 * The stamp is 0 while the entry is being written. Else it has the time, how often the ring had
 * gone round, so that the same time is not the same stamp, and what else fits. The words are eight
 * numbers of 48 bits (the place, its calls, the clock), and the operation as in a unit.
 */
#include "runtime/history.h"

#define TIME_MASK  (2 * SHADOW_TIMES - 1)
#define STAMP_USED (1ull << 63)
#define STAMP_EDGE (1ull << 62)
enum { STAMP_ROUND = 43, STAMP_ROUNDS = 1 << 16, BITS = 48 };

_Static_assert(2 * SHADOW_TIMES == 1ull << STAMP_ROUND && RAW_ADDRESS_MASK == (1ull << BITS) - 1,
	       "a time fits, and so does an address");

static uint64_t round_of(uint64_t number)
{
	return number / HISTORY_LOCKS % STAMP_ROUNDS << STAMP_ROUND;
}

static void put_word(uint64_t *to, uint64_t word)
{
	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

/* Four numbers in three words. */
static void pack(uint64_t *to, const uint64_t *v)
{
	put_word(&to[0], v[0] | v[1] << BITS);
	put_word(&to[1], v[1] >> 16 | v[2] << 32);
	put_word(&to[2], v[2] >> 32 | v[3] << 16);
}

static void unpack(const uint64_t *from, uint64_t *v)
{
	v[0] = from[0] & RAW_ADDRESS_MASK;
	v[1] = (from[0] >> BITS | from[1] << 16) & RAW_ADDRESS_MASK;
	v[2] = (from[1] >> 32 | from[2] << 32) & RAW_ADDRESS_MASK;
	v[3] = from[2] >> 16;
}

void history_put_lock(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
		      uintptr_t pc, bool edge)
{
	struct history *h = t->history;
	uint64_t number = h->nlocks, what = record_what(op, address, aux), v[HISTORY_CALLS + 2];
	uint64_t time = t->now >> SHADOW_TIME_SHIFT & TIME_MASK;
	const struct history_lock *last = &h->locks[(number - 1) % HISTORY_LOCKS];
	struct history_lock *e = &h->locks[number % HISTORY_LOCKS];

	/* The same again at the same time: whoever asks is told the first. */
	if (number > h->first_lock && last->word[6] == what && (last->stamp & TIME_MASK) == time)
		return;
	put_word(&e->stamp, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	v[0] = t->clock & RAW_ADDRESS_MASK;
	v[1] = pc & RAW_ADDRESS_MASK;
	for (size_t i = 0; i < HISTORY_CALLS; i++)
		v[i + 2] = i < t->depth ? t->frame[t->depth - 1 - i].caller & RAW_ADDRESS_MASK : 0;
	pack(e->word, v);
	pack(e->word + 3, v + 4);
	put_word(&e->word[6], what);
	__atomic_store_n(&e->stamp, time | round_of(number) | (edge ? STAMP_EDGE : 0) | STAMP_USED,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&h->nlocks, number + 1, __ATOMIC_RELEASE);
}

uint64_t history_locks(const struct history *h, uint64_t *first)
{
	uint64_t n = h->locks ? __atomic_load_n(&h->nlocks, __ATOMIC_ACQUIRE) : 0;

	*first = n > h->first_lock + HISTORY_LOCKS ? n - HISTORY_LOCKS : h->first_lock;
	return n;
}

bool history_lock_at(const struct history *h, uint64_t number, struct history_lock_op *to)
{
	const struct history_lock *e = &h->locks[number % HISTORY_LOCKS];
	uint64_t stamp = __atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE), word[7];
	uint64_t v[HISTORY_CALLS + 2];

	for (size_t i = 0; i < 7; i++)
		word[i] = __atomic_load_n(&e->word[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&e->stamp, __ATOMIC_RELAXED) != stamp || !stamp ||
	    (stamp & round_of(UINT64_MAX)) != round_of(number))
		return false;
	unpack(word, v);
	unpack(word + 3, v + 4);
	*to = (struct history_lock_op){.address = word[6] & RAW_ADDRESS_MASK,
				       .time = stamp & TIME_MASK,
				       .clock = v[0],
				       .pc = v[1],
				       .op = (enum raw_op)(word[6] >> 48 & 0xff),
				       .aux = (uint32_t)(word[6] >> 56),
				       .edge = stamp & STAMP_EDGE};
	for (size_t i = 0; i < HISTORY_CALLS; i++)
		to->call[i] = v[i + 2];
	return true;
}
