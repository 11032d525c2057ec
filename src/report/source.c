#include "report/source.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/show.h"

#include "base/banned.h"

/* Larger files and longer lines are not hand-written source. */
enum { BYTES_MAX = 64 << 20, LINE_MAX_BYTES = 1 << 12 };

FILE *source_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	FILE *f;

	if (fd < 0)
		return NULL;
	f = fstat(fd, &st) || !S_ISREG(st.st_mode) ? NULL : fdopen(fd, "r");
	if (!f)
		close(fd);
	return f;
}

/* Read a line without its newline; false if the file has no such line. */
static bool read_line(FILE *f, uint32_t line, struct str *text)
{
	uint32_t at = 1;
	size_t read = 0;
	int c;

	while ((c = getc(f)) != EOF && read++ < BYTES_MAX) {
		if (c == '\n' && at++ == line)
			return true;
		if (c != '\n' && at == line && text->n < LINE_MAX_BYTES)
			str_addc(text, c ? (char)c : '?');
	}
	return at == line && text->n;
}

bool source_add_line(struct str *b, const char *path, uint32_t line)
{
	FILE *f = path && line ? source_open(path) : NULL;
	bool found = f && read_line(f, line, b);

	if (f)
		fclose(f);
	return found;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static size_t columns_between(const struct str *text, size_t from, size_t to)
{
	struct str raw = STR_INIT, safe = STR_INIT;
	size_t columns;

	str_addn(&raw, text->s + from, to - from);
	show_add(&safe, raw.s, SIZE_MAX, SHOW_CUT_TAIL);
	columns = show_columns(safe.s);
	str_free(&raw);
	str_free(&safe);
	return columns;
}

/* The index at which to start printing, so that the mark at `at` is visible in a long line. */
static size_t choose_start(const struct str *text, size_t start, size_t at, size_t room)
{
	if (columns_between(text, start, at) < room - room / 4)
		return start;
	/* Do not start in the middle of a character. */
	while (start < at && (columns_between(text, start, at) > room / 2 ||
			      ((unsigned char)text->s[start] & 0xc0) == 0x80))
		start++;
	return start;
}

static void print_quoted(FILE *out, size_t indent, struct str *text, uint32_t line, uint32_t column,
			 bool color)
{
	size_t start = 0, first, margin, room;
	struct str b = STR_INIT;
	char number[16];
	bool mark;

	while (text->n && is_blank(text->s[text->n - 1]))
		text->s[--text->n] = 0;
	while (start < text->n && is_blank(text->s[start]))
		start++;
	if (start == text->n)
		return;
	for (size_t i = start; i < text->n; i++)
		if (is_blank(text->s[i]))
			text->s[i] = ' ';
	snprintf(number, sizeof number, "%u", line);
	margin = strlen(number);
	room = SHOW_WIDTH - indent - margin - 3;
	/* Columns are counted in bytes, from 1. */
	mark = column > start && column <= text->n;
	first = mark ? choose_start(text, start, column - 1, room - 2) : start;
	if (first > start)
		str_add(&b, "..");
	show_add(&b, text->s + first, room - b.n, SHOW_CUT_TAIL);
	fprintf(out, "%*s%s%s |%s %s\n", (int)indent, "", show_on(color, SHOW_FAINT), number,
		show_off(color, SHOW_FAINT), b.s);
	if (mark)
		fprintf(out, "%*s%s |%*s^%s\n", (int)(indent + margin), "",
			show_on(color, SHOW_FAINT),
			(int)(columns_between(text, first, column - 1) + (first > start ? 2 : 0) +
			      1),
			"", show_off(color, SHOW_FAINT));
	str_free(&b);
}

void source_quote(FILE *out, size_t indent, const char *path, uint32_t line, uint32_t column,
		  bool color)
{
	FILE *f = path && line ? source_open(path) : NULL;
	struct str text = STR_INIT;

	if (!f)
		return;
	if (read_line(f, line, &text))
		print_quoted(out, indent, &text, line, column, color);
	fclose(f);
	str_free(&text);
}
