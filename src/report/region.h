/*
 * The region of a finding: the innermost code that contains the cut (rank.h), and the code that
 * called it.
 *
 * Included by: report writers, rank.c, refine_learn.c, tests.
 */
#ifndef ATOMSAN_REPORT_REGION_H
#define ATOMSAN_REPORT_REGION_H

#include "base/str.h"
#include "engine/finding.h"
#include "report/rank.h"

/* The innermost block that is open at both ends of the cut; NULL if there is none. */
const struct finding_block *region_block(const struct finding *f, const struct rank_cut *cut);

/*
 * The innermost function that the compiler inlined into `function` and that contains both accesses
 * of a cut, which have these stacks; `function` itself if there is none.
 */
const char *region_inlined(const struct finding_stack *before, const struct finding_stack *after,
			   const char *function);

/*
 * Set f->region to the innermost block around the cut, which may be NULL. A stretch, round or pair
 * that the engine has named stays.
 */
void region_fill(struct finding *f, const struct rank_cut *cut);

/*
 * The name by which the finding is known: that of its region, else of the blamed block, else of
 * its transaction; NULL if none has one.
 */
const char *region_name(const struct finding *f);
/* The place where that begins, or NULL. */
const char *region_place(const struct finding *f);

/* Add "function 'deposit'", "marked block 'move'", ...; names are made safe to print. */
void region_add(struct str *b, const struct finding *f);
/* Add the functions that called the region, innermost first; nothing if none is known. */
void region_add_callers(struct str *b, const struct finding *f);

#endif
