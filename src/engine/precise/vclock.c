#include "engine/precise/vclock.h"

#include "base/mem.h"

#include "base/banned.h"

void mark_drop(struct mark *m)
{
	/* A loop instead of recursion: a chain may be as long as the trace. */
	while (m && !--m->refs) {
		struct mark *from = m->from;

		mem_free(m);
		m = from;
	}
}

static struct mark *mark_new(struct target *target, uint64_t value, struct mark *from)
{
	struct mark *m = mem_alloc(sizeof *m);

	*m = (struct mark){.target = target, .value = value, .from = from, .refs = 1};
	if (from)
		from->refs++;
	return m;
}

static void vclock_add(struct vclock *c, struct mark *m)
{
	if (c->n == c->cap) {
		c->cap = c->cap ? c->cap * 2 : 2;
		c->v = mem_resize(c->v, c->cap * sizeof *c->v);
	}
	c->v[c->n++] = m;
}

void vclock_free(struct vclock *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		mark_drop(c->v[i]);
	mem_free(c->v);
	*c = (struct vclock){0};
}

/* Drop the marks of targets that are no longer watched. */
static void vclock_prune(struct vclock *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		if (c->v[i]->target->watched)
			c->v[kept++] = c->v[i];
		else
			mark_drop(c->v[i]);
	}
	c->n = kept;
}

static struct mark **vclock_find(struct vclock *c, const struct target *target)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->v[i]->target == target)
			return &c->v[i];
	return NULL;
}

void vclock_join(struct vclock *to, const struct vclock *from, struct target *own, uint64_t src,
		 uint32_t src_thread, uint64_t dst)
{
	vclock_prune(to);
	for (uint32_t i = 0; i < from->n; i++) {
		struct mark *theirs = from->v[i], *m, **mine;

		if (!theirs->target->watched)
			continue;
		if (theirs->target == own) {
			if (theirs->value > own->heard)
				own->heard = theirs->value;
			if (!own->now || theirs->value > own->now->value) {
				mark_drop(own->now);
				theirs->refs++;
				own->now = theirs;
				own->now_src = src;
				own->now_thread = src_thread;
			}
			continue;
		}
		mine = vclock_find(to, theirs->target);
		if (mine && (*mine)->value >= theirs->value)
			continue;
		m = mark_new(theirs->target, theirs->value, theirs);
		m->src = src;
		m->src_thread = src_thread;
		m->dst = dst;
		if (mine) {
			mark_drop(*mine);
			*mine = m;
		} else {
			vclock_add(to, m);
		}
	}
}

void vclock_copy(struct vclock *to, const struct vclock *from, struct target *own, uint64_t event)
{
	for (uint32_t i = 0; i < to->n; i++)
		mark_drop(to->v[i]);
	to->n = 0;
	for (uint32_t i = 0; i < from->n; i++) {
		if (!from->v[i]->target->watched)
			continue;
		from->v[i]->refs++;
		vclock_add(to, from->v[i]);
	}
	if (own && own->watched)
		vclock_add(to, mark_new(own, event, NULL));
}
