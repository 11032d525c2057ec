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

struct reach reach_of(const struct cycle *c, uint64_t from, bool whole)
{
	return (struct reach){from, whole ? find_alive_clock(c, from) : from, c, whole};
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

bool span_is_needed(const struct history *h, struct reach reach)
{
	if (!h->owner && !h->chunk[h->at].serial)
		return false; /* history_forget() emptied it */
	return h->owner || h->last_clock >= reach.wide || h->last_time > span_dead(h);
}
