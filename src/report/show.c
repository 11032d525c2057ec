#include "report/show.h"

#include <string.h>

#include "base/utf8.h"

#include "base/banned.h"

/* Would it move the cursor, or make the terminal show something else than the text? */
static bool is_harmful(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || (cp >= 0x200b && cp <= 0x200f) ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0xfeff;
}

static void add_safe(struct str *b, const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len = utf8_decode(s + i, n - i, &cp);

		if (!len)
			str_fmt(b, "\\x%02x", (unsigned char)s[i]);
		else if (cp == '\n')
			str_add(b, "\\n");
		else if (cp == '\t')
			str_add(b, "\\t");
		else if (is_harmful(cp))
			str_fmt(b, cp < 0x100 ? "\\x%02x" : "\\u%04x", cp);
		else
			str_addn(b, s + i, len);
		i += len ? len : 1;
	}
}

/* The length in bytes of the longest prefix of s that takes at most `max` columns. */
static size_t prefix_that_fits(const char *s, size_t n, size_t max, size_t *columns)
{
	size_t i = 0, used = 0;

	while (i < n) {
		uint32_t cp;
		size_t len = utf8_decode(s + i, n - i, &cp);
		size_t wide = len ? utf8_columns(cp) : 1;

		if (used + wide > max)
			break;
		used += wide;
		i += len ? len : 1;
	}
	if (columns)
		*columns = used;
	return i;
}

size_t show_columns(const char *s)
{
	size_t columns;

	prefix_that_fits(s, strlen(s), SIZE_MAX, &columns);
	return columns;
}

void show_add(struct str *b, const char *s, size_t max, enum show_cut cut)
{
	struct str safe = STR_INIT;
	size_t columns, keep = max > 2 ? max - 2 : 0;

	add_safe(&safe, s);
	columns = show_columns(safe.s);
	if (columns <= max) {
		str_addn(b, safe.s, safe.n);
	} else if (cut == SHOW_CUT_TAIL) {
		str_addn(b, safe.s, prefix_that_fits(safe.s, safe.n, keep, NULL));
		str_addn(b, "..", max < 2 ? max : 2);
	} else {
		size_t drop = prefix_that_fits(safe.s, safe.n, columns - keep, NULL);

		/* Also drop a wide character that straddles the boundary. */
		while (show_columns(safe.s + drop) > keep)
			drop += prefix_that_fits(safe.s + drop, safe.n - drop, 2, NULL);
		str_addn(b, "..", max < 2 ? max : 2);
		str_addn(b, safe.s + drop, safe.n - drop);
	}
	str_free(&safe);
}

static void put_word(FILE *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		putc(s[i] == SHOW_TIE[0] ? ' ' : s[i], out);
}

static void print_wrapped(FILE *out, const char *s, size_t indent, size_t hang, const char *on,
			  const char *off)
{
	size_t at = indent; /* columns used in this line */
	bool fresh = true;  /* the line has no word yet */

	fprintf(out, "%*s%s", (int)indent, "", on);
	while (*s) {
		size_t n = strcspn(s, " "), columns;

		if (!n) {
			s++;
			continue;
		}
		prefix_that_fits(s, n, SIZE_MAX, &columns);
		if (!fresh && at + 1 + columns > SHOW_WIDTH) {
			fprintf(out, "%s\n%*s%s", off, (int)hang, "", on);
			at = hang;
			fresh = true;
		}
		if (!fresh) {
			putc(' ', out);
			at++;
		}
		/* Break a word that is longer than a line, but not a path or C++ name: users copy
		 * those. */
		if (at + columns > SHOW_WIDTH && !memchr(s, '/', n) && !memmem(s, n, "::", 2))
			n = prefix_that_fits(s, n, SHOW_WIDTH - at, &columns);
		put_word(out, s, n);
		at += columns;
		fresh = false;
		s += n;
	}
	fprintf(out, "%s\n", off);
}

void show_wrap(FILE *out, const char *s, size_t indent, size_t hang)
{
	print_wrapped(out, s, indent, hang, "", "");
}

void show_wrap_styled(FILE *out, const char *s, bool color, enum show_style style)
{
	print_wrapped(out, s, 0, 4, show_on(color, style), show_off(color, style));
}

const char *show_on(bool color, enum show_style style)
{
	static const char *const codes[] = {
		[SHOW_PLAIN] = "",       [SHOW_BOLD] = "\033[1m",        [SHOW_FAINT] = "\033[2m",
		[SHOW_RED] = "\033[31m", [SHOW_BOLD_RED] = "\033[1;31m", [SHOW_GREEN] = "\033[32m",
	};

	return color ? codes[style] : "";
}

const char *show_off(bool color, enum show_style style)
{
	return color && style != SHOW_PLAIN ? "\033[0m" : "";
}
