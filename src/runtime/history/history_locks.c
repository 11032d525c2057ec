/*
 * The ring of operations on locks that were overwritten in the history itself.
 *
 * An entry has a stamp: 0 while the entry is being written, then 1 plus the operation's number. A
 * reader that finds the same stamp before and after has read one whole operation.
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

void history_put_lock(struct history *h, const struct history_lock_op *op)
{
	uint64_t number = h->nlocks, data[sizeof *op / sizeof(uint64_t)];
	struct history_lock *e = &h->locks[number % HISTORY_LOCKS];

	RT_ASSERT(!number || last_saved_time(h) <= op->time);
	memcpy(data, op, sizeof data);
	store_relaxed(&e->stamp, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		store_relaxed(&e->data[i], data[i]);
	__atomic_store_n(&e->stamp, number + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&h->nlocks, number + 1, __ATOMIC_RELEASE);
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

void history_save_locks(struct history *h, uint32_t chunk, uint64_t dead)
{
	enum { DEEP = 64 };
	uintptr_t call[DEEP];
	size_t depth = 0, floor = 0; /* call[] holds the calls from `floor` to `depth` */
	struct history_lock_op op;
	struct history_walk w;
	bool edge = false;

	/* As a rule the chunk is dead: so it is if the next chunk begins at a dead time. */
	if (h->chunk[(chunk + 1) % h->nchunks].base < dead || !history_walk(&w, h, chunk))
		return;
	while (history_walk_next(&w)) {
		if (w.op == RAW_CALL) {
			call[depth++ % DEEP] = w.pc;
			if (depth - floor > DEEP)
				floor = depth - DEEP;
		} else if (w.op == RAW_RETURN && depth && --depth < floor) {
			floor = depth;
		}
		if (w.time >= dead && !w.prologue && op_can_be_step(&w, edge)) {
			memset(&op, 0, sizeof op);
			op.address = w.address;
			op.time = w.time;
			op.clock = w.clock;
			op.pc = w.pc;
			op.op = w.op;
			op.aux = w.aux;
			op.edge = edge;
			for (size_t i = 0; i < HISTORY_CALLS && i < depth - floor; i++)
				op.call[i] = call[(depth - 1 - i) % DEEP];
			history_put_lock(h, &op);
		}
		edge = w.op == (enum raw_op)HISTORY_EDGE;
	}
}

uint64_t history_locks(const struct history *h, uint64_t *first)
{
	uint64_t n = h->locks ? __atomic_load_n(&h->nlocks, __ATOMIC_ACQUIRE) : 0;

	*first = n > HISTORY_LOCKS ? n - HISTORY_LOCKS : 0;
	return n;
}

bool history_lock_at(const struct history *h, uint64_t number, struct history_lock_op *to)
{
	const struct history_lock *e = &h->locks[number % HISTORY_LOCKS];
	uint64_t stamp = __atomic_load_n(&e->stamp, __ATOMIC_ACQUIRE);
	uint64_t data[sizeof *to / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		data[i] = __atomic_load_n(&e->data[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* cppcheck-suppress uninitvar // the loop fills all of it */
	memcpy(to, data, sizeof data);
	return stamp == number + 1 && __atomic_load_n(&e->stamp, __ATOMIC_RELAXED) == stamp;
}
