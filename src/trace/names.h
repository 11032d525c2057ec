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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "trace/event.h"

/*
 * A key is the text itself where it has at most 15 bytes (its length in the
 * last byte), so that two equal keys are two equal strings. A longer text's
 * key is its hash with all bits of the last byte set, and the text decides.
 */
struct table_slot {
	uint64_t lo, hi;
	uint32_t id_plus_1; /* 0: empty */
};

struct table {
	uint32_t n;
	size_t cap;
	const char **text; /* text[id], terminated; lives in `pool` */
	uint32_t *len;     /* len[id] */
	struct table_slot *slot;
	uint32_t nslots; /* power of two, 0 at first */
	size_t len_cap;
	char *chunk; /* where the next text goes */
	size_t chunk_left;
	struct arena pool;
};

/* Parts of table_intern(): where a key's search starts; the rare ways out. */
static inline uint32_t table_slot_of(const struct table *t, uint64_t lo, uint64_t hi)
{
	uint64_t h = lo * 0x9e3779b97f4a7c15ull ^ hi * 0xc2b2ae3d27d4eb4full;

	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdull;
	return (uint32_t)(h >> 32) & (t->nslots - 1);
}
uint32_t table_intern_key(struct table *t, const char *s, size_t n, uint64_t lo, uint64_t hi);
uint32_t table_intern_long(struct table *t, const char *s, size_t n);

/*
 * The number of a string, adding it where it is new. `s` must be followed by
 * at least 16 readable bytes, whatever they hold.
 */
static inline uint32_t table_intern(struct table *t, const char *s, size_t n)
{
	const struct table_slot *slot;
	uint64_t lo, hi, more;

	if (n >= 16)
		return table_intern_long(t, s, n);
	memcpy(&lo, s, 8);
	memcpy(&more, s + 8, 8);
	hi = (uint64_t)n << 56;
	if (n < 8)
		lo &= (1ull << 8 * n) - 1;
	else
		hi |= more & ((1ull << 8 * (n - 8)) - 1);
	if (t->nslots) {
		slot = &t->slot[table_slot_of(t, lo, hi)];
		if (slot->lo == lo && slot->hi == hi && slot->id_plus_1)
			return slot->id_plus_1 - 1;
	}
	return table_intern_key(t, s, n, lo, hi);
}

/* The same without that demand. */
uint32_t table_intern_any(struct table *t, const char *s, size_t n);
/* Give a string the next number without looking whether it has one: not to be mixed with the above.
 */
uint32_t table_append(struct table *t, const char *s, size_t n);
void table_reset(struct table *t); /* forget everything */

/* Notes are lines about the run as a whole; no event refers to one. See recorded.h. */
enum names_kind { NAMES_THREAD, NAMES_VAR, NAMES_LOCK, NAMES_STRING, NAMES_NOTE, NAMES_KINDS };

struct names;

/* One function in a stack. What is not known is NULL or 0. */
struct names_frame {
	const char *function; /* as a person writes it: demangled */
	const char *linkage;  /* as the linker knows it; NULL for inlined code without one */
	const char *file;
	uint32_t line, column;
	const char *module; /* path of the executable or library */
	uint64_t offset;    /* of the program counter, in the file's own addresses */
	bool inlined;       /* into the next frame */
};

/*
 * Who knows what the names of a recorded run (recorded.h) mean. Whoever opens
 * the trace sets it; src/symbol has one. What a function hands out lives as
 * long as the resolver.
 */
struct names_resolver {
	/* Add what a variable, lock, label or place is to a person. `id` is its number. */
	void (*show)(struct names_resolver *, const struct names *, enum names_kind kind,
		     uint32_t id, struct str *out);
	/* The stack of a place, innermost first; returns how many frames. */
	size_t (*stack)(struct names_resolver *, const struct names *, strref place,
			const struct names_frame **frames);
	/* The function that a label (kinds f, s, m of recorded.h) stands for, or NULL. */
	const struct names_frame *(*function)(struct names_resolver *, const struct names *,
					      strref label);
	/* Where a variable's heap block was allocated; 0: it is in none. */
	strref (*allocated)(struct names_resolver *, const struct names *, uint32_t var);
	/* Where and by whom a thread was created; false where that is not known. */
	bool (*created)(struct names_resolver *, const struct names *, uint32_t thread,
			strref *place, uint32_t *creator);
};

/* In NAMES_STRING entry 0 is always "", so that strref 0 means none. */
struct names {
	struct table table[NAMES_KINDS];
	struct names_resolver *resolver; /* NULL: names are shown as they stand */
};

void names_init(struct names *names);
void names_free(struct names *names);

/* The strref of a label or place, 0 for the empty string; `s` as in table_intern(). */
strref names_string(struct names *names, const char *s, size_t n);

/*
 * Add what a strref, or an event's operand, is called; nothing for none. Asks
 * the resolver where there is one.
 */
void names_add_string(const struct names *names, strref ref, struct str *out);
void names_add_operand(const struct names *names, const struct event *e, struct str *out);

static inline const char *names_thread(const struct names *names, uint32_t id)
{
	return names->table[NAMES_THREAD].text[id];
}

#endif
