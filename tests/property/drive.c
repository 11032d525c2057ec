#include "drive.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "rng.h"

#include "base/banned.h"

/* More passes than any engine needs. */
enum { PASSES_MAX = 8 };

/*
 * Keeps every finding. finding_list's own emit is not used: it may drop duplicates, and it is not
 * what is tested here.
 */
static void keep_finding(struct finding_sink *sink, struct finding *f)
{
	struct finding_list *l = (struct finding_list *)sink;

	MEM_GROW(l->v, l->cap, l->n + 1);
	l->v[l->n++] = f;
}

void drive_free(struct finding_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		finding_free(l->v[i]);
	mem_free(l->v);
	*l = (struct finding_list){0};
}

static void add_name(struct table *t, char prefix, uint32_t id)
{
	struct str s = STR_INIT;

	if (id >= t->n) {
		str_fmt(&s, "%c%u", prefix, id);
		table_intern_any(t, s.s, s.n);
		str_free(&s);
	}
}

/* Returns event k as a reader would deliver it, and adds the names that it needs to `names`. */
static struct event make_event(const struct trace *t, uint64_t k, struct names *names)
{
	struct event e = t->ev[k - 1];

	add_name(&names->table[NAMES_THREAD], 'T', e.thread);
	switch (op_info[e.op].operand) {
	case OPERAND_VAR:
		add_name(&names->table[NAMES_VAR], 'x', e.operand);
		break;
	case OPERAND_LOCK:
	case OPERAND_SYNC:
		add_name(&names->table[NAMES_LOCK], 'l', e.operand);
		break;
	case OPERAND_THREAD:
		add_name(&names->table[NAMES_THREAD], 'T', e.operand);
		break;
	default:
		break;
	}
	if (t->style != STYLE_LABELS && t->style != STYLE_SAME)
		e.place = STRREF_NUMBER | (strref)k;
	if (e.op == OP_BEGIN && t->style != STYLE_PLACES) {
		struct str s = STR_INIT;
		size_t n;

		trace_label(t, k, &s);
		n = s.n;
		str_pad(&s, 0, 16); /* names_string() reads beyond the end */
		e.operand = names_string(names, s.s, n);
		str_free(&s);
	}
	return e;
}

/* Returns whether event k begins or ends a transaction, as a reader marks it. */
static enum outer find_outer(const struct trace *t, uint64_t k)
{
	const struct event *e = &t->ev[k - 1];
	unsigned depth = 0;

	for (uint64_t i = 0; i + 1 < k; i++)
		if (t->ev[i].thread == e->thread)
			depth += (t->ev[i].op == OP_BEGIN) - (t->ev[i].op == OP_END);
	return e->op == OP_BEGIN && depth == 0 ? OUTER_BEGIN
	       : e->op == OP_END && depth == 1 ? OUTER_END
					       : OUTER_NONE;
}

static void feed_batch(const struct contender *who, void *engine, const struct trace *t,
		       uint64_t first, uint32_t n, struct names *names)
{
	struct event *ev = mem_alloc(n * sizeof *ev);

	for (uint32_t i = 0; i < n; i++) {
		ev[i] = make_event(t, first + i, names);
		ev[i].outer = find_outer(t, first + i);
	}
	who->ops->take(engine, &(struct batch){ev, n, first, names});
	/* Destroy the events, so that an engine that kept a pointer fails. */
	memset(ev, 0xa5, n * sizeof *ev);
	mem_free(ev);
}

static void run_pass(const struct contender *who, void *engine, const struct trace *t, uint64_t end,
		     struct rng *rng, struct names *names)
{
	/* The whole trace in one batch, or single events, or batches of 1 to 12. */
	unsigned style = rng_below(rng, 3);

	for (uint64_t at = 1; at <= end;) {
		uint64_t n = style == 0 ? end : style == 1 ? 1 : rng_between(rng, 1, 12);

		if (n > end - at + 1)
			n = end - at + 1;
		feed_batch(who, engine, t, at, (uint32_t)n, names);
		at += n;
	}
}

/* Does the step list this lock as held, shared or exclusively as given? */
static bool lists_lock(const struct finding_step *s, uint32_t lock, bool shared)
{
	char want[32];

	snprintf(want, sizeof want, "l%u%s", lock, shared ? " (shared)" : "");
	for (size_t i = 0; i < s->nheld; i++)
		if (!strcmp(s->held[i], want))
			return true;
	return false;
}

/*
 * Does the step list exactly the locks that its thread holds? A thread holds a lock if its last
 * operation on the lock before the step is an acquire.
 */
static bool lists_right_locks(const struct trace *t, const struct finding_step *s)
{
	uint32_t thread = t->ev[s->event - 1].thread;
	size_t held = 0;

	for (uint32_t lock = 0; lock <= t->n; lock++) {
		enum op last = OP_RELEASE;

		for (uint64_t i = 0; i + 1 < s->event; i++)
			if (t->ev[i].thread == thread && op_is_lock(t->ev[i].op) &&
			    t->ev[i].operand == lock)
				last = t->ev[i].op;
		if (last == OP_RELEASE || last == OP_RELEASE_SHARED)
			continue;
		held++;
		if (!lists_lock(s, lock, last == OP_ACQUIRE_SHARED))
			return false;
	}
	return held == s->nheld;
}

/* Must the finding list the locks held? Engines in the table must, for findings of these kinds. */
static bool must_list_locks(const struct contender *who, const struct finding *f)
{
	static const char *const kinds[] = {"cycle", "pattern", "lockset", "deadlock"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (f->kind && !strcmp(f->kind, kinds[i]))
			return engine_by_name(who->ops->name) == who->ops;
	return false;
}

static bool check_locks(const struct contender *who, const struct trace *t,
			const struct finding_list *l, struct str *what)
{
	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = 0; k < l->v[i]->nsteps; k++) {
			const struct finding_step *s = &l->v[i]->steps[k];

			if (s->event && s->event <= t->n &&
			    (s->held ? lists_right_locks(t, s) : !must_list_locks(who, l->v[i])))
				continue;
			str_fmt(what, "finding %zu, step at event %lu: %zu locks held, and wrong",
				i, (unsigned long)s->event, s->nheld);
			return false;
		}
	}
	return true;
}

bool drive(const struct contender *who, const struct trace *t, uint64_t seed,
	   struct finding_list *out, struct str *what)
{
	struct engine_stat stats[ENGINE_STATS_MAX];
	struct rng rng = {seed};
	uint64_t end = t->n;
	unsigned passes = 0;
	struct names names;
	bool ok = true;
	void *engine;

	*out = (struct finding_list){.sink = {keep_finding}, .all = true};
	names_init(&names);
	engine = engine_create(who->ops, who->options, &out->sink);
	do {
		run_pass(who, engine, t, end, &rng, &names);
		end = who->ops->finish(engine);
		passes++;
		if (end > t->n || (end && !who->ops->second_pass) || passes > PASSES_MAX) {
			str_fmt(what, "after pass %u it wants events 1 to %lu of %zu", passes,
				(unsigned long)end, t->n);
			ok = false;
		}
	} while (end && ok);
	if (who->ops->stats && who->ops->stats(engine, stats) > ENGINE_STATS_MAX) {
		str_add(what, "it has more stats than there is room for");
		ok = false;
	}
	who->ops->destroy(engine);
	names_free(&names);
	return ok && check_locks(who, t, out, what);
}
