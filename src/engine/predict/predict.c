/*
 * predict: find another interleaving of a run that breaks atomicity. After Farzan,
 * Madhusudan and Sorrentino, "Meta-analysis for atomicity violations under nested
 * locking" (CAV 2009). Only a schedule, which the paper leaves out, makes a finding.
 *
 * The passes:
 *
 *  - With two variables, or to save memory, a pass first finds the shared variables
 *    (two.h).
 *  - A pass keeps witnesses (witness.h); at its end those that fit together become
 *    candidates (pairs.h).
 *  - If there are candidates, a pass keeps the threads' events (model.h) up to the last
 *    one that the first candidate of each look needs. Schedules are made and executed
 *    (schedule.h).
 *  - A pass over the whole trace is for candidates that have no schedule by then: a
 *    thread may have to run on until it releases a lock.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/engine.h"
#include "engine/event_ref.h"
#include "engine/predict/feasible.h"
#include "engine/predict/model.h"
#include "engine/predict/options.h"
#include "engine/predict/others.h"
#include "engine/predict/pairs.h"
#include "engine/predict/schedule.h"
#include "engine/predict/two.h"
#include "engine/predict/witness.h"
#include "engine/describe.h"
#include "trace/block_policy.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* A thread that holds a lock at the last event needed has usually released it after so many more.
 */
enum { HORIZON_MORE = 1 << 16 };

/* The cost of comparing two witnesses, in steps of a schedule. */
enum { COMPARISON = 8 };

/* Steps on the way to feasible schedules, at most: so many, and so many for each event. */
#define FEASIBLE_EFFORT (1ull << 24)
enum { FEASIBLE_EFFORT_EVENT = 2 };

/* Candidates of one look for which other events are tried. */
enum { OTHERS_TRIES = 4 };

/* Events of all schedules that findings have, at most: of feasible ones, and of the others. */
enum { SCHEDULES_MAX = 1 << 24 };

enum fate { UNTRIED, FAILED, POSSIBLE, FEASIBLE };

/* The best schedule so far for candidates that look the same. */
struct best {
	size_t index; /* of the candidate that it began with */
	struct candidate candidate;
	struct model_schedule made;
	enum fate fate;
	uint64_t *changed; /* events of f's thread: reads that are changed on purpose */
	size_t nchanged;
	unsigned others; /* candidates for which others_find() was called */
};

enum pass { SHARING, WITNESSES, SCHEDULES };

struct predict {
	enum pass pass;
	struct two_sharing sharing;
	struct witnesses witnesses;
	struct candidates candidates;
	uint8_t *fate;     /* of each candidate */
	bool *seen;        /* by look: it has a finding */
	bool *watched;     /* by variable: threads share it, and one writes it */
	struct best *best; /* by look, while candidates are tried */
	struct model model;
	struct finding_sink *sink;
	const struct names *names;
	uint64_t events;
	uint64_t horizon; /* in SCHEDULES: the last event of the current pass */
	uint64_t searched, searches, failed;
	uint64_t effort, steps;
	uint64_t scheduled[2];   /* events of the schedules of findings: only possible; feasible */
	uint64_t unshown;        /* findings without a schedule, because there were too many */
	unsigned regions;        /* the kinds to look at: a bit for each enum region_kind */
	uint64_t feasible_steps; /* of these, on the way to feasible schedules */
	uint64_t feasible;       /* findings */
	uint64_t unchecked;      /* candidates that these steps did not suffice for */
	uint64_t hidden;         /* findings that are only possible */
	bool all, two, lean, unscheduled, unsearched, ignore_values, only_feasible;
	bool gave_up; /* `effort` was not enough */
};

/* Returns the set of kinds in a list of names; 0 if a name is wrong. */
static unsigned region_kinds(const char *names)
{
	unsigned set = 0;

	if (!names)
		return UINT32_MAX;
	while (*names) {
		size_t n = strcspn(names, ",");
		unsigned kind = REGION_FUNCTION;

		while (kind < REGION_KINDS && (strlen(region_kind_names[kind]) != n ||
					       strncmp(names, region_kind_names[kind], n) != 0))
			kind++;
		if (kind == REGION_KINDS)
			return 0;
		set |= 1u << kind;
		names += n + (names[n] == ',');
	}
	return set;
}

bool predict_has_pairs(const struct predict_options *o)
{
	return region_kinds(o->regions) >> REGION_PAIR & 1;
}

static void *predict_create(const void *options, struct finding_sink *sink)
{
	const struct predict_options *o = options;
	struct predict *p = mem_zalloc(sizeof *p);

	p->sink = sink;
	p->all = o->all;
	p->unscheduled = o->unscheduled;
	p->ignore_values = o->ignore_values;
	p->unsearched = o->unsearched;
	p->only_feasible = o->only_feasible;
	p->effort = o->effort;
	p->two = o->vars == 2;
	p->lean = o->lean;
	p->regions = region_kinds(o->regions);
	p->pass = p->two || p->lean ? SHARING : WITNESSES;
	witnesses_init(&p->witnesses);
	return p;
}

static void predict_take(void *engine, const struct batch *b)
{
	struct predict *p = engine;

	p->names = b->names;
	switch (p->pass) {
	case SHARING:
		two_sharing_take(&p->sharing, b);
		break;
	case WITNESSES:
		witnesses_take(&p->witnesses, b);
		break;
	case SCHEDULES:
		model_take(&p->model, b);
		return;
	}
	p->events = b->first + b->n - 1;
}

static const struct witness *pair_of(const struct predict *p, const struct candidate *c)
{
	return &p->witnesses.v[c->pair];
}

static const struct witness *single_of(const struct predict *p, const struct candidate *c)
{
	return &p->witnesses.v[c->single];
}

static uint64_t last_event(const struct predict *p, const struct candidate *c)
{
	return candidate_last(&p->witnesses, c);
}

/* Set the locks that the thread holds before an event. */
static void add_held(const struct predict *p, struct finding *f, struct finding_step *step,
		     uint32_t thread)
{
	const struct model_thread *t = &p->model.thread[thread];
	uint64_t at = model_position(&p->model, thread, step->event);
	struct heldset_view view = {0};
	held *v = mem_alloc(t->nops * sizeof *v);

	for (size_t i = 0; i < t->nops && t->op[i].at < at; i++) {
		uint32_t k = 0;

		while (k < view.n && held_lock(v[k]) < t->op[i].lock)
			k++;
		if (t->op[i].acquire) {
			memmove(&v[k + 1], &v[k], (view.n++ - k) * sizeof *v);
			v[k] = t->op[i].lock << 1 | t->op[i].exclusive;
		} else {
			memmove(&v[k], &v[k + 1], (--view.n - k) * sizeof *v);
		}
	}
	view.v = v;
	describe_held(f, p->names, step, view);
	mem_free(v);
}

/* Add the first or the second access of a witness as a step. */
static void add_step(const struct predict *p, struct finding *f, const struct witness *x,
		     bool second)
{
	const struct witness_entry *entry = &p->witnesses.entry[x->entry];
	const struct witness_tx *tx = &p->witnesses.tx[x->tx];
	bool is_second_var =
		entry->role != WITNESS_ONE && second != (bool)(x->flags & WITNESS_REVERSED);
	struct event_ref at = {
		.event = second ? x->e2 : x->e1,
		.begin = tx->begin,
		.thread = entry->thread,
		.operand = is_second_var ? entry->var2 : entry->var,
		.place = second ? x->place2 : x->place1,
		.label = tx->label,
		.begin_place = tx->place,
		.op = (enum op)(second ? x->op2 : x->op1),
	};

	f->steps[f->nsteps] = event_ref_step(f, p->names, &at);
	add_held(p, f, &f->steps[f->nsteps], entry->thread);
	f->nsteps++;
}

/* Returns the letter of an access in the pattern. */
static char pattern_letter(const struct witness *x, bool second)
{
	int bits = x->kind - (x->kind < WITNESS_RR ? WITNESS_R : WITNESS_RR);

	return bits >> !second & 1 ? 'w' : 'r';
}

static void add_pattern(struct finding *f, const struct witness *pair, const struct witness *single)
{
	char pattern[] = "r-r-r-r", *p = pattern;

	*p = pattern_letter(pair, false);
	if (single->e1)
		*(p += 2) = pattern_letter(single, false);
	*(p += 2) = pattern_letter(single, true);
	*(p += 2) = pattern_letter(pair, true);
	p[1] = 0;
	f->pattern = arena_strdup(&f->arena, pattern);
}

static void add_schedule(struct predict *p, struct finding *f, const struct model_schedule *made)
{
	uint64_t *used = &p->scheduled[f->feasible == FEASIBLE_YES];
	size_t n = model_list(&p->model, made, NULL);

	if (p->unscheduled)
		return;
	if (*used + n > SCHEDULES_MAX) {
		p->unshown++;
		return;
	}
	*used += n;
	f->nschedule = n;
	f->schedule = arena_alloc(&f->arena, f->nschedule * sizeof *f->schedule);
	model_list(&p->model, made, f->schedule);
}

/* Returns what kind of region a witness of e1 and e2 is in. */
static enum region_kind region_kind_of(const struct predict *p, const struct witness *pair)
{
	const struct witness_tx *tx = &p->witnesses.tx[pair->tx];
	const char *label = "";

	if (pair->flags & WITNESS_IN_REGION && p->witnesses.entry[pair->entry].role == WITNESS_ONE)
		return REGION_PAIR;
	if (pair->flags & WITNESS_IN_REGION)
		return tx->is_round ? REGION_ROUND : REGION_STRETCH;
	if (!recorded_names(p->names))
		return REGION_UNKNOWN;
	if (tx->label && !(tx->label & STRREF_NUMBER))
		label = p->names->table[NAMES_STRING].text[tx->label];
	return label[0] == BLOCK_MARKED ? REGION_MARKED : REGION_FUNCTION;
}

/* Say what kind of region the finding is about. */
static void add_region(const struct predict *p, struct finding *f, const struct witness *pair)
{
	static const char *const why[REGION_KINDS] = {
		[REGION_FUNCTION] = "a function is assumed to be meant as one step",
		[REGION_MARKED] = "the source marks it",
		[REGION_STRETCH] = "the thread does not wait in between",
		[REGION_ROUND] = "one round of a loop does all of it",
		[REGION_PAIR] = "one run of the function uses the variable twice",
	};
	const struct witness_tx *tx = &p->witnesses.tx[pair->tx];

	f->region.kind = region_kind_of(p, pair);
	f->region.why = why[f->region.kind];
	f->region.name = describe_string(f, p->names, tx->label);
	f->region.place = describe_string(f, p->names, tx->place);
}

static void emit(struct predict *p, const struct best *best)
{
	const struct candidate *c = &best->candidate;
	const struct witness *pair = pair_of(p, c), *single = single_of(p, c);
	struct finding *f;

	if (p->only_feasible && best->fate != FEASIBLE) {
		p->hidden++;
		return;
	}
	f = finding_new();

	f->status = FINDING_PREDICTED;
	f->kind = "pattern";
	f->rests_on = RESTS_ON_DATA;
	f->event = pair->e2;
	if (!p->ignore_values)
		f->feasible = best->fate == FEASIBLE ? FEASIBLE_YES : FEASIBLE_NO;
	p->feasible += best->fate == FEASIBLE;
	f->nchanged = best->nchanged;
	f->changed = arena_alloc(&f->arena, f->nchanged * sizeof *f->changed);
	if (f->nchanged)
		memcpy(f->changed, best->changed, f->nchanged * sizeof *f->changed);
	describe_variable(f, p->names, p->witnesses.entry[pair->entry].var);
	f->steps = arena_alloc(&f->arena, 4 * sizeof *f->steps);
	add_step(p, f, pair, false);
	/* The steps walk around the cycle: the one that conflicts with e1 first. */
	if (single->e1)
		add_step(p, f, single, single->flags & WITNESS_REVERSED);
	add_step(p, f, single, !(single->flags & WITNESS_REVERSED));
	add_step(p, f, pair, true);
	f->transaction = describe_block(&f->steps[f->nsteps - 1]);
	add_pattern(f, pair, single);
	add_region(p, f, pair);
	f->acts = pair->flags & WITNESS_ACTS;
	add_schedule(p, f, &best->made);
	finding_seal(f);
	p->sink->emit(p->sink, f);
}

/*
 * Can the code of e1 and e2 be the code of f? If a region has no block, its label is not known for
 * f: then the places decide.
 */
static enum values_alike are_alike(const struct predict *p, const struct witness *pair,
				   const struct witness *single)
{
	const struct witness_tx *a = &p->witnesses.tx[pair->tx];
	const struct witness_tx *b = &p->witnesses.tx[single->tx];

	if (single->e1 || pair->op1 != OP_READ)
		return VALUES_EXACT;
	if (pair->flags & WITNESS_IN_REGION)
		return pair->place1 && single->place2 ? VALUES_IN_REGIONS : VALUES_EXACT;
	return b->begin && a->label == b->label ? VALUES_IN_BLOCKS : VALUES_EXACT;
}

static struct feasible_goal goal_of(const struct predict *p, const struct candidate *c)
{
	const struct witness *pair = pair_of(p, c), *single = single_of(p, c);
	uint32_t thread = p->witnesses.entry[pair->entry].thread;
	uint32_t other = p->witnesses.entry[single->entry].thread;

	return (struct feasible_goal){
		.goal =
			{
				.thread = thread,
				.other = other,
				.e1 = model_position(&p->model, thread, pair->e1),
				.cut = model_position(&p->model, thread, pair->cut),
				.e2 = model_position(&p->model, thread, pair->e2),
				.f = model_position(&p->model, other,
						    single->e1 ? single->e1 : single->e2),
				.f2 = model_position(&p->model, other, single->e2),
			},
		.var = p->witnesses.entry[pair->entry].var,
		.alike = {VALUES_EXACT, are_alike(p, pair, single),
			  single->e1 ? VALUES_EXACT : VALUES_LOCKED},
	};
}

/* Are there no steps left for feasible schedules? */
static bool feasible_is_used_up(const struct predict *p)
{
	return p->feasible_steps >= FEASIBLE_EFFORT + FEASIBLE_EFFORT_EVENT * p->events;
}

/* Note which reads the schedule that was just executed has changed on purpose. */
static void note_changed(const struct predict *p, const struct feasible *v, struct best *out)
{
	out->nchanged = v->values.nchanged;
	out->changed = mem_alloc(out->nchanged * sizeof *out->changed);
	for (size_t i = 0; i < out->nchanged; i++)
		out->changed[i] =
			model_event(&p->model, v->values.goal.other, v->values.changed[i]);
}

/*
 * Make a schedule, and execute it from the start: only that makes a finding. If `only_feasible` is
 * set, other schedules are of no use.
 */
static void try_candidate(struct predict *p, struct scheduler *s, struct feasible *v,
			  struct best *out, bool only_feasible)
{
	struct feasible_goal goal = goal_of(p, &out->candidate);
	uint64_t steps = p->model.steps;
	bool can = false;

	if (!p->ignore_values && feasible_is_used_up(p))
		p->unchecked++;
	else if (!p->ignore_values)
		can = feasible_can_be(v, &goal);

	p->feasible_steps += p->model.steps - steps;
	if (only_feasible && !can)
		return;
	if (!only_feasible)
		out->fate = FAILED;
	if (!only_feasible && schedule_make(s, &goal.goal)) {
		out->made = feasible_copy(&p->model.done);
		if (model_execute(&p->model, &out->made))
			out->fate = POSSIBLE;
	}
	steps = p->model.steps;
	if (out->fate == POSSIBLE && can && feasible_is(v, &goal, &out->made))
		out->fate = FEASIBLE;
	if (out->fate != FEASIBLE && can && feasible_make(v, &goal)) {
		mem_free(out->made.v);
		out->made = feasible_copy(&p->model.done);
		out->fate = FEASIBLE;
	}
	if (out->fate == FEASIBLE)
		note_changed(p, v, out);
	p->feasible_steps += p->model.steps - steps;
}

/* Is the effort used up? */
static bool effort_is_used_up(const struct predict *p)
{
	return p->effort && p->steps + p->model.steps >= p->effort;
}

static void free_best(struct best *best)
{
	mem_free(best->made.v);
	mem_free(best->changed);
}

/* Keep what was found for a candidate, unless its look has something as good. */
static void keep_best(struct predict *p, struct best *found)
{
	struct best *best = &p->best[found->candidate.look];

	if (p->all && found->fate >= POSSIBLE)
		emit(p, found);
	if (!p->all && found->fate > best->fate) {
		struct best old = *best;

		*best = *found;
		best->others = old.others;
		*found = old;
	}
	free_best(found);
}

/* Emit the best schedule of each look, in the order of the candidates. */
static void emit_best(struct predict *p)
{
	for (size_t i = 0; i < p->candidates.n; i++) {
		struct best *best = &p->best[p->candidates.v[i].look];

		if (best->fate < POSSIBLE || best->index != i)
			continue;
		emit(p, best);
		free_best(best);
	}
}

/*
 * A witness stands for many events with its look, and the first of them need not be the feasible
 * ones: try others, near in time.
 */
static void try_others(struct predict *p, struct scheduler *s, struct feasible *v, size_t index)
{
	uint32_t look = p->candidates.v[index].look;
	struct candidate other[OTHERS_MAX];
	size_t n;

	if (p->ignore_values || feasible_is_used_up(p) || p->best[look].others == OTHERS_TRIES)
		return;
	p->best[look].others++;
	n = others_find(&p->witnesses, &p->model, &p->candidates.v[index], other);
	for (size_t i = 0; i < n; i++) {
		struct best found = {.index = index, .candidate = other[i]};

		try_candidate(p, s, v, &found, true);
		if (found.fate != FEASIBLE) {
			free_best(&found);
			continue;
		}
		p->fate[index] = FEASIBLE;
		keep_best(p, &found);
		return;
	}
}

static void try_all(struct predict *p)
{
	struct scheduler s;
	struct feasible v;

	model_ready(&p->model);
	scheduler_init(&s, &p->model, p->horizon == p->events);
	feasible_init(&v, &p->model, p->horizon == p->events && !p->unsearched);
	v.searched = p->searched;
	p->best = mem_zalloc(p->candidates.nlooks * sizeof *p->best);
	s.searched = p->searched;
	for (size_t i = 0; i < p->candidates.n; i++) {
		const struct candidate *c = &p->candidates.v[i];
		struct best found = {.index = i, .candidate = *c, .fate = p->fate[i]};

		if (!(p->regions >> region_kind_of(p, pair_of(p, c)) & 1))
			continue;
		if (p->fate[i] >= POSSIBLE || (p->seen[c->look] && !p->all) ||
		    p->best[c->look].fate == FEASIBLE || last_event(p, c) > p->model.events)
			continue;
		if (effort_is_used_up(p))
			break;
		try_candidate(p, &s, &v, &found, p->best[c->look].fate == POSSIBLE);
		p->fate[i] = found.fate;
		keep_best(p, &found);
		if (p->fate[i] != FEASIBLE)
			try_others(p, &s, &v, i);
	}
	emit_best(p);
	for (size_t i = 0; i < p->candidates.nlooks; i++)
		p->seen[i] |= p->best[i].fate >= POSSIBLE;
	mem_free(p->best);
	p->searched = s.searched + v.searched - p->searched;
	p->searches += s.searches;
	scheduler_free(&s);
	feasible_free(&v);
	model_reset(&p->model);
}

/* Returns the last event that the first pass for schedules needs. */
static uint64_t first_horizon(const struct predict *p)
{
	bool *met = mem_zalloc(p->candidates.nlooks * sizeof *met);
	uint64_t horizon = 0;

	for (size_t i = 0; i < p->candidates.n; i++) {
		const struct candidate *c = &p->candidates.v[i];

		if ((!met[c->look] || p->all) && last_event(p, c) > horizon)
			horizon = last_event(p, c);
		met[c->look] = true;
	}
	mem_free(met);
	/* Which other threads come to a barrier is not known before the end. */
	if (p->witnesses.barriers || p->events - horizon <= HORIZON_MORE)
		return p->events;
	return horizon + HORIZON_MORE;
}

static bool some_left(const struct predict *p)
{
	for (size_t i = 0; i < p->candidates.n; i++)
		if (p->fate[i] < POSSIBLE && (p->all || !p->seen[p->candidates.v[i].look]))
			return true;
	return false;
}

/* Find the variables whose values matter: several threads access them, and at least one writes. */
static void find_watched(struct predict *p)
{
	const struct witnesses *w = &p->witnesses;

	p->watched = mem_zalloc((w->nvars + 1) * sizeof *p->watched);
	for (size_t var = 0; var < w->nvars && p->sharing.n; var++)
		p->watched[var] = var < p->sharing.n && p->sharing.many[var];
	for (size_t var = 0; var < w->nvars && !p->sharing.n; var++) {
		uint32_t first = w->var[var];
		bool written = false;

		if (first == WITNESS_NONE || w->entry[first].next_of_var == WITNESS_NONE)
			continue;
		for (uint32_t e = first; e != WITNESS_NONE && !written; e = w->entry[e].next_of_var)
			for (uint32_t i = w->entry[e].first_witness; i != WITNESS_NONE && !written;
			     i = w->v[i].next)
				written = w->v[i].kind == WITNESS_W;
		p->watched[var] = written;
	}
}

static void begin_schedules(struct predict *p)
{
	model_init(&p->model);
	if (!p->ignore_values)
		model_watch(&p->model, p->watched, p->witnesses.nvars);
	p->pass = SCHEDULES;
}

static uint64_t predict_finish(void *engine)
{
	struct predict *p = engine;

	if (p->pass == SHARING) {
		two_sharing_end(&p->sharing, p->all);
		if (p->two)
			witnesses_want_two(&p->witnesses, p->sharing.searched, p->sharing.n);
		if (p->lean || p->sharing.left_out) {
			p->witnesses.shared = p->sharing.searched;
			p->witnesses.nshared = p->sharing.n;
		}
		p->pass = WITNESSES;
		return p->events;
	}
	if (p->pass == WITNESSES) {
		pairs_find(&p->witnesses, p->all, p->effort / COMPARISON, &p->candidates);
		p->gave_up = p->candidates.gave_up;
		if (!p->candidates.n)
			return 0;
		p->fate = mem_zalloc(p->candidates.n);
		p->seen = mem_zalloc(p->candidates.nlooks * sizeof *p->seen);
		find_watched(p);
		begin_schedules(p);
		return p->horizon = first_horizon(p);
	}
	try_all(p);
	p->gave_up |= effort_is_used_up(p) && some_left(p);
	if (p->horizon < p->events && !effort_is_used_up(p) && some_left(p)) {
		p->steps += p->model.steps;
		model_free(&p->model);
		begin_schedules(p);
		return p->horizon = p->events;
	}
	for (size_t i = 0; i < p->candidates.n; i++)
		p->failed += p->fate[i] == FAILED;
	return 0;
}

static size_t predict_stats(void *engine, struct engine_stat stats[ENGINE_STATS_MAX])
{
	const struct predict *p = engine;
	size_t n = 0;

	stats[n++] = (struct engine_stat){"witnesses", p->witnesses.n};
	stats[n++] = (struct engine_stat){"lock_histories", p->witnesses.hist.n};
	stats[n++] = (struct engine_stat){"unnested_locks", p->witnesses.unnested};
	stats[n++] = (struct engine_stat){"pairs_compared", p->candidates.compared};
	stats[n++] = (struct engine_stat){"candidates", p->candidates.n};
	stats[n++] = (struct engine_stat){"schedules_failed", p->failed};
	stats[n++] = (struct engine_stat){"schedules_searched", p->searches};
	stats[n++] = (struct engine_stat){"states_searched", p->searched};
	stats[n++] = (struct engine_stat){"feasible", p->feasible};
	stats[n++] = (struct engine_stat){"values_unchecked", p->unchecked};
	if (p->unshown)
		stats[n++] = (struct engine_stat){"schedules_not_kept", p->unshown};
	if (p->sharing.left_out)
		stats[n++] = (struct engine_stat){"similar_variables", p->sharing.left_out};
	if (p->witnesses.hist.left_out)
		stats[n++] = (struct engine_stat){"locks_left_out", p->witnesses.hist.left_out};
	if (p->only_feasible)
		stats[n++] = (struct engine_stat){"findings_hidden", p->hidden};
	if (p->effort)
		stats[n++] = (struct engine_stat){"gave_up", p->gave_up};
	if (p->witnesses.two)
		stats[n++] = (struct engine_stat){"variables_left_out", p->witnesses.two->left_out};
	return n;
}

static void predict_destroy(void *engine)
{
	struct predict *p = engine;

	two_sharing_free(&p->sharing);
	witnesses_free(&p->witnesses);
	model_free(&p->model);
	mem_free(p->candidates.v);
	mem_free(p->fate);
	mem_free(p->seen);
	mem_free(p->watched);
	mem_free(p);
}

const struct opt predict_opts[] = {
	OPT_U64(0, "vars", "N", OPT_FIELD(struct predict_options, vars),
		"predict: on up to N variables, 2 (the default) or 1"),
	OPT_STR(0, "regions", "KINDS", OPT_FIELD(struct predict_options, regions),
		"predict: look only at these kinds of regions: function,marked,stretch,round,pair"),
	OPT_FLAG(0, "feasible", OPT_FIELD(struct predict_options, only_feasible),
		 "predict: hide findings that are only possible"),
	OPT_END,
};

int predict_check(const void *options, struct err *err)
{
	const struct predict_options *o = options;

	if (o->vars != 1 && o->vars != 2)
		return err_fail(err, "--vars takes 1 or 2");
	if (!region_kinds(o->regions))
		return err_fail(err, "--regions takes a list of function, marked, stretch, round "
				     "and pair, with commas");
	return 0;
}

const struct engine_ops engine_predict = {
	.name = "predict",
	.origin = "CAV 2009",
	.finding = "in another interleaving of this run, a block is not atomic; the finding has "
		   "the schedule",
	.silence = "there is no such interleaving of two threads on one variable, as far as locks "
		   "decide",
	.noun = "possible atomicity violation",
	.second_pass = true,
	.opts = predict_opts,
	.defaults = &(const struct predict_options)PREDICT_DEFAULTS,
	.check = predict_check,
	.create = predict_create,
	.take = predict_take,
	.finish = predict_finish,
	.stats = predict_stats,
	.destroy = predict_destroy,
};
