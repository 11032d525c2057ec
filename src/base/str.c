#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

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
	if (n) /* nothing may be at NULL */
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
	size_t room;
	va_list ap;
	int n;

	/* Usually there is room. */
	str_room(b, 16);
	room = b->cap - b->n;
	va_start(ap, fmt);
	n = vsnprintf(b->s + b->n, room, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n >= room) {
		b->s[b->n] = 0;
		str_room(b, (size_t)n);
		va_start(ap, fmt);
		vsnprintf(b->s + b->n, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	b->n += n < 0 ? 0 : (size_t)n;
	b->s[b->n] = 0;
}

void str_add_shown(struct str *b, const char *s, size_t n, size_t max)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp = 0;
		size_t len = utf8_decode(s + i, n - i, &cp);

		/* Control characters, those from 0x80 too, would control the terminal. */
		if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
			len = 0;
		if (i + (len ? len : 1) > max) {
			str_add(b, "...");
			return;
		}
		if (len)
			str_addn(b, s + i, len);
		else
			str_fmt(b, "\\x%02x", (unsigned char)s[i]);
		i += len ? len : 1;
	}
}
