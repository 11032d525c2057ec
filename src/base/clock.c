#include "base/clock.h"

#include <time.h>

#include "base/banned.h"

uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

double clock_seconds(void)
{
	return (double)clock_ns() / 1e9;
}
