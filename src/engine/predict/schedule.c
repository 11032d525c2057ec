#include "engine/predict/schedule.h"

#include "base/mem.h"

#include "base/banned.h"

void scheduler_init(struct scheduler *s, struct model *model, bool search)
{
	*s = (struct scheduler){.model = model, .search = search};
	for (int k = 0; k < 2; k++)
		s->use[k] = mem_zalloc((model->nlocks + 1) * sizeof *s->use[k]);
	s->way = mem_zalloc(model->nthreads * sizeof *s->way);
	s->busy = mem_zalloc(model->nthreads * sizeof *s->busy);
	s->involved = mem_alloc(model->nthreads * sizeof *s->involved);
}

void scheduler_free(struct scheduler *s)
{
	mem_free(s->use[0]);
	mem_free(s->use[1]);
	mem_free(s->way);
	mem_free(s->busy);
	mem_free(s->involved);
	*s = (struct scheduler){0};
}

static struct schedule_way *way_of(struct scheduler *s, uint32_t thread)
{
	struct schedule_way *way = &s->way[thread];

	if (way->stamp != s->stamp) {
		*way = (struct schedule_way){.stamp = s->stamp};
		s->involved[s->ninvolved++] = thread;
	}
	return way;
}

/* Require a thread to go to a position. Other threads then must go to where it needs them. */
static void require_position(struct scheduler *s, uint32_t thread, uint64_t position)
{
	if (way_of(s, thread)->position < position)
		way_of(s, thread)->position = position;
}

/* Follow the needs of all threads that must go further, and of f; this may add threads. */
static void follow_needs(struct scheduler *s, const struct schedule_goal *goal)
{
	const struct model *m = s->model;
	bool more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < s->ninvolved; i++) {
			uint32_t t = s->involved[i];
			struct schedule_way *way = &s->way[t];
			uint64_t before = way->position + (t == goal->other);

			while (way->needs < m->thread[t].nneeds &&
			       m->thread[t].need[way->needs].at < before) {
				const struct model_need *need = &m->thread[t].need[way->needs++];
				struct model_need one;

				for (size_t k = 0; model_need_at(m, need, k, &one); k++)
					require_position(s, one.thread, one.position);
				more = true;
			}
		}
	}
}

/* Record how a thread uses each lock up to its place. */
static void record_lock_uses(struct scheduler *s, uint32_t thread, struct schedule_use *uses)
{
	const struct model_thread *t = &s->model->thread[thread];

	for (size_t i = 0; i < t->nops && t->op[i].at < s->way[thread].position; i++) {
		const struct model_lock_op *op = &t->op[i];
		struct schedule_use *use = &uses[op->lock];

		if (use->stamp != s->stamp)
			*use = (struct schedule_use){.stamp = s->stamp};
		use->kept = op->acquire ? op->at + 1 : 0;
		if (op->acquire)
			use->any = op->at + 1;
		if (op->acquire && op->exclusive)
			use->exclusive = op->at + 1;
	}
}

/*
 * Returns how far one of the two may go without keeping a lock that the other still has to use. The
 * other only goes forward: an acquire that is in no thread's way stays so.
 */
static uint64_t find_limit(struct scheduler *s, uint32_t thread, uint32_t other, int side)
{
	const struct model_thread *t = &s->model->thread[thread];
	uint64_t position = s->way[thread].position;
	size_t *i = &s->clear[side];

	if (*i < t->next_op)
		*i = t->next_op;
	for (; *i < t->nops && t->op[*i].at < position; ++*i) {
		const struct model_lock_op *op = &t->op[*i];
		const struct schedule_use *mine = &s->use[side][op->lock];
		const struct schedule_use *theirs = &s->use[!side][op->lock];

		if (op->acquire && mine->kept == op->at + 1 && theirs->stamp == s->stamp &&
		    (op->exclusive ? theirs->any : theirs->exclusive) >
			    s->model->thread[other].position)
			return op->at;
	}
	return position;
}

/* Returns the position after the next release of a lock that the thread holds; past its end if
 * none. */
static uint64_t find_release(struct model *m, uint32_t thread, uint32_t lock)
{
	const struct model_thread *t = &m->thread[thread];

	for (size_t i = t->next_op; i < t->nops; i++, m->steps++)
		if (!t->op[i].acquire && t->op[i].lock == lock)
			return t->op[i].at + 1;
	return t->n + 1;
}

/* Returns a thread that holds a lock; one must. */
static uint32_t find_holder(const struct model *m, uint32_t lock)
{
	if (m->lock[lock].owner)
		return m->lock[lock].owner - 1;
	for (size_t i = 0; i < m->done.n; i++) {
		const struct model_thread *t = &m->thread[m->done.v[i].thread];

		for (size_t k = 0; k < t->nheld; k++)
			if (t->held[k].lock == lock)
				return m->done.v[i].thread;
	}
	return UINT32_MAX;
}

/* All threads are stuck: let a third thread that is at its place and holds a lock go further. */
static bool make_way(struct scheduler *s, const struct schedule_goal *goal)
{
	struct model *m = s->model;

	for (size_t i = 0; i < s->ninvolved; i++) {
		uint32_t t = s->involved[i], who;
		const struct model_lock_op *op = model_next_op(m, t, s->way[t].position);

		if (!op || op->at != m->thread[t].position || !op->acquire || model_is_free(m, op))
			continue;
		who = find_holder(m, op->lock);
		if (who == UINT32_MAX || who == goal->thread || who == goal->other || who == t)
			continue;
		if (m->thread[who].position < s->way[who].position)
			continue;
		require_position(s, who, find_release(m, who, op->lock));
		follow_needs(s, goal);
		return true;
	}
	return false;
}

/* Run one thread as far as it may go. Returns false if it did not move. */
static bool run_thread(struct scheduler *s, const struct schedule_goal *goal, uint32_t t)
{
	const struct model_thread *thread = &s->model->thread[t];
	uint64_t from = thread->position, to = s->way[t].position;

	if (t == goal->thread)
		to = find_limit(s, t, goal->other, 0);
	else if (t == goal->other)
		to = find_limit(s, t, goal->thread, 1);
	if (to > from)
		model_go(s->model, t, to);
	return thread->position > from;
}

/* Run the first thread past `cut`, the other to f, and the threads that they need. */
static bool run_to_places(struct scheduler *s, const struct schedule_goal *goal)
{
	const struct model *m = s->model;
	bool moved, there;

	do {
		moved = false;
		there = true;
		/* The two run last, and f's thread at the very end: then it can go on with f. */
		for (size_t i = s->ninvolved; i-- > 0;) {
			uint32_t t = s->involved[i];

			moved |= run_thread(s, goal, t);
			there &= m->thread[t].position >= s->way[t].position;
		}
		if (!moved && !there)
			moved = make_way(s, goal);
		if (s->way[goal->thread].position > goal->e2 ||
		    s->way[goal->other].position > goal->f)
			return false;
	} while (moved && !there);
	return there;
}

/* Run a thread to a position, after moving other threads out of its way. */
static bool run_to(struct scheduler *s, uint32_t thread, uint64_t position)
{
	struct model *m = s->model;
	bool ok = true;

	if (s->busy[thread])
		return false; /* it waits for itself */
	s->busy[thread] = true;
	while (ok) {
		struct model_need need;
		uint32_t who, lock;

		switch (model_go(m, thread, position)) {
		case MODEL_LOCKED:
			lock = m->thread[thread].op[m->thread[thread].next_op].lock;
			who = find_holder(m, lock);
			ok = who != UINT32_MAX && run_to(s, who, find_release(m, who, lock));
			continue;
		case MODEL_WAITING:
			ok = model_unmet(m, thread, &need) && run_to(s, need.thread, need.position);
			continue;
		case MODEL_ENDED:
			ok = false;
			continue;
		case MODEL_THERE:
			break;
		}
		break;
	}
	s->busy[thread] = false;
	return ok;
}

/*
 * After f, let its thread release the locks that the first thread wants on its way to e2,
 * before that thread finds them locked: this saves a switch.
 */
static void release_for_first(struct scheduler *s, const struct schedule_goal *goal)
{
	struct model *m = s->model;
	const struct model_thread *t = &m->thread[goal->thread], *other = &m->thread[goal->other];
	uint64_t to = 0;

	for (size_t i = t->next_op; i < t->nops && t->op[i].at < goal->e2; i++) {
		uint64_t release;

		if (!t->op[i].acquire || m->lock[t->op[i].lock].owner != goal->other + 1)
			continue;
		release = find_release(m, goal->other, t->op[i].lock);
		if (release > to && release <= other->n)
			to = release;
	}
	if (to)
		model_go(m, goal->other, to);
}

/* With the one at `position` and the other at f, must a thread be beyond its place? */
static bool too_far(struct scheduler *s, const struct schedule_goal *goal, uint64_t position)
{
	s->stamp++;
	s->ninvolved = 0;
	require_position(s, goal->other, goal->f);
	require_position(s, goal->thread, position);
	follow_needs(s, goal);
	return s->way[goal->thread].position > goal->e2 || s->way[goal->other].position > goal->f;
}

static bool make_directly(struct scheduler *s, const struct schedule_goal *goal)
{
	struct model *m = s->model;

	model_reset(m);
	if (too_far(s, goal, goal->cut + 1))
		return false;
	s->clear[0] = s->clear[1] = 0;
	record_lock_uses(s, goal->thread, s->use[0]);
	record_lock_uses(s, goal->other, s->use[1]);
	if (!run_to_places(s, goal) || model_go(m, goal->other, goal->f + 1) != MODEL_THERE ||
	    !run_to(s, goal->other, goal->f2 + 1) || m->thread[goal->thread].position > goal->e2)
		return false;
	release_for_first(s, goal);
	return run_to(s, goal->thread, goal->e2 + 1);
}

bool schedule_make(struct scheduler *s, const struct schedule_goal *goal)
{
	if (make_directly(s, goal))
		return true;
	return s->search && !too_far(s, goal, goal->e1 + 1) && schedule_search(s, goal);
}
