#include <string.h>

#include "base/mem.h"
#include "cli/explore.h"

#include "base/banned.h"

/*
 * A step at which there was a choice, on the path of the current schedule. The path is a stack: the
 * next schedule has the same choices up to the last step that has a candidate left, and takes that
 * one there.
 */
struct node {
	uint32_t thread, step;
	uint16_t chosen, standard;
	bool can_continue, wakes;
	uint64_t tried, candidates; /* bit n: thread n */
};

struct dfs {
	struct node *node;
	size_t n, cap;
	size_t planned; /* the first nodes are the plan */
	uint64_t preemptions;
};

struct dfs *dfs_new(uint64_t preemptions)
{
	struct dfs *d = mem_zalloc(sizeof *d);

	d->preemptions = preemptions;
	return d;
}

void dfs_free(struct dfs *d)
{
	if (d)
		mem_free(d->node);
	mem_free(d);
}

/* In a plan threads are numbered as in the run: creation is part of the choices. */
void dfs_plan(const struct dfs *d, struct drive_file *f)
{
	f->nchoices = 0;
	for (size_t i = 0; i < d->planned && f->nchoices < DRIVE_CHOICES; i++)
		if (d->node[i].chosen != d->node[i].standard)
			f->choice[f->nchoices++] = (struct drive_choice){
				d->node[i].thread, d->node[i].step, d->node[i].chosen, 0};
}

/* Is this choice a preemption: the thread could have run on, and does not? */
static bool is_preemption(const struct node *n, uint32_t chosen)
{
	return n->can_continue && !n->wakes && chosen != n->thread;
}

bool dfs_next(struct dfs *d, const struct drive_file *f)
{
	uint64_t used = 0;

	/* What the run did after the plan. */
	d->n = d->planned;
	for (uint32_t i = (uint32_t)d->planned; i < f->nsteps && i < DRIVE_STEPS; i++) {
		const struct drive_step *s = &f->step[i];

		MEM_GROW(d->node, d->cap, d->n + 1);
		d->node[d->n++] = (struct node){
			.thread = s->thread,
			.step = s->step,
			.chosen = s->chosen,
			.standard = s->standard,
			.can_continue = s->can_continue,
			.wakes = s->wakes,
			.tried = s->chosen < 64 ? 1ull << s->chosen : 0,
			.candidates = s->candidates,
		};
	}
	for (size_t i = 0; i < d->n; i++)
		used += is_preemption(&d->node[i], d->node[i].chosen);
	while (d->n) {
		struct node *last = &d->node[d->n - 1];

		used -= is_preemption(last, last->chosen);
		for (uint32_t c = 0; c < 64; c++) {
			uint64_t bit = 1ull << c;

			if (!(last->candidates & bit) || last->tried & bit ||
			    used + is_preemption(last, c) > d->preemptions)
				continue;
			last->tried |= bit;
			last->chosen = (uint16_t)c;
			d->planned = d->n;
			return true;
		}
		d->n--;
	}
	d->planned = 0;
	return false;
}
