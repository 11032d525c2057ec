/*
 * The machine's clock, as recordings have it (trace/raw_format.h).
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_CLOCK_H
#define ATOMSAN_RUNTIME_OS_CLOCK_H

#include <stdint.h>
#include <x86intrin.h>

static inline uint64_t clock_now(void)
{
	return __rdtsc();
}

/* Read after everything before it in the program, and before anything after it. */
static inline uint64_t clock_now_ordered(void)
{
	unsigned int cpu;
	uint64_t time = __rdtscp(&cpu);

	_mm_lfence();
	return time;
}

#endif
