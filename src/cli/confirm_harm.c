/*
 * Is a confirmed violation harmful? The program runs twice more with whole threads in a row, once
 * for each order of the two. The violation is harmful if the cut run ends or prints as neither of
 * these does.
 */
#include <string.h>

#include "base/mem.h"
#include "cli/confirm.h"

#include "base/banned.h"

/* Drives the program so that `second` gets no turn before `first` has ended or waits. */
static int run_in_order(struct confirm *c, uint32_t first, uint32_t second, struct confirm_run *to,
			struct err *err)
{
	struct drive_file *f = c->drive.file;
	size_t i = 0;

	f->strategy = DRIVE_DEFAULT;
	f->nholds = f->nchoices = 0;
	/* The step at which the default schedule chooses `second`, though `first` could run. */
	while (i < c->nlog && !(c->log[i].chosen == second && c->log[i].thread != second &&
				first < 64 && c->log[i].candidates >> first & 1))
		i++;
	if (second < first && i < c->nlog) {
		f->choice[f->nchoices++] = (struct drive_choice){
			.thread = c->log[i].thread, .step = c->log[i].step, .chosen = first};
		drive_sort_choices(f);
	}
	return confirm_run(c, to, err);
}

static bool is_like(const struct confirm_run *a, const struct confirm_run *b)
{
	return !strcmp(a->outcome.s, b->outcome.s) && a->output.n == b->output.n &&
	       !memcmp(a->output.s, b->output.s, a->output.n);
}

/* The first line in which the outputs differ, without its end. */
static void add_differing_line(struct str *to, const struct str *text, const struct str *other)
{
	size_t at = 0, start = 0, end;
	struct str line = STR_INIT;

	while (at < text->n && at < other->n && text->s[at] == other->s[at]) {
		if (text->s[at] == '\n')
			start = at + 1;
		at++;
	}
	end = start;
	while (end < text->n && text->s[end] != '\n')
		end++;
	if (end == start) {
		str_add(to, "nothing more");
	} else {
		str_add_shown(&line, text->s + start, end - start, 80);
		str_fmt(to, "'%s'", line.s);
	}
	str_free(&line);
}

static void add_ending(struct str *to, const struct confirm_run *r)
{
	switch (r->run.ending) {
	case DRIVEN_DEADLOCK:
		str_add(to, "it hangs in a deadlock");
		break;
	case DRIVEN_TOO_LONG:
		str_add(to, "it hangs");
		break;
	default:
		if (r->run.status > 128)
			str_fmt(to, "it dies by signal %d", r->run.status - 128);
		else
			str_fmt(to, "it exits with %d", r->run.status);
	}
}

static enum confirm_harm kind_of_ending(const struct confirm_run *r)
{
	if (r->run.ending == DRIVEN_DEADLOCK || r->run.ending == DRIVEN_TOO_LONG)
		return CONFIRM_HARM_HANG;
	return r->run.status > 128 ? CONFIRM_HARM_CRASH : CONFIRM_HARM_EXIT;
}

/* Fills in what the cut run did that neither order does. */
static void describe_harm(const struct confirm_run *cut, const struct confirm_run *one,
			  const struct confirm_run *other, struct finding_confirm *to,
			  struct str *text)
{
	if (strcmp(cut->outcome.s, one->outcome.s) != 0 &&
	    strcmp(cut->outcome.s, other->outcome.s) != 0) {
		to->harm = kind_of_ending(cut);
		add_ending(text, cut);
		str_add(text, "; in either order of whole blocks ");
		add_ending(text, one);
		return;
	}
	to->harm = CONFIRM_HARM_OUTPUT;
	str_add(text, "it prints ");
	add_differing_line(text, &cut->output, &one->output);
	str_add(text, is_like(one, other) ? "; either order of whole blocks prints "
					  : "; one order of whole blocks prints ");
	add_differing_line(text, &one->output, &cut->output);
	if (!is_like(one, other)) {
		str_add(text, ", the other ");
		add_differing_line(text, &other->output, &cut->output);
	}
}

int confirm_judge_harm(struct confirm *c, const struct confirm_run *cut, uint32_t a, uint32_t b,
		       struct finding *f, struct err *err)
{
	struct finding_confirm *to = f->confirm;
	struct confirm_run one = {0}, other = {0}, again = {0};
	struct str text = STR_INIT;
	int rc = run_in_order(c, a, b, &one, err) || run_in_order(c, b, a, &other, err) ||
		 run_in_order(c, b, a, &again, err);

	if (!rc && is_like(&other, &again)) {
		if (is_like(cut, &one) || is_like(cut, &other)) {
			to->harm = CONFIRM_HARM_NONE;
			str_add(&text, "it ends and prints as an order of whole blocks does");
		} else {
			describe_harm(cut, &one, &other, to, &text);
		}
		to->harm_text = arena_strdup(&f->arena, text.s);
	}
	str_free(&text);
	confirm_run_free(&one);
	confirm_run_free(&other);
	confirm_run_free(&again);
	return rc ? -1 : 0;
}
