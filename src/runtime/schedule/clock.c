/*
 * The clock of a driven program. It does not follow real time: it goes on by a microsecond at each
 * step and each time it is read, and jumps when no thread can run before a deadline. So a program
 * that waits for time waits for nothing, and each run reads the same differences.
 */
#include "runtime/os/real.h"
#include "runtime/schedule/impl.h"

#include "base/banned.h"

#define SECOND 1000000000ull

static uint64_t jumped, reads; /* in ns; number of reads */
bool schedule_clocks;
/* The system's clocks when driving began, by their numbers: realtime, monotonic, ... boot time */
enum { CLOCKS = 8 };
static uint64_t began[CLOCKS];
static int64_t ahead; /* after the release: how far this clock is ahead of the real ones */

static uint64_t in_ns(const struct timespec *t)
{
	if (t->tv_sec < 0)
		return 0;
	if ((uint64_t)t->tv_sec > UINT64_MAX / SECOND / 4)
		return UINT64_MAX / 4;
	return (uint64_t)t->tv_sec * SECOND + (uint64_t)t->tv_nsec;
}

/* Does it show the time of day or a time since some moment? Others count processor time. */
static bool is_driven(clockid_t clock)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		return true;
	default:
		return false;
	}
}

void clock_start(void)
{
	struct timespec now;

	for (clockid_t c = 0; c < CLOCKS; c++)
		if (is_driven(c) && !REAL(clock_gettime)(c, &now))
			began[c] = in_ns(&now);
	if (schedule_file->clock)
		began[CLOCK_REALTIME] = began[CLOCK_REALTIME_COARSE] = schedule_file->clock;
	schedule_clocks = true;
}

uint64_t schedule_now(void)
{
	return 1 + jumped + (schedule_file->steps + reads) * 1000;
}

void clock_jump(uint64_t to)
{
	uint64_t now = schedule_now();

	if (to > now)
		jumped += to - now;
}

bool schedule_clock(clockid_t clock, struct timespec *now)
{
	uint64_t ns;

	if (!schedule_clocks || !is_driven(clock))
		return false;
	if (schedule_on) {
		reads++;
		ns = began[clock] + schedule_now();
	} else {
		if (REAL(clock_gettime)(clock, now))
			return false;
		ns = in_ns(now);
		/* The clock must not go back. */
		if (!ahead && began[clock] + schedule_now() > ns)
			ahead = (int64_t)(began[clock] + schedule_now() - ns);
		ns += (uint64_t)ahead;
	}
	now->tv_sec = (time_t)(ns / SECOND);
	now->tv_nsec = (long)(ns % SECOND);
	return true;
}

uint64_t schedule_deadline(clockid_t clock, const struct timespec *until)
{
	uint64_t ns = in_ns(until), from;

	if (!is_driven(clock))
		return schedule_now() + 1;
	from = began[clock];
	return ns > from ? ns - from : 1;
}

uint64_t schedule_deadline_in(const struct timespec *length)
{
	return schedule_now() + in_ns(length);
}
