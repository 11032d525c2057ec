#include "engine/phase.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

/* One round of a barrier. It is freed when the last of its threads has gone on. */
struct phase_round {
	struct phase_clock clock; /* what its threads did before */
	uint32_t waiting;
};

/* How many free slots a fork tries. Nearly always the first fits: it was its own child's. */
enum { FREE_TRIES = 8 };

static void clock_room(struct phase_clock *c, uint32_t n)
{
	if (n > c->n) {
		MEM_GROW(c->at, c->cap, n);
		memset(c->at + c->n, 0, (n - c->n) * sizeof *c->at);
		c->n = n;
	}
}

static void clock_join(struct phase_clock *to, const struct phase_clock *from)
{
	clock_room(to, from->n);
	for (uint32_t i = 0; i < from->n; i++)
		to->at[i] = to->at[i] < from->at[i] ? from->at[i] : to->at[i];
}

static void clock_drop(struct phase_clock *c)
{
	mem_free(c->at);
	*c = (struct phase_clock){0};
}

static void next_phase(struct phases *p, struct phase_thread *t)
{
	t->now.index = ++p->last[t->now.slot];
	clock_room(&t->clock, t->now.slot + 1);
	t->clock.at[t->now.slot] = t->now.index;
}

/* Returns a slot for a thread that starts with `clock`. */
static uint32_t take_slot(struct phases *p, const struct phase_clock *clock)
{
	for (size_t i = p->nfree; i > 0 && i + FREE_TRIES > p->nfree; i--) {
		uint32_t slot = p->free[i - 1];

		if (phase_before((struct phase){slot, p->last[slot]}, clock)) {
			p->free[i - 1] = p->free[--p->nfree];
			return slot;
		}
	}
	MEM_GROW0(p->last, p->last_cap, p->nslots + 1);
	return p->nslots++;
}

static void start_thread(struct phases *p, struct phase_thread *t)
{
	t->now.slot = take_slot(p, &t->clock);
	t->runs = true;
	next_phase(p, t);
}

static void leave_round(struct phase_thread *t)
{
	if (!--t->round->waiting) {
		clock_drop(&t->round->clock);
		mem_free(t->round);
	}
	t->round = NULL;
}

/* The thread leaves its barrier: no other thread joins that round any more. */
static void leave_barrier(struct phases *p, struct phase_thread *t)
{
	if (p->open[t->barrier] == t->round)
		p->open[t->barrier] = NULL;
	clock_join(&t->clock, &t->round->clock);
	next_phase(p, t);
	leave_round(t);
	t->runs = true;
}

static void join_round(struct phases *p, struct phase_thread *t, uint32_t barrier)
{
	struct phase_round *round = p->open[barrier];

	if (!round)
		round = p->open[barrier] = mem_zalloc(sizeof *round);
	round->waiting++;
	clock_join(&round->clock, &t->clock);
	t->round = round;
	t->barrier = barrier;
	t->runs = false;
}

static void fork_thread(struct phases *p, struct phase_thread *t, struct phase_thread *child)
{
	clock_join(&child->clock, &t->clock);
	start_thread(p, child);
	next_phase(p, t);
}

static void join_thread(struct phases *p, struct phase_thread *t, struct phase_thread *child)
{
	/* The thread has passed the barrier at which it was seen last. */
	if (child->round)
		leave_barrier(p, child);
	if (child->runs) {
		clock_join(&t->clock, &child->clock);
		clock_drop(&child->clock);
		MEM_GROW(p->free, p->free_cap, p->nfree + 1);
		p->free[p->nfree++] = child->now.slot;
		child->runs = false;
	}
	next_phase(p, t);
}

void phases_look(struct phases *p, const struct event *e)
{
	struct phase_thread *t = &p->thread[e->thread];

	if (t->round)
		leave_barrier(p, t);
	else if (!t->runs)
		start_thread(p, t);
	if (e->op == OP_BARRIER)
		join_round(p, t, e->operand);
	else if (e->op == OP_FORK)
		fork_thread(p, t, &p->thread[e->operand]);
	else if (e->op == OP_JOIN)
		join_thread(p, t, &p->thread[e->operand]);
}

void phases_room(struct phases *p, uint32_t nthreads, uint32_t nlocks)
{
	MEM_GROW0(p->thread, p->thread_cap, nthreads);
	MEM_GROW0(p->open, p->open_cap, nlocks);
}

void phases_free(struct phases *p)
{
	for (size_t i = 0; i < p->thread_cap; i++) {
		if (p->thread[i].round)
			leave_round(&p->thread[i]);
		clock_drop(&p->thread[i].clock);
	}
	mem_free(p->thread);
	mem_free(p->last);
	mem_free(p->free);
	mem_free(p->open);
	*p = (struct phases){0};
}
