#include "judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "twin.h"

#include "base/banned.h"

const char *const failure_name[FAIL_COUNT] = {
#define X(id, what) what,
	FAILURES(X)
#undef X
};

/* One trace and the correct answers. */
struct hearing {
	const struct trace *t;
	struct twin twin;
	uint64_t first;    /* event of the first violation, or 0 */
	bool blamed;       /* whether a block is to blame for the first violation */
	bool data;         /* whether the first violation rests on data */
	uint64_t *scratch; /* room for one event number for each event */
	struct verdict *v;
};

/* Sets the verdict to this failure with this sentence. Always returns false. */
__attribute__((format(printf, 3, 4))) static bool fail(struct hearing *h, enum failure failure,
						       const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	h->v->failure = failure;
	str_reset(&h->v->what);
	str_add(&h->v->what, text);
	return false;
}

/* Is `s` the prefix followed by the number, as in "T3"? `prefix` may be empty. */
static bool is_numbered(const char *s, const char *prefix, uint64_t number)
{
	char text[64];

	snprintf(text, sizeof text, "%s%lu", prefix, (unsigned long)number);
	return s && !strcmp(s, text);
}

static bool is_label(const struct hearing *h, const char *s, uint64_t begin)
{
	struct str want = STR_INIT;
	bool yes;

	if (!begin)
		return !s;
	trace_label(h->t, begin, &want);
	yes = s && !strcmp(s, want.s);
	str_free(&want);
	return yes;
}

static bool is_place(const struct hearing *h, const char *s, uint64_t event)
{
	return h->t->style == STYLE_LABELS ? !s : is_numbered(s, "", event);
}

static bool is_operand(const struct event *e, const char *s)
{
	switch (op_info[e->op].operand) {
	case OPERAND_VAR:
		return is_numbered(s, "x", e->operand);
	case OPERAND_LOCK:
	case OPERAND_SYNC:
		return is_numbered(s, "l", e->operand);
	case OPERAND_THREAD:
		return is_numbered(s, "T", e->operand);
	default:
		return true; /* a begin's label or nothing: finding.h allows both */
	}
}

static const char *or_null(const char *s)
{
	return s ? s : "null";
}

/* Does `b` name the transaction of event k? */
static bool check_block(struct hearing *h, enum failure failure, const struct finding_block *b,
			uint64_t k)
{
	uint64_t begin = twin_begin(&h->twin, k);

	if (is_numbered(b->thread, "T", h->t->ev[k - 1].thread) && is_label(h, b->label, begin) &&
	    b->begin == begin && is_place(h, b->place, begin))
		return true;
	return fail(
		h, failure,
		"event %lu: %s is thread %s label %s begin %lu place %s; it began with event %lu",
		(unsigned long)k, failure_name[failure], or_null(b->thread), or_null(b->label),
		(unsigned long)b->begin, or_null(b->place), (unsigned long)begin);
}

static bool check_blame(struct hearing *h, const struct finding *f)
{
	uint64_t k = f->event;
	bool blamed = twin_blamed(&h->twin, k);
	size_t n;

	if (!blamed && f->blame.thread)
		return fail(h, FAIL_BLAME,
			    "event %lu: blames %s, which is self-serializable in that prefix",
			    (unsigned long)k, or_null(f->blame.label));
	if (blamed && !f->blame.thread)
		return fail(h, FAIL_BLAME,
			    "event %lu: blames no block; its transaction is not self-serializable",
			    (unsigned long)k);
	if (blamed && !check_block(h, FAIL_BLAME, &f->blame, k))
		return false;
	n = blamed ? twin_refuted(&h->twin, k, h->scratch) : 0;
	if (n != f->nrefuted)
		return fail(h, FAIL_REFUTED, "event %lu: refutes %zu blocks instead of %zu",
			    (unsigned long)k, f->nrefuted, n);
	for (size_t i = 0; i < n; i++)
		if (!is_label(h, f->refuted[i], h->scratch[i]))
			return fail(h, FAIL_REFUTED,
				    "event %lu: refutes %s instead of the block begun at %lu",
				    (unsigned long)k, or_null(f->refuted[i]),
				    (unsigned long)h->scratch[i]);
	return true;
}

static bool check_rests_on(struct hearing *h, const struct finding *f, bool is_first)
{
	bool data = f->rests_on == RESTS_ON_DATA;

	if (f->rests_on != RESTS_ON_DATA && f->rests_on != RESTS_ON_LOCKS)
		return fail(h, FAIL_RESTS_ON, "event %lu: does not say what it rests on",
			    (unsigned long)f->event);
	if (is_first && data != h->data)
		return fail(h, FAIL_RESTS_ON, "event %lu: rests on %s instead of %s",
			    (unsigned long)f->event, data ? "data" : "locks",
			    h->data ? "data" : "locks");
	if (data && !twin_on_cycle(&h->twin, f->event, true))
		return fail(h, FAIL_RESTS_ON,
			    "event %lu: rests on data, but each cycle needs a lock",
			    (unsigned long)f->event);
	if (!data && twin_cut_by_data(&h->twin, f->event))
		return fail(h, FAIL_RESTS_ON, "event %lu: rests on locks, but is cut without them",
			    (unsigned long)f->event);
	return true;
}

static bool check_step(struct hearing *h, const struct finding_step *s, uint64_t k)
{
	const struct event *e = &h->t->ev[s->event - 1];
	uint64_t begin = twin_begin(&h->twin, s->event);

	if (is_numbered(s->thread, "T", e->thread) && s->op &&
	    !strcmp(s->op, op_info[e->op].spelling) && s->past &&
	    !strcmp(s->past, op_info[e->op].past) && is_operand(e, s->operand) &&
	    is_label(h, s->label, begin) && s->begin == begin && is_place(h, s->place, s->event))
		return true;
	return fail(h, FAIL_STEP_FIELDS,
		    "event %lu: step %lu is thread %s op %s operand %s label %s begin %lu place %s",
		    (unsigned long)k, (unsigned long)s->event, or_null(s->thread), or_null(s->op),
		    or_null(s->operand), or_null(s->label), (unsigned long)s->begin,
		    or_null(s->place));
}

static bool check_steps(struct hearing *h, const struct finding *f)
{
	uint64_t *steps = mem_alloc(f->nsteps * sizeof *steps);
	const char *wrong;

	for (size_t i = 0; i < f->nsteps; i++)
		steps[i] = f->steps[i].event;
	wrong = twin_check_cycle(&h->twin, f->event, steps, f->nsteps);
	mem_free(steps);
	if (wrong)
		return fail(h, FAIL_CYCLE, "event %lu: %s", (unsigned long)f->event, wrong);
	for (size_t i = 0; i < f->nsteps; i++)
		if (!check_step(h, &f->steps[i], f->event))
			return false;
	return true;
}

static bool check_finding(struct hearing *h, const struct finding *f, bool is_first)
{
	if (f->status != FINDING_OBSERVED || !f->kind || strcmp(f->kind, "cycle") || f->nschedule)
		return fail(h, FAIL_FIELDS, "event %lu: not an observed cycle",
			    (unsigned long)f->event);
	return check_steps(h, f) && check_block(h, FAIL_TRANSACTION, &f->transaction, f->event) &&
	       check_blame(h, f) && check_rests_on(h, f, is_first);
}

static bool check_all(struct hearing *h, const struct finding_list *l)
{
	uint64_t last = 0;

	if (!l->n != !h->first)
		return fail(h, FAIL_VERDICT, "%zu findings; the trace is %s", l->n,
			    h->first ? "not serializable" : "serializable");
	if (l->n && l->v[0]->event != h->first)
		return fail(h, FAIL_FIRST_EVENT, "the first finding is at event %lu instead of %lu",
			    (unsigned long)l->v[0]->event, (unsigned long)h->first);
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i]->event <= last || l->v[i]->event > h->t->n)
			return fail(h, FAIL_ORDER, "a finding at event %lu, after one at %lu",
				    (unsigned long)l->v[i]->event, (unsigned long)last);
		last = l->v[i]->event;
		if (!check_finding(h, l->v[i], i == 0))
			return false;
	}
	return true;
}

/* Both lists have passed check_all(), so equal events mean equal transactions. */
static bool check_agree(struct hearing *h, const struct contender *who,
			const struct finding_list *a, const struct finding_list *b)
{
	for (size_t i = 0; i < a->n || i < b->n; i++) {
		uint64_t ka = i < a->n ? a->v[i]->event : 0;
		uint64_t kb = i < b->n ? b->v[i]->event : 0;

		if (ka != kb)
			return fail(h, FAIL_DISAGREE,
				    "finding %zu is at event %lu, and at %lu by %s (0: none)",
				    i + 1, (unsigned long)kb, (unsigned long)ka, who->name);
		if (!a->v[i]->blame.thread != !b->v[i]->blame.thread)
			return fail(h, FAIL_DISAGREE, "event %lu: blame differs from that of %s",
				    (unsigned long)ka, who->name);
	}
	return true;
}

static void print_twin(struct hearing *h, struct str *out)
{
	size_t n;

	if (!h->first) {
		str_add(out, "twin: serializable\n");
		return;
	}
	str_fmt(out, "twin: event %lu, transaction begun at %lu, rests on %s, ",
		(unsigned long)h->first, (unsigned long)twin_begin(&h->twin, h->first),
		h->data ? "data" : "locks");
	n = h->blamed ? twin_refuted(&h->twin, h->first, h->scratch) : 0;
	str_add(out, n ? "refuted blocks begun at" : "no block to blame");
	for (size_t i = 0; i < n; i++)
		str_fmt(out, " %lu", (unsigned long)h->scratch[i]);
	str_addc(out, '\n');
}

static void print_findings(const struct contender *who, const struct finding_list *l,
			   struct str *out)
{
	if (!l->n)
		str_fmt(out, "%s: no finding\n", who->name);
	for (size_t i = 0; i < l->n; i++) {
		const struct finding *f = l->v[i];

		str_fmt(out, "%s: event %lu, transaction %s, rests on %s, ", who->name,
			(unsigned long)f->event, or_null(f->transaction.label),
			f->rests_on == RESTS_ON_DATA    ? "data"
			: f->rests_on == RESTS_ON_LOCKS ? "locks"
							: "nothing");
		str_add(out, f->blame.thread ? "refuted" : "no block to blame");
		for (size_t r = 0; r < f->nrefuted; r++)
			str_fmt(out, " %s", or_null(f->refuted[r]));
		str_add(out, ", steps");
		for (size_t s = 0; s < f->nsteps; s++)
			str_fmt(out, " %lu", (unsigned long)f->steps[s].event);
		str_addc(out, '\n');
	}
}

/* Counts the trace by the twin's answers. */
static void count_trace(struct judge *j, const struct hearing *h)
{
	j->counts.traces++;
	j->counts.violations += h->first != 0;
	j->counts.blamed += h->blamed;
	j->counts.on_locks += h->first && !h->data;
}

void judge_trace(struct judge *j, const struct trace *t, uint64_t seed, struct verdict *v)
{
	struct hearing h = {.t = t, .v = v};
	struct finding_list said[CONTENDERS_MAX];
	struct str what = STR_INIT;
	bool ok = true;
	size_t heard = 0;

	v->failure = FAIL_NOTHING;
	twin_init(&h.twin, t->ev, t->n);
	h.scratch = mem_alloc((t->n + 1) * sizeof *h.scratch);
	h.first = twin_first_violation(&h.twin);
	h.blamed = h.first && twin_blamed(&h.twin, h.first);
	h.data = h.first && twin_on_cycle(&h.twin, h.first, true);
	count_trace(j, &h);
	if (j->account)
		print_twin(&h, j->account);
	for (size_t i = 0; i < j->n; i++) {
		if (j->running)
			*j->running = i;
		if (!drive(&j->who[i], t, seed, &said[i], &what) && ok) {
			v->who = i;
			ok = fail(&h, FAIL_PROTOCOL, "%s", what.s);
		}
		heard++;
		if (j->account)
			print_findings(&j->who[i], &said[i], j->account);
		if (ok) {
			v->who = i;
			ok = check_all(&h, &said[i]);
		}
		/* An account needs the findings of every contender. */
		if (!ok && !j->account)
			break;
	}
	for (size_t i = 1; i < j->n && ok; i++) {
		v->who = i;
		ok = check_agree(&h, &j->who[0], &said[0], &said[i]);
	}
	j->counts.findings += said[0].n;
	for (size_t i = 0; i < said[0].n; i++)
		j->counts.findings_blamed += said[0].v[i]->blame.thread != NULL;
	for (size_t i = 0; i < heard; i++)
		drive_free(&said[i]);
	str_free(&what);
	mem_free(h.scratch);
	twin_free(&h.twin);
}
