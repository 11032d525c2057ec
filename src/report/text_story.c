/* What happened, in sentences: to be understood in a minute by who knows C and no theory. */
#include "report/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "report/show.h"
#include "report/step.h"

#include "base/banned.h"

/* How much of what may go on for ever is printed without -v. */
enum { ORDERS_MAX = 12, VISITS_MAX = 4 };

bool text_story_is_blameless(const struct finding *f)
{
	return !f->blame.thread && f->status == FINDING_OBSERVED &&
	       step_same_name(f->kind, "cycle");
}

/* " (event 8)": of a live finding nobody could look that up. */
static void add_event(struct str *b, const struct finding *f, uint64_t event)
{
	if (!f->live)
		str_fmt(b, " (event" SHOW_TIE "%" PRIu64 ")", event);
}

static void add_at_event(struct str *b, const struct finding *f, uint64_t event)
{
	if (!f->live)
		str_fmt(b, " at event" SHOW_TIE "%" PRIu64, event);
}

/*
 * A story goes: the block did this, then others did that, then the block did
 * the last thing. Steps [0, *lead] and [*tail, n) are the block's own.
 */
static bool is_story(const struct finding *f, size_t *lead, size_t *tail)
{
	const struct finding_step *s = f->steps;
	size_t i, k;

	/* An engine that only suspects a block must not be quoted as knowing. */
	if (!f->blame.thread && f->status == FINDING_OBSERVED)
		return false;
	/* Conflicts through several others are a chain, and not what one thread does after another.
	 */
	if (step_same_name(f->kind, "commit") && f->nwith > 1)
		return false;
	if (f->nsteps < 3 || !s[0].begin || !step_same_block(&s[0], &s[f->nsteps - 1]))
		return false;
	for (i = 0; i + 1 < f->nsteps && step_same_block(&s[0], &s[i + 1]);)
		i++;
	for (k = f->nsteps - 1; k > i && step_same_block(&s[0], &s[k - 1]);)
		k--;
	if (k <= i + 1)
		return false;
	for (size_t m = i + 1; m < k; m++)
		if (step_same_block(&s[0], &s[m]))
			return false;
	/* A cycle may also go back in time inside a block: then there is no "between". */
	for (size_t m = i; m < k && f->status != FINDING_PREDICTED; m++)
		if (s[m].event >= s[m + 1].event)
			return false;
	*lead = i;
	*tail = k;
	return true;
}

/*
 * A step for a sentence that has told the operand before. Where that is all that
 * the finding is about, and has no short name, it is just "it".
 */
static struct finding_step told_again(const struct finding *f, size_t i)
{
	struct finding_step s = f->steps[i];

	for (size_t k = 0; k < f->nsteps; k++)
		if (!step_same_name(f->steps[k].operand, s.operand))
			return s;
	if (step_footnote(f, &f->steps[i]))
		s.operand = "it";
	return s;
}

/* "thread T2's block 'audit' read x (event 8) and wrote y (event 9)"; `who` may be known already.
 */
static void add_visit(struct str *b, const struct finding *f, size_t from, size_t to, bool who)
{
	const struct finding_step *s = f->steps;
	struct finding_step first = told_again(f, from), last = told_again(f, to);
	bool predicted = f->status == FINDING_PREDICTED;

	if (who) {
		step_add_owner(b, s[from].thread, s[from].label, s[from].begin);
		str_add(b, predicted ? " can " : " ");
	}
	(predicted ? step_add_verb : step_add_past)(b, &first);
	add_event(b, f, s[from].event);
	if (to == from)
		return;
	str_add(b, to - from > 1 ? ", ... and " : " and ");
	(predicted ? step_add_verb : step_add_past)(b, &last);
	add_event(b, f, s[to].event);
}

/* What came between: one visit for each transaction, the middle of many left to the picture. */
static void add_visits(struct str *b, const struct finding *f, size_t from, size_t to)
{
	const struct finding_step *s = f->steps;
	size_t visits = 0, n = 0;
	bool skipped = false;

	for (size_t i = from; i <= to; i++)
		visits += i == to || !step_same_block(&s[i], &s[i + 1]);
	for (size_t i = from; i <= to; n++) {
		size_t end = i;

		while (end < to && step_same_block(&s[i], &s[end + 1]))
			end++;
		if (visits <= VISITS_MAX || n < 2 || n == visits - 1) {
			/* One thread's operations outside blocks: "then wrote tail". */
			bool goes_on = n && !skipped && !s[i].begin && !s[i - 1].begin &&
				       step_tie(&s[i - 1], &s[i]) == STEP_SAME_THREAD;

			if (n)
				str_add(b, ", then ");
			add_visit(b, f, i, end, !goes_on);
		} else if (n == 2) {
			str_fmt(b, ", then %zu others came", visits - 3);
			skipped = true;
		}
		i = end + 1;
	}
}

static void write_story(const struct finding *f, size_t lead, size_t tail, FILE *out)
{
	const struct finding_step *s = f->steps, end = told_again(f, tail);
	struct str b = STR_INIT;

	step_add_owner(&b, s[0].thread, s[0].label, s[0].begin);
	b.s[0] = (char)toupper((unsigned char)b.s[0]);
	if (s[0].label && !f->live)
		str_fmt(&b, " (begun at event" SHOW_TIE "%" PRIu64 ")", s[0].begin);
	str_add(&b, f->status == FINDING_PREDICTED ? " may not be atomic: " : " is not atomic: ");
	str_add(&b, "between its ");
	step_add_noun(&b, &s[lead]);
	add_event(&b, f, s[lead].event);
	str_add(&b, " and its ");
	step_add_noun(&b, &end);
	add_event(&b, f, s[tail].event);
	str_add(&b, ", ");
	add_visits(&b, f, lead + 1, tail - 1);
	str_add(&b,
		f->status == FINDING_PREDICTED
			? ". The locks of this run allow that order."
			: ". The steps conflict: no equivalent run leaves the block undisturbed.");
	show_wrap(out, b.s, 2, 2);
	str_free(&b);
}

/* "'a' (T1) before 'b' (T2): w(x) at event 1, then r(x) at event 3" */
static void write_order(const struct finding *f, const struct finding_step *from,
			const struct finding_step *to, FILE *out)
{
	struct str b = STR_INIT;

	step_add_transaction(&b, f, from);
	str_add(&b, " before ");
	step_add_transaction(&b, f, to);
	str_add(&b, ": ");
	switch (step_tie(from, to)) {
	case STEP_SAME_BLOCK:
	case STEP_SAME_THREAD:
		str_add(&b, "same thread");
		break;
	case STEP_FORK:
		step_add_op(&b, from, 40);
		add_at_event(&b, f, from->event);
		break;
	case STEP_JOIN:
		step_add_op(&b, to, 40);
		add_at_event(&b, f, to->event);
		break;
	case STEP_CONFLICT:
		step_add_op(&b, from, 40);
		add_at_event(&b, f, from->event);
		str_add(&b, ", then ");
		step_add_op(&b, to, 40);
		add_at_event(&b, f, to->event);
		break;
	}
	show_wrap(out, b.s, 4, 8);
	str_free(&b);
}

static void write_orders(const struct report *rep, const struct finding *f, FILE *out)
{
	size_t n = 0, left_out = 0;

	for (size_t i = 0; i + 1 < f->nsteps; i++) {
		if (step_same_block(&f->steps[i], &f->steps[i + 1]))
			continue;
		if (n++ < ORDERS_MAX || rep->verbosity > 0)
			write_order(f, &f->steps[i], &f->steps[i + 1], out);
		else
			left_out++;
	}
	if (left_out)
		fprintf(out, "    ... and %zu more, -v shows them\n", left_out);
}

static void write_blameless(const struct report *rep, const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	if (f->nsteps)
		str_fmt(&b, "These %zu transactions cannot be put one after the other:",
			step_count_transactions(f));
	else
		str_add(&b, "This run's transactions cannot be put one after the other.");
	show_wrap(out, b.s, 2, 2);
	write_orders(rep, f, out);
	show_wrap(out,
		  "No single block is to blame: each could be moved out of the way alone, "
		  "together they form a cycle.",
		  2, 2);
	str_free(&b);
}

/* "Thread T1 read balance (event 11)": who did what. */
static void add_deed(struct str *b, const struct finding *f, const struct finding_step *s)
{
	step_add_owner(b, s->thread, s->label, s->begin);
	str_addc(b, ' ');
	step_add_past(b, s);
	add_event(b, f, s->event);
}

static void write_lockset(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	for (size_t i = 0; i < f->nsteps; i++) {
		if (i)
			str_add(&b, ", and ");
		add_deed(&b, f, &f->steps[i]);
	}
	b.s[0] = (char)toupper((unsigned char)b.s[0]);
	str_add(&b, ". No lock keeps the two apart.");
	show_wrap(out, b.s, 2, 2);
	str_free(&b);
}

/* Steps come in pairs: the lock that a thread holds, the one that it wants. */
static void write_deadlock(const struct report *rep, const struct finding *f, FILE *out)
{
	size_t n = f->nsteps / 2, shown = rep->verbosity > 0 || n <= 8 ? n : 8;

	for (size_t i = 0; i < shown; i++) {
		const struct finding_step *holds = &f->steps[2 * i], *wants = holds + 1;
		struct str b = STR_INIT;

		str_add(&b, "Thread ");
		show_add(&b, holds->thread ? holds->thread : "?", 24, SHOW_CUT_TAIL);
		str_add(&b, " holds ");
		show_add(&b, holds->operand ? holds->operand : "?", 24, SHOW_CUT_TAIL);
		add_event(&b, f, holds->event);
		str_add(&b, " and wants ");
		show_add(&b, wants->operand ? wants->operand : "?", 24, SHOW_CUT_TAIL);
		add_event(&b, f, wants->event);
		str_addc(&b, '.');
		show_wrap(out, b.s, 2, 4);
		str_free(&b);
	}
	if (shown < n)
		fprintf(out, "  ... and %zu more, -v shows them\n", n - shown);
	show_wrap(out, "In another run each can wait for the next for ever.", 2, 2);
}

/* "its read of x (event 5) cannot be moved", by the letter of its mover. */
static void add_mover(struct str *b, const struct finding *f, const struct finding_step *s,
		      char mover)
{
	step_add_noun(b, s);
	add_event(b, f, s->event);
	str_add(b, mover == 'L'   ? " can only be done earlier"
		   : mover == 'R' ? " can only be done later"
				  : " cannot be moved");
}

/* The first step that does not move right, and the last, which does not move left. */
static void write_movers(const struct finding *f, FILE *out)
{
	const struct finding_block *block = text_finding_subject(f);
	struct str b = STR_INIT;
	size_t turn = 0;

	while (turn + 1 < f->nsteps && (f->pattern[2 * turn] == 'B' || f->pattern[2 * turn] == 'R'))
		turn++;
	step_add_owner(&b, block->thread, block->label, block->begin);
	b.s[0] = (char)toupper((unsigned char)b.s[0]);
	str_add(&b, " may not be atomic: its ");
	add_mover(&b, f, &f->steps[turn], f->pattern[2 * turn]);
	str_add(&b, ", then its ");
	add_mover(&b, f, &f->steps[f->nsteps - 1], f->pattern[2 * (f->nsteps - 1)]);
	str_add(&b, "; so others may come between the two. Movers, step by step: ");
	str_fmt(&b, "%s.", f->pattern);
	show_wrap(out, b.s, 2, 2);
	str_free(&b);
}

static bool has_movers(const struct finding *f)
{
	return step_same_name(f->kind, "movers") && f->nsteps > 1 && f->pattern &&
	       strlen(f->pattern) == 2 * f->nsteps - 1;
}

static void write_plain(const struct report *rep, const struct finding *f, FILE *out)
{
	const struct finding_block *block = text_finding_subject(f);
	struct str b = STR_INIT;

	if (block->label || block->begin) {
		step_add_owner(&b, block->thread, block->label, block->begin);
		b.s[0] = (char)toupper((unsigned char)b.s[0]);
		str_add(&b, f->blame.thread ? " is not atomic" : " may not be atomic");
		if (f->event)
			add_event(&b, f, f->event);
	} else if (f->variable) {
		str_add(&b, "This is about ");
		step_add_variable(&b, f, 40);
	} else {
		str_add(&b, "This came up");
		if (f->event)
			add_at_event(&b, f, f->event);
	}
	if (f->blame.thread && f->nsteps > 1) {
		str_add(&b, ": others have to come after one part of it and before another:");
		show_wrap(out, b.s, 2, 2);
		write_orders(rep, f, out);
	} else {
		str_add(&b, f->nsteps ? "; these steps say so:" : ".");
		show_wrap(out, b.s, 2, 2);
	}
	str_free(&b);
}

/* All that is known are the steps: who is to blame could not be found out. */
static void write_evicted(const struct finding *f, FILE *out)
{
	struct str b = STR_INIT;

	str_add(&b, "The steps below form a cycle: no order of whole blocks has them all. Which "
		    "block is to blame is not known, since ");
	str_add(&b, f->out_of_order
			    ? "by the clock of the machine they came in another order."
			    : "part of the history was evicted: history_size=N in ATOMSAN_OPTIONS "
			      "widens it.");
	show_wrap(out, b.s, 2, 2);
	str_free(&b);
}

void text_story_write(const struct report *rep, const struct finding *f, FILE *out)
{
	size_t lead, tail;

	if (f->evicted)
		write_evicted(f, out);
	else if (step_same_name(f->kind, "lockset") && f->nsteps)
		write_lockset(f, out);
	else if (step_same_name(f->kind, "deadlock") && f->nsteps > 1)
		write_deadlock(rep, f, out);
	else if (has_movers(f))
		write_movers(f, out);
	else if (text_story_is_blameless(f))
		write_blameless(rep, f, out);
	else if (is_story(f, &lead, &tail))
		write_story(f, lead, tail, out);
	else
		write_plain(rep, f, out);
}
