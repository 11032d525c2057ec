/*
 * The names of a recorded run (recorded.h), as they come up: texts for places,
 * labels, variables, locks, each made once.
 *
 * A recording may be read several times: a name that a first pass has made is
 * found again by the same number.
 *
 * Who may include this: the reader of raw recordings, the commands that serve a running program.
 */
#ifndef ATOMSAN_TRACE_RAW_NAMES_H
#define ATOMSAN_TRACE_RAW_NAMES_H

#include "base/str.h"
#include "trace/names.h"
#include "trace/raw_format.h"
#include "trace/raw_memory.h"

/* Two numbers to one; open addressing. */
struct raw_map {
	struct raw_map_slot {
		uint64_t a, b;
		uint32_t value_plus_1; /* 0: empty */
	} * slot;
	size_t n, cap;
};
#define RAW_MAP_NONE UINT32_MAX
uint32_t raw_map_get(const struct raw_map *m, uint64_t a, uint64_t b);
void raw_map_put(struct raw_map *m, uint64_t a, uint64_t b, uint32_t value);
void raw_map_free(struct raw_map *m);

struct raw_module {
	uint64_t base, end;
	uint32_t number;
};

struct raw_names {
	struct names *names;
	struct str text; /* scratch */
	struct raw_map places, labels;
	struct raw_module *module; /* those that were loaded last come last */
	size_t nmodules, modules_cap;
	uint32_t counted[NAMES_KINDS]; /* in this pass */
};
void raw_names_init(struct raw_names *n, struct names *names);
void raw_names_restart(struct raw_names *n);
void raw_names_free(struct raw_names *n);

/* A number for the next name of a kind, whose text is n->text, unless a pass before has made it. */
uint32_t raw_names_next(struct raw_names *n, enum names_kind kind);
bool raw_names_made(const struct raw_names *n, enum names_kind kind);
/* The same for a note made of n->text. */
void raw_names_note(struct raw_names *n);

/* "mutex", ...: raw_read.c */
extern const char *const raw_lock_names[RAW_LOCKS];

void raw_names_module(struct raw_names *n, uint64_t base, const char *text, size_t len);
strref raw_names_place(struct raw_names *n, strref parent, uint64_t pc);
/* kind: 'f', 's' or 'm'; or 'a' with a text, then `pc` is its number. */
strref raw_names_label(struct raw_names *n, char kind, uint64_t pc, const char *text, size_t len);

/* Add a part of a block of the heap to n->text: "h OFFSET SIZE BLOCK PLACE". */
void raw_names_add_block(struct raw_names *n, uint64_t offset, uint64_t size, uint64_t block,
			 strref place);
/* Add "g PC SIZE" and so on to n->text. */
void raw_names_add_memory(struct raw_names *n, struct raw_memory *m, uint64_t address,
			  uint64_t size);

#endif
