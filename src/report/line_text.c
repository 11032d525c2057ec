#include "report/line_text.h"

#include <string.h>

#include "base/str.h"
#include "report/source.h"
#include "report/stack.h"

#include "base/banned.h"

/* Add the source line of the innermost frame in the program's own code. */
static bool add_source(struct str *b, const struct finding_stack *stack)
{
	const struct finding_frame *frame = stack_own_frame(stack);

	return frame && source_add_line(b, frame->file, frame->line);
}

bool line_text_compares(const struct finding_stack *stack)
{
	struct str text = STR_INIT;
	bool found = add_source(&text, stack) && (strstr(text.s, "==") || strstr(text.s, "!="));

	str_free(&text);
	return found;
}

bool line_text_is_same(const struct finding_stack *a, const struct finding_stack *b)
{
	const struct finding_frame *x = stack_own_frame(a), *y = stack_own_frame(b);
	struct str s = STR_INIT, t = STR_INIT;
	bool same = x && y && x->line != y->line && add_source(&s, a) && add_source(&t, b) &&
		    !strcmp(s.s, t.s);

	str_free(&s);
	str_free(&t);
	return same;
}

bool line_text_has_word(const struct finding_stack *stack, const char *const *words)
{
	struct str text = STR_INIT;
	bool found = false;

	for (add_source(&text, stack); *words && !found; words++)
		found = strcasestr(text.s, *words);
	str_free(&text);
	return found;
}
