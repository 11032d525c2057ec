#include "runtime/report/repeats.h"

#include "runtime/report/conflict_set.h"
#include "runtime/shadow/time.h"

#include "base/banned.h"

enum { REPEATS = 1 << 13 };
static struct repeat repeats[REPEATS]; /* in the order of slot and time after repeats_sort() */
static uint32_t nrepeats;

void repeats_begin(void)
{
	nrepeats = 0;
}

void repeats_collect(const struct history *h, struct span span)
{
	struct history_walk w;

	EACH_CHUNK(k, h, span)
	{
		if (!history_walk(&w, h, k))
			continue;
		while (history_walk_next(&w))
			if (w.op == (enum raw_op)HISTORY_EDGE && nrepeats < REPEATS &&
			    (w.address || !history_for_replay))
				repeats[nrepeats++] = (struct repeat){
					w.size, w.address,
					history_for_replay ? UINT64_MAX : w.clock, !w.address};
	}
}

/* Returns slot and time. */
static uint64_t word_order(uint64_t word)
{
	return word >> SHADOW_TIME_SHIFT;
}

/* Move entry `i` of a heap of `n` down to its place. */
static void heap_sift_down(size_t i, size_t n)
{
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		struct repeat swap = repeats[i];

		child += child + 1 < n &&
			 word_order(repeats[child].word) < word_order(repeats[child + 1].word);
		if (word_order(swap.word) >= word_order(repeats[child].word))
			return;
		repeats[i] = repeats[child];
		repeats[child] = swap;
	}
}

/* A heap sort, which needs no memory and has no bad case. */
void repeats_sort(void)
{
	for (size_t i = nrepeats / 2; i-- > 0;)
		heap_sift_down(i, nrepeats);
	for (size_t n = nrepeats; n > 1; n--) {
		struct repeat last = repeats[n - 1];

		repeats[n - 1] = repeats[0];
		repeats[0] = last;
		heap_sift_down(0, n - 1);
	}
	for (size_t i = nrepeats; i-- > 1;) {
		RT_ASSERT(word_order(repeats[i - 1].word) <= word_order(repeats[i].word));
		if (shadow_slot(repeats[i - 1].word) == shadow_slot(repeats[i].word) &&
		    repeats[i - 1].before > repeats[i].before)
			repeats[i - 1].before = repeats[i].before;
	}
}

uint32_t repeats_first(uint32_t slot)
{
	uint32_t low = 0, high = nrepeats;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (shadow_slot(repeats[middle].word) < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct repeat *repeats_at(uint32_t i, uint32_t slot)
{
	return i < nrepeats && shadow_slot(repeats[i].word) == slot ? &repeats[i] : NULL;
}

/*
 * Is this unit the access that the edge came from? It may be later than the word, if that is of an
 * owned line (shadow/owned_line.h).
 */
static bool is_unit_of(const struct repeat *r, const struct history_walk *w, uint32_t slot)
{
	uintptr_t first = r->address + (uintptr_t)__builtin_ctzll(r->word & SHADOW_BYTES);

	return shadow_slot(r->word) == slot && w->time >= word_time(r->word) &&
	       repeats_op_writes(w->op) == !!(r->word & SHADOW_WRITE) && first >= w->address &&
	       first < w->address + w->size;
}

/*
 * Units and repeats are in the order of time. For each unit, compare the repeats from `i` to `end`:
 * those up to its time, from its own stretch on, and at most RECENT of them.
 */
void repeats_drop_units(const struct history *h, struct span span)
{
	enum { RECENT = 64 };
	uint32_t i = repeats_first(h->slot), end = i;
	const struct repeat *r;
	struct history_walk w;

	EACH_CHUNK(k, h, span)
	{
		if (!history_walk(&w, h, k))
			continue;
		while (repeats_at(i, h->slot) && history_walk_next(&w)) {
			if (w.op == (enum raw_op)HISTORY_EDGE)
				while ((r = repeats_at(i, h->slot)) && word_time(r->word) < w.time)
					i++;
			while ((r = repeats_at(end, h->slot)) && word_time(r->word) <= w.time)
				end++;
			if (!history_is_access(w.op))
				continue;
			if (end > i + RECENT)
				i = end - RECENT;
			for (uint32_t j = i; j < end; j++)
				repeats[j].done =
					repeats[j].done || is_unit_of(&repeats[j], &w, h->slot);
		}
	}
}

void repeats_add_conflicts(bool writes)
{
	for (uint32_t i = 0; i < nrepeats; i++) {
		const struct repeat *r = &repeats[i];

		if (!r->address || !!(r->word & SHADOW_WRITE) != writes || word_is_dead(r->word))
			continue;
		if (writes)
			conflict_set_add_write(shadow_slot(r->word), r->address, 8);
		else
			conflict_set_add_read(shadow_slot(r->word), r->address, 8);
	}
}

uintptr_t repeats_place(const struct history *h, const struct repeat *r, uintptr_t function)
{
	const struct rt_repeat *last =
		&slot_public[h->slot].repeat[r->address >> 3 & (RT_REPEATS - 1)];

	return last->word == r->word && (last->address & ~7ul) == r->address ? last->pc : function;
}
