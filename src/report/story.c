#include "report/story.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "report/region.h"
#include "report/show.h"
#include "report/step.h"

#include "base/banned.h"

/* Limits on lists of any length, without -v. */
enum { ORDERS_MAX = 12, VISITS_MAX = 4, LOCKS_MAX = 4 };

bool story_is_blameless(const struct finding *f)
{
	return !f->blame.thread && f->status == FINDING_OBSERVED &&
	       step_same_name(f->kind, "cycle");
}

/* Add " (event 8)"; nothing for a live finding, which has no trace to look the event up in. */
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
 * Do the steps read as "the block did this, then others did that, then the block
 * did the last thing"? If so, steps [0, *lead] and [*tail, n) are the block's own.
 */
static bool find_story(const struct finding *f, size_t *lead, size_t *tail)
{
	const struct finding_step *s = f->steps;
	size_t i, k;

	/* This engine only suspects the block: do not claim that it is not atomic. */
	if (!f->blame.thread && f->status == FINDING_OBSERVED)
		return false;
	/* Conflicts through several others form a chain, which is not a sequence in time. */
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
	/* Inside a block, a cycle may also go back in time: then there is no "between". */
	for (size_t m = i; m < k && f->status != FINDING_PREDICTED; m++)
		if (s[m].event >= s[m + 1].event)
			return false;
	*lead = i;
	*tail = k;
	return true;
}

/*
 * A copy of step i for a sentence that has already named the operand. The operand becomes
 * "it" if it has no short name and all steps of the finding have the same operand.
 */
static struct finding_step refer_to_step(const struct finding *f, size_t i)
{
	struct finding_step s = f->steps[i];

	for (size_t k = 0; k < f->nsteps; k++)
		if (!step_same_name(f->steps[k].operand, s.operand))
			return s;
	if (step_footnote(f, &f->steps[i]))
		s.operand = "it";
	return s;
}

/*
 * Add "thread T2's block 'audit' read x (event 8) and wrote y (event 9)", without the subject
 * unless `with_subject`.
 */
static void add_visit(struct str *b, const struct finding *f, size_t from, size_t to,
		      bool with_subject)
{
	const struct finding_step *s = f->steps;
	struct finding_step first = refer_to_step(f, from), last = refer_to_step(f, to);
	bool predicted = f->status == FINDING_PREDICTED;

	if (with_subject) {
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

/* Add one visit per transaction in between. If there are many, skip the middle ones. */
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
			/* The same thread goes on outside blocks: "then wrote tail". */
			bool goes_on = n && !skipped && !s[i].begin && !s[i - 1].begin &&
				       step_link(&s[i - 1], &s[i]) == STEP_SAME_THREAD;

			if (n)
				str_add(b, ", then ");
			add_visit(b, f, i, end, !goes_on);
		} else if (n == 2) {
			str_fmt(b, ", then %zu other transactions ran", visits - 3);
			skipped = true;
		}
		i = end + 1;
	}
}

/* Add the block as the subject at the start of a sentence. */
static void add_subject(struct str *b, const struct finding_block *block)
{
	size_t at = b->n;

	step_add_owner(b, block->thread, block->label, block->begin);
	b->s[at] = (char)toupper((unsigned char)b->s[at]);
}

/* Is the region a part of the transaction with this label? */
static bool is_inner(const struct finding *f, const char *label)
{
	return f->region.name && !step_same_name(f->region.name, label);
}

/* Add how sure it is that the order can happen. */
static void add_certainty(struct str *b, const struct finding *f, size_t lead, size_t tail)
{
	const struct finding_step *first = &f->steps[lead], *other = &f->steps[tail - 1];

	if (f->status != FINDING_PREDICTED) {
		str_add(b, "These steps conflict, so no serial order of the blocks explains them.");
		return;
	}
	switch (f->feasible) {
	case FEASIBLE_UNKNOWN:
		str_add(b, "The locks of this run allow this order.");
		break;
	case FEASIBLE_NO:
		str_add(b, "The locks of this run allow this order, but a thread reads another "
			   "value in it than in this run: what the thread does then may rule it "
			   "out.");
		break;
	case FEASIBLE_YES:
		str_add(b, "This order can happen: up to here, every thread reads the values that "
			   "it read in this run");
		if (f->nchanged) {
			str_fmt(b, ", except that %s reads ", other->thread);
			str_add(b, refer_to_step(f, tail - 1).operand);
			add_event(b, f, f->changed[0]);
			str_fmt(b, " as %s did before", first->thread);
		}
		str_add(b, ".");
		break;
	}
}

static void add_story(struct str *b, const struct finding *f, size_t lead, size_t tail)
{
	const struct finding_step *s = f->steps, end = refer_to_step(f, tail);

	add_subject(b,
		    &(struct finding_block){.thread = s[0].thread,
					    .label = f->region.name ? f->region.name : s[0].label,
					    .begin = s[0].begin});
	if (s[0].label && !f->live && !is_inner(f, s[0].label))
		str_fmt(b, " (begun at event" SHOW_TIE "%" PRIu64 ")", s[0].begin);
	str_add(b, f->status == FINDING_PREDICTED ? " may not be atomic: " : " is not atomic: ");
	str_add(b, "between its ");
	step_add_noun(b, &s[lead]);
	add_event(b, f, s[lead].event);
	str_add(b, " and its ");
	step_add_noun(b, &end);
	add_event(b, f, s[tail].event);
	str_add(b, ", ");
	add_visits(b, f, lead + 1, tail - 1);
	str_add(b, ". ");
	add_certainty(b, f, lead, tail);
	str_addc(b, '\n');
}

/* Add "'a' (T1) before 'b' (T2): w(x) at event 1, then r(x) at event 3". */
static void add_order(struct str *b, const struct finding *f, const struct finding_step *from,
		      const struct finding_step *to)
{
	str_addc(b, STORY_ITEM);
	step_add_transaction(b, f, from);
	str_add(b, " before ");
	step_add_transaction(b, f, to);
	str_add(b, ": ");
	switch (step_link(from, to)) {
	case STEP_SAME_BLOCK:
	case STEP_SAME_THREAD:
		str_add(b, "same thread");
		break;
	case STEP_FORK:
		step_add_op(b, from, 40);
		add_at_event(b, f, from->event);
		break;
	case STEP_JOIN:
		step_add_op(b, to, 40);
		add_at_event(b, f, to->event);
		break;
	case STEP_CONFLICT:
		step_add_op(b, from, 40);
		add_at_event(b, f, from->event);
		str_add(b, ", then ");
		step_add_op(b, to, 40);
		add_at_event(b, f, to->event);
		break;
	}
	str_addc(b, '\n');
}

static void add_more(struct str *b, size_t n)
{
	if (n)
		str_fmt(b, "%c... and %zu more (-v shows them)\n", STORY_ITEM, n);
}

static void add_orders(struct str *b, const struct finding *f, bool all)
{
	size_t n = 0, left_out = 0;

	for (size_t i = 0; i + 1 < f->nsteps; i++) {
		if (step_same_block(&f->steps[i], &f->steps[i + 1]))
			continue;
		if (n++ < ORDERS_MAX || all)
			add_order(b, f, &f->steps[i], &f->steps[i + 1]);
		else
			left_out++;
	}
	add_more(b, left_out);
}

static void add_blameless(struct str *b, const struct finding *f, bool all)
{
	if (f->nsteps)
		str_fmt(b, "No serial order of these %zu transactions explains the run:\n",
			step_count_transactions(f));
	else
		str_add(b, "No serial order of the transactions explains the run.\n");
	add_orders(b, f, all);
	str_add(b, "No single block is to blame: each of them could run without interruption, but "
		   "together they form a cycle.\n");
}

static void add_lockset(struct str *b, const struct finding *f)
{
	size_t at = b->n;

	for (size_t i = 0; i < f->nsteps; i++) {
		if (i)
			str_add(b, ", and ");
		step_add_deed(b, f, &f->steps[i]);
	}
	b->s[at] = (char)toupper((unsigned char)b->s[at]);
	str_add(b, ". No lock consistently protects the variable.\n");
}

/* Steps come in pairs: the lock that a thread holds, then the lock that it wants. */
static void add_deadlock(struct str *b, const struct finding *f, bool all)
{
	size_t n = f->nsteps / 2, shown = all || n <= 8 ? n : 8;

	for (size_t i = 0; i < shown; i++) {
		const struct finding_step *holds = &f->steps[2 * i], *wants = holds + 1;

		str_add(b, "Thread ");
		show_add(b, holds->thread ? holds->thread : "?", 24, SHOW_CUT_TAIL);
		str_add(b, " holds ");
		show_add(b, holds->operand ? holds->operand : "?", 24, SHOW_CUT_TAIL);
		add_event(b, f, holds->event);
		str_add(b, " and wants ");
		show_add(b, wants->operand ? wants->operand : "?", 24, SHOW_CUT_TAIL);
		add_event(b, f, wants->event);
		str_add(b, ".\n");
	}
	add_more(b, n - shown);
	str_add(b, "In another run, each thread can wait for the next one forever.\n");
}

/* Add "read of x (event 5) cannot move", according to the letter of its mover. */
static void add_mover(struct str *b, const struct finding *f, const struct finding_step *s,
		      char mover)
{
	step_add_noun(b, s);
	add_event(b, f, s->event);
	str_add(b, mover == 'L'   ? " can only move earlier"
		   : mover == 'R' ? " can only move later"
				  : " cannot move");
}

/* Name the first step that is no right-mover, and the last step, which is no left-mover. */
static void add_movers(struct str *b, const struct finding *f)
{
	size_t turn = 0;

	while (turn + 1 < f->nsteps && (f->pattern[2 * turn] == 'B' || f->pattern[2 * turn] == 'R'))
		turn++;
	add_subject(b, story_subject(f));
	str_add(b, " may not be atomic: its ");
	add_mover(b, f, &f->steps[turn], f->pattern[2 * turn]);
	str_add(b, ", then its ");
	add_mover(b, f, &f->steps[f->nsteps - 1], f->pattern[2 * (f->nsteps - 1)]);
	str_add(b, ", so other threads may come between the two. Movers, step by step: ");
	show_add(b, f->pattern, SIZE_MAX, SHOW_CUT_TAIL);
	str_add(b, ".\n");
}

static bool has_movers(const struct finding *f)
{
	return step_same_name(f->kind, "movers") && f->nsteps > 1 && f->pattern &&
	       strlen(f->pattern) == 2 * f->nsteps - 1;
}

static void add_steps_intro(struct str *b, const struct finding *f, bool all)
{
	const struct finding_block *block = story_subject(f);

	if (block->label || block->begin) {
		add_subject(b, block);
		str_add(b, f->blame.thread ? " is not atomic" : " may not be atomic");
		if (f->event)
			add_event(b, f, f->event);
	} else if (f->variable) {
		str_add(b, "This finding is about ");
		step_add_variable(b, f, 40);
	} else {
		str_add(b, "This was found");
		if (f->event)
			add_at_event(b, f, f->event);
	}
	if (f->blame.thread && f->nsteps > 1) {
		str_add(b, ": other transactions must come after one part of it and before "
			   "another:\n");
		add_orders(b, f, all);
	} else {
		str_add(b, f->nsteps ? "; these steps show it:\n" : ".\n");
	}
}

const struct finding_block *story_subject(const struct finding *f)
{
	return f->blame.thread ? &f->blame : &f->transaction;
}

static bool all_steps_known(const struct finding *f)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (!f->steps[i].op)
			return false;
	return true;
}

/* Only steps are known, and maybe the block that they refute. */
static void add_evicted(struct str *b, const struct finding *f)
{
	if (f->blame.thread) {
		add_subject(b, story_subject(f));
		str_add(b,
			" is not atomic: the steps below leave the block and return to it, so no "
			"serial order of the blocks explains them. Some of the steps are "
			"unknown because ");
	} else {
		str_add(b,
			"The steps below form a cycle, so no serial order of the blocks explains "
			"them. The block to blame is unknown because ");
	}
	str_add(b, f->out_of_order ? "the machine's clock puts these steps in a different order.\n"
				   : "part of the history was evicted; a larger history_size=N in "
				     "ATOMSAN_OPTIONS keeps more of it.\n");
}

void story_add(struct str *b, const struct finding *f, bool all)
{
	size_t lead, tail;

	if (f->evicted && !(f->blame.thread && all_steps_known(f)))
		add_evicted(b, f);
	else if (step_same_name(f->kind, "lockset") && f->nsteps)
		add_lockset(b, f);
	else if (step_same_name(f->kind, "deadlock") && f->nsteps > 1)
		add_deadlock(b, f, all);
	else if (has_movers(f))
		add_movers(b, f);
	else if (story_is_blameless(f))
		add_blameless(b, f, all);
	else if (find_story(f, &lead, &tail))
		add_story(b, f, lead, tail);
	else
		add_steps_intro(b, f, all);
}

bool story_is_certain(const struct finding *f)
{
	return f->status == FINDING_CONFIRMED ||
	       (f->status == FINDING_OBSERVED && step_same_name(f->kind, "cycle"));
}

bool story_is_atomicity(const struct finding *f)
{
	if (step_same_name(f->kind, "lockset") || step_same_name(f->kind, "deadlock"))
		return false;
	return f->transaction.thread || f->blame.thread || step_same_name(f->kind, "cycle");
}

void story_add_kind(struct str *b, const struct finding *f)
{
	if (story_is_atomicity(f))
		str_add(b, "atomicity violation");
	else if (step_same_name(f->kind, "lockset"))
		str_add(b, "unprotected variable");
	else if (step_same_name(f->kind, "deadlock"))
		str_add(b, "possible deadlock");
	else
		show_add(b, f->kind ? f->kind : "finding", 24, SHOW_CUT_TAIL);
}

void story_add_title(struct str *b, const struct finding *f)
{
	const struct finding_block *block = story_subject(f);

	story_add_kind(b, f);
	if (story_is_blameless(f)) {
		if (f->nsteps && !f->evicted)
			str_fmt(b, " among %zu transactions", step_count_transactions(f));
	} else if (region_name(f) || block->begin) {
		str_add(b, region_name(f) ? " in block " : " in ");
		step_add_block(b, region_name(f), block->begin);
	} else if (f->variable) {
		str_addc(b, ' ');
		step_add_variable(b, f, 40);
	}
	for (size_t i = 0; i < f->nlocks && i < LOCKS_MAX; i++) {
		str_add(b, i ? ", " : " on ");
		show_add(b, f->locks[i], 24, SHOW_CUT_TAIL);
	}
	if (f->nlocks > LOCKS_MAX)
		str_fmt(b, " and %zu more", f->nlocks - LOCKS_MAX);
	str_fmt(b, " (%s)", report_status_name(f->status));
}

void story_add_line(struct str *b, const struct finding *f)
{
	struct str lines = STR_INIT;
	size_t start = b->n;

	story_add(&lines, f, false);
	for (const char *s = lines.s; *s;) {
		size_t n = strcspn(s, "\n");
		bool item = *s == STORY_ITEM, after_item = b->n > start && b->s[b->n - 1] == ';';

		if (!item && after_item)
			b->s[b->n - 1] = '.';
		if (b->n > start)
			str_addc(b, ' ');
		str_addn(b, s + item, n - item);
		if (item)
			str_addc(b, ';');
		s += n + 1;
	}
	if (b->n > start && b->s[b->n - 1] == ';')
		b->s[b->n - 1] = '.';
	story_untie(b->s + start);
	str_free(&lines);
}

void story_untie(char *s)
{
	for (; *s; s++)
		if (*s == SHOW_TIE[0])
			*s = ' ';
}
