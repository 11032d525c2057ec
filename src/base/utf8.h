/*
 * UTF-8, as strict as the standard: names come from programs and files that
 * promise nothing.
 */
#ifndef ATOMSAN_BASE_UTF8_H
#define ATOMSAN_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decode the code point at s[0..n), n > 0. Returns how many bytes it has; 0 if
 * they are not UTF-8 (cut off, overlong, a surrogate, above U+10FFFF).
 */
size_t utf8_decode(const char *s, size_t n, uint32_t *cp);

/* Returns how many columns of a terminal a code point takes: 0, 1 or 2. */
size_t utf8_columns(uint32_t cp);

#endif
