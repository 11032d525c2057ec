/*
 * How histories and recordings encode the units of trace/raw_format.h.
 *
 * Included by: history/, record/.
 */
#ifndef ATOMSAN_RUNTIME_HISTORY_UNIT_H
#define ATOMSAN_RUNTIME_HISTORY_UNIT_H

#include "trace/raw_format.h"

/* The first word of a unit. */
static inline uint64_t unit_what(enum raw_op op, uint64_t address, uint32_t aux)
{
	return (address & RAW_ADDRESS_MASK) | (uint64_t)op << 48 | (uint64_t)aux << 56;
}

#endif
