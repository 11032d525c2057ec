/*
 * The imprecise check: DoubleChecker's first half (Biswas, Huang, Sengupta,
 * Bond, PLDI 2014) while the program runs, in place of the frontier tool.
 *
 * Each block of memory has a state that says who may touch it without anybody
 * having to know (engine/doublechecker/icd.h). An access that finds its state right stores
 * nothing and locks nothing. One that does not changes the state, and takes
 * edges from what others are doing now into a graph of transactions
 * (engine/doublechecker/idg.h), under one lock. Locks are blocks of their own, fork and join
 * are edges.
 *
 * Transactions are published, not entered: a thread stores when its present one
 * began (`since`), and somebody who wants an edge from it makes the node, on its
 * behalf. He then tells it so (`noded`) and looks whether it is still in
 * there; the thread, where a transaction begins or ends, stores the new time and
 * then looks whether it was told. One of the two sees the other. A thread that
 * something open reaches makes its nodes itself, and says that it is reached.
 *
 * Hand-overs. Memory that is used under locks goes from thread to thread all the
 * time, and most of that needs no edge: its last owner is outside of blocks and
 * nothing reaches it, or the edge is there already (icd_no_edge()). Then the
 * state is exchanged without a lock, and the owner looked at again: what it does
 * once it is reached, it does behind a fence, and finds that the state is not
 * its own any more.
 *
 * Three kinds of runs:
 *
 *	single   what is suspected is replayed from the histories, precisely
 *	         (replay.c), and what that finds is reported
 *	first    no histories: the names of suspected blocks go to a file
 *	second   as single, but only those blocks are looked at
 *
 * What is logged. An access goes into its thread's history unless the same was
 * logged since the last change of a state by this thread, in the same function
 * call: a small table of its own remembers. Outside blocks each operation is a
 * transaction, and one that is logged may have brought an edge that no change
 * of state tells of: then what was logged before it is logged again. Where nothing open reaches a
 * thread outside of blocks, nothing need be logged at all.
 *
 * Locks: the lock of a stripe of the shadow; icd's; then those that are held for a
 * few instructions. None while something is replayed or reported.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_DOUBLECHECKER_ICD_H
#define ATOMSAN_RUNTIME_DOUBLECHECKER_ICD_H

#include "engine/doublechecker/icd.h"
#include "runtime/checker/checker.h"
#include "runtime/report/report.h"

/* --- for the hooks --- */

/* An access, with other threads about. */
void icd_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/*
 * The fast path, for the hooks to be inlined into: does the thread find its state right, and has
 * nothing to log? A state of its own is `owner` or one more, one that is shared and that it has
 * seen is below `shared`. A mask of 0 knows everything; an owner that is nobody, nothing.
 */
#define ICD_NOBODY (ICD_MAX << 2 | ICD_WREX)
static inline bool icd_known(bool write, uintptr_t address, uint32_t size);

/* --- for doublechecker.c --- */

extern bool icd_logs; /* with histories */

void icd_init(bool first, bool second);
/* In a second run: does its file name a block with this label? */
bool icd_names_label(const char *text, size_t n);

/* The thread begins, after the point `birth` of another. False: no memory, one message said so. */
bool icd_thread_begin(struct rt_thread *t, uint64_t birth);
uint64_t icd_thread_end(struct rt_thread *t);
/* A point in the thread's life, for another that comes after it; 0: nobody cares. */
uint64_t icd_point(struct rt_thread *t);
void icd_join(struct rt_thread *t, uint64_t last);

/* Its time has just gone up: a transaction begins, or has ended. */
void icd_begin(struct rt_thread *t, uint64_t block, bool skipped);
void icd_end(struct rt_thread *t);

/* It takes a lock, or gives it back. */
void icd_lock_access(struct rt_thread *t, uintptr_t address, bool write, uint64_t *time);
/* With the lock of the stripe held. */
void icd_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
		uintptr_t pc);
/* This memory is somebody else's from now on. */
void icd_clear(uintptr_t address, size_t bytes);
void icd_clear_lock(uintptr_t address);

/* Suspects that are complete are replayed and reported. */
void icd_report_now(struct rt_thread *t, bool cut);
extern uint32_t icd_waiting; /* so many are */
static inline void icd_report(struct rt_thread *t, bool cut)
{
	if (RT_UNLIKELY(__atomic_load_n(&icd_waiting, __ATOMIC_RELAXED)))
		icd_report_now(t, cut);
}

/* The program comes to its end: what is open is taken to have ended. */
void icd_finish(struct rt_thread *t);

void icd_fork_prepare(void);
void icd_fork_parent(void);
void icd_fork_child(struct rt_thread *t);

/* --- the files of the imprecise check --- */

/*
 * States, by block of memory, and by lock. Larger blocks cost less memory and find fewer
 * changes where neighbours are used together, more where they are not.
 */
enum icd_space { ICD_DATA, ICD_LOCKS, ICD_SPACES };
#ifndef ICD_DATA_SHIFT
#define ICD_DATA_SHIFT 6
#endif
enum { ICD_LOCKS_SHIFT = 3 };
extern uintptr_t icd_region[ICD_SPACES][SHADOW_REGIONS];

static inline icd_state *icd_find(enum icd_space space, uintptr_t address)
{
	uintptr_t base = icd_region[space][address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
	uintptr_t offset = address & ((1ul << SHADOW_REGION) - 1);
	unsigned int shift = space == ICD_DATA ? ICD_DATA_SHIFT : ICD_LOCKS_SHIFT;

	return RT_LIKELY(base != 0) ? (icd_state *)base + (offset >> shift) : NULL;
}

static inline __attribute__((always_inline)) bool icd_known(bool write, uintptr_t address,
							    uint32_t size)
{
	const struct rt_thread *t = &rt_self;
	uintptr_t base = icd_region[ICD_DATA][address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
	uintptr_t block = (address & ((1ul << SHADOW_REGION) - 1)) >> ICD_DATA_SHIFT;
	uint32_t in_block = address & ((1u << ICD_DATA_SHIFT) - 1);
	icd_state s;

	if (RT_UNLIKELY(!base || in_block > (1u << ICD_DATA_SHIFT) - size))
		return false;
	s = ((const volatile icd_state *)base)[block];
	if (RT_LIKELY(((s - t->icd.owner) & t->icd.mask) <= !write))
		return true;
	return !write && icd_kind_of(s) == ICD_RDSH && s <= t->icd.shared;
}

/* What a thread has logged, by address: the words of shadow.h. */
struct icd_logged {
	uint64_t cell, word;
};
enum { ICD_LOGGED = 1 << 12 };

/* What a thread says to all: a line each. Changed under the lock, but for `since`. */
struct icd_line {
	uint64_t since; /* time << 1 | is a block; 0: nobody is there */
	uint64_t block;
	uint64_t noded;   /* the `since` for which somebody made a node */
	uint32_t reached; /* something open may reach it */
	uint32_t taking;  /* it changes a state, with the lock, and may have edges for it soon */
} __attribute__((aligned(64)));
extern struct icd_line icd_lines[SHADOW_SLOTS];
extern uint32_t icd_slots; /* used so far */

/* Would a thread that takes a state from `slot` need no edge for it? */
static inline bool icd_no_edge(const struct rt_thread *t, uint32_t slot)
{
	const struct icd_line *l = &icd_lines[slot];
	const struct rt_came *c = &t->icd.came[slot % RT_CAME];
	uint64_t since;

	if (__atomic_load_n(&l->taking, __ATOMIC_SEQ_CST))
		return false;
	since = __atomic_load_n(&l->since, __ATOMIC_SEQ_CST);
	if (!(since & 1) && !__atomic_load_n(&l->reached, __ATOMIC_SEQ_CST))
		return true;
	return c->slot == slot && c->since == since && c->own == icd_lines[t->slot].since;
}

/* A state was changed, under the lock: edges into what the thread does. */
void icd_edges(struct rt_thread *t, struct icd_move m);
extern uint32_t icd_lock, icd_count;

/* Markers in a history, for the replay only: the word of a HISTORY_EDGE without address. */
enum { ICD_BORN = 1, ICD_GONE, ICD_NOT_HELD };

/* What becomes of a component: the part of a thread's history that is a node. */
struct icd_part {
	struct history *history;
	uint32_t thread;
	bool outside;
	uint64_t from, to; /* times */
	uint64_t block;
};
struct icd_found {
	struct icd_found *next;
	size_t bytes;
	uint32_t n;
	bool lost;
	struct icd_part part[];
};
/* Replay it, report what it proves. No lock is held. */
void icd_replay(struct rt_thread *t, struct icd_found *f);
void icd_replay_child(void);

#endif
