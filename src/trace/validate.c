/*
 * Checks that the events can have happened; reader.h says what is impossible.
 */
#include <string.h>

#include "base/mem.h"
#include "trace/reader_impl.h"

#include "base/banned.h"

enum life { UNSEEN, RUNNING, FORKED, JOINED };

struct thread_state {
	uint32_t life;  /* enum life */
	uint32_t depth; /* number of open blocks */
};

/*
 * Free: {0, 0}. Held exclusively: {1 + thread, number of acquires}. Held shared:
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
	uint32_t next_free; /* if not in use: 1 + index of the next free one */
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

/* Adds a name to a sentence, shortened and escaped: it may be long and have any bytes. */
static void add_name(const struct reader *r, enum names_kind kind, uint32_t id, struct str *what)
{
	const struct table *t = &r->names.table[kind];

	str_add_shown(what, t->text[id], t->len[id], 60);
}

/* Adds a phrase such as "T1 acquires lock l". */
static void add_lock_phrase(const struct reader *r, const struct event *e, const char *verb,
			    struct str *what)
{
	add_name(r, NAMES_THREAD, e->thread, what);
	str_fmt(what, " %s lock ", verb);
	add_name(r, NAMES_LOCK, e->operand, what);
}

static enum verdict judge_acquire(struct reader *r, const struct event *e, struct str *what)
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
		add_lock_phrase(r, e, "acquires", what);
		str_add(what, ", which ");
		add_name(r, NAMES_THREAD, holder, what);
		str_add(what, lock->owner & HELD_SHARED ? " holds shared" : " holds");
	}
	return IMPOSSIBLE;
}

static enum verdict judge_acquire_shared(struct reader *r, const struct event *e, struct str *what)
{
	struct lock_state *lock = &r->check.locks[e->operand];
	struct holder *mine;

	if (lock->owner && !(lock->owner & HELD_SHARED)) {
		if (what) {
			add_lock_phrase(r, e, "acquires", what);
			str_add(what, " shared, which ");
			add_name(r, NAMES_THREAD, lock->owner - 1, what);
			str_add(what, " holds");
		}
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

static enum verdict judge_release(struct reader *r, const struct event *e, struct str *what)
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
	if (what) {
		add_lock_phrase(r, e, "releases", what);
		str_add(what,
			shared ? ", which it does not hold shared" : ", which it does not hold");
	}
	return IMPOSSIBLE;
}

static enum verdict judge_fork_or_join(struct reader *r, const struct event *e, struct str *what)
{
	struct thread_state *child = &r->check.threads[e->operand];
	const char *why = NULL;

	if (e->op == OP_JOIN) {
		if (e->operand == e->thread)
			why = "joins itself";
		else {
			r->check.running -= child->life == RUNNING;
			child->life = JOINED;
		}
	} else if (e->operand == e->thread || child->life == RUNNING) {
		why = "has already run";
	} else if (child->life == UNSEEN) {
		child->life = FORKED;
	} else {
		why = child->life == FORKED ? "was forked before" : "was joined before";
	}
	if (!why)
		return FINE;
	if (what) {
		add_name(r, NAMES_THREAD, e->thread, what);
		if (e->op == OP_JOIN) {
			str_fmt(what, " %s", why);
		} else {
			str_add(what, " forks ");
			add_name(r, NAMES_THREAD, e->operand, what);
			str_fmt(what, ", which %s", why);
		}
	}
	return IMPOSSIBLE;
}

/* Judges an operation of a thread that was not joined. */
static enum verdict judge_op(struct reader *r, struct event *e, struct thread_state *t,
			     struct str *what)
{
	switch (e->op) {
	case OP_BEGIN:
		r->counts.blocks++;
		r->counts.transactions += !t->depth;
		e->outer = t->depth++ ? OUTER_NONE : OUTER_BEGIN;
		return FINE;
	case OP_END:
		if (t->depth) {
			e->outer = --t->depth ? OUTER_NONE : OUTER_END;
			return FINE;
		}
		if (what) {
			add_name(r, NAMES_THREAD, e->thread, what);
			str_add(what, " ends a block that it has not begun");
		}
		return IMPOSSIBLE;
	case OP_ACQUIRE:
		return judge_acquire(r, e, what);
	case OP_ACQUIRE_SHARED:
		return judge_acquire_shared(r, e, what);
	case OP_RELEASE:
	case OP_RELEASE_SHARED:
		return judge_release(r, e, what);
	case OP_FORK:
	case OP_JOIN:
		return judge_fork_or_join(r, e, what);
	default:
		return FINE;
	}
}

/* Judges an event; adds to `what`, unless it is NULL, why the event is impossible. */
static enum verdict judge_event(struct reader *r, struct event *e, struct str *what)
{
	struct validator *v = &r->check;
	struct thread_state *t = &v->threads[e->thread];
	enum verdict verdict = IMPOSSIBLE;

	if (t->life != JOINED) {
		verdict = judge_op(r, e, t, what);
	} else if (what) {
		add_name(r, NAMES_THREAD, e->thread, what);
		str_add(what, " has an event after it was joined");
	}
	/* An impossible event does not show that the thread runs. */
	if (verdict != IMPOSSIBLE) {
		v->running += t->life != RUNNING;
		t->life = RUNNING;
	}
	return verdict;
}

/* Judges an event, and drops it if necessary. Returns false if it is an error. */
static bool settle_event(struct reader *r, struct event *e, struct str *what)
{
	switch (judge_event(r, e, r->opt.lenient ? NULL : what)) {
	case FINE:
		return true;
	case REPEAT:
		r->counts.repeats++;
		if (!r->opt.keep_repeats)
			e->op = OP_NONE;
		return true;
	default:
		if (!r->opt.lenient)
			return false;
		r->counts.skipped++;
		e->op = OP_NONE;
		return true;
	}
}

/*
 * Most batches have no fork or join, and every thread in them is running. Then
 * accesses need no check at all, and blocks and locks can be checked separately.
 * A branch predictor cannot guess the next operation. So the operations are
 * sorted first, without a branch; then each kind has a loop of its own.
 */
struct sorted {
	uint32_t nlocks, nblocks;
	uint16_t locks[READER_BATCH + 1], blocks[READER_BATCH + 1];
};

/* What an operation adds to the three counters in sort_batch(), of 21 bits each. */
#define A_LOCK  (1ull)
#define A_BLOCK (1ull << 21)
#define ODD     (1ull << 42)
static const uint64_t sorts[OP_COUNT] = {
	[OP_ACQUIRE] = A_LOCK,
	[OP_RELEASE] = A_LOCK,
	[OP_ACQUIRE_SHARED] = A_LOCK,
	[OP_RELEASE_SHARED] = A_LOCK,
	[OP_BEGIN] = A_BLOCK,
	[OP_END] = A_BLOCK,
	[OP_FORK] = ODD,
	[OP_JOIN] = ODD,
};

/* Returns false if the batch has a fork or join, or a thread that was not running. */
static bool sort_batch(const struct validator *v, const struct event *ev, int n, struct sorted *s)
{
	uint64_t counts = 0, odd = 0;

	for (int i = 0; i < n; i++) {
		s->locks[counts & (A_BLOCK - 1)] = (uint16_t)i;
		s->blocks[counts >> 21 & (A_BLOCK - 1)] = (uint16_t)i;
		counts += sorts[ev[i].op];
	}
	if (v->running < v->nthreads)
		for (int i = 0; i < n; i++)
			odd |= v->threads[ev[i].thread].life ^ RUNNING;
	s->nlocks = counts & (A_BLOCK - 1);
	s->nblocks = counts >> 21 & (A_BLOCK - 1);
	return !(odd | counts >> 42);
}

static int validate_sorted(struct reader *r, struct event *ev, int n, const struct sorted *s,
			   struct str *what)
{
	struct validator *v = &r->check;
	uint64_t blocks = 0, transactions = 0;
	int bad = n;
	uint32_t k;
	size_t from;

	/* sort_batch() has filled in nblocks elements, which the analyzer does not see. */
	for (k = 0; k < s->nblocks; k++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript) */
		struct event *e = &ev[s->blocks[k]];
		struct thread_state *t = &v->threads[e->thread];
		uint32_t is_begin = e->op == OP_BEGIN, others = t->depth - !is_begin;

		if (__builtin_expect(is_begin | t->depth, 1)) {
			blocks += is_begin;
			transactions += is_begin & !others;
			e->outer = (uint8_t)(others ? OUTER_NONE : OUTER_END - is_begin);
			t->depth = others + is_begin;
		} else if (!settle_event(r, e, what)) {
			bad = s->blocks[k];
			break;
		}
	}
	r->counts.blocks += blocks;
	r->counts.transactions += transactions;
	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	for (uint32_t i = 0; i < s->nlocks && s->locks[i] < bad; i++) {
		struct event *e = &ev[s->locks[i]];
		uint64_t held = 1ull << 32 | (e->thread + 1), rel = e->op == OP_RELEASE, state;
		char *lock = (char *)&v->locks[e->operand];

		/* A release requires it held once, and frees it; an acquire is the reverse. */
		memcpy(&state, lock, sizeof state);
		if (__builtin_expect(e->op <= OP_RELEASE && state == (held & -rel), 1)) {
			state = held & (rel - 1);
			memcpy(lock, &state, sizeof state);
			continue;
		}
		from = what->n;
		if (settle_event(r, e, what))
			continue;
		/* Undo the blocks after this event, and drop the sentence about one of them. */
		memmove(what->s, what->s + from, what->n - from + 1);
		what->n -= from;
		for (bad = s->locks[i]; k-- > 0 && s->blocks[k] > bad;) {
			struct thread_state *t = &v->threads[ev[s->blocks[k]].thread];
			bool is_begin = ev[s->blocks[k]].op == OP_BEGIN;

			t->depth -= is_begin ? 1 : UINT32_MAX;
			r->counts.blocks -= is_begin;
			r->counts.transactions -= is_begin & !t->depth;
		}
	}
	return bad;
}

int validate(struct reader *r, struct event *ev, int n, struct str *what)
{
	struct validator *v = &r->check;
	struct sorted s;

	MEM_GROW0(v->threads, v->threads_cap, r->names.table[NAMES_THREAD].n);
	MEM_GROW0(v->locks, v->locks_cap, r->names.table[NAMES_LOCK].n);
	v->nthreads = r->names.table[NAMES_THREAD].n;
	if (sort_batch(v, ev, n, &s))
		return validate_sorted(r, ev, n, &s, what);
	for (int i = 0; i < n; i++)
		if (!settle_event(r, &ev[i], what))
			return i;
	return n;
}
