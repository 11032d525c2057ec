#include "engine/share.h"

#include "base/mem.h"

#include "base/banned.h"

static void drop_reads(struct share *s)
{
	mem_free(s->read);
	s->read = NULL;
	s->nreads = s->cap = 0;
}

static void found(struct share *s)
{
	s->takes_part = true;
	drop_reads(s);
}

static void look_write(struct share *s, struct period now, const struct period_clock *clock)
{
	for (uint32_t i = 0; i < s->nreads; i++) {
		if (!period_before(s->read[i], clock)) {
			found(s);
			return;
		}
	}
	s->nreads = 0;
	s->write = now;
}

/* Reads that must come before this one have nothing to say that it does not. */
static void look_read(struct share *s, struct period now, const struct period_clock *clock)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < s->nreads; i++) {
		if (s->read[i].slot == now.slot && s->read[i].index == now.index)
			return;
	}
	for (uint32_t i = 0; i < s->nreads; i++)
		if (!period_before(s->read[i], clock))
			s->read[kept++] = s->read[i];
	if (kept == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1;
		s->read = mem_resize(s->read, s->cap * sizeof *s->read);
	}
	s->read[kept++] = now;
	s->nreads = kept;
}

static void look(struct share *s, const struct periods *p, uint32_t thread, bool write)
{
	const struct period_clock *clock = periods_clock(p, thread);
	struct period now = periods_now(p, thread);

	if (s->takes_part)
		return;
	if (s->write.index && !period_before(s->write, clock))
		found(s);
	else if (write)
		look_write(s, now, clock);
	else
		look_read(s, now, clock);
}

uint32_t shares_life(struct shares *s, uint32_t var)
{
	uint32_t life;

	if (s->now[var])
		return s->now[var] - 1;
	life = s->nlives++;
	MEM_GROW0(s->life, s->life_cap, s->nlives);
	MEM_GROW(s->var, s->var_cap, s->nlives);
	s->var[life] = var;
	s->now[var] = life + 1;
	return life;
}

void shares_reborn(struct shares *s, uint32_t var)
{
	if (s->now[var])
		drop_reads(&s->life[s->now[var] - 1]);
	s->now[var] = 0;
}

void shares_look(struct shares *s, const struct periods *p, const struct event *e)
{
	if (op_is_access(e->op)) {
		uint32_t life = shares_life(s, e->operand); /* may move s->life */

		look(&s->life[life], p, e->thread, e->op != OP_READ);
	} else if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) {
		look(&s->lock[e->operand], p, e->thread, e->op == OP_ACQUIRE);
	} else if (e->op == OP_ALLOC || e->op == OP_FREE) {
		shares_reborn(s, e->operand);
	}
}

void shares_rewind(struct shares *s)
{
	for (uint32_t i = 0; i < s->nlives; i++)
		drop_reads(&s->life[i]);
	for (size_t i = 0; i < s->now_cap; i++)
		s->now[i] = 0;
	s->nlives = 0;
}

void shares_room(struct shares *s, uint32_t nvars, uint32_t nlocks)
{
	MEM_GROW0(s->now, s->now_cap, nvars);
	MEM_GROW0(s->lock, s->lock_cap, nlocks);
}

void shares_free(struct shares *s)
{
	for (size_t i = 0; i < s->life_cap; i++)
		drop_reads(&s->life[i]);
	for (size_t i = 0; i < s->lock_cap; i++)
		drop_reads(&s->lock[i]);
	mem_free(s->life);
	mem_free(s->lock);
	mem_free(s->now);
	mem_free(s->var);
	*s = (struct shares){0};
}
