#include "runtime/report/spans.h"

#include "engine/precise/order.h"

#include "base/banned.h"

/*
 * Returns the clock from which on histories are copied, at or before `from`. The transactions on
 * the cycle began before their steps, and which of several cycles was closed first depends on what
 * other threads did since. So everything is copied that is not dead in a thread of the cycle.
 */
static uint64_t find_alive_clock(const struct cycle *c, uint64_t from)
{
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t slot = step_slot(c->step[i]);
		const struct history *h = history_of_slot(slot);
		uint64_t dead = __atomic_load_n(&slot_public[slot].dead, __ATOMIC_ACQUIRE);

		for (uint32_t k = h ? h->at : 0, n = h ? h->nchunks : 0; n; n--) {
			if (!__atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE))
				break;
			if (h->chunk[k].clock < from)
				from = h->chunk[k].clock;
			if (h->chunk[k].base <= dead)
				break;
			k = (k + h->nchunks - 1) % h->nchunks;
		}
	}
	return from;
}

/* Returns the time of the slot's first step on the cycle; UINT64_MAX if it has none. */
static uint64_t find_first_step(const struct cycle *c, uint32_t slot)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < c->n; i++)
		if (step_slot(c->step[i]) == slot && (uint64_t)step_index(c->step[i]) < first)
			first = (uint64_t)step_index(c->step[i]);
	return first;
}

/* From the first step that is still there, or the last chunk. */
static struct span small_span_of(const struct history *h, const struct cycle *c)
{
	struct span s = {h->at, false};
	uint64_t oldest = h->serial;
	uint32_t k;

	for (uint32_t i = 0; i < c->n; i++)
		if (step_slot(c->step[i]) == h->slot &&
		    history_chunk_of(h, (uint64_t)step_index(c->step[i]), &k) &&
		    h->chunk[k].serial && h->chunk[k].serial < oldest) {
			oldest = h->chunk[k].serial;
			s.oldest = k;
		}
	return s;
}

/*
 * The clock may stand still while a thread fills many chunks. So the span of a thread on the cycle
 * also goes back to its first step and to where it is dead, by its own time.
 */
struct span span_of(const struct history *h, struct reach reach)
{
	struct span s = {h->at, false};
	uint32_t k = h->at;
	uint64_t first = find_first_step(reach.cycle, h->slot), dead = span_dead(h);

	if (!reach.whole)
		return small_span_of(h, reach.cycle);
	for (uint32_t i = 0; i < h->nchunks; i++) {
		const struct history_chunk *c = &h->chunk[k];
		uint64_t serial = __atomic_load_n(&c->serial, __ATOMIC_ACQUIRE);

		if (!serial)
			break;
		s.oldest = k;
		/* An operation at the chunk's first time may be in the chunk before, if there is
		 * one. */
		s.far = (c->clock <= reach.from && c->base < first) || serial == 1;
		if ((c->clock <= reach.wide && c->base < first && c->base <= dead) || serial == 1)
			break;
		k = (k + h->nchunks - 1) % h->nchunks;
	}
	return s;
}

/* The slots that are copied if `few` is set; with the histories held. */
static uint64_t chosen[SHADOW_SLOTS / 64];

static bool is_chosen(uint32_t slot)
{
	return chosen[slot / 64] >> slot % 64 & 1;
}

bool span_is_needed(const struct history *h, struct reach reach)
{
	if (!h->owner && !h->chunk[h->at].serial)
		return false; /* history_forget() emptied it */
	if (reach.few)
		return is_chosen(h->slot);
	return h->owner || h->last_clock >= reach.wide || h->last_time > span_dead(h);
}

/* Count the threads and units that a snapshot would have. */
static uint64_t count_units(struct reach reach, uint32_t *threads)
{
	uint64_t units = 0;

	*threads = 0;
	for (struct history *h = NULL; (h = history_next(h)) != NULL;)
		if (span_is_needed(h, reach)) {
			struct span span = span_of(h, reach);

			units += ((h->at + h->nchunks - span.oldest) % h->nchunks + 1) *
				 (uint64_t)HISTORY_CHUNK;
			++*threads;
		}
	return units;
}

/*
 * Choose the threads on the cycle, and others that can be on a path from its first step to its
 * last: such a thread has taken an edge since, so its clock is above `from`.
 */
static void choose_threads(struct reach reach)
{
	uint32_t n = 0;

	for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
		chosen[i] = 0;
	for (uint32_t i = 0; i < reach.cycle->n; i++) {
		uint32_t slot = step_slot(reach.cycle->step[i]);

		n += !is_chosen(slot);
		chosen[slot / 64] |= 1ull << slot % 64;
	}
	for (struct history *h = NULL; n < SPAN_THREADS && (h = history_next(h)) != NULL;) {
		uint64_t clock = h->owner ? __atomic_load_n(&h->owner->time.clock, __ATOMIC_RELAXED)
					  : h->last_clock;

		if (is_chosen(h->slot) || clock <= reach.from)
			continue;
		chosen[h->slot / 64] |= 1ull << h->slot % 64;
		n++;
	}
}

struct reach reach_of(const struct cycle *c, uint64_t from, bool whole)
{
	struct reach reach = {.from = from,
			      .wide = whole ? find_alive_clock(c, from) : from,
			      .cycle = c,
			      .whole = whole};
	uint32_t threads;

	if (!c->n || (count_units(reach, &threads) <= SPAN_UNITS && threads <= SPAN_THREADS))
		return reach;
	reach.wide = from;
	reach.cut = whole ? from : 0;
	if (threads > SPAN_THREADS) {
		choose_threads(reach);
		reach.few = true;
	}
	return reach;
}
