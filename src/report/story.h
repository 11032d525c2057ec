/*
 * The sentences of a finding, for a reader who knows C and no theory. Every
 * report format uses the same ones.
 *
 * All functions make names safe to print (show.h). Their text may contain
 * SHOW_TIE in place of a space, unless the comment says otherwise.
 *
 * Included by: report writers.
 */
#ifndef ATOMSAN_REPORT_STORY_H
#define ATOMSAN_REPORT_STORY_H

#include "base/str.h"
#include "engine/finding.h"
#include "report/report.h"

/* First character of a line that is a list item. */
#define STORY_ITEM '\t'

/* Add the sentences as lines, each with its newline. A long list is cut unless `all`. */
void story_add(struct str *b, const struct finding *f, bool all);
/* Add the same as one line, without SHOW_TIE. */
void story_add_line(struct str *b, const struct finding *f);
/* Add "atomicity violation in block 'deposit' (observed)". */
void story_add_title(struct str *b, const struct finding *f);
/* Add "atomicity violation", "possible deadlock", ... */
void story_add_kind(struct str *b, const struct finding *f);
/* Replace every SHOW_TIE by a space, in place. */
void story_untie(char *s);

/* The block that a finding is about: the blamed block, else its transaction. Never NULL. */
const struct finding_block *story_subject(const struct finding *f);
/* Is this an observed cycle without a blamed block? */
bool story_is_blameless(const struct finding *f);
/* Did it happen in a run? If not, the engine only says that it may. */
bool story_is_certain(const struct finding *f);
/* Is it about a block that is not atomic? If not, it is about a variable or a lock order. */
bool story_is_atomicity(const struct finding *f);

#endif
