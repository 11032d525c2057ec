/* Edges into the order of transactions, and the cycles that they would close. */
#include <string.h>

#include "runtime/checker/checker.h"
#include "runtime/frontier/frontier.h"
#include "runtime/history/history.h"
#include "runtime/report/report.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

/* The cycle that this thread has closed, until it is reported. */
static __thread struct cycle closed __attribute__((tls_model("initial-exec")));
/* By slot, as far as there is room: the last step whose edge closed the cycle; 0: no more. */
enum { CLOSED_BY = 4 };
static __thread step closed_by[CLOSED_BY] __attribute__((tls_model("initial-exec")));

static void note_closing(const struct rt_thread *t, uint64_t bytes)
{
	uint32_t n = closed.nclosing;

	if (!n || closed.closing[n - 1].address != t->shadow.at) {
		if (n == CYCLE_CLOSING)
			return;
		closed.closing[n].address = t->shadow.at;
		closed.closing[n].bytes = 0;
		closed.nclosing = ++n;
	}
	closed.closing[n - 1].bytes |= t->shadow.at ? bytes : 0;
}

/* What the transaction of slot `home` reaches by now, and where others are in one. */
static void note_reach(uint32_t home)
{
	closed.nreach = checker_order.n < CYCLE_REACH ? checker_order.n : CYCLE_REACH;
	for (uint32_t s = 0; s < closed.nreach; s++) {
		const order_index *row = checker_order.reach + (size_t)s * checker_order.cap;
		order_index open = __atomic_load_n(&row[s], __ATOMIC_ACQUIRE);

		closed.reach[s] = (uint64_t)(row[home] < open ? row[home] : open);
	}
}

static step *closed_by_slot(uint32_t slot)
{
	uint32_t i = 0;

	while (i < CLOSED_BY && closed_by[i] && step_slot(closed_by[i]) != slot)
		i++;
	return i < CLOSED_BY ? &closed_by[i] : NULL;
}

/* The cycle that an edge from a word closes, backwards: order.h's `why` tells the way. */
static void note_cycle(struct rt_thread *t, uint64_t word)
{
	uint64_t src = shadow_step(word);
	uint32_t home = t->slot, s = step_slot(src);
	step *by = closed_by_slot(s);

	__atomic_fetch_add(&report_counts.cycles, 1, __ATOMIC_RELAXED);
	t->shadow.closed = true;
	if (by && *by < src)
		*by = src;
	note_closing(t, word & SHADOW_BYTES);
	if (closed.n)
		return; /* one access, one report */
	closed.slot = home;
	closed.begin = (uint64_t)step_index(checker_order.slot[home].now);
	closed.clock = t->blocks.txn_clock;
	note_reach(home);
	closed.step[closed.n++] = shadow_step(t->time.now);
	closed.step[closed.n++] = src;
	while (s != home && closed.n + 2 <= CYCLE_STEPS) {
		const struct order_why *why =
			&checker_order.why[(size_t)s * checker_order.cap + home];

		closed.step[closed.n++] = why->dst;
		closed.step[closed.n++] = why->src;
		s = why->from;
	}
}

/*
 * Of a large access, what there is to tell has been told. Here is one more edge that closes a
 * cycle, from a step that nobody reaches who did not reach one of the same slot that was left out
 * already: that is a later one, or none came to reach the slot in between.
 */
static bool closes_again(const struct rt_thread *t, step src)
{
	uint32_t s = step_slot(src);
	const step *by = closed_by_slot(s);

	return by && *by &&
	       (src <= *by || (uint64_t)step_index(*by) >=
				      __atomic_load_n(&slot_public[s].stretch, __ATOMIC_ACQUIRE)) &&
	       __atomic_load_n(&checker_order.reach[(size_t)s * checker_order.cap + t->slot],
			       __ATOMIC_ACQUIRE) <= step_index(src);
}

bool frontier_edge(struct rt_thread *t, uint64_t word, bool *fresh)
{
	step src = shadow_step(word);
	bool added;

	if (t->shadow.seen[step_slot(src)] >= step_index(src))
		return true;
	if (t->shadow.closed && closed.nclosing == CYCLE_CLOSING && closes_again(t, src))
		return false;
	time_after(t, word);
	/* With no block open anywhere, only the clocks are of interest. */
	if (!mode_any_active())
		return true;
	if (!*fresh)
		time_new_stretch(t);
	*fresh = true;
	rt_lock_ranked(&checker_order_lock, RT_ORDER);
	/* An operation outside blocks: where it brings somebody new it begins here. */
	if (!t->blocks.txn)
		checker_order.slot[t->slot].now = shadow_step(t->time.now) - 1;
	added = order_add(&checker_order, t->slot, src, src, shadow_step(t->time.now)) ==
		ORDER_ADDED;
	if (!added)
		note_cycle(t, word);
	report_counts.edges++;
	rt_unlock(&checker_order_lock);
	t->shadow.outside = false;
	history_put_edge(t, word);
	return added;
}

void frontier_report_now(struct rt_thread *t)
{
	t->shadow.closed = false;
	/* The time may have gone up since: what closed it was noted last. */
	closed.step[0] = shadow_step(t->time.now);
	report_cycle(t, &closed);
	closed.n = closed.nclosing = 0;
	memset(closed_by, 0, sizeof closed_by);
}
