#include "shrink.h"

#include "base/mem.h"

#include "base/banned.h"

struct shrinking {
	struct trace *best;
	struct trace trial;
	bool *drop; /* events to leave out of `best` next; all false between attempts */
	bool (*fails)(void *arg, const struct trace *t);
	void *arg;
};

/* Makes the trial the best trace if it is legal and fails too. Returns whether it did. */
static bool keep_if_fails(struct shrinking *s)
{
	if (!trace_legal(&s->trial))
		return false;
	trace_canonical(&s->trial);
	if (!s->fails(s->arg, &s->trial))
		return false;
	trace_copy(s->best, &s->trial);
	return true;
}

static bool try_drop(struct shrinking *s)
{
	size_t n = s->best->n;
	bool kept;

	trace_copy_without(&s->trial, s->best, s->drop);
	kept = s->trial.n < n && keep_if_fails(s);
	for (size_t i = 0; i < n; i++)
		s->drop[i] = false;
	return kept;
}

static bool drop_threads(struct shrinking *s)
{
	bool any = false;

	for (uint32_t u = 0; u < 2 * s->best->n; u++) {
		for (size_t i = 0; i < s->best->n; i++) {
			const struct event *e = &s->best->ev[i];

			s->drop[i] = e->thread == u ||
				     (op_info[e->op].operand == OPERAND_THREAD && e->operand == u);
		}
		any |= try_drop(s);
	}
	return any;
}

static bool drop_stretches(struct shrinking *s)
{
	bool any = false;

	for (size_t size = s->best->n / 2; size; size /= 2) {
		for (size_t at = 0; at + size <= s->best->n;) {
			for (size_t i = at; i < at + size; i++)
				s->drop[i] = true;
			if (try_drop(s))
				any = true; /* later events have moved up: try the same place again
					     */
			else
				at++;
		}
	}
	return any;
}

/* Only pairs of one thread: other pairs can be dropped one by one, or not at all. */
static bool drop_pairs(struct shrinking *s)
{
	for (size_t i = 0; i < s->best->n; i++) {
		for (size_t j = i + 1; j < s->best->n; j++) {
			if (s->best->ev[i].thread != s->best->ev[j].thread)
				continue;
			s->drop[i] = s->drop[j] = true;
			if (try_drop(s))
				return true;
		}
	}
	return false;
}

/* Renames an operand to another. Each success leaves fewer names, so shrinking ends. */
static bool unite_operands(struct shrinking *s, enum operand_kind kind)
{
	for (uint32_t from = 1; from < s->best->n; from++) {
		for (uint32_t to = 0; to < from; to++) {
			bool changed = false;

			trace_copy(&s->trial, s->best);
			for (size_t i = 0; i < s->trial.n; i++) {
				struct event *e = &s->trial.ev[i];

				if (op_info[e->op].operand == kind && e->operand == from) {
					e->operand = to;
					changed = true;
				}
			}
			if (changed && keep_if_fails(s))
				return true;
		}
	}
	return false;
}

void shrink(struct trace *t, bool (*fails)(void *arg, const struct trace *t), void *arg)
{
	struct shrinking s = {.best = t, .fails = fails, .arg = arg};
	bool again = true;

	s.drop = mem_zalloc((t->n + 1) * sizeof *s.drop);
	while (again)
		again = drop_threads(&s) || drop_stretches(&s) || drop_pairs(&s) ||
			unite_operands(&s, OPERAND_VAR) || unite_operands(&s, OPERAND_LOCK);
	if (t->style != STYLE_LABELS) {
		trace_copy(&s.trial, t);
		s.trial.style = STYLE_LABELS;
		keep_if_fails(&s);
	}
	mem_free(s.drop);
	trace_free(&s.trial);
}
