#include "trace/recorded.h"

#include <string.h>

#include "base/banned.h"

bool recorded_names(const struct names *names)
{
	const struct table *notes = &names->table[NAMES_NOTE];

	return notes->n && !strcmp(notes->text[0], RECORDED_NOTE);
}

/*
 * Each of these functions parses one item at *p and moves *p past it. It returns
 * false if the item is not there; then *p may point anywhere in the text.
 */
static bool skip_text(const char **p, const char *w)
{
	size_t n = strlen(w);

	if (strncmp(*p, w, n) != 0)
		return false;
	*p += n;
	return true;
}

static bool parse_decimal(const char **p, uint64_t max, uint64_t *out)
{
	const char *s = *p;
	uint64_t v = 0;

	if (*s < '0' || *s > '9' || (*s == '0' && s[1] >= '0' && s[1] <= '9'))
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		uint64_t digit = (uint64_t)(*s - '0');

		if (v > (max - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	*p = s;
	*out = v;
	return true;
}

static bool parse_decimal32(const char **p, uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (!parse_decimal(p, max, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

/* An entry of the string table, or 0: never a strref that is a number. */
static bool parse_strref(const char **p, strref *out)
{
	return parse_decimal32(p, STRREF_NUMBER - 1, out);
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(const char **p, uint64_t *out)
{
	uint64_t v = 0;
	int n = 0;

	if (!skip_text(p, "0x"))
		return false;
	for (; hex_value(**p) >= 0; (*p)++, n++)
		v = v << 4 | (uint64_t)hex_value(**p);
	*out = v;
	return n >= 1 && n <= 16;
}

static bool parse_pc(const char **p, struct recorded_pc *out)
{
	out->module = 0;
	if (skip_text(p, "?+"))
		return parse_hex(p, &out->offset);
	return parse_decimal32(p, UINT32_MAX, &out->module) && out->module && skip_text(p, "+") &&
	       parse_hex(p, &out->offset);
}

bool recorded_place(const char *text, struct recorded_place *out)
{
	*out = (struct recorded_place){0};
	return parse_strref(&text, &out->parent) && skip_text(&text, " ") &&
	       parse_pc(&text, &out->pc) && !*text;
}

bool recorded_label(const char *text, struct recorded_label *out)
{
	*out = (struct recorded_label){0};
	if (!*text || !strchr("fsma", *text) || text[1] != ' ')
		return false;
	out->kind = *text;
	text += 2;
	if (out->kind == 'a') {
		out->text = text;
		return true;
	}
	return parse_pc(&text, &out->pc) && !*text;
}

static bool parse_lock_kind(const char **p, struct recorded_memory *out)
{
	static const char *const kinds[] = {"mutex",     "rwlock",  "spinlock", "semaphore",
					    "condition", "barrier", "once"};
	size_t n = strcspn(*p, " ");

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i]) == n && !memcmp(kinds[i], *p, n)) {
			out->lock = *p;
			out->lock_len = n;
			*p += n;
			return skip_text(p, " ");
		}
	return false;
}

bool recorded_memory(const char *text, struct recorded_memory *out)
{
	bool ok;

	*out = (struct recorded_memory){0};
	/* The kind of a lock has several letters, the kind of memory has one. */
	if (*text && text[1] != ' ' && !parse_lock_kind(&text, out))
		return false;
	out->kind = *text;
	if (!*text || text[1] != ' ')
		return false;
	text += 2;
	switch (out->kind) {
	case 'g':
		ok = parse_pc(&text, &out->pc) && out->pc.module && skip_text(&text, " ") &&
		     parse_decimal(&text, UINT64_MAX, &out->size);
		break;
	case 'h':
		ok = parse_hex(&text, &out->offset) && skip_text(&text, " ") &&
		     parse_decimal(&text, UINT64_MAX, &out->size) && skip_text(&text, " ") &&
		     parse_decimal(&text, UINT64_MAX, &out->bytes) && skip_text(&text, " ") &&
		     parse_strref(&text, &out->place);
		break;
	case 's':
		ok = parse_decimal32(&text, UINT32_MAX, &out->thread) && skip_text(&text, " ") &&
		     parse_hex(&text, &out->address) && skip_text(&text, " ") &&
		     parse_decimal(&text, UINT64_MAX, &out->size);
		break;
	case 'o':
		ok = parse_hex(&text, &out->address) && skip_text(&text, " ") &&
		     parse_decimal(&text, UINT64_MAX, &out->size);
		break;
	default:
		ok = false;
	}
	return ok && !*text;
}

static bool parse_build_id(const char **p, struct recorded_module *out)
{
	if (skip_text(p, "-"))
		return true;
	out->build_id = *p;
	while (hex_value(**p) >= 0)
		(*p)++;
	out->build_id_len = (size_t)(*p - out->build_id);
	/* Whole bytes: usually 20, but the linker accepts an id of any length. */
	return out->build_id_len && out->build_id_len % 2 == 0;
}

bool recorded_module(const char *note, struct recorded_module *out)
{
	*out = (struct recorded_module){0};
	if (!skip_text(&note, "module ") || !parse_decimal32(&note, UINT32_MAX, &out->number) ||
	    !out->number || !skip_text(&note, " ") ||
	    !(strncmp(note, "0x", 2) ? parse_decimal(&note, UINT64_MAX, &out->base)
				     : parse_hex(&note, &out->base)) ||
	    !skip_text(&note, " ") || !parse_decimal(&note, UINT64_MAX, &out->size) ||
	    !skip_text(&note, " ") || !parse_build_id(&note, out) || !skip_text(&note, " ") ||
	    !*note)
		return false;
	out->path = note;
	return true;
}

bool recorded_thread(const char *note, struct recorded_thread *out)
{
	*out = (struct recorded_thread){0};
	if (!skip_text(&note, "thread ") || !parse_decimal32(&note, UINT32_MAX, &out->number) ||
	    !skip_text(&note, " ") || !parse_decimal32(&note, UINT32_MAX, &out->creator) ||
	    !skip_text(&note, " ") || !parse_strref(&note, &out->place) || !skip_text(&note, " "))
		return false;
	out->name = note;
	return true;
}
