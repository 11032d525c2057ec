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
/* For up to CLOSED_BY slots: the slot's last step from which an edge closed the cycle, or 0. */
enum { CLOSED_BY = 4 };
static __thread step closed_by[CLOSED_BY] __attribute__((tls_model("initial-exec")));

/* Add the memory that the thread is accessing to the cycle. */
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

/* Note what the transaction of slot `home` reaches, and where other open transactions began. */
static void note_reach(uint32_t home)
{
	closed.nreach = checker_order.n < CYCLE_REACH ? checker_order.n : CYCLE_REACH;
	for (uint32_t s = 0; s < closed.nreach; s++) {
		const order_index *row = checker_order.reach + (size_t)s * checker_order.cap;
		order_index open = __atomic_load_n(&row[s], __ATOMIC_ACQUIRE);

		closed.reach[s] = (uint64_t)(row[home] < open ? row[home] : open);
	}
}

/* Returns the entry of a slot, or an unused one; NULL if there is none. */
static step *closed_by_slot(uint32_t slot)
{
	uint32_t i = 0;

	while (i < CLOSED_BY && closed_by[i] && step_slot(closed_by[i]) != slot)
		i++;
	return i < CLOSED_BY ? &closed_by[i] : NULL;
}

/*
 * Note the cycle that an edge from `word` closes. Its steps are found backwards, by `why` of
 * struct order. Under the order's lock.
 */
static void note_cycle(struct rt_thread *t, uint64_t word)
{
	uint64_t src = shadow_step(word);
	uint32_t home = t->slot, s = step_slot(src);
	step *by = closed_by_slot(s);

	RT_ASSERT(checker_order_lock && src);
	__atomic_fetch_add(&report_counts.cycles, 1, __ATOMIC_RELAXED);
	t->shadow.closed = true;
	if (by && *by < src)
		*by = src;
	note_closing(t, word & SHADOW_BYTES);
	if (closed.n)
		return; /* an access has one report */
	closed.from_write = word & SHADOW_WRITE;
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
 * Does an edge from `src` close a cycle again, without any news for the order? This saves time in a
 * large access whose report is complete.
 *
 * There is no news if an edge from another step of the same slot was left out already, and every
 * transaction that reaches `src` reaches that step, too. That is so if the step is later than
 * `src`, or if no edge came into the slot between the two.
 */
static bool closes_cycle_again(const struct rt_thread *t, step src)
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
	if (t->shadow.closed && closed.nclosing == CYCLE_CLOSING && closes_cycle_again(t, src))
		return false;
	time_after(t, word);
	/* If no block is open anywhere, only the clocks matter. */
	if (!mode_any_active())
		return true;
	if (!*fresh)
		time_new_stretch(t);
	*fresh = true;
	rt_lock_ranked(&checker_order_lock, RT_ORDER);
	/* Outside blocks: if the edge makes a new transaction reach this thread, the operation
	 * becomes a transaction that begins now (engine/precise/order.h). */
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

void frontier_report_now(struct rt_thread *t, enum raw_op op, uintptr_t pc)
{
	RT_ASSERT(closed.n >= 2);
	t->shadow.closed = false;
	/* The time may have gone up after the edge; the operation's unit has the present time. */
	closed.step[0] = shadow_step(t->time.now);
	report_cycle(t, &closed, op, pc);
	closed.n = closed.nclosing = 0;
	memset(closed_by, 0, sizeof closed_by);
}
