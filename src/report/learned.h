/*
 * Pairs of accesses between which nothing came in good runs. `atomsan refine` learns them and
 * writes them into a specification (spec.h); a finding that cuts one says so.
 *
 * A pair is a text: "r bank.c:7 w bank.c:8 in deposit".
 *
 * Included by: the reporter, commands.
 */
#ifndef ATOMSAN_REPORT_LEARNED_H
#define ATOMSAN_REPORT_LEARNED_H

#include "base/str.h"
#include "engine/finding.h"
#include "trace/reader.h"

struct learned_access {
	const char *op;
	const struct finding_stack *stack;
};

/* Add the text of a pair. Returns false, and adds nothing, if a source line is not known. */
bool learned_describe(struct str *s, const struct learned_access *before,
		      const struct learned_access *after, const char *function);

/* If the rules know the pair that the finding cuts, add that to its reasons. */
struct block_rules;
void learned_note(struct finding *f, struct block_rules *rules);
/* The same for all findings, by the rules of the reader. Call it after rank_classify(). */
void learned_note_all(const struct reader *r, struct finding_list *findings);

#endif
