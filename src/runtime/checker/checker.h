/*
 * What the two checking tools, frontier and doublechecker, have in common: slots,
 * the beginning and end of threads and transactions, held locks, and the clocks of
 * memory that is freed and allocated again.
 *
 * Locks: docs/architecture.md has their order. This module takes the order's lock, and
 * the histories' within it when a thread ends and at a fork. No lock is held while a
 * message is sent to the reporter.
 *
 * Included by: frontier/, doublechecker/.
 */
#ifndef ATOMSAN_RUNTIME_CHECKER_CHECKER_H
#define ATOMSAN_RUNTIME_CHECKER_CHECKER_H

#include "engine/precise/order.h"
#include "runtime/os/lock.h"
#include "runtime/shadow/time.h"

/* The order of transactions. doublechecker uses only its slots. */
extern struct order checker_order;
extern uint32_t checker_order_lock;

/*
 * Prepare the order, the slots and the histories. `for_replay`: the tool replays histories. False:
 * there is no address space for them, and a message was printed.
 */
bool checker_init(bool for_replay);

/* --- threads --- */

/*
 * Give a thread its slot, which begins after the clock `birth_clock`. `tables`: the thread needs
 * those of struct thread_shadow. `history`: it needs a history. False: there is no slot or no
 * memory, a message was printed, and the thread is not checked.
 */
bool checker_thread_begin(struct rt_thread *t, uint64_t birth_clock, bool tables, bool history);
/*
 * Take the slot back from a thread that has no open transaction. `last` is its last step. Returns
 * the point that a join comes after.
 */
struct rt_point checker_thread_end(struct rt_thread *t, uint64_t last);

/* Callbacks of tool.h around fork(). */
void checker_fork_prepare(void);
void checker_fork_parent(void);
bool checker_fork_child(struct rt_thread *t);

/* --- transactions --- */

/*
 * Has the thread done more than its time can count? Then a message was printed, and the caller must
 * end the checking of this thread.
 */
bool checker_is_late(const struct rt_thread *t);
/* Begin a transaction, and with it a new stretch. */
void checker_begin(struct rt_thread *t);

/* Callbacks of tool.h that both tools use as they are. */
void checker_call(struct rt_thread *t, struct rt_frame *f);
void checker_ret(struct rt_thread *t, struct rt_frame *f);
void checker_mark(struct rt_thread *t, uint32_t label, uintptr_t pc);
void checker_unmark(struct rt_thread *t, uintptr_t pc);
void checker_not_atomic(struct rt_thread *t, bool applies, uintptr_t pc);

/* --- synchronisation --- */

/* What a tool does at a lock. `shared` and `kind` are those of the acquire. */
struct checker_locks {
	void (*acquire)(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared,
			uint64_t *time);
	void (*release)(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared,
			uint64_t *time);
	/* RAW_SEM_WAIT or RAW_SEM_POST; `held`: the thread has waited for it and not posted yet. */
	void (*semaphore)(struct rt_thread *t, enum raw_op op, uintptr_t address, bool held,
			  uint64_t *time, uintptr_t pc);
	void (*forget)(uintptr_t address); /* a new lock is at this address */
};
/* The tool's sync(), with these. */
void checker_sync(struct rt_thread *t, const struct checker_locks *locks, enum raw_op op,
		  uintptr_t object, uint32_t aux, uint64_t *time, uintptr_t pc);

/*
 * The tool's create(), which is a cut, and join(). checker_create() sets here->clock and returns
 * true if the thread is checked; then the caller sets here->step. checker_join() calls `edge` to
 * take an edge from the other thread's last step, which may be 0: no edge.
 */
bool checker_create(struct rt_thread *t, uint32_t id, uintptr_t pc, struct rt_point *here);
void checker_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
		  uintptr_t pc, void (*edge)(struct rt_thread *t, uint64_t last));

/* --- memory --- */

/*
 * Memory is freed, and allocated again. The clock of the allocating thread goes above the clock of
 * the thread that freed the memory.
 */
void checker_freed(struct rt_thread *t, uintptr_t address);
void checker_allocated(struct rt_thread *t, uintptr_t address);

#endif
