#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

char str_empty[1];

void str_free(struct str *b)
{
	if (b->cap)
		mem_free(b->s);
	*b = (struct str)STR_INIT;
}

void str_reset(struct str *b)
{
	b->n = 0;
	if (b->cap)
		b->s[0] = 0;
}

void str_room(struct str *b, size_t more)
{
	if (b->n + more + 1 <= b->cap)
		return;
	if (!b->cap)
		b->s = NULL;
	b->s = mem_grow_bytes(b->s, &b->cap, b->n + more + 1, 1, 0);
	b->s[b->n] = 0;
}

void str_addn(struct str *b, const char *s, size_t n)
{
	str_room(b, n);
	memcpy(b->s + b->n, s, n);
	b->n += n;
	b->s[b->n] = 0;
}

void str_add(struct str *b, const char *s)
{
	str_addn(b, s, strlen(s));
}

void str_addc(struct str *b, char c)
{
	str_addn(b, &c, 1);
}

void str_pad(struct str *b, char c, size_t times)
{
	str_room(b, times);
	memset(b->s + b->n, c, times);
	b->n += times;
	b->s[b->n] = 0;
}

void str_fmt(struct str *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	str_room(b, (size_t)n);
	va_start(ap, fmt);
	vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->n += (size_t)n;
}

/* How many bytes the valid UTF-8 sequence at s has; 0 where there is none. */
static size_t utf8_len(const unsigned char *s, size_t n)
{
	size_t want = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 0;

	if (!want || want > n)
		return 0;
	for (size_t i = 1; i < want; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return want;
}

void str_add_shown(struct str *b, const char *s, size_t n, size_t max)
{
	for (size_t i = 0; i < n;) {
		const unsigned char *c = (const unsigned char *)s + i;
		size_t len = utf8_len(c, n - i);

		if (i + (len ? len : 1) > max) {
			str_add(b, "...");
			return;
		}
		if (!len || *c < 0x20 || *c == 0x7f)
			str_fmt(b, "\\x%02x", *c);
		else
			str_addn(b, s + i, len);
		i += len ? len : 1;
	}
}
