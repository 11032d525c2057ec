#include "engine/contention.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

static void drop_reads(struct contention *c, struct contention_last *x)
{
	if (x->read.slot == CONTENTION_MANY) {
		c->list[x->read.index].n = 0;
		MEM_GROW(c->spare, c->spare_cap, (size_t)c->nspare + 1);
		c->spare[c->nspare++] = x->read.index;
	}
	x->read = (struct phase){0, 0};
}

/* Returns the last reads, at most one for each slot. */
static const struct phase *reads_of(const struct contention *c, const struct contention_last *x,
				    uint32_t *n)
{
	if (x->read.slot == CONTENTION_MANY) {
		*n = c->list[x->read.index].n;
		return c->list[x->read.index].v;
	}
	*n = x->read.index != 0;
	return &x->read;
}

/* Record a write. Returns true if it is concurrent with an earlier read. */
static bool record_write(struct contention *c, struct contention_last *x, struct phase now,
			 const struct phase_clock *clock)
{
	uint32_t n;
	const struct phase *v = reads_of(c, x, &n);

	for (uint32_t i = 0; i < n; i++)
		if (!phase_before(v[i], clock))
			return true;
	if (n)
		drop_reads(c, x);
	x->write = now;
	return false;
}

/* Move the last read into a list, because a second slot reads. */
static struct contention_list *make_list(struct contention *c, struct contention_last *x)
{
	uint32_t l;

	if (c->nspare) {
		l = c->spare[--c->nspare];
	} else {
		MEM_GROW0(c->list, c->list_cap, (size_t)c->nlists + 1);
		l = c->nlists++;
		c->list[l].cap = 2;
		c->list[l].v = mem_alloc(c->list[l].cap * sizeof *c->list[l].v);
	}
	c->list[l].v[0] = x->read;
	c->list[l].n = 1;
	x->read = (struct phase){CONTENTION_MANY, l};
	return &c->list[l];
}

/* Record a read. Earlier reads that must come before it are dropped: it stands for them. */
static void record_read(struct contention *c, struct contention_last *x, struct phase now,
			const struct phase_clock *clock)
{
	struct contention_list *l;
	uint32_t kept = 0;

	if (x->read.slot != CONTENTION_MANY && (!x->read.index || phase_before(x->read, clock))) {
		x->read = now;
		return;
	}
	l = x->read.slot == CONTENTION_MANY ? &c->list[x->read.index] : make_list(c, x);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->v[i].slot == now.slot && l->v[i].index == now.index)
			return;
	for (uint32_t i = 0; i < l->n; i++)
		if (!phase_before(l->v[i], clock))
			l->v[kept++] = l->v[i];
	if (kept == l->cap) {
		l->cap *= 2;
		l->v = mem_resize(l->v, l->cap * sizeof *l->v);
	}
	l->v[kept++] = now;
	l->n = kept;
}

static void record_use(struct contention *c, struct contention_last *x,
		       struct contention_bits *found, uint32_t i, const struct phases *p,
		       uint32_t thread, bool write)
{
	const struct phase_clock *clock = phases_clock(p, thread);
	struct phase now = phases_now(p, thread);
	bool contend = x->write.index && !phase_before(x->write, clock);

	if (!contend && write)
		contend = record_write(c, x, now, clock);
	else if (!contend)
		record_read(c, x, now, clock);
	if (contend) {
		found->v[i / 64] |= 1ull << i % 64;
		drop_reads(c, x);
	}
}

uint32_t contention_life(struct contention *c, uint32_t var)
{
	uint32_t life;

	if (c->now[var])
		return c->now[var] - 1;
	life = c->nlives++;
	if (!c->learned)
		MEM_GROW0(c->life, c->life_cap, c->nlives);
	MEM_GROW0(c->life_found.v, c->life_found.cap, (size_t)life / 64 + 1);
	MEM_GROW(c->var, c->var_cap, c->nlives);
	c->var[life] = var;
	c->now[var] = life + 1;
	return life;
}

void contention_reborn(struct contention *c, uint32_t var)
{
	if (c->now[var] && !c->learned)
		drop_reads(c, &c->life[c->now[var] - 1]);
	c->now[var] = 0;
}

void contention_look(struct contention *c, const struct phases *p, const struct event *e)
{
	if (op_is_access(e->op)) {
		uint32_t life = contention_life(c, e->operand); /* may move c->life */

		if (!contention_bit(&c->life_found, life))
			record_use(c, &c->life[life], &c->life_found, life, p, e->thread,
				   e->op != OP_READ);
	} else if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) {
		if (!contention_bit(&c->lock_found, e->operand))
			record_use(c, &c->lock[e->operand], &c->lock_found, e->operand, p,
				   e->thread, e->op == OP_ACQUIRE);
	} else if (e->op == OP_ALLOC || e->op == OP_FREE) {
		contention_reborn(c, e->operand);
	}
}

static void drop_lists(struct contention *c)
{
	for (uint32_t i = 0; i < c->nlists; i++)
		mem_free(c->list[i].v);
	mem_free(c->list);
	mem_free(c->spare);
	c->list = NULL;
	c->spare = NULL;
	c->nlists = c->nspare = 0;
	c->list_cap = c->spare_cap = 0;
}

void contention_rewind(struct contention *c)
{
	drop_lists(c);
	mem_free(c->life);
	mem_free(c->lock);
	c->life = c->lock = NULL;
	c->life_cap = c->lock_cap = 0;
	if (c->now_cap)
		memset(c->now, 0, c->now_cap * sizeof *c->now);
	c->nlives = 0;
	c->learned = true;
}

void contention_room(struct contention *c, uint32_t nvars, uint32_t nlocks)
{
	MEM_GROW0(c->now, c->now_cap, nvars);
	MEM_GROW0(c->lock_found.v, c->lock_found.cap, (size_t)nlocks / 64 + 1);
	if (!c->learned)
		MEM_GROW0(c->lock, c->lock_cap, nlocks);
	c->nlocks = nlocks;
}

void contention_free(struct contention *c)
{
	drop_lists(c);
	mem_free(c->life);
	mem_free(c->lock);
	mem_free(c->life_found.v);
	mem_free(c->lock_found.v);
	mem_free(c->now);
	mem_free(c->var);
	*c = (struct contention){0};
}
