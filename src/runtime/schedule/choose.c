/*
 * The choice of the thread that runs next: the plan, then the strategy.
 *
 * All strategies look only at numbers of threads, counts and equality of addresses, never at an
 * address itself or at real time; so a seed gives the same choices in each run.
 */
#include "runtime/schedule/impl.h"

#include "base/banned.h"

static uint64_t random_state;
static struct sched_thread *of_plan[DRIVE_THREADS]; /* the threads of the plan in this run */
static uint32_t last_turn;                          /* the thread that had the turn last */
/* DRIVE_PCT: at these steps of the run the running thread gets a low priority. */
enum { CHANGES = 64 };
static uint64_t change_at[CHANGES];

/* splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next_random(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* A random number below n. */
static uint64_t random_below(uint64_t n)
{
	return n ? (uint64_t)((unsigned __int128)next_random() * n >> 64) : 0;
}

void choose_init(void)
{
	struct drive_file *f = schedule_file;

	random_state = f->seed;
	for (uint32_t i = 0; i + 1 < f->depth && i < CHANGES; i++)
		change_at[i] = 1 + random_below(f->expected ? f->expected : 1000);
}

/* Find the thread's part of the plan. */
static void find_in_plan(struct sched_thread *t, const struct sched_thread *parent)
{
	struct drive_file *f = schedule_file;

	for (uint32_t i = 0; i < f->nplan_threads && !t->plan; i++) {
		const struct drive_thread *p = &f->plan_thread[i];

		if (parent ? i && p->nth == t->shared->nth && parent->plan == p->parent + 1 : !i)
			t->plan = i + 1;
	}
	t->shared->plan = t->plan;
	if (!t->plan)
		return;
	of_plan[t->plan - 1] = t;
	while (t->choice < f->nchoices && f->choice[t->choice].thread != t->plan - 1)
		t->choice++;
	t->choices_end = t->choice;
	while (t->choices_end < f->nchoices && f->choice[t->choices_end].thread == t->plan - 1)
		t->choices_end++;
}

void choose_thread_created(struct sched_thread *t, const struct sched_thread *parent)
{
	find_in_plan(t, parent);
	/* Priorities of PCT: above all those that a change gives. */
	t->priority = schedule_file->strategy == DRIVE_PCT ? CHANGES + 1 + next_random() / 2
							   : next_random();
}

/* --- holds --- */

static void ready_if_held(struct sched_thread *t)
{
	if (t && t->state == DRIVE_HELD)
		t->state = DRIVE_READY;
}

/* The thread reached a step, or place `arrived`: release those that wait for that. */
static void release_holds(const struct sched_thread *t, uint32_t arrived)
{
	struct drive_file *f = schedule_file;

	for (uint32_t i = 0; i < f->nholds; i++) {
		struct drive_hold *h = &f->hold[i];

		if (h->released || h->other + 1 != t->plan || !h->until_times ||
		    h->until >= DRIVE_COUNTED || t->passed[h->until] < h->until_times ||
		    (arrived && !h->arrives))
			continue;
		h->released = 1;
		if (h->held)
			ready_if_held(of_plan[h->thread]);
	}
}

/* The thread has come to a place: does a hold keep it there? */
static void hold_back(struct sched_thread *t)
{
	struct drive_file *f = schedule_file;

	for (uint32_t i = 0; i < f->nholds; i++) {
		struct drive_hold *h = &f->hold[i];

		if (h->thread + 1 == t->plan && h->at + 1 == t->place && !h->released &&
		    t->passed[h->at] == h->at_times) {
			h->held = 1;
			t->state = DRIVE_HELD;
		}
	}
}

bool choose_force_hold(void)
{
	struct drive_file *f = schedule_file;

	for (uint32_t i = 0; i < f->nholds; i++) {
		struct drive_hold *h = &f->hold[i];
		const struct sched_thread *other;

		if (!h->held || h->released)
			continue;
		other = of_plan[h->other];
		h->released = h->forced = 1;
		if (other && other->state != DRIVE_ENDED) {
			h->other_op = other->op;
			h->other_object = (uintptr_t)other->object;
			h->other_pc = other->shared->pc;
		}
		ready_if_held(of_plan[h->thread]);
		return true;
	}
	return false;
}

/* --- steps --- */

void choose_begin_step(struct sched_thread *t, enum drive_op op, const void *object, uintptr_t pc)
{
	struct drive_file *f = schedule_file;
	struct drive_place place = pc ? places_of(pc) : (struct drive_place){0, 0};

	release_holds(t, 0);
	t->op = op;
	t->object = object;
	t->shared->op = op;
	t->shared->object = (uintptr_t)object;
	t->shared->pc = place;
	t->shared->steps = ++t->steps;
	f->steps++;
	f->hash = (f->hash ^ (t->number | (uint64_t)op << 32 | (uint64_t)t->steps << 40)) *
		  1099511628211ull;
	f->hash = (f->hash ^ place.offset) * 1099511628211ull;
	t->place = pc && f->nplaces ? places_number(pc) : 0;
	if (t->place && t->place <= DRIVE_COUNTED) {
		t->passed[t->place - 1]++;
		release_holds(t, t->place);
		hold_back(t);
	}
	if (f->strategy == DRIVE_POS) {
		t->priority = next_random();
	} else if (f->strategy == DRIVE_PCT) {
		for (uint32_t i = 0; i + 1 < f->depth && i < CHANGES; i++)
			if (change_at[i] == f->steps)
				t->priority = CHANGES - i;
	}
}

/* Can the thread be chosen? `t` is the one at a step. */
static bool is_candidate(const struct sched_thread *c, const struct sched_thread *t,
			 bool can_continue)
{
	return c == t ? can_continue : c->state == DRIVE_READY;
}

/* The next one by number that can run, after the thread that had the turn last. */
static struct sched_thread *choose_standard(struct sched_thread *t, bool can_continue)
{
	struct sched_thread *first = NULL;

	if (t && can_continue && !t->yields)
		return t;
	for (struct sched_thread *c = schedule_first; c; c = c->next) {
		if (!is_candidate(c, t, can_continue) || c == t)
			continue;
		if (!first)
			first = c;
		if (c->number > last_turn)
			return c;
	}
	return first ? first : t && can_continue ? t : NULL;
}

/* Take the plan's choice for this step, if it has one that is possible. */
static struct sched_thread *choose_by_plan(struct sched_thread *t, bool can_continue,
					   const void *object)
{
	struct drive_file *f = schedule_file;
	struct sched_thread *c;

	while (t->choice < t->choices_end && f->choice[t->choice].step < t->steps)
		t->choice++;
	if (t->choice == t->choices_end || f->choice[t->choice].step != t->steps)
		return NULL;
	c = of_plan[f->choice[t->choice].chosen];
	if (c && object ? c->state == DRIVE_BLOCKED && c->object == object
			: c && is_candidate(c, t, can_continue)) {
		f->taken++;
		t->choice++;
		return c;
	}
	/* A choice of the plan can be that the time of a waiting thread has come. */
	if (c && !object && c->state == DRIVE_BLOCKED && c->deadline) {
		clock_jump(c->deadline);
		c->state = DRIVE_READY;
		c->woken = SCHEDULE_TIMEOUT;
		f->taken++;
		t->choice++;
		return c;
	}
	if (!f->impossible++)
		f->first_impossible = t->choice + 1;
	t->choice++;
	return NULL;
}

/* What DRIVE_WALK expects that the thread still has to do. */
static uint64_t remaining_steps(const struct sched_thread *t)
{
	uint32_t expected = t->plan ? schedule_file->plan_thread[t->plan - 1].steps : 0;

	return expected > t->steps ? expected - t->steps : 1;
}

/* Among the candidates, each with this weight, one at random. */
static struct sched_thread *choose_random(struct sched_thread *t, bool can_continue, bool weighted)
{
	struct sched_thread *chosen = NULL;
	uint64_t sum = 0;

	for (struct sched_thread *c = schedule_first; c; c = c->next) {
		uint64_t weight = weighted ? remaining_steps(c) : 1;

		if (!is_candidate(c, t, can_continue) || (c == t && t->yields))
			continue;
		sum += weight;
		if (random_below(sum) < weight)
			chosen = c;
	}
	return chosen;
}

static struct sched_thread *choose_highest(struct sched_thread *t, bool can_continue)
{
	struct sched_thread *chosen = NULL;

	for (struct sched_thread *c = schedule_first; c; c = c->next)
		if (is_candidate(c, t, can_continue) && !(c == t && t->yields) &&
		    (!chosen || c->priority > chosen->priority))
			chosen = c;
	return chosen;
}

/* POS: the chosen thread's operation happens; those that race with it get new priorities. */
static void redraw_priorities(const struct sched_thread *chosen)
{
	for (struct sched_thread *c = schedule_first; c; c = c->next)
		if (c != chosen && c->object == chosen->object && c->object)
			c->priority = next_random();
}

static struct sched_thread *choose_by_strategy(struct sched_thread *t, bool can_continue,
					       struct sched_thread *standard)
{
	struct sched_thread *c = NULL;

	switch ((enum drive_strategy)schedule_file->strategy) {
	case DRIVE_DEFAULT:
		break;
	case DRIVE_RANDOM:
		c = choose_random(t, can_continue, false);
		break;
	case DRIVE_WALK:
		c = choose_random(t, can_continue, true);
		break;
	case DRIVE_PCT:
		if (t && t->yields)
			t->priority = 0;
		c = choose_highest(t, can_continue);
		break;
	case DRIVE_POS:
		c = choose_highest(t, can_continue);
		if (c)
			redraw_priorities(c);
		break;
	}
	return c ? c : standard;
}

/* Log a step at which there was a choice. */
static void log_step(const struct sched_thread *t, const struct sched_thread *chosen,
		     const struct sched_thread *standard, bool can_continue, const void *woken_by,
		     uint64_t candidates, uint32_t n)
{
	struct drive_file *f = schedule_file;
	struct drive_step *s;

	if (chosen == standard && (!f->log_all || (n < 2 && f->log_all < 2)))
		return;
	if (f->nsteps == DRIVE_STEPS) {
		f->steps_lost++;
		return;
	}
	s = &f->step[f->nsteps];
	*s = (struct drive_step){
		.thread = t->number,
		.step = t->steps,
		.chosen = (uint16_t)chosen->number,
		.standard = (uint16_t)standard->number,
		.op = (uint8_t)t->op,
		.can_continue = can_continue,
		.wakes = woken_by != NULL,
		.ncandidates = (uint8_t)(n < 255 ? n : 255),
		.candidates = candidates,
		.object = (uintptr_t)t->object,
		.pc = t->shared->pc,
	};
	__atomic_store_n(&f->nsteps, f->nsteps + 1, __ATOMIC_RELEASE);
}

struct sched_thread *choose_next(struct sched_thread *t, bool can_continue)
{
	struct sched_thread *standard = choose_standard(t, can_continue), *chosen = NULL;
	uint64_t candidates = 0;
	uint32_t n = 0;

	for (struct sched_thread *c = schedule_first; c; c = c->next)
		if (is_candidate(c, t, can_continue)) {
			n++;
			candidates |= c->number < 64 ? 1ull << c->number : 0;
		}
	if (t)
		chosen = choose_by_plan(t, can_continue, NULL);
	/* Without a thread at a step, how often this is asked may depend on real time. */
	if (t && !chosen && n > 1)
		chosen = choose_by_strategy(t, can_continue, standard);
	if (!chosen)
		chosen = standard;
	/* Without the hold, a held thread would have gone on: so its schedule needs a choice. */
	if (t && t->state == DRIVE_HELD)
		standard = t;
	if (t && chosen)
		log_step(t, chosen, standard ? standard : t, can_continue, NULL, candidates, n);
	if (t)
		t->yields = false;
	if (chosen)
		last_turn = chosen->number;
	return chosen;
}

struct sched_thread *choose_woken(struct sched_thread *t, const void *object)
{
	struct sched_thread *standard = NULL, *chosen = NULL;
	bool random = schedule_file->strategy != DRIVE_DEFAULT;
	uint64_t candidates = 0;
	uint32_t n = 0;

	for (struct sched_thread *c = schedule_first; c; c = c->next) {
		if (c->state != DRIVE_BLOCKED || c->object != object)
			continue;
		n++;
		candidates |= c->number < 64 ? 1ull << c->number : 0;
		if (!standard)
			standard = c;
		if (random && !random_below(n))
			chosen = c;
	}
	if (n > 1) {
		struct sched_thread *planned;

		/* A step of its own, so that the plan can distinguish it from the one before. */
		t->shared->steps = ++t->steps;
		planned = choose_by_plan(t, false, object);

		chosen = planned ? planned : chosen ? chosen : standard;
		log_step(t, chosen, standard, false, object, candidates, n);
	}
	return n > 1 ? chosen : standard;
}
