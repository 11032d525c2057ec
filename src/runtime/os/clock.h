/*
 * The machine's clock: the times of a recording (trace/raw_format.h) are its values.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_CLOCK_H
#define ATOMSAN_RUNTIME_OS_CLOCK_H

#include <stdint.h>
#include <x86intrin.h>

static inline uint64_t machine_clock(void)
{
	return __rdtsc();
}

/* Read the clock after all earlier instructions have executed, and before any later one begins. */
static inline uint64_t machine_clock_ordered(void)
{
	unsigned int cpu;
	uint64_t time = __rdtscp(&cpu);

	_mm_lfence();
	return time;
}

#endif
