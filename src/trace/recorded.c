#include "trace/recorded.h"

#include <string.h>

#include "base/banned.h"

bool recorded_names(const struct names *names)
{
	const struct table *notes = &names->table[NAMES_NOTE];

	return notes->n && !strcmp(notes->text[0], RECORDED_NOTE);
}

/*
 * Each of these takes one thing off the front of *p and moves it behind; false
 * where it is not there, and then *p may stand anywhere.
 */
static bool word(const char **p, const char *w)
{
	size_t n = strlen(w);

	if (strncmp(*p, w, n) != 0)
		return false;
	*p += n;
	return true;
}

static bool decimal(const char **p, uint64_t max, uint64_t *out)
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

static bool decimal32(const char **p, uint32_t max, uint32_t *out)
{
	uint64_t v;

	if (!decimal(p, max, &v))
		return false;
	*out = (uint32_t)v;
	return true;
}

/* A string of the table, or 0: never a number that stands for itself. */
static bool string_ref(const char **p, strref *out)
{
	return decimal32(p, STRREF_NUMBER - 1, out);
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hexadecimal(const char **p, uint64_t *out)
{
	uint64_t v = 0;
	int n = 0;

	if (!word(p, "0x"))
		return false;
	for (; hex_digit(**p) >= 0; (*p)++, n++)
		v = v << 4 | (uint64_t)hex_digit(**p);
	*out = v;
	return n >= 1 && n <= 16;
}

static bool program_counter(const char **p, struct recorded_pc *out)
{
	out->module = 0;
	if (word(p, "?+"))
		return hexadecimal(p, &out->offset);
	return decimal32(p, UINT32_MAX, &out->module) && out->module && word(p, "+") &&
	       hexadecimal(p, &out->offset);
}

bool recorded_place(const char *text, struct recorded_place *out)
{
	*out = (struct recorded_place){0};
	return string_ref(&text, &out->parent) && word(&text, " ") &&
	       program_counter(&text, &out->pc) && !*text;
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
	return program_counter(&text, &out->pc) && !*text;
}

static bool lock_kind(const char **p, struct recorded_memory *out)
{
	static const char *const kinds[] = {"mutex",     "rwlock",  "spinlock", "semaphore",
					    "condition", "barrier", "once"};
	size_t n = strcspn(*p, " ");

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i]) == n && !memcmp(kinds[i], *p, n)) {
			out->lock = *p;
			out->lock_len = n;
			*p += n;
			return word(p, " ");
		}
	return false;
}

bool recorded_memory(const char *text, struct recorded_memory *out)
{
	bool ok;

	*out = (struct recorded_memory){0};
	/* What a lock is called has more than one letter, the kind of memory has one. */
	if (*text && text[1] != ' ' && !lock_kind(&text, out))
		return false;
	out->kind = *text;
	if (!*text || text[1] != ' ')
		return false;
	text += 2;
	switch (out->kind) {
	case 'g':
		ok = program_counter(&text, &out->pc) && out->pc.module && word(&text, " ") &&
		     decimal(&text, UINT64_MAX, &out->size);
		break;
	case 'h':
		ok = hexadecimal(&text, &out->offset) && word(&text, " ") &&
		     decimal(&text, UINT64_MAX, &out->size) && word(&text, " ") &&
		     decimal(&text, UINT64_MAX, &out->bytes) && word(&text, " ") &&
		     string_ref(&text, &out->place);
		break;
	case 's':
		ok = decimal32(&text, UINT32_MAX, &out->thread) && word(&text, " ") &&
		     hexadecimal(&text, &out->address) && word(&text, " ") &&
		     decimal(&text, UINT64_MAX, &out->size);
		break;
	case 'o':
		ok = hexadecimal(&text, &out->address) && word(&text, " ") &&
		     decimal(&text, UINT64_MAX, &out->size);
		break;
	default:
		ok = false;
	}
	return ok && !*text;
}

static bool build_id(const char **p, struct recorded_module *out)
{
	if (word(p, "-"))
		return true;
	out->build_id = *p;
	while (hex_digit(**p) >= 0)
		(*p)++;
	out->build_id_len = (size_t)(*p - out->build_id);
	/* Whole bytes; 20 are usual, the linker takes any number on request. */
	return out->build_id_len && out->build_id_len % 2 == 0;
}

bool recorded_module(const char *note, struct recorded_module *out)
{
	*out = (struct recorded_module){0};
	if (!word(&note, "module ") || !decimal32(&note, UINT32_MAX, &out->number) ||
	    !out->number || !word(&note, " ") ||
	    !(strncmp(note, "0x", 2) ? decimal(&note, UINT64_MAX, &out->base)
				     : hexadecimal(&note, &out->base)) ||
	    !word(&note, " ") || !decimal(&note, UINT64_MAX, &out->size) || !word(&note, " ") ||
	    !build_id(&note, out) || !word(&note, " ") || !*note)
		return false;
	out->path = note;
	return true;
}

bool recorded_thread(const char *note, struct recorded_thread *out)
{
	*out = (struct recorded_thread){0};
	if (!word(&note, "thread ") || !decimal32(&note, UINT32_MAX, &out->number) ||
	    !word(&note, " ") || !decimal32(&note, UINT32_MAX, &out->creator) ||
	    !word(&note, " ") || !string_ref(&note, &out->place) || !word(&note, " "))
		return false;
	out->name = note;
	return true;
}
