#include "base/utf8.h"

#include "base/banned.h"

size_t utf8_decode(const char *s, size_t n, uint32_t *cp)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *c = (const unsigned char *)s;
	size_t len;
	uint32_t v;

	if (c[0] < 0x80) {
		*cp = c[0];
		return 1;
	}
	if ((c[0] & 0xe0) == 0xc0)
		len = 2;
	else if ((c[0] & 0xf0) == 0xe0)
		len = 3;
	else if ((c[0] & 0xf8) == 0xf0)
		len = 4;
	else
		return 0;
	if (len > n)
		return 0;
	v = c[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (c[i] & 0x3f);
	}
	if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	*cp = v;
	return len;
}

/*
 * wcwidth() is not used: its result depends on the locale, and a report must look
 * the same everywhere. These are the ranges that matter in names, not all of Unicode's.
 */
size_t utf8_columns(uint32_t cp)
{
	static const struct {
		uint32_t from, to;
		uint8_t columns;
	} odd[] = {
		{0x0300, 0x036f, 0}, /* combining marks */
		{0x1100, 0x115f, 2}, /* Hangul */
		{0x200b, 0x200f, 0}, /* zero width space, joiners */
		{0x20d0, 0x20ff, 0}, /* more combining marks */
		{0x2e80, 0x303e, 2}, /* Chinese, Japanese, Korean, to a4cf */
		{0x3041, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
		{0xfe00, 0xfe0f, 0}, /* variation selectors */
		{0xfe30, 0xfe6f, 2}, /* full-width forms */
		{0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, /* emoji */
		{0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
	};

	for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
		if (cp >= odd[i].from && cp <= odd[i].to)
			return odd[i].columns;
	return 1;
}
