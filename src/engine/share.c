#include "engine/share.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

static void drop_reads(struct shares *s, struct share *x)
{
	if (x->read.slot == SHARE_MANY) {
		s->list[x->read.index].n = 0;
		MEM_GROW(s->spare, s->spare_cap, (size_t)s->nspare + 1);
		s->spare[s->nspare++] = x->read.index;
	}
	x->read = (struct period){0, 0};
}

/* The last reads, of different slots. */
static const struct period *reads_of(const struct shares *s, const struct share *x, uint32_t *n)
{
	if (x->read.slot == SHARE_MANY) {
		*n = s->list[x->read.index].n;
		return s->list[x->read.index].v;
	}
	*n = x->read.index != 0;
	return &x->read;
}

/* Returns true where it is concurrent with a read before. */
static bool look_write(struct shares *s, struct share *x, struct period now,
		       const struct period_clock *clock)
{
	uint32_t n;
	const struct period *v = reads_of(s, x, &n);

	for (uint32_t i = 0; i < n; i++)
		if (!period_before(v[i], clock))
			return true;
	if (n)
		drop_reads(s, x);
	x->write = now;
	return false;
}

/* A second slot reads: the one that did so first goes to a list. */
static struct share_list *make_list(struct shares *s, struct share *x)
{
	uint32_t l;

	if (s->nspare) {
		l = s->spare[--s->nspare];
	} else {
		MEM_GROW0(s->list, s->list_cap, (size_t)s->nlists + 1);
		l = s->nlists++;
		s->list[l].cap = 2;
		s->list[l].v = mem_alloc(s->list[l].cap * sizeof *s->list[l].v);
	}
	s->list[l].v[0] = x->read;
	s->list[l].n = 1;
	x->read = (struct period){SHARE_MANY, l};
	return &s->list[l];
}

/* Reads that must come before this one have nothing to say that it does not. */
static void look_read(struct shares *s, struct share *x, struct period now,
		      const struct period_clock *clock)
{
	struct share_list *l;
	uint32_t kept = 0;

	if (x->read.slot != SHARE_MANY && (!x->read.index || period_before(x->read, clock))) {
		x->read = now;
		return;
	}
	l = x->read.slot == SHARE_MANY ? &s->list[x->read.index] : make_list(s, x);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->v[i].slot == now.slot && l->v[i].index == now.index)
			return;
	for (uint32_t i = 0; i < l->n; i++)
		if (!period_before(l->v[i], clock))
			l->v[kept++] = l->v[i];
	if (kept == l->cap) {
		l->cap *= 2;
		l->v = mem_resize(l->v, l->cap * sizeof *l->v);
	}
	l->v[kept++] = now;
	l->n = kept;
}

static void look(struct shares *s, struct share *x, struct share_bits *found, uint32_t i,
		 const struct periods *p, uint32_t thread, bool write)
{
	const struct period_clock *clock = periods_clock(p, thread);
	struct period now = periods_now(p, thread);
	bool contend = x->write.index && !period_before(x->write, clock);

	if (!contend && write)
		contend = look_write(s, x, now, clock);
	else if (!contend)
		look_read(s, x, now, clock);
	if (contend) {
		found->v[i / 64] |= 1ull << i % 64;
		drop_reads(s, x);
	}
}

uint32_t shares_life(struct shares *s, uint32_t var)
{
	uint32_t life;

	if (s->now[var])
		return s->now[var] - 1;
	life = s->nlives++;
	if (!s->learned)
		MEM_GROW0(s->life, s->life_cap, s->nlives);
	MEM_GROW0(s->life_found.v, s->life_found.cap, (size_t)life / 64 + 1);
	MEM_GROW(s->var, s->var_cap, s->nlives);
	s->var[life] = var;
	s->now[var] = life + 1;
	return life;
}

void shares_reborn(struct shares *s, uint32_t var)
{
	if (s->now[var] && !s->learned)
		drop_reads(s, &s->life[s->now[var] - 1]);
	s->now[var] = 0;
}

void shares_look(struct shares *s, const struct periods *p, const struct event *e)
{
	if (op_is_access(e->op)) {
		uint32_t life = shares_life(s, e->operand); /* may move s->life */

		if (!share_bit(&s->life_found, life))
			look(s, &s->life[life], &s->life_found, life, p, e->thread,
			     e->op != OP_READ);
	} else if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) {
		if (!share_bit(&s->lock_found, e->operand))
			look(s, &s->lock[e->operand], &s->lock_found, e->operand, p, e->thread,
			     e->op == OP_ACQUIRE);
	} else if (e->op == OP_ALLOC || e->op == OP_FREE) {
		shares_reborn(s, e->operand);
	}
}

static void drop_lists(struct shares *s)
{
	for (uint32_t i = 0; i < s->nlists; i++)
		mem_free(s->list[i].v);
	mem_free(s->list);
	mem_free(s->spare);
	s->list = NULL;
	s->spare = NULL;
	s->nlists = s->nspare = 0;
	s->list_cap = s->spare_cap = 0;
}

void shares_rewind(struct shares *s)
{
	drop_lists(s);
	mem_free(s->life);
	mem_free(s->lock);
	s->life = s->lock = NULL;
	s->life_cap = s->lock_cap = 0;
	if (s->now_cap)
		memset(s->now, 0, s->now_cap * sizeof *s->now);
	s->nlives = 0;
	s->learned = true;
}

void shares_room(struct shares *s, uint32_t nvars, uint32_t nlocks)
{
	MEM_GROW0(s->now, s->now_cap, nvars);
	MEM_GROW0(s->lock_found.v, s->lock_found.cap, (size_t)nlocks / 64 + 1);
	if (!s->learned)
		MEM_GROW0(s->lock, s->lock_cap, nlocks);
	s->nlocks = nlocks;
}

void shares_free(struct shares *s)
{
	drop_lists(s);
	mem_free(s->life);
	mem_free(s->lock);
	mem_free(s->life_found.v);
	mem_free(s->lock_found.v);
	mem_free(s->now);
	mem_free(s->var);
	*s = (struct shares){0};
}
