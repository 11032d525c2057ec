#include "runtime/report/steps.h"

#include <string.h>

#include "engine/precise/order.h"

#include "base/banned.h"

/* Can an edge come from such an operation (`source`), or go to it? */
static bool op_can_be_step(enum raw_op op, bool source)
{
	switch (op) {
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
	case RAW_SEM_WAIT:
	case RAW_JOIN:
		return !source;
	case RAW_RELEASE:
	case RAW_RELEASE_SHARED:
	case RAW_FORK:
		return source;
	default:
		return history_is_access(op) || op == RAW_SEM_POST;
	}
}

static void fill_step(struct live_step *to, uint64_t clock, uint64_t address, uintptr_t pc,
		      enum raw_op op, uint32_t aux)
{
	to->time = clock;
	to->address = address;
	to->pc = pc;
	to->op = (uint8_t)op;
	to->aux = (uint8_t)aux;
}

/*
 * Search a chunk for the operation of a step: the first one at `time` that accesses `address`, or
 * the first of all if `address` is 0. An owned line has one time for all accesses in a stretch, so
 * the access that an edge came from may have a later time, up to the next incoming edge.
 *
 * Returns true if it is found. If not, `to` may have another operation at `time`, or only the
 * clock.
 */
static bool find_in_chunk(struct history *h, uint32_t k, uint64_t time, uint64_t address,
			  bool source, struct live_step *to)
{
	struct history_walk w;
	bool here;

	if (!history_walk_to(&w, h, k, time))
		return false;
	if (w.time && !to->op)
		to->time = w.clock;
	while (history_walk_next(&w)) {
		if (w.time > time && (!address || !source || w.op == (enum raw_op)HISTORY_EDGE))
			break;
		here = address && (address == w.address || address - w.address < w.size);
		if (w.time <= time && !to->op)
			to->time = w.clock;
		if (w.time < time || w.prologue || !op_can_be_step(w.op, source) ||
		    (w.time > time && !history_is_access(w.op)) ||
		    (!here && (to->op || w.time > time)))
			continue;
		fill_step(to, w.clock, w.address, w.pc, w.op, w.aux);
		if (here || !address)
			return true;
	}
	return false;
}

/*
 * Search the saved operations on locks for the operation of a step. An access may have the same
 * time, and must not be mistaken for one of them. So an edge must have come in with the operation
 * or, for a source, the operation must be on the lock that the edge went to.
 */
static bool find_in_saved_locks(const struct history *h, uint64_t time, uint64_t lock, bool source,
				struct live_step *to)
{
	uint64_t low, high = history_locks(h, &low), end = high;
	struct history_lock_op op;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!history_lock_at(h, middle, &op) || op.time < time)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && history_lock_at(h, low, &op) && op.time == time; low++) {
		if (!op_can_be_step((enum raw_op)op.op, source) ||
		    (source ? op.address != lock : !op.edge))
			continue;
		for (size_t i = 0; i < LIVE_CALLS; i++)
			to->calls[i] = op.call[i];
		fill_step(to, op.clock, op.address, op.pc, (enum raw_op)op.op, op.aux);
		return true;
	}
	return false;
}

/* Fill a step with a saved operation. */
static void fill_saved(struct live_step *to, const struct history_lock_op *op)
{
	for (size_t i = 0; i < LIVE_CALLS; i++)
		to->calls[i] = op->call[i];
	fill_step(to, op->clock, op->address, op->pc, (enum raw_op)op->op, op->aux);
	to->evicted = 0;
	to->kept = 1;
}

/* Search the saved accesses for the operation of a step. */
static bool find_in_saved_accesses(const struct history *h, uint64_t time, uint64_t address,
				   bool source, struct live_step *to)
{
	struct history_lock_op op;

	if ((source && !address) || !history_access_at(h, time, source ? address : 0, &op))
		return false;
	fill_saved(to, &op);
	return true;
}

/*
 * The time may stand still while a thread fills many chunks. So the first operation at a time is in
 * the last chunk that begins before that time, or in a later one.
 */
bool steps_find(uint64_t s, const struct live_step *next, struct live_step *to)
{
	struct history *h = history_of_slot(step_slot(s));
	uint64_t time = (uint64_t)step_index(s), address = next ? next->address : 0;
	uint32_t k;
	bool here;

	memset(to, 0, sizeof *to);
	to->evicted = 1;
	if (!h)
		return false;
	to->thread = h->thread;
	here = history_chunk_of(h, time, &k);
	if (!here && (!next || history_is_on_lock((enum raw_op)next->op)) &&
	    find_in_saved_locks(h, time, address, next, to)) {
		to->evicted = 0;
		to->kept = 1;
		return false;
	}
	if (!here && find_in_saved_accesses(h, time, address, next, to))
		return false;
	if (!here && !address)
		return false;
	for (uint32_t i = 0; i < h->nchunks && h->chunk[k].base <= time; i++) {
		if (find_in_chunk(h, k, time, address, next, to)) {
			to->evicted = 0;
			return true;
		}
		if (k == h->at)
			break;
		k = (k + 1) % h->nchunks;
	}
	if (!here)
		*to = (struct live_step){.thread = h->thread};
	to->evicted = !here;
	return here;
}
