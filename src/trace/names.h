/*
 * The names of a trace: a table for each kind of name, from small numbers to
 * strings and back.
 *
 * A table numbers its strings from 0 in the order in which they come. A text of
 * up to 15 bytes, which is nearly every name in a text trace, is kept in its hash
 * slot and compared as two words: a look-up costs one cache line.
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
 * A text of at most 15 bytes is its own key, with its length in the last byte,
 * so that equal keys mean equal strings. The key of a longer text is its hash
 * with all bits of the last byte set; then the texts must be compared too.
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
	char *free_text; /* the next text goes here: in `pool` */
	size_t free_left;
	struct arena pool;
};

/* Parts of table_intern(): the slot where the search for a key starts, and the slow paths. */
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
 * Returns the number of a string; adds the string if it is new. At least 16 bytes
 * from `s` on must be readable, whatever follows the string.
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

/* The same for a string that may be followed by unreadable bytes. */
uint32_t table_intern_any(struct table *t, const char *s, size_t n);
/*
 * Adds a string without looking whether it is there, and returns its number. A table that is
 * filled by this must not be used with table_intern().
 */
uint32_t table_append(struct table *t, const char *s, size_t n);
void table_reset(struct table *t); /* empties the table and frees its memory */

/* Notes are lines about the run as a whole; no event refers to one. See recorded.h. */
enum names_kind { NAMES_THREAD, NAMES_VAR, NAMES_LOCK, NAMES_STRING, NAMES_NOTE, NAMES_KINDS };

struct names;

/* One function in a stack. An unknown field is NULL or 0. */
struct names_frame {
	const char *function; /* demangled, as people write it */
	const char *linkage;  /* the linker's name; NULL for inlined code without one */
	const char *file;
	uint32_t line, column;
	const char *module; /* path of the executable or library */
	uint64_t offset;    /* the program counter, in the addresses of the module's file */
	bool inlined;       /* into the next frame */
};

/* What the source calls the memory of an access; NULL: not known. */
struct names_access {
	const char *expression; /* "acc->balance" */
	const char *field;      /* "account.balance" */
};

/*
 * Finds out what the names of a recorded run (recorded.h) mean. The caller that
 * opens the trace sets it with reader_set_resolver(); symbol/symbol.h makes one.
 * Everything that these functions return lives as long as the resolver.
 */
struct names_resolver {
	/* Adds what people call a variable, lock, label or place. `id` is its number. */
	void (*show)(struct names_resolver *, const struct names *, enum names_kind kind,
		     uint32_t id, struct str *out);
	/* Sets *frames to the stack of a place, innermost first; returns the number of frames. */
	size_t (*stack)(struct names_resolver *, const struct names *, strref place,
			const struct names_frame **frames);
	/* Returns the function that a label (kinds f, s, m of recorded.h) stands for, or NULL. */
	const struct names_frame *(*function)(struct names_resolver *, const struct names *,
					      strref label);
	/* Returns where the allocation that holds a variable was made; 0: it is in none. */
	strref (*allocated)(struct names_resolver *, const struct names *, uint32_t var);
	/* Sets where and by which thread a thread was created; returns false if that is unknown. */
	bool (*created)(struct names_resolver *, const struct names *, uint32_t thread,
			strref *place, uint32_t *creator);
	/* Sets *out for an access of a variable at a place. */
	void (*access)(struct names_resolver *, const struct names *, uint32_t var, strref place,
		       bool write, struct names_access *out);
	/* Adds where a lock is, if show() has a better name for it; otherwise nothing. */
	void (*locate)(struct names_resolver *, const struct names *, uint32_t lock,
		       struct str *out);
};

/* Entry 0 of NAMES_STRING is always "", so that strref 0 means none. */
struct names {
	struct table table[NAMES_KINDS];
	struct names_resolver *resolver; /* not owned; NULL: names are shown as they are */
	strref *acquired; /* by lock: the first place where it was used; for the resolver */
	size_t acquired_cap;
};

void names_init(struct names *names);
void names_free(struct names *names);

/* Returns the strref of a label or place, 0 for the empty string; `s` as for table_intern(). */
strref names_string(struct names *names, const char *s, size_t n);

/* Remember where the lock of an event is used, if that is the first place. */
void names_note_lock(struct names *names, const struct event *e);

/*
 * Add the name of a strref, or of an event's operand; add nothing if there is
 * none. If there is a resolver, it gives the name.
 */
void names_add_string(const struct names *names, strref ref, struct str *out);
void names_add_operand(const struct names *names, const struct event *e, struct str *out);

static inline const char *names_thread(const struct names *names, uint32_t id)
{
	return names->table[NAMES_THREAD].text[id];
}

#endif
