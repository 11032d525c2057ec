/*
 * What happened, in sentences: to be understood in a minute by who knows C and
 * no theory. The same words in every form.
 *
 * Names are made safe on the way; SHOW_TIE may stand for a space (show.h).
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_STORY_H
#define ATOMSAN_REPORT_STORY_H

#include "base/str.h"
#include "engine/finding.h"
#include "report/report.h"

/* A line that starts with it is an item of a list. */
#define STORY_ITEM '\t'

/* Lines, each with its newline; of a long list the first items unless `all`. */
void story_add(struct str *b, const struct finding *f, bool all);
/* All of it in one line, without SHOW_TIE. */
void story_add_line(struct str *b, const struct finding *f);
/* "atomicity violation in block 'deposit' (observed)" */
void story_add_title(struct str *b, const struct finding *f);
/* "atomicity violation", "possible deadlock" */
void story_add_kind(struct str *b, const struct finding *f);
/* Spaces for every SHOW_TIE. */
void story_untie(char *s);

/* The block that a finding is about: the blamed one, else the one that it names. */
const struct finding_block *story_subject(const struct finding *f);
/* Is it the mere cycle, with nobody to blame? */
bool story_is_blameless(const struct finding *f);
/* Has it happened? (Else it may, as far as the engine can tell.) */
bool story_is_certain(const struct finding *f);
/* Is it about a block that is not atomic? (Else about a variable, or an order of locks.) */
bool story_is_atomicity(const struct finding *f);

#endif
