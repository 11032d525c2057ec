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

/* A thread has to come to a position; so others have to come to where it needs them. */
static void ask(struct scheduler *s, uint32_t thread, uint64_t position)
{
	if (way_of(s, thread)->position < position)
		way_of(s, thread)->position = position;
}

/* The needs of all who have a way to go, and of f itself; more may join while it goes on. */
static void ask_all(struct scheduler *s, const struct schedule_goal *goal)
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
					ask(s, one.thread, one.position);
				more = true;
			}
		}
	}
}

/* What each lock is to a thread on its way. */
static void look_at_locks(struct scheduler *s, uint32_t thread, struct schedule_use *uses)
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
 * How far one of the two may go without keeping a lock that the other still has to use. The other
 * only goes on: an acquire that is in nobody's way stays so.
 */
static uint64_t limit(struct scheduler *s, uint32_t thread, uint32_t other, int side)
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

/* Behind the next release of a lock that the thread holds; past its end where there is none. */
static uint64_t release_of(struct model *m, uint32_t thread, uint32_t lock)
{
	const struct model_thread *t = &m->thread[thread];

	for (size_t i = t->next_op; i < t->nops; i++, m->steps++)
		if (!t->op[i].acquire && t->op[i].lock == lock)
			return t->op[i].at + 1;
	return t->n + 1;
}

/* A thread that holds a lock; it is held. */
static uint32_t holder(const struct model *m, uint32_t lock)
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

/* Everybody is stuck: a third thread that has come to its place and holds a lock goes further. */
static bool make_way(struct scheduler *s, const struct schedule_goal *goal)
{
	struct model *m = s->model;

	for (size_t i = 0; i < s->ninvolved; i++) {
		uint32_t t = s->involved[i], who;
		const struct model_lock_op *op = model_next_op(m, t, s->way[t].position);

		if (!op || op->at != m->thread[t].position || !op->acquire || model_is_free(m, op))
			continue;
		who = holder(m, op->lock);
		if (who == UINT32_MAX || who == goal->thread || who == goal->other || who == t)
			continue;
		if (m->thread[who].position < s->way[who].position)
			continue;
		ask(s, who, release_of(m, who, op->lock));
		ask_all(s, goal);
		return true;
	}
	return false;
}

/* One thread goes as far as it may; false where that is no step. */
static bool go(struct scheduler *s, const struct schedule_goal *goal, uint32_t t)
{
	const struct model_thread *thread = &s->model->thread[t];
	uint64_t from = thread->position, to = s->way[t].position;

	if (t == goal->thread)
		to = limit(s, t, goal->other, 0);
	else if (t == goal->other)
		to = limit(s, t, goal->thread, 1);
	if (to > from)
		model_go(s->model, t, to);
	return thread->position > from;
}

/* The first thread to behind `cut`, the other one to f, whoever they need to where they need him.
 */
static bool gather(struct scheduler *s, const struct schedule_goal *goal)
{
	const struct model *m = s->model;
	bool moved, there;

	do {
		moved = false;
		there = true;
		/* The two come last, f's thread at the very end: then it just goes on with f. */
		for (size_t i = s->ninvolved; i-- > 0;) {
			uint32_t t = s->involved[i];

			moved |= go(s, goal, t);
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

/* A thread to a position, whoever stands in its way out of it first. */
static bool advance(struct scheduler *s, uint32_t thread, uint64_t position)
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
			who = holder(m, lock);
			ok = who != UINT32_MAX && advance(s, who, release_of(m, who, lock));
			continue;
		case MODEL_WAITING:
			ok = model_unmet(m, thread, &need) &&
			     advance(s, need.thread, need.position);
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
 * After f, its thread lets go of what the first one will want on its way to e2,
 * before that one comes there and finds it locked: a switch less.
 */
static void step_aside(struct scheduler *s, const struct schedule_goal *goal)
{
	struct model *m = s->model;
	const struct model_thread *t = &m->thread[goal->thread], *other = &m->thread[goal->other];
	uint64_t to = 0;

	for (size_t i = t->next_op; i < t->nops && t->op[i].at < goal->e2; i++) {
		uint64_t release;

		if (!t->op[i].acquire || m->lock[t->op[i].lock].owner != goal->other + 1)
			continue;
		release = release_of(m, goal->other, t->op[i].lock);
		if (release > to && release <= other->n)
			to = release;
	}
	if (to)
		model_go(m, goal->other, to);
}

/* Where everybody has to be for the one to be at `position` and the other at f: is that too far? */
static bool too_far(struct scheduler *s, const struct schedule_goal *goal, uint64_t position)
{
	s->stamp++;
	s->ninvolved = 0;
	ask(s, goal->other, goal->f);
	ask(s, goal->thread, position);
	ask_all(s, goal);
	return s->way[goal->thread].position > goal->e2 || s->way[goal->other].position > goal->f;
}

static bool make_directly(struct scheduler *s, const struct schedule_goal *goal)
{
	struct model *m = s->model;

	model_reset(m);
	if (too_far(s, goal, goal->cut + 1))
		return false;
	s->clear[0] = s->clear[1] = 0;
	look_at_locks(s, goal->thread, s->use[0]);
	look_at_locks(s, goal->other, s->use[1]);
	if (!gather(s, goal) || model_go(m, goal->other, goal->f + 1) != MODEL_THERE ||
	    !advance(s, goal->other, goal->f2 + 1) || m->thread[goal->thread].position > goal->e2)
		return false;
	step_aside(s, goal);
	return advance(s, goal->thread, goal->e2 + 1);
}

bool schedule_make(struct scheduler *s, const struct schedule_goal *goal)
{
	if (make_directly(s, goal))
		return true;
	return s->search && !too_far(s, goal, goal->e1 + 1) && schedule_search(s, goal);
}
