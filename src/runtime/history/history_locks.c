/*
 * The ring of operations on locks that were overwritten in the history itself.
 *
 * An entry is a number of words, and their stamp: 0 while it is being written, else 1 and how many
 * were written before. Whoever finds the same stamp before and after has read what belongs
 * together.
 */
#include "runtime/history/history.h"

#include <string.h>

#include "base/banned.h"

static void put_word(uint64_t *to, uint64_t word)
{
	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

void history_put_lock(struct history *h, const struct history_lock_op *op)
{
	uint64_t number = h->nlocks, word[sizeof *op / sizeof(uint64_t)];
	struct history_lock *e = &h->locks[number % HISTORY_LOCKS];

	memcpy(word, op, sizeof word);
	put_word(&e->stamp, 0);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		put_word(&e->word[i], word[i]);
	__atomic_store_n(&e->stamp, number + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&h->nlocks, number + 1, __ATOMIC_RELEASE);
}

/* What takes a lock, and no edge came in, is no step of a cycle. */
static bool can_be_step(const struct history_walk *w, bool edge)
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

void history_keep_locks(struct history *h, uint32_t chunk, uint64_t dead)
{
	enum { DEEP = 64 };
	uintptr_t call[DEEP];
	size_t depth = 0, floor = 0; /* calls from `floor` on are known */
	struct history_lock_op op;
	struct history_walk w;
	bool edge = false;

	/* As a rule all of it is dead: the next one begins after it. */
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
		if (w.time >= dead && !w.prologue && can_be_step(&w, edge)) {
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
	uint64_t word[sizeof *to / sizeof(uint64_t)];

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		word[i] = __atomic_load_n(&e->word[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	memcpy(to, word, sizeof word);
	return stamp == number + 1 && __atomic_load_n(&e->stamp, __ATOMIC_RELAXED) == stamp;
}
