#include "engine/predict/closure.h"

#include "base/mem.h"

#include "base/banned.h"

static uint64_t acquire_key(uint32_t thread, uint32_t lock, bool exclusive)
{
	return (uint64_t)thread << 33 | (uint64_t)lock << 1 | exclusive;
}

static void add_acquire(struct closure *c, uint32_t thread, const struct model_lock_op *op,
			uint32_t index)
{
	uint64_t key = acquire_key(thread, op->lock, op->exclusive);
	uint32_t id = map_get(&c->acquire_ids, key);
	struct closure_acquires *a;

	if (id == MAP_NONE) {
		id = (uint32_t)c->nacquires;
		MEM_GROW0(c->acquires, c->acquires_cap, c->nacquires + 1);
		c->acquires[c->nacquires++] = (struct closure_acquires){0};
		map_set(&c->acquire_ids, key, id);
	}
	a = &c->acquires[id];
	MEM_GROW(a->v, a->cap, a->n + 1);
	a->v[a->n++] = index;
}

void closure_init(struct closure *c, struct model *model)
{
	*c = (struct closure){.model = model};
	c->thread = mem_zalloc(model->nthreads * sizeof *c->thread);
	c->involved = mem_alloc(model->nthreads * sizeof *c->involved);
	for (size_t t = 0; t < model->nthreads; t++)
		for (size_t i = 0; i < model->thread[t].nops; i++)
			if (model->thread[t].op[i].acquire)
				add_acquire(c, (uint32_t)t, &model->thread[t].op[i], (uint32_t)i);
}

void closure_free(struct closure *c)
{
	for (size_t i = 0; i < c->nacquires; i++)
		mem_free(c->acquires[i].v);
	mem_free(c->acquires);
	map_free(&c->acquire_ids);
	mem_free(c->thread);
	mem_free(c->involved);
	*c = (struct closure){0};
}

void closure_begin(struct closure *c, enum closure_rule rule, enum model_reads reads,
		   const struct closure_exempt *exempt)
{
	c->stamp++;
	c->ninvolved = 0;
	c->locks = rule == CLOSURE_LOCKS;
	c->reads = reads;
	c->marked = c->failed = false;
	c->limit[0].position = c->limit[1].position = UINT64_MAX;
	c->exempt = exempt ? *exempt : (struct closure_exempt){0};
}

uint64_t closure_position(const struct closure *c, uint32_t thread)
{
	return c->thread[thread].stamp == c->stamp ? c->thread[thread].position : 0;
}

void closure_want(struct closure *c, uint32_t thread, uint64_t position)
{
	struct closure_thread *t = &c->thread[thread];

	if (t->stamp != c->stamp) {
		*t = (struct closure_thread){.stamp = c->stamp};
		c->involved[c->ninvolved++] = thread;
	}
	if (t->position >= position)
		return;
	t->position = position;
	for (int k = 0; k < 2; k++)
		c->failed |= thread == c->limit[k].thread && position > c->limit[k].position;
}

void closure_set_limit(struct closure *c, int k, uint32_t thread, uint64_t position)
{
	c->limit[k] = (struct closure_limit){thread, position};
}

void closure_mark(struct closure *c)
{
	c->marked = true;
	for (size_t i = 0; i < c->ninvolved; i++)
		c->thread[c->involved[i]].mark = c->thread[c->involved[i]].position;
}

static void want_need(struct closure *c, const struct model_need *need)
{
	struct model_need one;

	for (size_t k = 0; model_need_at(c->model, need, k, &one); k++, c->model->steps++)
		closure_want(c, one.thread, one.position);
}

static void follow_needs(struct closure *c, uint32_t thread, uint64_t before)
{
	const struct model_thread *t = &c->model->thread[thread];

	while (c->thread[thread].needs < t->nneeds && t->need[c->thread[thread].needs].at < before)
		want_need(c, &t->need[c->thread[thread].needs++]);
}

void closure_want_needs(struct closure *c, uint32_t thread, uint64_t position)
{
	closure_want(c, thread, position);
	follow_needs(c, thread, position + 1);
}

/* Want the writes that the reads before a position saw, by the thread's links. */
static void follow_links(struct closure *c, uint32_t thread, uint64_t before)
{
	uint32_t id = c->model->thread[thread].first_links[c->reads];

	while (id) {
		struct model_links *l = &c->model->links[id - 1];
		size_t low = 0, high = l->n;

		/* It is often where the last search ended. */
		if (l->last < high && l->v[l->last].at >= before)
			high = l->last;
		if (l->last && l->v[l->last - 1].at < before)
			low = l->last;
		while (low < high) {
			size_t mid = (low + high) / 2;

			if (l->v[mid].at < before)
				low = mid + 1;
			else
				high = mid;
		}
		l->last = low;
		if (low)
			closure_want(c, l->thread, l->v[low - 1].position);
		c->model->steps++;
		id = l->next_list;
	}
}

/* Want the writes that the thread's reads saw, one read after the other, except for some. */
static void follow_reads(struct closure *c, uint32_t thread, uint64_t from, uint64_t before)
{
	const struct model *m = c->model;
	const struct model_thread *t = &m->thread[thread];

	for (size_t i = model_access_at(t, from); i < t->naccesses; i++, c->model->steps++) {
		const struct model_access *a = &t->access[i];

		if (a->at >= before)
			break;
		if (a->reads && a->from != MODEL_NONE && !c->exempt.is_exempt(c->exempt.arg, a) &&
		    (c->reads == MODEL_ALL_READS || !model_has_other_write(m, a)))
			closure_want(c, a->from_thread,
				     m->thread[a->from_thread].access[a->from].at + 1);
	}
}

static bool follow_thread(struct closure *c, uint32_t thread)
{
	struct closure_thread *t = &c->thread[thread];
	uint64_t position = t->position;

	if (t->followed == position)
		return false;
	follow_needs(c, thread, position);
	if (!c->exempt.is_exempt || thread != c->exempt.thread || position <= c->exempt.from) {
		follow_links(c, thread, position);
	} else {
		follow_links(c, thread, c->exempt.from);
		follow_reads(c, thread, c->exempt.from, position);
	}
	t->followed = position;
	return true;
}

/* Returns the thread's last acquire of a lock, in one mode, in the set; MODEL_NONE: none. */
static uint32_t last_acquire(struct closure *c, uint32_t thread, uint32_t lock, bool exclusive)
{
	uint32_t id = map_get(&c->acquire_ids, acquire_key(thread, lock, exclusive));
	const struct model_thread *t = &c->model->thread[thread];
	const struct closure_acquires *a;
	size_t low = 0, high;

	c->model->steps++;
	if (id == MAP_NONE)
		return MODEL_NONE;
	a = &c->acquires[id];
	high = a->n;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->op[a->v[mid]].at < c->thread[thread].position)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? a->v[low - 1] : MODEL_NONE;
}

/* Has the set an acquire of another thread that must come after an open section? */
static bool must_close(struct closure *c, uint32_t thread, const struct model_lock_op *open)
{
	const struct model *m = c->model;
	bool happened = c->marked && open->at < c->thread[thread].mark;

	for (size_t i = 0; i < 2 * c->ninvolved; i++) {
		uint32_t other = c->involved[i / 2], op;
		uint64_t at;

		if (other == thread || (i % 2 == 0 && !open->exclusive))
			continue;
		op = last_acquire(c, other, open->lock, i % 2);
		if (op == MODEL_NONE)
			continue;
		at = m->thread[other].op[op].at;
		if (c->marked && happened != (at < c->thread[other].mark)) {
			if (happened)
				return true;
			continue; /* the other has happened, so it comes first */
		}
		if (model_event(m, other, at) > model_event(m, thread, open->at))
			return true;
	}
	return false;
}

/* Want the releases of sections after which others begin. Returns whether the set has grown. */
static bool close_sections(struct closure *c)
{
	bool grown = false;

	for (size_t i = 0; i < c->ninvolved && !c->failed; i++) {
		uint32_t thread = c->involved[i];
		const struct model_thread *t = &c->model->thread[thread];
		size_t nops = model_ops_before(t, c->thread[thread].position);
		uint32_t op = MODEL_NONE;

		while ((op = model_next_held(t, nops, op)) != MODEL_NONE) {
			if (!must_close(c, thread, &t->op[op]))
				continue;
			if (t->op[op].other == MODEL_NONE) {
				c->failed = true;
				return false;
			}
			closure_want(c, thread, t->op[t->op[op].other].at + 1);
			grown = true;
		}
	}
	return grown;
}

bool closure_close(struct closure *c)
{
	bool grown;

	do {
		grown = false;
		for (size_t i = 0; i < c->ninvolved && !c->failed; i++)
			grown |= follow_thread(c, c->involved[i]);
		if (!grown && c->locks && !c->failed)
			grown = close_sections(c);
	} while (grown && !c->failed);
	return !c->failed;
}
