/*
 * What the fuzz targets have in common: read arbitrary bytes as a trace in
 * every way there is, and hold the reader to what reader.h promises.
 */
#ifndef ATOMSAN_FUZZ_READING_H
#define ATOMSAN_FUZZ_READING_H

#include <stddef.h>
#include <stdint.h>

/* Aborts, after saying why, where a promise is broken. */
void reading_check(const uint8_t *data, size_t size);

#endif
