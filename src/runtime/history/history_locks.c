/*
 * The operations that were overwritten in the history itself: a ring of operations on locks, and a
 * table of accesses.
 *
 * An entry has a stamp: 0 while the entry is being written, then 1 plus the operation's number; for
 * an access, its time. A reader that finds the same stamp before and after has read one whole
 * operation.
 */
#include "runtime/history/history.h"

#include <string.h>

#include "base/banned.h"

static void store_relaxed(uint64_t *to, uint64_t data)
{
	__atomic_store_n(to, data, __ATOMIC_RELAXED);
}

/* The time of the operation that was saved last. */
static uint64_t last_saved_time(const struct history *h)
{
	enum { TIME = offsetof(struct history_lock_op, time) / sizeof(uint64_t) };

	return h->locks[(h->nlocks - 1) % HISTORY_LOCKS].data[TIME];
}

static void put_entry(struct history_lock *e, const struct history_lock_op *op, uint64_t stamp)
{
	uint64_t data[sizeof *op / sizeof(uint64_t)];

	memcpy(data, op, sizeof data);
	store_relaxed(&e->stamp, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		store_relaxed(&e->data[i], data[i]);
	__atomic_store_n(&e->stamp, stamp, __ATOMIC_RELEASE);
}

void history_put_lock(struct history *h, const struct history_lock_op *op)
{
	uint64_t number = h->nlocks;

	RT_ASSERT(!number || last_saved_time(h) <= op->time);
	put_entry(&h->locks[number % HISTORY_LOCKS], op, number + 1);
	__atomic_store_n(&h->nlocks, number + 1, __ATOMIC_RELEASE);
}

/*
 * Returns the entry for an access, or NULL if it is not saved. Of the places with the same hash,
 * the first two accesses are kept until they are dead: a block that is still open did them first.
 * The other two entries have later ones: of a chunk, the first two, and those with an edge. (Of a
 * loop's thousands of accesses, two others would not be better.) `base`: the chunk's first time.
 */
static inline struct history_lock *find_entry(const struct history *h, const struct history_walk *w,
					      uint64_t dead, uint64_t base, bool edge)
{
	enum { FIRST = HISTORY_WAYS / 2, SETS = HISTORY_ACCESSES / HISTORY_WAYS };
	size_t set = (w->pc ^ (uint64_t)w->op << 56) * 0x9e3779b97f4a7c15ull >> 40 & (SETS - 1);
	struct history_lock *e = &h->accesses[set * HISTORY_WAYS], *last;

	for (size_t i = 0; i < HISTORY_WAYS; i++)
		if (!e[i].stamp || e[i].stamp < dead)
			return &e[i];
	last = e[FIRST].stamp < e[FIRST + 1].stamp ? &e[FIRST] : &e[FIRST + 1];
	return edge || last->stamp < base ? last : NULL;
}

/*
 * Can this operation be a step of a cycle? One that takes a lock can if an edge came in with it,
 * one that gives a lock always.
 */
static bool op_can_be_step(const struct history_walk *w, bool edge)
{
	switch (w->op) {
	case RAW_RELEASE:
	case RAW_RELEASE_SHARED:
	case RAW_SEM_POST:
		return true;
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
	case RAW_SEM_WAIT:
	case RAW_JOIN:
		return edge;
	default:
		return false;
	}
}

/* Calls around the operations of a chunk; `v` holds those from `floor` to `depth`. */
enum { DEEP = 64 };
struct calls {
	uintptr_t v[DEEP];
	size_t depth, floor;
};

static void take_call(struct calls *c, const struct history_walk *w)
{
	if (w->op == RAW_CALL) {
		c->v[c->depth++ % DEEP] = w->pc;
		if (c->depth - c->floor > DEEP)
			c->floor = c->depth - DEEP;
	} else if (w->op == RAW_RETURN && c->depth && --c->depth < c->floor) {
		c->floor = c->depth;
	}
}

static struct history_lock_op make_saved(const struct history_walk *w, const struct calls *c,
					 bool edge, uint64_t since)
{
	struct history_lock_op op;

	memset(&op, 0, sizeof op);
	op.address = w->address;
	op.time = w->time;
	op.clock = w->clock;
	op.pc = w->pc;
	op.op = w->op;
	op.aux = w->aux;
	op.edge = edge;
	op.since = since;
	op.size = w->size;
	for (size_t i = 0; i < HISTORY_CALLS && i < c->depth - c->floor; i++)
		op.call[i] = c->v[(c->depth - 1 - i) % DEEP];
	return op;
}

void history_save_ops(struct history *h, uint32_t chunk, uint64_t dead)
{
	struct calls calls = {.depth = 0};
	struct history_lock_op op;
	uint64_t base = h->chunk[chunk].base, since = base;
	struct history_lock *e;
	struct history_walk w;
	bool edge = false;

	/* As a rule the chunk is dead: so it is if the next chunk begins at a dead time. */
	if (h->chunk[(chunk + 1) % h->nchunks].base < dead || !history_walk(&w, h, chunk))
		return;
	while (history_walk_next(&w)) {
		take_call(&calls, &w);
		if (w.time >= dead && !w.prologue) {
			if (op_can_be_step(&w, edge)) {
				op = make_saved(&w, &calls, edge, 0);
				history_put_lock(h, &op);
			} else if (history_is_access(w.op) && h->accesses &&
				   (e = find_entry(h, &w, dead, base, edge))) {
				op = make_saved(&w, &calls, edge, since);
				put_entry(e, &op, w.time);
			}
		}
		edge = w.op == (enum raw_op)HISTORY_EDGE;
		if (edge)
			since = w.time;
	}
}

uint64_t history_locks(const struct history *h, uint64_t *first)
{
	uint64_t n = h->locks ? __atomic_load_n(&h->nlocks, __ATOMIC_ACQUIRE) : 0;

	*first = n > HISTORY_LOCKS ? n - HISTORY_LOCKS : 0;
	return n;
}

/* Copy an entry. Returns its stamp; 0 if it was changed meanwhile. */
static uint64_t read_entry(const struct history_lock *e, struct history_lock_op *to)
{
	uint64_t stamp = __atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE);
	uint64_t data[sizeof *to / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		data[i] = __atomic_load_n(&e->data[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* cppcheck-suppress uninitvar // the loop fills all of it */
	memcpy(to, data, sizeof data);
	return __atomic_load_n(&e->stamp, __ATOMIC_RELAXED) == stamp ? stamp : 0;
}

bool history_lock_at(const struct history *h, uint64_t number, struct history_lock_op *to)
{
	return read_entry(&h->locks[number % HISTORY_LOCKS], to) == number + 1;
}

bool history_access_at(const struct history *h, uint64_t time, uint64_t address,
		       struct history_lock_op *to)
{
	struct history_lock_op op;
	bool found = false;

	for (size_t i = 0; i < (h->accesses ? HISTORY_ACCESSES : 0); i++) {
		uint64_t stamp = __atomic_load_n(&h->accesses[i].stamp, __ATOMIC_ACQUIRE);

		if (stamp < time || (!address && stamp != time) || (found && stamp >= to->time))
			continue;
		if (read_entry(&h->accesses[i], &op) != stamp)
			continue;
		if (address ? address - op.address >= (op.size ? op.size : 1) || op.since > time
			    : !op.edge)
			continue;
		*to = op;
		found = true;
	}
	return found;
}
