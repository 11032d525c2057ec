/*
 * The time, for measuring how long something takes: it only grows, and says nothing about the date.
 */
#ifndef ATOMSAN_BASE_CLOCK_H
#define ATOMSAN_BASE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment before the program started. */
uint64_t clock_ns(void);
/* The same in seconds. */
double clock_seconds(void);

#endif
