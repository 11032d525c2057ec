/*
 * Cells: what is remembered of 8 bytes of memory, and of a lock.
 *
 * A cell remembers, for each byte, the last write and the reads since then, as far
 * as they are not dead. A write takes edges from all of them and replaces them; a
 * read takes edges from writes, and replaces the thread's own earlier read. A read
 * whose edge from a write would have closed a cycle stays: that edge was left out,
 * and a later write may have to take it.
 *
 * A thread that finds only words of its own in a cell changes it without the lock
 * of the stripe. Another thread may change the cell at the same moment, under the
 * lock; then one of the two stores is lost. If both accesses were allowed (they
 * touch different bytes, or both read), a step may be forgotten that would have
 * mattered; none is ever invented. That takes two threads in the same few
 * instructions, for the first time with these 8 bytes. The same holds for a thread
 * that comes to a cell with at most one word, and for one that reads read-shared
 * memory. In serial mode everything happens under one lock.
 *
 * Read-shared cells. If several threads read a cell again and again, its first word
 * gets slot SHADOW_READERS, and each thread keeps its own read (struct rt_repeat),
 * so that the threads do not take the cache line from each other. A writer asks
 * them all.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_CELL_H
#define ATOMSAN_RUNTIME_SHADOW_CELL_H

#include "runtime/shadow/time.h"

/*
 * Called for a conflict: take an edge from `word`, which is another thread's, to what thread `t` is
 * doing. `*fresh` says whether an edge came in for the same access already. Returns false if the
 * edge would close a cycle; then it is left out. The tool that uses cells sets this pointer.
 */
extern bool (*cell_edge)(struct rt_thread *t, uint64_t word, bool *fresh);

/* The bytes of the cell at `at` that an access up to `end` touches. */
static inline uint64_t cell_bytes(uintptr_t at, uintptr_t end)
{
	uint64_t bytes = (uint64_t)SHADOW_BYTES << (at & 7);
	uintptr_t stop = (at | 7) + 1;

	return (stop > end ? bytes & SHADOW_BYTES >> (stop - end) : bytes) & SHADOW_BYTES;
}

/* Does the cell hold no word of another thread that conflicts with this and is not dead? */
static inline bool cell_has_no_conflict(const struct rt_thread *t, const struct shadow_cell *cell,
					uint64_t what)
{
	for (int i = 0; i < 2; i++) {
		uint64_t word = __atomic_load_n(&cell->w[i], __ATOMIC_RELAXED);

		if (shadow_slot(word) == SHADOW_LIST)
			return false;
		if (shadow_readers(word)) {
			if (what & SHADOW_WRITE)
				return false;
		} else if (word_classify(t, word, what) >= WORD_ORDERED) {
			return false;
		}
	}
	return true;
}

/* The word as its thread renewed it, if the thread keeps that for itself. */
uint64_t cell_renewed_word(uint64_t word, uintptr_t address);
/*
 * Add an access that came after everything in the cell: it replaces what its slot did, and what it
 * wrote over. Under the stripe's lock.
 */
void cell_add(struct shadow_cell *cell, uint64_t word);
/* The thread is about to forget an access that it kept for itself: put it into its cell. */
void cell_publish_repeat(const struct rt_repeat *r);

/*
 * An access of the bytes from `address` to `end`, which lie in one line that is in cells. Takes the
 * stripe's lock if it needs it, unless `locked`. Sets `*noted` if the access is in the shadow now.
 */
void cell_access(struct rt_thread *t, uintptr_t address, uintptr_t end, uint64_t write, bool locked,
		 bool *fresh, bool *noted);

/*
 * Operations on a lock's cell, under its stripe's lock: edges from its former owners; the thread
 * gives it back. In serial mode `*time` becomes the time of the operation.
 */
enum { CELL_TAKES = 1, CELL_GIVES = 2, CELL_SHARED = 4 };
void cell_lock(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address, int does,
	       uint64_t *time);
/*
 * Take the edge from the last owner of a mutex, whose cell holds one word at most. Only the owner
 * uses the cell: no lock is needed.
 */
void cell_mutex_edge(struct rt_thread *t, const struct shadow_cell *cell);

/* --- readers --- */

/* A word that stands for readers. It is never the same twice, so that old entries do not match. */
uint64_t readers_new(void);

/*
 * It is expensive to write read-shared memory. So memory that was written while it was read-shared
 * must let some chances to become read-shared pass; their number grows with each such write. This
 * table has the number of chances still to pass, by a hash of the address.
 */
enum { READERS_WRITTEN = 1 << 14 };
extern uint8_t readers_written[READERS_WRITTEN];
static inline uint8_t *readers_written_at(uintptr_t address)
{
	return &readers_written[(address >> 3) * 0x9e3779b97f4a7c15ull >> 50];
}

/* It was written, or could not be kept by a reader. */
static inline void readers_were_written(uintptr_t address)
{
	uint8_t before = __atomic_load_n(readers_written_at(address), __ATOMIC_RELAXED);

	__atomic_store_n(readers_written_at(address), before < 120 ? 2 * before + 3 : 255,
			 __ATOMIC_RELAXED);
}

/* The memory could become read-shared: may it? If not, count the chance as passed. */
static inline bool readers_are_due(uintptr_t address)
{
	uint8_t reluctance = __atomic_load_n(readers_written_at(address), __ATOMIC_RELAXED);

	if (reluctance)
		__atomic_store_n(readers_written_at(address), reluctance - 1, __ATOMIC_RELAXED);
	return !reluctance;
}

#endif
