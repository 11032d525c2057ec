/*
 * Could these events have happened? See reader.h for what is impossible.
 *
 * Plain accesses cost one load and one compare, of the thread's state; lock
 * operations one word of the lock's.
 */
#include <string.h>

#include "base/mem.h"
#include "trace/reader_impl.h"

#include "base/banned.h"

enum phase { UNSEEN, RUNNING, FORKED, JOINED };

struct thread_state {
	uint32_t phase;
	uint32_t depth; /* of blocks */
};

/*
 * Free: {0, 0}. Held exclusively: {1 + thread, how often}. Held shared:
 * {HELD_SHARED | index of its holders, 0}.
 */
#define HELD_SHARED 0x80000000u
struct lock_state {
	uint32_t owner;
	uint32_t depth;
};

struct holder {
	uint32_t thread, depth;
};
struct holders {
	struct holder *v;
	size_t cap;
	uint32_t n;
	uint32_t next_free;
};

void validator_init(struct validator *v)
{
	*v = (struct validator){0};
}

void validator_free(struct validator *v)
{
	for (size_t i = 0; i < v->nholders; i++)
		mem_free(v->holders[i].v);
	mem_free(v->holders);
	mem_free(v->threads);
	mem_free(v->locks);
}

static struct holder *find_holder(struct holders *h, uint32_t thread)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->v[i].thread == thread)
			return &h->v[i];
	return NULL;
}

static void add_holder(struct validator *v, struct lock_state *lock, uint32_t thread)
{
	struct holders *h;

	if (!lock->owner) {
		uint32_t at = v->free_holders;

		if (at) {
			v->free_holders = v->holders[at - 1].next_free;
		} else {
			MEM_GROW0(v->holders, v->holders_cap, v->nholders + 1);
			at = (uint32_t)++v->nholders;
		}
		lock->owner = HELD_SHARED | (at - 1);
	}
	h = &v->holders[lock->owner & ~HELD_SHARED];
	MEM_GROW(h->v, h->cap, h->n + 1);
	h->v[h->n++] = (struct holder){thread, 1};
}

static void drop_holder(struct validator *v, struct lock_state *lock, struct holder *who)
{
	uint32_t at = lock->owner & ~HELD_SHARED;
	struct holders *h = &v->holders[at];

	*who = h->v[--h->n];
	if (!h->n) {
		h->next_free = v->free_holders;
		v->free_holders = at + 1;
		lock->owner = 0;
	}
}

enum verdict { FINE, REPEAT, IMPOSSIBLE };

static enum verdict acquire(struct reader *r, const struct event *e, struct str *what)
{
	struct lock_state *lock = &r->check.locks[e->operand];
	uint32_t holder;

	if (!lock->owner) {
		*lock = (struct lock_state){e->thread + 1, 1};
		return FINE;
	}
	if (lock->owner == e->thread + 1) {
		lock->depth++;
		return REPEAT;
	}
	if (what) {
		holder = lock->owner & HELD_SHARED
				 ? r->check.holders[lock->owner & ~HELD_SHARED].v[0].thread
				 : lock->owner - 1;
		str_fmt(what, "%s acquires lock %s, which %s holds%s",
			names_thread(&r->names, e->thread),
			r->names.table[NAMES_LOCK].text[e->operand],
			names_thread(&r->names, holder), lock->owner & HELD_SHARED ? " shared" : "");
	}
	return IMPOSSIBLE;
}

static enum verdict acquire_shared(struct reader *r, const struct event *e, struct str *what)
{
	struct lock_state *lock = &r->check.locks[e->operand];
	struct holder *mine;

	if (lock->owner && !(lock->owner & HELD_SHARED)) {
		if (what)
			str_fmt(what, "%s acquires lock %s shared, which %s holds",
				names_thread(&r->names, e->thread),
				r->names.table[NAMES_LOCK].text[e->operand],
				names_thread(&r->names, lock->owner - 1));
		return IMPOSSIBLE;
	}
	mine = lock->owner ? find_holder(&r->check.holders[lock->owner & ~HELD_SHARED], e->thread)
			   : NULL;
	if (mine) {
		mine->depth++;
		return REPEAT;
	}
	add_holder(&r->check, lock, e->thread);
	return FINE;
}

static enum verdict release(struct reader *r, const struct event *e, struct str *what)
{
	struct lock_state *lock = &r->check.locks[e->operand];
	bool shared = e->op == OP_RELEASE_SHARED;
	struct holder *mine = NULL;

	if (!shared && lock->owner == e->thread + 1) {
		if (--lock->depth)
			return REPEAT;
		lock->owner = 0;
		return FINE;
	}
	if (shared && lock->owner & HELD_SHARED)
		mine = find_holder(&r->check.holders[lock->owner & ~HELD_SHARED], e->thread);
	if (mine) {
		if (--mine->depth)
			return REPEAT;
		drop_holder(&r->check, lock, mine);
		return FINE;
	}
	if (what)
		str_fmt(what, "%s releases lock %s, which it does not hold%s",
			names_thread(&r->names, e->thread),
			r->names.table[NAMES_LOCK].text[e->operand], shared ? " shared" : "");
	return IMPOSSIBLE;
}

static enum verdict fork_or_join(struct reader *r, const struct event *e, struct str *what)
{
	struct thread_state *child = &r->check.threads[e->operand];
	const char *why = NULL;

	if (e->op == OP_JOIN) {
		if (e->operand == e->thread)
			why = "joins itself";
		else
			child->phase = JOINED;
	} else if (child->phase == UNSEEN) {
		child->phase = FORKED;
	} else {
		why = child->phase == RUNNING  ? "forks %s, which has already run"
		      : child->phase == FORKED ? "forks %s, which was forked before"
					       : "forks %s, which was joined before";
	}
	if (!why)
		return FINE;
	if (what) {
		str_fmt(what, "%s ", names_thread(&r->names, e->thread));
		if (e->op == OP_JOIN) {
			str_add(what, why);
		} else {
			const char *hole = strstr(why, "%s");

			str_addn(what, why, (size_t)(hole - why));
			str_add(what, names_thread(&r->names, e->operand));
			str_add(what, hole + 2);
		}
	}
	return IMPOSSIBLE;
}

/* What is not a plain access; `what` may be NULL. */
static enum verdict judge(struct reader *r, const struct event *e, struct str *what)
{
	struct thread_state *t = &r->check.threads[e->thread];

	if (t->phase == JOINED) {
		if (what)
			str_fmt(what, "%s has an event after it was joined",
				names_thread(&r->names, e->thread));
		return IMPOSSIBLE;
	}
	t->phase = RUNNING;
	switch (e->op) {
	case OP_BEGIN:
		r->counts.blocks++;
		r->counts.transactions += !t->depth++;
		return FINE;
	case OP_END:
		if (t->depth) {
			t->depth--;
			return FINE;
		}
		if (what)
			str_fmt(what, "%s ends a block that it has not begun",
				names_thread(&r->names, e->thread));
		return IMPOSSIBLE;
	case OP_ACQUIRE:
		return acquire(r, e, what);
	case OP_ACQUIRE_SHARED:
		return acquire_shared(r, e, what);
	case OP_RELEASE:
	case OP_RELEASE_SHARED:
		return release(r, e, what);
	case OP_FORK:
	case OP_JOIN:
		return fork_or_join(r, e, what);
	default:
		return FINE;
	}
}

int validate(struct reader *r, struct event *ev, int n, struct str *what)
{
	struct validator *v = &r->check;

	MEM_GROW0(v->threads, v->threads_cap, r->names.table[NAMES_THREAD].n);
	MEM_GROW0(v->locks, v->locks_cap, r->names.table[NAMES_LOCK].n);
	for (int i = 0; i < n; i++) {
		struct event *e = &ev[i];

		r->counts.op[e->op]++;
		if (op_is_access(e->op) && v->threads[e->thread].phase == RUNNING)
			continue;
		switch (judge(r, e, r->opt.lenient ? NULL : what)) {
		case FINE:
			break;
		case REPEAT:
			r->counts.repeats++;
			if (!r->opt.keep_repeats)
				e->op = OP_NONE;
			break;
		case IMPOSSIBLE:
			r->counts.op[e->op]--;
			if (!r->opt.lenient)
				return i;
			r->counts.skipped++;
			e->op = OP_NONE;
			break;
		}
	}
	return n;
}
