#include "report/region.h"

#include <string.h>

#include "base/mem.h"
#include "report/show.h"
#include "report/stack.h"
#include "report/step.h"

#include "base/banned.h"

/* Callers that are shown. */
enum { CALLERS_MAX = 4, NAME_COLUMNS = 40 };

const struct finding_block *region_block(const struct finding *f, const struct rank_cut *cut)
{
	const struct finding_step *a = cut->before, *b = cut->after;
	const struct finding_block *found = NULL;

	(void)f;
	for (size_t i = 0; i < a->nblocks && i < b->nblocks; i++) {
		if (a->blocks[i].begin != b->blocks[i].begin)
			break;
		found = &a->blocks[i];
	}
	return found;
}

/* The index of the function's own frame in a stack; SIZE_MAX if it is not there. */
static size_t find_frame(const struct finding_stack *stack, const char *function)
{
	for (size_t i = 0; i < stack->n; i++)
		if (!stack->v[i].inlined && step_same_name(stack->v[i].function, function))
			return i;
	return SIZE_MAX;
}

static bool is_same_line(const struct finding_frame *a, const struct finding_frame *b)
{
	return a->line == b->line && a->column == b->column && step_same_name(a->file, b->file);
}

const char *region_inlined(const struct finding_stack *before, const struct finding_stack *after,
			   const char *function)
{
	size_t i = find_frame(before, function), k = find_frame(after, function);
	const struct finding_frame *a = before->v, *b = after->v;

	/* In a loop, the two accesses may be in two calls. */
	if (i == SIZE_MAX || k == SIZE_MAX || a->line >= b->line)
		return function;
	for (; i && k; i--, k--) {
		if (!a[i - 1].inlined || !b[k - 1].inlined || !is_same_line(&a[i], &b[k]) ||
		    !step_same_name(a[i - 1].function, b[k - 1].function) || !a[i - 1].function ||
		    stack_is_system(a[i - 1].file ? a[i - 1].file : ""))
			break;
		function = a[i - 1].function;
	}
	return function;
}

static const char *why_of_kind(const struct finding *f, enum region_kind kind)
{
	if (!f->recorded)
		return "the trace marks it";
	return kind == REGION_MARKED ? "the source marks it"
				     : "functions usually are, unless they wait";
}

static void set_region(struct finding *f, enum region_kind kind, const char *name,
		       const char *place)
{
	f->region = (struct finding_region){kind, name, place, why_of_kind(f, kind)};
}

/* Set the region to the innermost refuted part of the blamed block. */
static void set_from_blame(struct finding *f)
{
	const struct finding_block *b = f->blame.thread ? &f->blame : &f->transaction;
	const char *inner = f->nrefuted ? f->refuted[f->nrefuted - 1] : b->label;

	if (!b->thread || !inner || !b->begin)
		return;
	/* A function's block begins at the call, which is not where the function is. */
	if (f->recorded || f->live)
		set_region(f, REGION_FUNCTION, inner, NULL);
	else
		set_region(f, REGION_MARKED, inner, inner == b->label ? b->place : NULL);
}

void region_fill(struct finding *f, const struct rank_cut *cut)
{
	const struct finding_block *block = cut ? region_block(f, cut) : NULL;

	if (f->region.kind > REGION_MARKED)
		return;
	/* The engine may have named the outermost block. */
	if (block)
		set_region(f, block->kind == REGION_UNKNOWN ? REGION_FUNCTION : block->kind,
			   block->label, block->defined ? block->defined : block->place);
	else if (f->region.kind == REGION_UNKNOWN)
		set_from_blame(f);
	if (cut && f->region.kind == REGION_FUNCTION && f->region.name) {
		const char *inner =
			region_inlined(&cut->before->stack, &cut->after->stack, f->region.name);

		if (!step_same_name(inner, f->region.name))
			set_region(f, REGION_FUNCTION, inner, NULL);
	}
}

const char *region_name(const struct finding *f)
{
	if (f->region.name)
		return f->region.name;
	return f->blame.thread ? f->blame.label : f->transaction.label;
}

const char *region_place(const struct finding *f)
{
	if (f->region.name)
		return f->region.place;
	return f->blame.thread ? f->blame.place : f->transaction.place;
}

void region_add(struct str *b, const struct finding *f)
{
	static const char *const texts[REGION_KINDS] = {
		[REGION_UNKNOWN] = "block",
		[REGION_FUNCTION] = "function",
		[REGION_MARKED] = "block",
		[REGION_STRETCH] = "code between two waits in",
		[REGION_ROUND] = "one round of a loop in",
		[REGION_PAIR] = "two accesses in",
	};

	str_add(b, texts[f->region.kind]);
	if (!f->region.name)
		return;
	str_add(b, " '");
	step_add_label(b, f->region.name, NAME_COLUMNS);
	str_addc(b, '\'');
}

/* The first step of the blamed thread. */
static const struct finding_step *first_step(const struct finding *f)
{
	struct rank_cut cut;

	return rank_find_cut(f, &cut) ? cut.before : NULL;
}

/* Is it the C library's code that calls main() or the start function of a thread? */
static bool is_below_program(const char *function)
{
	static const char *const names[] = {"start_thread", "clone", "clone3", "_start",
					    "__libc_start"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strncmp(function, names[i], strlen(names[i])))
			return true;
	return false;
}

void region_add_callers(struct str *b, const struct finding *f)
{
	const struct finding_step *s = first_step(f);
	size_t i = 0, n = 0;

	if (!s || !f->region.name)
		return;
	while (i < s->stack.n && !step_same_name(s->stack.v[i].function, f->region.name))
		i++;
	for (i++; i < s->stack.n && n < CALLERS_MAX; i++) {
		const struct finding_frame *frame = &s->stack.v[i];

		if (!frame->function || !frame->file || stack_is_system(frame->file))
			continue;
		if (is_below_program(frame->function))
			break;
		str_add(b, n++ ? ", " : "");
		step_add_label(b, frame->function, NAME_COLUMNS);
		str_add(b, "()");
	}
}
