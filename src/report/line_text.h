/*
 * What the text of a source line says about an access: rough, but it knows what the instructions
 * do not. The line is that of the innermost frame in the program's own source. If it cannot be
 * read, every answer is false.
 *
 * Included by: rank.c.
 */
#ifndef ATOMSAN_REPORT_LINE_TEXT_H
#define ATOMSAN_REPORT_LINE_TEXT_H

#include <stdbool.h>

#include "engine/finding.h"

/* Does the line compare for equality? Then it sees a change. */
bool line_text_compares(const struct finding_stack *stack);
/* Are these different lines with the same text? */
bool line_text_is_same(const struct finding_stack *a, const struct finding_stack *b);
/* Does the line contain a word of the list, which ends with NULL? Case does not matter. */
bool line_text_has_word(const struct finding_stack *stack, const char *const *words);

#endif
