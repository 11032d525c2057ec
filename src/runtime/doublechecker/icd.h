/*
 * The imprecise check: the first half of DoubleChecker (Biswas, Huang, Sengupta,
 * Bond, PLDI 2014) while the program runs. It takes the place of the frontier
 * tool.
 *
 * Granules. Memory is divided into granules of 64 bytes; each has one state, which
 * says which thread may access it without telling the others
 * (engine/doublechecker/icd.h). If an access finds the state right, it stores
 * nothing and takes no lock. If not, it changes the state and adds edges to a graph
 * of transactions (engine/doublechecker/idg.h), under one lock: from what other
 * threads are doing now, to what this thread is doing. Each lock of the program has
 * a state of its own. Fork and join are edges. (A block, here as everywhere, is
 * code that is meant to be atomic, never memory.)
 *
 * Publishing a transaction. A thread does not enter its transactions into the
 * graph. It only publishes when the current one began (`since`). Another thread that
 * needs an edge from that transaction makes the node on its behalf:
 *
 *	the other thread    stores `noded`, then reads `since` again
 *	the owner           at a begin or end stores `since`, then reads `noded`
 *
 * So at least one of the two sees the other's store. A thread that an open
 * transaction reaches by edges is marked `reached`, and makes its nodes itself.
 *
 * Taking a granule without the lock. Memory that is protected by locks moves from
 * thread to thread all the time, and most of these moves need no edge: the last
 * owner is outside blocks and not reached, or the edge exists already
 * (icd_needs_no_edge()). Then the thread exchanges the state without the graph's
 * lock and checks the condition again. That is enough: the owner becomes reached by
 * a sequentially consistent store, and what it does after that finds that the state
 * is no longer its own.
 *
 * Kinds of runs:
 *
 *	single   suspects are replayed precisely from the histories (icd_replay()), and
 *	         what the replay finds is reported
 *	first    without histories: the names of suspected blocks go to a file
 *	second   like single, but only the blocks that a first run named are checked
 *
 * What is logged. An access goes into its thread's history unless the same access
 * was logged in the same function call since this thread last changed a state. A
 * small table of the thread remembers that. Outside blocks each operation is a
 * transaction, and a logged one may bring an edge without a change of state; so what
 * was logged before it is logged again. A thread that is outside blocks and not
 * reached logs nothing.
 *
 * Locks, in the order in which they are taken: a stripe of the shadow; the graph's
 * (icd_lock); leaves; at a fork, the order's after the graph's. A thread that replays a
 * component holds the replay's lock and takes the histories' within it. It reports the
 * component while it holds no lock.
 *
 * Included by: the files of doublechecker/, hooks/access.h.
 */
#ifndef ATOMSAN_RUNTIME_DOUBLECHECKER_ICD_H
#define ATOMSAN_RUNTIME_DOUBLECHECKER_ICD_H

#include "engine/doublechecker/icd.h"
#include "runtime/checker/checker.h"
#include "runtime/report/report.h"

/* --- for the hooks --- */

/* Check an access. Called only while other threads exist. */
void icd_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);

/*
 * The fast path, which is inlined into the hooks. Returns true if the granule's state is right for
 * the access and there is nothing to log. The thread sets three fields for it:
 *
 *	owner    its WrEx state; owner + 1 is its RdEx state. ICD_NOBODY: no state is its own
 *	mask     0: every access is known
 *	shared   the highest RdSh state that the thread has seen
 */
#define ICD_NOBODY (ICD_MAX << 2 | ICD_WREX)
_Static_assert(ICD_RDEX == ICD_WREX + 1, "icd_known() compares with owner and owner + 1");
static inline bool icd_known(bool write, uintptr_t address, uint32_t size);

/* --- for doublechecker.c --- */

extern bool icd_logs; /* the run keeps histories: it is not a first run */

void icd_init(bool first, bool second);
/* In a second run: does the file of suspects name a block with this label? */
bool icd_names_label(const char *text, size_t n);

/*
 * A point is a number that stands for a thread's current node in the graph, so that another thread
 * can take an edge from it later. 0: the thread has no node, and no edge is needed.
 */
uint64_t icd_point(struct rt_thread *t);
/*
 * The thread begins; `birth` is its creator's point. Returns false, after one message, if there is
 * no memory: then the thread is not checked.
 */
bool icd_thread_begin(struct rt_thread *t, uint64_t birth);
/* The thread ends. Returns its last point. */
uint64_t icd_thread_end(struct rt_thread *t);
/* Another thread, whose last point is `last`, was joined. */
void icd_join(struct rt_thread *t, uint64_t last);

/*
 * A transaction begins or has ended; the thread's time has just been raised. `skipped`: a second
 * run does not check this block.
 */
void icd_begin(struct rt_thread *t, uint64_t block, bool skipped);
void icd_end(struct rt_thread *t);

/* The thread acquires or releases a lock; `write` unless it is shared. Sets *time if recording. */
void icd_lock_access(struct rt_thread *t, uintptr_t address, bool write, uint64_t *time);
/* Check an atomic operation. The caller holds the stripe's lock. */
void icd_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
		uintptr_t pc);
/*
 * Forget the states of memory that was freed. Only whole granules are cleared: the bytes around
 * them may be in use.
 */
void icd_clear(uintptr_t address, size_t bytes);
void icd_clear_lock(uintptr_t address);

/*
 * Replay and report the suspected components that are complete. `cut`: the thread's blocks were
 * ended because it waits.
 */
void icd_report_now(bool cut);
extern uint32_t icd_nwaiting; /* the number of components that wait for that */
static inline void icd_report(struct rt_thread *t, bool cut)
{
	(void)t;
	if (RT_UNLIKELY(__atomic_load_n(&icd_nwaiting, __ATOMIC_RELAXED)))
		icd_report_now(cut);
}

/* The program ends: end the open transactions, and report what that completes. */
void icd_finish(struct rt_thread *t);

/* Around fork(): the graph's lock is held. In the child, `t` is the only thread. */
void icd_fork_prepare(void);
void icd_fork_parent(void);
void icd_fork_child(struct rt_thread *t);

/* --- the files of the imprecise check --- */

/*
 * The states of granules, and of locks. Larger granules need less memory. They cause fewer changes
 * of state if neighbouring bytes are used together, and more if they are not.
 */
enum icd_space { ICD_DATA, ICD_LOCKS, ICD_SPACES };
#ifndef ICD_DATA_SHIFT
#define ICD_DATA_SHIFT 6
#endif
enum { ICD_LOCKS_SHIFT = 3 };
extern uintptr_t icd_region[ICD_SPACES][SHADOW_REGIONS];

/* Returns the state of an address; NULL if its region has no states yet. */
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
	uintptr_t granule = (address & ((1ul << SHADOW_REGION) - 1)) >> ICD_DATA_SHIFT;
	uint32_t in_granule = address & ((1u << ICD_DATA_SHIFT) - 1);
	icd_state s;

	if (RT_UNLIKELY(!base || in_granule > (1u << ICD_DATA_SHIFT) - size))
		return false;
	s = ((const volatile icd_state *)base)[granule];
	if (RT_LIKELY(((s - t->icd.owner) & t->icd.mask) <= !write))
		return true;
	return !write && icd_kind_of(s) == ICD_RDSH && s <= t->icd.shared;
}

/* A thread's table of what it has logged, by address. `word` is one of shadow/shadow.h. */
struct icd_logged {
	uint64_t cell, word;
};
enum { ICD_LOGGED = 1 << 12 };

/*
 * What a slot's thread publishes, one cache line each. The owner changes `since` and `block`
 * without the graph's lock, unless it is reached; all else is changed under the lock.
 */
struct icd_public {
	uint64_t since;   /* begin of the transaction: time << 1 | in a block; 0: no thread */
	uint64_t block;   /* the transaction's block, if it is in one */
	uint64_t noded;   /* the `since` for which a node was made */
	uint32_t reached; /* an open transaction may reach this thread by edges */
	uint32_t taking;  /* it is changing a state under the lock, and may get edges for it */
} __attribute__((aligned(64)));
extern struct icd_public icd_public[SHADOW_SLOTS];
extern uint32_t icd_slots; /* 1 + the highest slot used so far */

/* Can this thread take a state from `slot` without an edge? */
static inline bool icd_needs_no_edge(const struct rt_thread *t, uint32_t slot)
{
	const struct icd_public *l = &icd_public[slot];
	const struct rt_came *c = &t->icd.came[slot % RT_CAME];
	uint64_t since;

	if (__atomic_load_n(&l->taking, __ATOMIC_SEQ_CST))
		return false;
	since = __atomic_load_n(&l->since, __ATOMIC_SEQ_CST);
	if (!(since & 1) && !__atomic_load_n(&l->reached, __ATOMIC_SEQ_CST))
		return true;
	return c->slot == slot && c->since == since && c->own == icd_public[t->slot].since;
}

/*
 * Add the edges that a change of state asks for, into the thread's transaction. The caller holds
 * icd_lock.
 */
void icd_edges(struct rt_thread *t, struct icd_move m);
extern uint32_t icd_lock;  /* the graph's lock */
extern uint32_t icd_count; /* the count of RdSh states; under icd_lock */

/*
 * Markers in a history, for the replay only: the size of a HISTORY_EDGE without address. The thread
 * began; it ended; the next semaphore post is by a thread that does not hold the semaphore.
 */
enum { ICD_BORN = 1, ICD_GONE, ICD_NOT_HELD };

/*
 * A suspected component, copied from the graph: a part for each node, which says where in a history
 * its operations are.
 */
struct icd_part {
	struct history *history;
	uint32_t thread;
	bool outside;      /* operations outside blocks */
	uint64_t from, to; /* times: [from, to) */
	uint64_t block;    /* 0 if outside */
};
struct icd_component {
	struct icd_component *next;
	size_t bytes; /* of this struct with its parts, for rt_pages_free() */
	uint32_t n;
	struct icd_part part[];
};
/* Replay a component and report the cycles that it proves. Called without any lock held. */
void icd_replay(struct icd_component *c);
/* In a forked child: the replay's lock is free. */
void icd_replay_child(void);

#endif
