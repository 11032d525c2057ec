/*
 * The names of a trace: four tables from small numbers to strings and back.
 *
 * A table numbers its strings from 0 in the order in which they come. Text up
 * to 15 bytes, which is nearly every name in a text trace, is compared as two
 * words and never leaves the slot that its hash finds: one cache line a
 * look-up.
 *
 * Memory: grows with the number of different names, not with the trace.
 */
#ifndef ATOMSAN_TRACE_NAMES_H
#define ATOMSAN_TRACE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/event.h"

struct table {
	uint32_t n;
	size_t cap;
	const char **text;   /* text[id], terminated; lives in `pool` */
	uint32_t *len;       /* len[id] */
	struct table_slot *slot;
	uint32_t nslots;     /* power of two, 0 at first */
	size_t len_cap;
	char *chunk;         /* where the next text goes */
	size_t chunk_left;
	struct arena pool;
};

/*
 * The number of a string, adding it where it is new. `s` must be followed by
 * at least 16 readable bytes, whatever they hold.
 */
uint32_t table_intern(struct table *t, const char *s, size_t n);
/* The same without that demand. */
uint32_t table_intern_any(struct table *t, const char *s, size_t n);
/* Give a string the next number without looking whether it has one: not to be mixed with the above. */
uint32_t table_append(struct table *t, const char *s, size_t n);
void table_reset(struct table *t); /* forget everything */

enum names_kind { NAMES_THREAD, NAMES_VAR, NAMES_LOCK, NAMES_STRING, NAMES_KINDS };

/* In NAMES_STRING entry 0 is always "", so that strref 0 means none. */
struct names {
	struct table table[NAMES_KINDS];
};

void names_init(struct names *names);
void names_free(struct names *names);

/* The strref of a label or place, 0 for the empty string; `s` as in table_intern(). */
strref names_string(struct names *names, const char *s, size_t n);

/* Add what a strref, or an event's operand, is called; nothing for none. */
void names_add_string(const struct names *names, strref ref, struct str *out);
void names_add_operand(const struct names *names, const struct event *e, struct str *out);

static inline const char *names_thread(const struct names *names, uint32_t id)
{
	return names->table[NAMES_THREAD].text[id];
}

#endif
