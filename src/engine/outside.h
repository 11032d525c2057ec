/*
 * What a check of blocks does not check: accesses outside of all blocks that could
 * be part of a lost update.
 *
 * Counted are a read and a later write of one variable by one region (region.h) of
 * a function that is no block, if the variable is contended (contention.h), and if
 * the write's critical section did not read the variable again. An access by itself,
 * a whole update in one critical section, and what a rule excludes are not counted: a
 * correct program rarely has anything else there. In predict's words these accesses are
 * regions of the kind `pair`.
 *
 * Included by: the reporter, commands, tests.
 */
#ifndef ATOMSAN_ENGINE_OUTSIDE_H
#define ATOMSAN_ENGINE_OUTSIDE_H

#include <stdint.h>

#include "base/str.h"
#include "trace/reader.h"

struct outside_function {
	char *name;
	uint64_t accesses;
};

/* Functions, those with the most accesses first. All zero is the empty list. */
struct outside {
	struct outside_function *v;
	size_t n, cap;
};

/* Read the trace again from its start, and add what it has; nothing if it is not of a run. */
void outside_read(struct outside *o, struct reader *r);
void outside_add(struct outside *o, const char *name, uint64_t accesses);
void outside_free(struct outside *o);

/*
 * Add "4 accesses of shared variables in tally() and main() were not checked, because they are in
 * no block"; nothing if there are none.
 */
void outside_describe(const struct outside *o, struct str *s);

#endif
