/*
 * Makes the names of a recorded run (recorded.h) as they are needed: the texts of
 * places, labels, variables and locks, each once.
 *
 * A recording may be read several times. Places and labels are found by their
 * keys; variables, locks and notes come in the same order in every pass, so a
 * later pass only counts them, and each gets the number that it had before.
 *
 * Included by: raw_names.c, raw_impl.h, the reporter, cli/place_names.c.
 */
#ifndef ATOMSAN_TRACE_RAW_NAMES_H
#define ATOMSAN_TRACE_RAW_NAMES_H

#include "base/map.h"
#include "base/str.h"
#include "trace/names.h"
#include "trace/raw_format.h"
#include "trace/raw_memory.h"

struct raw_module {
	uint64_t base, end;
	uint32_t number;
};

struct raw_names {
	struct names *names;
	struct str text; /* the text of the next name */
	struct map places, labels;
	struct raw_module *module; /* in the order in which they were loaded */
	size_t nmodules, modules_cap;
	uint32_t counted[NAMES_KINDS]; /* names of each kind in this pass */
};
void raw_names_init(struct raw_names *n, struct names *names);
void raw_names_restart(struct raw_names *n); /* begins another pass */
void raw_names_free(struct raw_names *n);

/*
 * Returns the number of the next name of a kind. Its text is n->text, unless an earlier pass has
 * made the name: then raw_names_next_exists(), and n->text is not used.
 */
uint32_t raw_names_next(struct raw_names *n, enum names_kind kind);
bool raw_names_next_exists(const struct raw_names *n, enum names_kind kind);
/* The same for a note. */
void raw_names_note(struct raw_names *n);

/* "mutex", ...: in raw_events.c */
extern const char *const raw_lock_names[RAW_LOCKS];

/* Adds a module; the text is that of RAW_MODULE. A text that is not one is ignored. */
void raw_names_module(struct raw_names *n, uint64_t base, const char *text, size_t len);
/* Returns the place `pc` in a function that was called at the place `parent`. */
strref raw_names_place(struct raw_names *n, strref parent, uint64_t pc);
/* Returns a label. kind: 'f', 's' or 'm'; or 'a' with a text, then `pc` is the text's number. */
strref raw_names_label(struct raw_names *n, char kind, uint64_t pc, const char *text, size_t len);

/* Adds a part of an allocation to n->text: "h OFFSET SIZE BYTES PLACE". */
void raw_names_add_allocation(struct raw_names *n, uint64_t offset, uint64_t size, uint64_t bytes,
			      strref place);
/* Adds what lies at an address to n->text, as recorded.h describes a variable: "g PC SIZE", ... */
void raw_names_add_memory(struct raw_names *n, struct raw_memory *m, uint64_t address,
			  uint64_t size);

#endif
