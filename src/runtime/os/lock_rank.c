/*
 * The locks that each thread holds, in a runtime that is compiled with ATOMSAN_DEBUG. If a thread
 * takes a lock out of the order of enum rt_rank, two threads could wait for each other; the program
 * ends with a message at once, even if no thread waits.
 */
#include "runtime/os/lock.h"

#include "base/banned.h"

#ifdef ATOMSAN_DEBUG

static const char *const names[] = {
	[RT_MODULES] = "the modules' lock",
	[RT_LABELS] = "the labels' lock",
	[RT_STRIPE] = "a stripe's lock",
	[RT_GRAPH] = "the graph's lock",
	[RT_ORDER] = "the order's lock",
	[RT_REPLAY] = "the replay's lock",
	[RT_HISTORIES] = "the histories' lock",
	[RT_REGIONS] = "the regions' lock",
	[RT_LEAF] = "a leaf",
	[RT_MODE] = "the mode's lock",
	[RT_REPORTER] = "the reporter's connection",
};

enum { MAX = 8 };
static __thread struct {
	struct {
		const uint32_t *lock;
		enum rt_rank rank;
	} v[MAX];
	uint32_t n;
} held __attribute__((tls_model("initial-exec")));

void rt_rank_take(const uint32_t *l, enum rt_rank rank)
{
	for (uint32_t i = 0; i < held.n; i++)
		if (held.v[i].rank >= rank || rank == RT_REPORTER)
			rt_die("locks out of order: %s is taken while %s is held", names[rank],
			       names[held.v[i].rank]);
	if (held.n == MAX)
		rt_die("a thread holds more than %d locks", MAX);
	held.v[held.n].lock = l;
	held.v[held.n++].rank = rank;
}

void rt_rank_give(const uint32_t *l)
{
	for (uint32_t i = held.n; i-- > 0;)
		if (held.v[i].lock == l) {
			held.v[i] = held.v[--held.n];
			return;
		}
	rt_die("a thread releases a lock that it does not hold");
}

void rt_rank_child(void)
{
	held.n = 0;
}

#endif
