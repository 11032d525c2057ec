#include "runtime/hooks/note.h"

#include "base/banned.h"

/* The times of the last releases, by a hash of the lock. */
enum { TIMES = 1 << 12 };
static uint64_t times[TIMES];

static uint64_t *find_time(const void *lock)
{
	return &times[(uintptr_t)lock * 0x9e3779b97f4a7c15ull >> 52];
}

uint64_t note_time_acquired(const void *lock)
{
	uint64_t now, last;

	/* Do not read the clock if no tool needs it: an ordered read is expensive. */
	if (!rt_timed)
		return 0;
	now = machine_clock_ordered();
	last = __atomic_load_n(find_time(lock), __ATOMIC_RELAXED);
	return RT_LIKELY(now > last) ? now : last + 1;
}

uint64_t note_time_releasing(const void *lock)
{
	uint64_t now = note_time_acquired(lock);

	if (now)
		__atomic_store_n(find_time(lock), now, __ATOMIC_RELAXED);
	return now;
}
