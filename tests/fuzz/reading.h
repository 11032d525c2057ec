/*
 * What the fuzz targets of the trace readers share: reads arbitrary bytes as a trace,
 * in every mode, and checks the promises of reader.h.
 *
 * Included by: reading.c, fuzz_atrace.c, fuzz_raw.c, fuzz_std.c.
 */
#ifndef ATOMSAN_FUZZ_READING_H
#define ATOMSAN_FUZZ_READING_H

#include <stddef.h>
#include <stdint.h>

/* Prints what is wrong and aborts if a promise is broken. */
void reading_check(const uint8_t *data, size_t size);

#endif
