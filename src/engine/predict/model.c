#include "engine/predict/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/region.h"

#include "base/banned.h"

/* A thread passes a barrier for the `count`-th time; count 0: a wait or notify. */
struct model_sync {
	uint32_t object, thread, count;
	uint64_t at, event;
};

void model_init(struct model *m)
{
	*m = (struct model){0};
}

void model_watch(struct model *m, const bool *watched, size_t n)
{
	m->watched = watched;
	m->nwatched = n;
	m->writes = mem_zalloc(n * sizeof *m->writes);
}

void model_free(struct model *m)
{
	for (size_t i = 0; i < m->nthreads; i++) {
		struct model_thread *t = &m->thread[i];

		mem_free(t->run);
		mem_free(t->op);
		mem_free(t->need);
		mem_free(t->access);
		mem_free(t->block);
		mem_free(t->sync);
		mem_free(t->held);
	}
	for (size_t i = 0; i < m->nlinks; i++)
		mem_free(m->links[i].v);
	mem_free(m->links);
	mem_free(m->turn);
	map_free(&m->link_ids);
	map_free(&m->spots);
	mem_free(m->spot);
	for (size_t i = 0; m->writes && i < m->nwatched; i++)
		mem_free(m->writes[i].v);
	mem_free(m->writes);
	mem_free(m->thread);
	mem_free(m->lock);
	mem_free(m->done.v);
	mem_free(m->sync);
	*m = (struct model){0};
}

static void add_need(struct model *m, uint32_t thread, uint64_t at, uint32_t other,
		     uint64_t position)
{
	struct model_thread *t = &m->thread[thread];

	if (!position || thread == other)
		return;
	MEM_GROW(t->need, t->need_cap, t->nneeds + 1);
	t->need[t->nneeds++] = (struct model_need){at, position, other};
}

static void add_sync(struct model *m, const struct event *e, uint64_t at, uint64_t event)
{
	MEM_GROW(m->sync, m->sync_cap, m->nsync + 1);
	m->sync[m->nsync++] =
		(struct model_sync){e->operand, e->thread, e->op == OP_BARRIER, at, event};
}

uint32_t model_next_held(const struct model_thread *t, size_t nops, uint32_t op)
{
	if (!nops || !op)
		return MODEL_NONE;
	/* What was open before an acquire and is not open here has a release in between. */
	op = op == MODEL_NONE ? t->op[nops - 1].open : t->op[op - 1].open;
	while (op != MODEL_NONE && t->op[op].other < nops)
		op = op ? t->op[op - 1].open : MODEL_NONE;
	return op;
}

/* Returns the index of the acquire that the thread's next operation, a release, belongs to. */
static uint32_t find_acquire(const struct model_thread *t, uint32_t lock)
{
	uint32_t op = MODEL_NONE;

	do
		op = model_next_held(t, t->nops, op);
	while (op != MODEL_NONE && t->op[op].lock != lock);
	return op;
}

static void add_lock_op(struct model_thread *t, const struct event *e, uint64_t at)
{
	uint32_t index = (uint32_t)t->nops;
	struct model_lock_op *op;

	MEM_GROW(t->op, t->op_cap, t->nops + 1);
	op = &t->op[index];
	*op = (struct model_lock_op){
		.at = at,
		.lock = e->operand,
		.other = MODEL_NONE,
		.open = index,
		.acquire = e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED,
		.exclusive = e->op == OP_ACQUIRE || e->op == OP_RELEASE,
	};
	if (!op->acquire) {
		op->other = find_acquire(t, op->lock);
		if (op->other != MODEL_NONE)
			t->op[op->other].other = index;
		op->open = index ? t->op[index - 1].open : MODEL_NONE;
		op->open = model_next_held(t, index + 1, MODEL_NONE);
	}
	t->nops++;
}

/* Record that a thread's event `at` needs another thread at `position`, unless an earlier one does.
 */
static void add_link(struct model *m, enum model_reads which, uint32_t thread, uint64_t at,
		     uint32_t other, uint64_t position)
{
	uint64_t key = (uint64_t)thread << 33 | (uint64_t)other << 1 | which;
	uint32_t id = map_get(&m->link_ids, key);
	struct model_links *l;

	if (id == MAP_NONE) {
		id = (uint32_t)m->nlinks;
		MEM_GROW0(m->links, m->links_cap, m->nlinks + 1);
		m->links[m->nlinks++] = (struct model_links){
			.thread = other, .next_list = m->thread[thread].first_links[which]};
		m->thread[thread].first_links[which] = id + 1;
		map_set(&m->link_ids, key, id);
	}
	l = &m->links[id];
	if (l->n && l->v[l->n - 1].position >= position)
		return;
	MEM_GROW(l->v, l->cap, l->n + 1);
	l->v[l->n++] = (struct model_link){at, position};
}

/*
 * Returns a place that stands for all places of the same statement: the compiler may have made
 * copies of it, and it may have several callers.
 */
static strref find_spot(struct model *m, const struct names *names, strref place)
{
	uint64_t hash;
	uint32_t first;

	if (!names->resolver || !place || place & STRREF_NUMBER)
		return place;
	MEM_GROW0(m->spot, m->spot_cap, names->table[NAMES_STRING].n);
	if (m->spot[place])
		return m->spot[place];
	hash = region_hash_of_source(names, place);
	first = map_get(&m->spots, hash);
	if (first == MAP_NONE) {
		first = place;
		map_set(&m->spots, hash, place);
	}
	return m->spot[place] = first;
}

uint64_t model_next_sync(const struct model_thread *t, uint64_t from)
{
	size_t low = 0, high = t->nsyncs;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->sync[mid] < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nsyncs ? t->sync[low] : t->n;
}

strref model_place(const struct model *m, strref place)
{
	return place < m->spot_cap && m->spot[place] ? m->spot[place] : place;
}

/* A read has seen a write, or the initial value: set its value, or note that reads disagree. */
static void set_written_value(struct model *m, const struct model_write *write, uint32_t var,
			      uint8_t value)
{
	struct model_writes *writes = &m->writes[var];
	struct model_access *a = write ? &m->thread[write->thread].access[write->access] : NULL;
	uint8_t old = a ? a->value : writes->initial;

	if (value == VALUE_UNKNOWN || value == old || (a ? a->is_unsure : writes->is_unsure))
		return;
	if (a) {
		a->is_unsure = old != VALUE_UNKNOWN;
		a->value = old == VALUE_UNKNOWN ? value : VALUE_UNKNOWN;
	} else {
		writes->is_unsure = old != VALUE_UNKNOWN;
		writes->initial = old == VALUE_UNKNOWN ? value : VALUE_UNKNOWN;
	}
}

/* Most of millions of variables have few writes: give each no more room than that. */
static void add_write(struct model_writes *writes, struct model_write write)
{
	if (writes->n == writes->cap) {
		writes->cap = writes->cap ? 2 * writes->cap : 2;
		writes->v = mem_resize(writes->v, writes->cap * sizeof *writes->v);
	}
	writes->v[writes->n++] = write;
}

static void add_access(struct model *m, const struct names *names, const struct event *e,
		       uint64_t at, uint64_t event)
{
	struct model_thread *t = &m->thread[e->thread];
	struct model_writes *writes = &m->writes[e->operand];
	const struct model_write *last = writes->n ? &writes->v[writes->n - 1] : NULL;
	struct model_access *a;

	MEM_GROW(t->access, t->access_cap, t->naccesses + 1);
	a = &t->access[t->naccesses++];
	*a = (struct model_access){
		.at = at,
		.reads = e->op == OP_READ || e->op == OP_UPDATE || e->op == OP_ALLOC,
		.writes = e->op != OP_READ,
		.var = e->operand,
		.place = find_spot(m, names, e->place),
		.from_thread = last ? last->thread : 0,
		.from = last ? last->access : MODEL_NONE,
		.value = e->op <= OP_UPDATE ? e->value : VALUE_UNKNOWN,
	};
	if (e->op == OP_READ)
		set_written_value(m, last, e->operand, e->value);
	if (a->writes)
		add_write(writes,
			  (struct model_write){event, e->thread, (uint32_t)t->naccesses - 1});
}

static void add_position(struct model_thread *t, uint64_t at)
{
	MEM_GROW(t->sync, t->sync_cap, t->nsyncs + 1);
	t->sync[t->nsyncs++] = at;
}

static void add_block_end(struct model_thread *t, const struct event *e, uint64_t at)
{
	if (e->outer == OUTER_BEGIN) {
		MEM_GROW(t->block, t->block_cap, t->nblocks + 1);
		t->block[t->nblocks++] = (struct model_block){at, UINT64_MAX};
	} else if (t->nblocks) {
		t->block[t->nblocks - 1].end = at;
	}
}

void model_take(struct model *m, const struct batch *b)
{
	const struct table *names = b->names->table;

	MEM_GROW0(m->thread, m->thread_cap, names[NAMES_THREAD].n);
	MEM_GROW0(m->lock, m->lock_cap, names[NAMES_LOCK].n);
	m->nthreads = names[NAMES_THREAD].n;
	m->nlocks = names[NAMES_LOCK].n;
	for (uint32_t i = 0; i < b->n; i++) {
		const struct event *e = &b->ev[i];
		struct model_thread *t = &m->thread[e->thread];
		const struct model_run *last = t->nruns ? &t->run[t->nruns - 1] : NULL;
		uint64_t event = b->first + i, at = t->n++;

		if (!last || event - last->event != at - last->at) {
			MEM_GROW(t->run, t->run_cap, t->nruns + 1);
			MEM_GROW(m->turn, m->turn_cap, m->nturns + 1);
			m->turn[m->nturns++] = (struct model_turn){e->thread, (uint32_t)t->nruns};
			t->run[t->nruns++] = (struct model_run){event, at};
		}
		switch (e->op) {
		case OP_ACQUIRE:
		case OP_RELEASE:
		case OP_ACQUIRE_SHARED:
		case OP_RELEASE_SHARED:
			add_lock_op(t, e, at);
			break;
		case OP_FORK:
			add_position(t, at);
			add_need(m, e->operand, 0, e->thread, at + 1);
			break;
		case OP_JOIN:
			add_position(t, at);
			add_need(m, e->thread, at, e->operand, m->thread[e->operand].n);
			break;
		case OP_WAIT:
		case OP_NOTIFY:
		case OP_BARRIER:
			add_position(t, at);
			add_sync(m, e, at, event);
			break;
		case OP_READ:
		case OP_WRITE:
		case OP_UPDATE:
		case OP_ALLOC:
		case OP_FREE:
			if (e->operand < m->nwatched && m->watched[e->operand])
				add_access(m, b->names, e, at, event);
			break;
		default:
			if (e->outer && m->watched)
				add_block_end(t, e, at);
			break;
		}
	}
	m->events = b->first + b->n - 1;
}

static int by_event(const void *a, const void *b)
{
	const struct model_sync *x = a, *y = b;

	if (x->object != y->object)
		return x->object > y->object ? 1 : -1;
	return (x->event > y->event) - (x->event < y->event);
}

static bool same_round(const struct model_sync *x, const struct model_sync *y)
{
	return x->object == y->object && x->count == y->count;
}

static int by_round(const void *a, const void *b)
{
	const struct model_sync *x = a, *y = b;

	if (x->object != y->object)
		return x->object > y->object ? 1 : -1;
	if (x->count != y->count)
		return x->count > y->count ? 1 : -1;
	return (x->event > y->event) - (x->event < y->event);
}

static int by_at(const void *a, const void *b)
{
	const struct model_need *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Order waits and notifies, number the rounds of barriers, and add the needs of each round. */
static void order_syncs(struct model *m)
{
	uint32_t *count = mem_alloc(m->nthreads * sizeof *count);
	struct model_sync *v = m->sync;
	const struct model_sync *last = NULL; /* the previous wait or notify of the same object */

	qsort(v, m->nsync, sizeof *v, by_event);
	for (size_t i = 0; i < m->nsync; i++) {
		if (!i || v[i].object != v[i - 1].object) {
			memset(count, 0, m->nthreads * sizeof *count);
			last = NULL;
		}
		if (v[i].count) {
			v[i].count = ++count[v[i].thread];
			continue;
		}
		if (last)
			add_need(m, v[i].thread, v[i].at, last->thread, last->at + 1);
		last = &v[i];
	}
	qsort(v, m->nsync, sizeof *v, by_round);
	for (size_t i = 0, first = 0; i < m->nsync; i++) {
		if (i && !same_round(&v[i], &v[i - 1]))
			first = i;
		if (v[i].count) {
			struct model_thread *t = &m->thread[v[i].thread];

			MEM_GROW(t->need, t->need_cap, t->nneeds + 1);
			t->need[t->nneeds++] = (struct model_need){v[i].at + 1, first, MODEL_ROUND};
		}
	}
	mem_free(count);
}

/* Find out which values of a variable several writes have. */
static void find_common_values(struct model *m, struct model_writes *writes)
{
	uint8_t count[UINT8_MAX + 1] = {0};

	count[writes->initial] = 1;
	for (size_t i = 0; i < writes->n; i++) {
		uint8_t value = m->thread[writes->v[i].thread].access[writes->v[i].access].value;

		count[value] += count[value] < 2;
	}
	count[VALUE_UNKNOWN] = 0;
	writes->is_common = count[writes->initial] > 1;
	for (size_t i = 0; i < writes->n; i++) {
		struct model_access *a =
			&m->thread[writes->v[i].thread].access[writes->v[i].access];

		a->is_common = count[a->value] > 1;
		m->has_common |= a->is_common;
	}
}

uint8_t model_seen(const struct model *m, const struct model_access *read)
{
	if (!read->writes)
		return (uint8_t)read->value;
	return read->from == MODEL_NONE
		       ? m->writes[read->var].initial
		       : (uint8_t)m->thread[read->from_thread].access[read->from].value;
}

bool model_has_other_write(const struct model *m, const struct model_access *read)
{
	return read->from == MODEL_NONE ? m->writes[read->var].is_common
					: m->thread[read->from_thread].access[read->from].is_common;
}

/* Link the reads of all threads to the writes of other threads that they saw. */
static void link_reads(struct model *m)
{
	for (uint32_t t = 0; t < m->nthreads; t++)
		for (size_t i = 0; i < m->thread[t].naccesses; i++) {
			const struct model_access *a = &m->thread[t].access[i];
			uint64_t position;

			if (!a->reads || a->from == MODEL_NONE || a->from_thread == t)
				continue;
			position = m->thread[a->from_thread].access[a->from].at + 1;
			add_link(m, MODEL_ALL_READS, t, a->at, a->from_thread, position);
			if (!model_has_other_write(m, a))
				add_link(m, MODEL_SINGLE_READS, t, a->at, a->from_thread, position);
		}
}

void model_ready(struct model *m)
{
	for (size_t i = 0; m->writes && i < m->nwatched; i++)
		if (m->writes[i].n)
			find_common_values(m, &m->writes[i]);
	link_reads(m);
	if (m->nsync)
		order_syncs(m);
	for (size_t i = 0; i < m->nthreads; i++)
		if (m->thread[i].nneeds)
			qsort(m->thread[i].need, m->thread[i].nneeds, sizeof *m->thread[i].need,
			      by_at);
}

/* Returns the run that contains an event, by its number or by its position. */
static size_t find_run(struct model_thread *t, uint64_t key, bool number)
{
	size_t low = 0, high = t->nruns;

	/* It is often near the last one. */
	if (t->last_run < high &&
	    (number ? t->run[t->last_run].event : t->run[t->last_run].at) <= key)
		low = t->last_run;
	else
		high = t->last_run < high ? t->last_run + 1 : high;
	for (size_t step = 4; low + step < high; step *= 4) {
		if ((number ? t->run[low + step].event : t->run[low + step].at) > key) {
			high = low + step;
			break;
		}
		low += step;
	}
	while (high - low > 1) {
		size_t mid = (low + high) / 2;

		if ((number ? t->run[mid].event : t->run[mid].at) <= key)
			low = mid;
		else
			high = mid;
	}
	t->last_run = low;
	return low;
}

uint64_t model_position(const struct model *m, uint32_t thread, uint64_t event)
{
	struct model_thread *t = &m->thread[thread];
	const struct model_run *run = &t->run[find_run(t, event, true)];

	return run->at + (event - run->event);
}

uint64_t model_first_from(const struct model *m, uint32_t thread, uint64_t event)
{
	struct model_thread *t = &m->thread[thread];
	size_t run = find_run(t, event, true);
	uint64_t end = run + 1 < t->nruns ? t->run[run + 1].at : t->n, at;

	if (!t->nruns || event <= t->run[run].event)
		return t->nruns ? t->run[run].at : 0;
	at = t->run[run].at + (event - t->run[run].event);
	return at < end ? at : end;
}

uint64_t model_event(const struct model *m, uint32_t thread, uint64_t position)
{
	struct model_thread *t = &m->thread[thread];
	const struct model_run *run = &t->run[find_run(t, position, false)];

	return run->event + (position - run->at);
}

size_t model_access_at(const struct model_thread *t, uint64_t position)
{
	size_t low = 0, high = t->naccesses;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->access[mid].at < position)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t model_ops_before(const struct model_thread *t, uint64_t position)
{
	size_t low = 0, high = t->nops;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->op[mid].at < position)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct model_block *model_block_at(const struct model_thread *t, uint64_t position)
{
	size_t low = 0, high = t->nblocks;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->block[mid].begin <= position)
			low = mid + 1;
		else
			high = mid;
	}
	return low && t->block[low - 1].end >= position ? &t->block[low - 1] : NULL;
}

size_t model_list(const struct model *m, const struct model_schedule *s, uint64_t *out)
{
	size_t n = 0;

	for (const struct model_part *p = s->v; p < s->v + s->n; p++) {
		struct model_thread *t = &m->thread[p->thread];
		size_t run = out ? find_run(t, p->from, false) : 0;

		for (uint64_t at = p->from; out && at < p->to; at++) {
			while (run + 1 < t->nruns && t->run[run + 1].at <= at)
				run++;
			*out++ = t->run[run].event + (at - t->run[run].at);
		}
		n += p->to - p->from;
	}
	return n;
}

bool model_need_at(const struct model *m, const struct model_need *need, size_t k,
		   struct model_need *out)
{
	const struct model_sync *s;

	*out = *need;
	if (need->thread != MODEL_ROUND)
		return !k;
	s = &m->sync[need->position];
	if (need->position + k >= m->nsync || !same_round(s, s + k))
		return false;
	out->thread = s[k].thread;
	out->position = s[k].at + 1;
	return true;
}

bool model_unmet(const struct model *m, uint32_t thread, struct model_need *out)
{
	const struct model_thread *t = &m->thread[thread];

	for (size_t i = t->next_need; i < t->nneeds && t->need[i].at == t->position; i++)
		for (size_t k = 0; model_need_at(m, &t->need[i], k, out); k++)
			if (m->thread[out->thread].position < out->position)
				return true;
	return false;
}

const struct model_lock_op *model_next_op(const struct model *m, uint32_t thread, uint64_t before)
{
	const struct model_thread *t = &m->thread[thread];

	return t->next_op < t->nops && t->op[t->next_op].at < before ? &t->op[t->next_op] : NULL;
}

bool model_is_free(const struct model *m, const struct model_lock_op *op)
{
	const struct model_lock *l = &m->lock[op->lock];

	return !l->owner && !(op->exclusive && l->nshared);
}

static void hold(struct model *m, uint32_t thread, uint32_t lock, bool exclusive)
{
	struct model_thread *t = &m->thread[thread];

	if (exclusive)
		m->lock[lock].owner = thread + 1;
	else
		m->lock[lock].nshared++;
	MEM_GROW(t->held, t->held_cap, t->nheld + 1);
	t->held[t->nheld++] = (struct model_held){lock, exclusive};
}

static void let_go(struct model *m, uint32_t thread, uint32_t lock)
{
	struct model_thread *t = &m->thread[thread];
	size_t i = t->nheld;

	while (i && t->held[i - 1].lock != lock)
		i--;
	if (!i)
		return;
	if (t->held[i - 1].exclusive)
		m->lock[lock].owner = 0;
	else
		m->lock[lock].nshared--;
	t->held[i - 1] = t->held[--t->nheld];
}

static void note(struct model *m, uint32_t thread, uint64_t from, uint64_t to)
{
	struct model_schedule *s = &m->done;

	if (from == to)
		return;
	if (s->n && s->v[s->n - 1].thread == thread) {
		s->v[s->n - 1].to = to;
		return;
	}
	MEM_GROW(s->v, s->cap, s->n + 1);
	s->v[s->n++] = (struct model_part){thread, from, to};
}

enum model_stop model_go(struct model *m, uint32_t thread, uint64_t position)
{
	struct model_thread *t = &m->thread[thread];
	enum model_stop why = MODEL_THERE;
	uint64_t from = t->position;
	struct model_need unmet;
	size_t later;

	while (t->position < position && why == MODEL_THERE) {
		const struct model_lock_op *op = model_next_op(m, thread, t->n);
		uint64_t to = position < t->n ? position : t->n;

		m->steps++;
		if (t->position >= t->n) {
			why = MODEL_ENDED;
			break;
		}
		if (model_unmet(m, thread, &unmet)) {
			why = MODEL_WAITING;
			break;
		}
		/* The needs here are met, but count until the thread has gone on. */
		later = t->next_need;
		while (later < t->nneeds && t->need[later].at <= t->position)
			later++;
		if (later < t->nneeds && t->need[later].at < to)
			to = t->need[later].at;
		if (op && op->at < to) {
			to = op->at;
			if (to == t->position) {
				if (op->acquire && !model_is_free(m, op)) {
					why = MODEL_LOCKED;
					break;
				}
				if (op->acquire)
					hold(m, thread, op->lock, op->exclusive);
				else
					let_go(m, thread, op->lock);
				t->next_op++;
				to++;
			}
		}
		t->position = to;
		t->next_need = later;
	}
	note(m, thread, from, t->position);
	return why;
}

void model_back(struct model *m, uint32_t thread, uint64_t position)
{
	struct model_thread *t = &m->thread[thread];
	struct model_schedule *s = &m->done;

	while (t->next_op && t->op[t->next_op - 1].at >= position) {
		const struct model_lock_op *op = &t->op[--t->next_op];

		if (op->acquire)
			let_go(m, thread, op->lock);
		else
			hold(m, thread, op->lock, op->exclusive);
	}
	while (t->next_need && t->need[t->next_need - 1].at >= position)
		t->next_need--;
	t->position = position;
	s->v[s->n - 1].to = position;
	s->n -= s->v[s->n - 1].from == position;
}

void model_reset(struct model *m)
{
	for (size_t i = 0; i < m->done.n; i++) {
		struct model_thread *t = &m->thread[m->done.v[i].thread];

		while (t->nheld)
			let_go(m, m->done.v[i].thread, t->held[t->nheld - 1].lock);
		t->position = 0;
		t->next_op = t->next_need = 0;
	}
	m->done.n = 0;
}

void model_jump(struct model *m, uint32_t thread, uint64_t position)
{
	struct model_thread *t = &m->thread[thread];
	uint32_t op = MODEL_NONE;

	t->position = position;
	t->next_op = model_ops_before(t, position);
	while (t->next_need < t->nneeds && t->need[t->next_need].at < position)
		t->next_need++;
	while ((op = model_next_held(t, t->next_op, op)) != MODEL_NONE)
		hold(m, thread, t->op[op].lock, t->op[op].exclusive);
	note(m, thread, 0, position);
}

bool model_execute(struct model *m, const struct model_schedule *s)
{
	model_reset(m);
	for (size_t i = 0; i < s->n; i++)
		if (m->thread[s->v[i].thread].position != s->v[i].from ||
		    model_go(m, s->v[i].thread, s->v[i].to) != MODEL_THERE)
			return false;
	return true;
}
