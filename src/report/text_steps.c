/*
 * The part of the report that looks like ThreadSanitizer's: each step with its stack.
 *
 *	  Read of balance by thread T1 (event 5, block 'deposit'):
 *	    #0 deposit bank.c:12:14 (bank+0x1234)
 *	       12 | long b = get(a);
 *	          |          ^
 *	    #1 worker bank.c:33:5 (bank+0x1300)
 *	    Locks held: mutex bank_lock
 */
#include "report/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "report/show.h"
#include "report/stack.h"
#include "report/step.h"

#include "base/banned.h"

/* Without -v, a finding with more steps shows only the first and last stacks. */
enum { STEPS_MAX = 8, STEPS_HEAD = 4, STEPS_TAIL = 3 };

/* Maximal number of events and locks in a sentence. */
enum { EVENTS_MAX = 12, LOCKS_MAX = 8 };

static bool has_stacks(const struct finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (f->steps[i].stack.n)
			return true;
	return false;
}

/* Add "l, k (shared), [1]", or "none". */
static void add_locks(struct str *b, const struct finding *f, const struct finding_step *s)
{
	if (!s->nheld)
		str_add(b, "none");
	for (size_t i = 0; i < s->nheld; i++) {
		struct str name = STR_INIT;

		if (i == LOCKS_MAX && s->nheld > LOCKS_MAX + 1) {
			str_fmt(b, " and %zu more", s->nheld - i);
			break;
		}
		str_add(b, i ? ", " : "");
		if (step_lock_footnote(f, s->held[i])) {
			str_fmt(b, "[%zu]", step_lock_footnote(f, s->held[i]));
			continue;
		}
		if (s->stack.n && s->held[i])
			step_add_without_aside(&name, s->held[i]);
		else
			str_add(&name, s->held[i] ? s->held[i] : "?");
		show_add(b, name.s, 60, SHOW_CUT_TAIL);
		str_free(&name);
	}
}

static void write_heading(const struct finding *f, const struct finding_step *s, FILE *out)
{
	struct finding_step noted = *s;
	struct str b = STR_INIT, footnote = STR_INIT;

	if (step_footnote(f, s)) {
		str_fmt(&footnote, "[%zu]", step_footnote(f, s));
		noted.operand = footnote.s;
	}
	if (s->op)
		step_add_noun(&b, &noted);
	else
		str_add(&b, "unknown operation"); /* evicted */
	if (s->expression && !step_same_name(s->expression, s->operand)) {
		str_add(&b, " (");
		show_add(&b, s->expression, 40, SHOW_CUT_TAIL);
		str_addc(&b, ')');
	}
	b.s[0] = (char)toupper((unsigned char)b.s[0]);
	str_add(&b, " by thread" SHOW_TIE);
	show_add(&b, s->thread ? s->thread : "?", 24, SHOW_CUT_TAIL);
	if (!f->live)
		str_fmt(&b, " (event" SHOW_TIE "%" PRIu64, s->event);
	if (s->label || s->begin) {
		str_add(&b, f->live ? " (" : ", ");
		str_add(&b, s->label ? "block" SHOW_TIE : "");
		step_add_block(&b, s->label, s->begin);
	}
	str_add(&b, !f->live || s->label || s->begin ? "):" : ":");
	show_wrap(out, b.s, 2, 4);
	str_free(&b);
	str_free(&footnote);
}

/* The first step of the same thread that has a stack. Its stack is printed in full. */
static const struct finding_step *first_of_thread(const struct finding *f,
						  const struct finding_step *s)
{
	const struct finding_step *i = f->steps;

	while (!i->stack.n || !step_same_name(i->thread, s->thread))
		i++;
	return i;
}

static void write_step(const struct report *rep, const struct finding *f,
		       const struct finding_step *s, FILE *out)
{
	struct str b = STR_INIT;
	size_t n = stack_depth(rep, &s->stack), shared = 0;

	write_heading(f, s, out);
	if (s->stack.n) {
		const struct finding_step *first = first_of_thread(f, s);

		if (first != s)
			shared = stack_shared(rep, &first->stack, &s->stack);
		if (shared == n)
			shared--; /* at least one frame of its own */
		/* The note about shared frames takes a line itself. */
		if (shared < 2)
			shared = 0;
		stack_write(rep, &s->stack, n - shared, stack_step_frame(s), out);
		if (shared && f->live)
			fprintf(out, "    #%zu to #%zu as in this thread's first stack above\n",
				n - shared, n - 1);
		else if (shared)
			fprintf(out, "    #%zu to #%zu the same as at event %" PRIu64 "\n",
				n - shared, n - 1, first->event);
	} else {
		fputs("    (no stack was kept)\n", out);
	}
	if (s->held) {
		str_add(&b, "Locks held: ");
		add_locks(&b, f, s);
		show_wrap(out, b.s, 4, 6);
	}
	putc('\n', out);
	str_free(&b);
}

/* Where the memory is that has a name of the source; NULL: the name says it. */
static const char *find_location(const struct finding *f, const char *name)
{
	for (size_t i = 0; i < f->nmemory; i++)
		if (step_same_name(f->memory[i].name, name))
			return f->memory[i].location;
	return NULL;
}

/* Write where the operands of steps are, other than the finding's variable with its stack. */
static void write_other_locations(const struct finding *f, FILE *out)
{
	size_t written = 0;

	for (size_t i = 0; i < f->nmemory; i++) {
		const struct finding_memory *m = &f->memory[i];
		struct str b = STR_INIT;
		size_t k = 0;

		while (k < f->nsteps && !step_same_name(f->steps[k].operand, m->name))
			k++;
		if (k == f->nsteps || !m->name || !m->location ||
		    (f->allocated.n && step_same_name(m->name, f->variable)))
			continue;
		str_add(&b, "Location of ");
		show_add(&b, m->name, SIZE_MAX, SHOW_CUT_TAIL);
		str_add(&b, ": ");
		show_add(&b, m->location, SIZE_MAX, SHOW_CUT_TAIL);
		show_wrap(out, b.s, 2, 4);
		str_free(&b);
		written++;
	}
	if (written)
		putc('\n', out);
}

static void write_location(const struct report *rep, const struct finding *f, FILE *out)
{
	const char *location = find_location(f, f->variable);
	struct str b = STR_INIT;

	if (!f->allocated.n || !f->variable)
		return;
	str_add(&b, location ? "Location of " : "Location is ");
	step_add_variable(&b, f, SIZE_MAX);
	if (location) {
		struct str plain = STR_INIT;

		step_add_without_aside(&plain, location);
		str_add(&b, ": ");
		show_add(&b, plain.s, SIZE_MAX, SHOW_CUT_TAIL);
		str_free(&plain);
	}
	str_add(&b, ", allocated at:");
	show_wrap(out, b.s, 2, 4);
	stack_write(rep, &f->allocated, stack_depth(rep, &f->allocated),
		    stack_own_frame(&f->allocated), out);
	putc('\n', out);
	str_free(&b);
}

static bool created_alike(const struct report *rep, const struct finding_thread *a,
			  const struct finding_thread *b)
{
	size_t n = stack_depth(rep, &a->created);

	return step_same_name(a->creator, b->creator) && n == stack_depth(rep, &b->created) &&
	       n == stack_shared(rep, &a->created, &b->created);
}

/* Write where threads were created; threads created at the same place share an entry. */
static void write_threads(const struct report *rep, const struct finding *f, FILE *out)
{
	for (size_t i = 0; i < f->nthreads; i++) {
		const struct finding_thread *t = &f->threads[i];
		struct str names = STR_INIT, b = STR_INIT;
		size_t n = 0, k = 0;

		while (!created_alike(rep, t, &f->threads[k]))
			k++;
		if (k < i)
			continue;
		for (; k < f->nthreads; k++) {
			if (!created_alike(rep, t, &f->threads[k]))
				continue;
			str_add(&names, n++ ? ", " : "");
			show_add(&names, f->threads[k].name ? f->threads[k].name : "?", 24,
				 SHOW_CUT_TAIL);
		}
		str_fmt(&b, "Thread%s%s%s created by ", n > 1 ? "s" : "", SHOW_TIE, names.s);
		show_add(&b, t->creator ? t->creator : "?", 24, SHOW_CUT_TAIL);
		str_add(&b, t->created.n ? " at:" : "");
		show_wrap(out, b.s, 2, 4);
		stack_write(rep, &t->created, stack_depth(rep, &t->created), NULL, out);
		putc('\n', out);
		str_free(&names);
		str_free(&b);
	}
}

void text_steps_write(const struct report *rep, const struct finding *f, FILE *out)
{
	bool all = rep->verbosity > 0 || f->nsteps <= STEPS_MAX;

	if (!has_stacks(f))
		return;
	for (size_t i = 0; i < f->nsteps; i++) {
		if (!all && i == STEPS_HEAD) {
			i = f->nsteps - STEPS_TAIL;
			fprintf(out, "  ... and the stacks of %zu more steps (-v shows them)\n\n",
				i - STEPS_HEAD);
		}
		write_step(rep, f, &f->steps[i], out);
	}
	write_location(rep, f, out);
	write_other_locations(f, out);
	write_threads(rep, f, out);
}

static bool same_locks(const struct finding_step *a, const struct finding_step *b)
{
	if (!a->held || !b->held || a->nheld != b->nheld)
		return false;
	for (size_t i = 0; i < a->nheld; i++)
		if (!step_same_name(a->held[i], b->held[i]))
			return false;
	return true;
}

static bool have_same_locks(const struct finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (!same_locks(&f->steps[0], &f->steps[i]))
			return false;
	return true;
}

/* All steps hold the same locks. Did these change hands, so that they were free in between? */
static bool were_released(const struct finding *f)
{
	const struct finding_step *s = f->steps;
	bool others = false;

	for (size_t i = 0; i < s->nheld; i++)
		if (!s->held[i] || strstr(s->held[i], " (shared)"))
			return false;
	for (size_t i = 1; i < f->nsteps; i++)
		others |= !step_same_name(s[0].thread, s[i].thread);
	return s->nheld && others && step_same_block(&s[0], &s[f->nsteps - 1]);
}

/* Add "l at events 5, 9" for this step and all later ones with the same locks. */
static void add_events(struct str *b, const struct finding *f, size_t from)
{
	size_t n = 0, shown = 0;

	for (size_t i = from; i < f->nsteps; i++)
		n += same_locks(&f->steps[from], &f->steps[i]);
	add_locks(b, f, &f->steps[from]);
	if (n == f->nsteps) {
		str_add(b, f->steps[from].nheld ? " at each step" : " at any step");
		if (were_released(f))
			str_add(b, ", released in between");
		return;
	}
	str_add(b, n == 1 ? " at event" : " at events");
	for (size_t i = from; i < f->nsteps; i++) {
		if (!same_locks(&f->steps[from], &f->steps[i]))
			continue;
		if (shown == EVENTS_MAX) {
			str_fmt(b, " and %zu more", n - shown);
			return;
		}
		str_fmt(b, "%s%" PRIu64, shown++ ? ", " : SHOW_TIE, f->steps[i].event);
	}
}

void text_steps_locks(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	/* A deadlock's sentences already say which thread holds which lock. */
	if (step_same_name(f->kind, "deadlock"))
		return;
	if (has_stacks(f)) {
		if (have_same_locks(f) && were_released(f))
			show_wrap(out, "Locks held: the same at each step, released in between.", 2,
				  4);
		return;
	}
	for (size_t i = 0; i < f->nsteps; i++) {
		size_t k = 0;

		while (k < i && !same_locks(&f->steps[k], &f->steps[i]))
			k++;
		if (k < i || !f->steps[i].held)
			continue;
		str_add(&b, b.n ? "; " : "Locks held: ");
		add_events(&b, f, i);
	}
	if (b.n) {
		str_addc(&b, '.');
		show_wrap(out, b.s, 2, 4);
	}
	str_free(&b);
}
