/*
 * A string that grows. `s` is always a terminated string, also before the
 * first call, and `n` its length.
 *
 *	struct str out = STR_INIT;
 *	str_fmt(&out, "%s(%s)", op, operand);
 *	fwrite(out.s, 1, out.n, f);
 *	str_free(&out);
 */
#ifndef ATOMSAN_BASE_STR_H
#define ATOMSAN_BASE_STR_H

#include <stddef.h>

struct str {
	char *s;
	size_t n, cap;
};

extern char str_empty[1];
/* clang-format off */
#define STR_INIT { str_empty, 0, 0 }
/* clang-format on */

void str_free(struct str *b);
void str_reset(struct str *b);             /* length 0; the memory is kept */
void str_room(struct str *b, size_t more); /* make room for `more` bytes and a 0 */
void str_add(struct str *b, const char *s);
void str_addn(struct str *b, const char *s, size_t n);
void str_addc(struct str *b, char c);
void str_pad(struct str *b, char c, size_t times);
void str_fmt(struct str *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Append bytes for a person to read: bytes that are not printable ASCII or valid
 * UTF-8 become \xNN, and text longer than `max` bytes ends in "...".
 */
void str_add_shown(struct str *b, const char *s, size_t n, size_t max);

#endif
