/* Writes a group of findings: heading, sentences, picture, what it rests on, summary. */
#include "report/text.h"

#include <inttypes.h>
#include <string.h>

#include "report/region.h"
#include "report/show.h"
#include "report/step.h"
#include "report/story.h"
#include "report/suppress.h"

#include "base/banned.h"

/* Limits on lists of any length, without -v. */
enum { ALSO_MAX = 8, NESTED_MAX = 6, RUNS_MAX = 24 };

static void write_heading(const struct report *rep, const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	str_add(&b, "WARNING: AtomSan: ");
	story_add_title(&b, f);
	show_wrap_styled(out, b.s, rep->color, SHOW_BOLD_RED);
	str_free(&b);
}

static void write_story(const struct report *rep, const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	story_add(&b, f, rep->verbosity > 0);
	for (char *line = b.s, *end; *line; line = end + 1) {
		bool item = *line == STORY_ITEM;

		end = strchr(line, '\n');
		*end = 0;
		show_wrap(out, line + item, item ? 4 : 2, item ? 8 : 2);
	}
	str_free(&b);
}

/* Write "Rank 1: read, then written, ...; seen in this run." While a program runs, without a
 * number. */
static void write_rank(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	if (!f->nreasons)
		return;
	if (f->rank)
		str_fmt(&b, "Rank" SHOW_TIE "%" PRIu32 ": ", f->rank);
	else
		str_add(&b, "Reason: ");
	for (size_t i = 0; i < f->nreasons; i++) {
		str_add(&b, i ? "; " : "");
		show_add(&b, f->reasons[i], SIZE_MAX, SHOW_CUT_TAIL);
	}
	str_addc(&b, '.');
	show_wrap(out, b.s, 2, 4);
	str_free(&b);
}

/* Of a run, write what the finding is about and why that is assumed to be atomic. */
static void write_region(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT, place = STR_INIT, callers = STR_INIT;

	if (f->region.kind == REGION_UNKNOWN || (!f->recorded && !f->live))
		return;
	str_add(&b, "Region: ");
	region_add(&b, f);
	step_add_short_place(&place, f, f->region.place);
	if (place.n) {
		str_add(&b, " (");
		show_add(&b, place.s, 60, SHOW_CUT_HEAD);
		str_addc(&b, ')');
	}
	region_add_callers(&callers, f);
	if (callers.n)
		str_fmt(&b, ", called from %s", callers.s);
	if (f->region.why) {
		str_add(&b, ". It is assumed to be meant as atomic: ");
		show_add(&b, f->region.why, SIZE_MAX, SHOW_CUT_TAIL);
	}
	str_addc(&b, '.');
	show_wrap(out, b.s, 2, 4);
	str_free(&callers);
	str_free(&place);
	str_free(&b);
}

/* Write "* Blamed: ...". The star is the one in the picture. */
static void write_blamed(const struct report *rep, const struct finding *f, FILE *out)
{
	size_t first, shown = rep->verbosity > 0 ? SIZE_MAX : NESTED_MAX;
	struct str b = STR_INIT, place = STR_INIT;

	if (!f->blame.thread)
		return;
	str_add(&b, f->blame.label ? "* Blamed: block " : "* Blamed: ");
	step_add_block(&b, f->blame.label, f->blame.begin);
	str_add(&b, " (thread" SHOW_TIE);
	show_add(&b, f->blame.thread, 24, SHOW_CUT_TAIL);
	if (f->blame.label && !f->live)
		str_fmt(&b, ", begun at event" SHOW_TIE "%" PRIu64, f->blame.begin);
	step_add_short_place(&place, f, f->blame.place);
	if (place.n) {
		str_add(&b, ", ");
		show_add(&b, place.s, 60, SHOW_CUT_HEAD);
	}
	str_add(&b, ")");
	str_free(&place);
	/* The outermost refuted block is the transaction itself. */
	first = f->nrefuted && step_same_name(f->refuted[0], f->blame.label);
	for (size_t i = first; i < f->nrefuted && i - first < shown; i++) {
		str_add(&b, i > first ? ", "
			    : first   ? "; nested blocks that are not atomic either: "
				      : "; not atomic: ");
		if (f->refuted[i])
			step_add_block(&b, f->refuted[i], 0);
		else
			str_add(&b, "an unnamed block");
	}
	if (f->nrefuted - first > shown)
		str_fmt(&b, " and %zu more", f->nrefuted - first - shown);
	show_wrap(out, b.s, 2, 4);
	str_free(&b);
}

static bool has_lock_step(const struct finding *f)
{
	static const char *const locks[] = {"acq", "rel", "racq", "rrel"};

	for (size_t i = 0; i < f->nsteps; i++)
		for (size_t k = 0; k < sizeof locks / sizeof locks[0]; k++)
			if (step_same_name(f->steps[i].op, locks[k]))
				return true;
	return false;
}

static void write_rests_on(const struct finding *f, FILE *out)
{
	const char *text;

	if (f->rests_on == RESTS_ON_NOTHING)
		return;
	if (f->rests_on == RESTS_ON_LOCKS)
		text = "Rests on lock order only: every cycle needs a lock operation; the data "
		       "accesses alone fit a serial order.";
	else if (has_lock_step(f))
		text = "Rests on data: there is also a cycle without lock operations.";
	else
		text = "Rests on data: the cycle uses no lock operation.";
	show_wrap(out, text, 2, 2);
}

/* Write the order of events that would show it: "1-4, 9, 5-7". */
static void write_schedule(const struct report *rep, const struct finding *f, FILE *out)
{
	size_t runs = 0;
	struct str b = STR_INIT;

	/* A live finding has no trace to look the events up in. */
	if (!f->nschedule || f->live)
		return;
	str_add(&b, "Schedule that shows it (event numbers): ");
	for (size_t i = 0; i < f->nschedule; runs++) {
		size_t end = i;

		while (end + 1 < f->nschedule && f->schedule[end + 1] == f->schedule[end] + 1)
			end++;
		if (runs == RUNS_MAX && rep->verbosity < 1) {
			str_add(&b, ", ... (-v shows all)");
			break;
		}
		str_fmt(&b, "%s%" PRIu64, i ? ", " : "", f->schedule[i]);
		if (end > i)
			str_fmt(&b, "-%" PRIu64, f->schedule[end]);
		i = end + 1;
	}
	show_wrap(out, b.s, 2, 4);
	str_free(&b);
}

static void write_seen(const struct finding *f, FILE *out)
{
	if (f->count > 1)
		fprintf(out, "  Seen %" PRIu64 " times.\n", f->count);
}

/*
 * Write a line for another finding of the group:
 * "Also closes a cycle at event 14: acq(l) bank.c:13 (lock order)".
 */
static void write_also(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT, place = STR_INIT;

	if (f->live)
		str_add(&b, "Also closes a cycle");
	else
		str_fmt(&b, "Also closes a cycle at event" SHOW_TIE "%" PRIu64, f->event);
	if (f->nsteps) {
		const struct finding_step *last = &f->steps[f->nsteps - 1];

		str_add(&b, ": ");
		step_add_op(&b, last, f->recorded ? 60 : 40);
		step_add_place(&place, f, last);
		if (place.n) {
			str_addc(&b, ' ');
			show_add(&b, place.s, 30, SHOW_CUT_HEAD);
		}
	}
	if (f->rests_on != RESTS_ON_NOTHING)
		str_add(&b, f->rests_on == RESTS_ON_LOCKS ? " (lock order)" : " (data)");
	if (story_is_blameless(f))
		str_add(&b, ", no single block to blame");
	if (f->count > 1)
		str_fmt(&b, ", seen %" PRIu64 " times", f->count);
	show_wrap(out, b.s, 2, 4);
	str_free(&b);
	str_free(&place);
}

/* Is it shown in a line of its own? Of a run, the others with the same cause are only counted. */
static bool has_line(const struct finding *f)
{
	return !f->rank || (!f->recorded && !f->live) || f->rests_on == RESTS_ON_LOCKS;
}

static void write_others(const struct report *rep, const struct group *g, FILE *out)
{
	const struct finding *best = group_best(g);
	size_t shown = 0, lines = 0, counted = 0;

	for (size_t i = 0; i < g->n; i++) {
		lines += g->v[i] != best && has_line(g->v[i]);
		counted += g->v[i] != best && !has_line(g->v[i]);
	}
	for (size_t i = 0; i < g->n; i++) {
		if (g->v[i] == best || !has_line(g->v[i]))
			continue;
		if (shown == ALSO_MAX && rep->verbosity < 1) {
			fprintf(out, "  ... and %zu more like these (-v shows them)\n",
				lines - shown);
			break;
		}
		write_also(g->v[i], out);
		shown++;
	}
	if (counted)
		fprintf(out, "  %zu more finding%s the same cause (--all shows %s).\n", counted,
			counted == 1 ? " has" : "s have", counted == 1 ? "it" : "them");
}

void text_finding_summary(const struct report *rep, const struct group *g, FILE *out)
{
	const struct finding *f = group_best(g);
	const struct finding_block *subject = story_subject(f);
	struct str at = STR_INIT, place = STR_INIT, block = STR_INIT, b = STR_INIT;

	if (f->nsteps)
		step_add_place(&at, f, &f->steps[f->nsteps - 1]);
	if (at.n)
		show_add(&place, at.s, SIZE_MAX, SHOW_CUT_HEAD);
	else if (f->event && !f->live)
		str_fmt(&place, "at event %" PRIu64, f->event);
	if (region_name(f))
		show_add(&block, region_name(f), SIZE_MAX, SHOW_CUT_TAIL);
	else if (subject->begin)
		str_fmt(&block, "block at event %" PRIu64, subject->begin);
	else if (f->variable)
		step_add_variable(&block, f, SIZE_MAX);
	for (size_t i = 0; i < f->nlocks; i++) {
		str_add(&block, i ? ", " : "");
		show_add(&block, f->locks[i], SIZE_MAX, SHOW_CUT_TAIL);
	}

	str_add(&b, "SUMMARY: AtomSan: ");
	story_add_kind(&b, f);
	/* One line with complete names, because scripts parse it. */
	if (place.n)
		str_fmt(&b, " %s", place.s);
	if (place.n && block.n)
		str_add(&b, story_is_atomicity(f) ? " in" : " of");
	if (block.n)
		str_fmt(&b, " %s", block.s);
	fprintf(out, "%s%s%s\n", show_on(rep->color, SHOW_BOLD), b.s,
		show_off(rep->color, SHOW_BOLD));
	str_free(&at);
	str_free(&place);
	str_free(&block);
	str_free(&b);
}

/* Say what came of driving the program into it. The replay line is copied, so it is not wrapped. */
static void write_confirmed(const struct finding *f, FILE *out)
{
	const struct finding_confirm *c = f->confirm;
	struct str b = STR_INIT;

	if (!c)
		return;
	if (c->outcome == CONFIRM_CONFIRMED) {
		str_fmt(&b,
			"Confirmed: driven run %u did it; its schedule did it again %u of %u "
			"times.",
			c->runs, c->replayed, c->of);
		show_wrap(out, b.s, 2, 4);
		if (c->harm_text) {
			str_reset(&b);
			str_fmt(&b,
				c->harm == CONFIRM_HARM_NONE ? "No harm seen: %s." : "Harm: %s.",
				c->harm_text);
			show_wrap(out, b.s, 2, 4);
		}
		if (c->schedule)
			fprintf(out, "  To run it again: atomsan replay %s\n", c->schedule);
	} else {
		str_fmt(&b, "Not confirmed (%s)", confirm_outcome_names[c->outcome]);
		if (c->runs)
			str_fmt(&b, " in %u driven run%s", c->runs, c->runs == 1 ? "" : "s");
		if (c->why)
			str_fmt(&b, ": %s", c->why);
		str_addc(&b, '.');
		show_wrap(out, b.s, 2, 4);
	}
	str_free(&b);
}

/* The user copies this line, so it is never wrapped or shortened. */
static void write_suppression(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	suppress_add_line(&b, f);
	if (b.n)
		fprintf(out, "  To suppress it: %s\n", b.s);
	str_free(&b);
}

void text_finding_write(const struct report *rep, const struct group *g, FILE *out)
{
	const struct finding *f = group_best(g);

	write_heading(rep, f, out);
	write_story(rep, f, out);
	write_rank(f, out);
	write_region(f, out);
	if (f->nsteps) {
		putc('\n', out);
		text_cycle_write(rep, f, out);
		putc('\n', out);
		text_steps_write(rep, f, out);
	}
	write_blamed(rep, f, out);
	text_steps_locks(f, out);
	write_rests_on(f, out);
	write_schedule(rep, f, out);
	write_confirmed(f, out);
	write_seen(f, out);
	write_others(rep, g, out);
	write_suppression(f, out);
	text_finding_summary(rep, g, out);
}
