/*
 * What the two checking tools, frontier and doublechecker, have in common: slots,
 * the beginning and end of threads and transactions, held locks, and the clocks of
 * memory that is freed and allocated again.
 *
 * Locks, in this order: a stripe of the shadow, the order's lock, the histories' (for
 * a report), then leaves. No lock is held while the reporter is spoken to.
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

/* False: no address space, and one message said so. `for_replay`: histories are replayed. */
bool checker_init(bool for_replay);

/* --- threads --- */

/*
 * The thread gets a slot and its tables. False: there is none, one message said so, and the thread
 * is not checked. `tables`: those of struct thread_shadow are needed. `history`: so is a history.
 */
bool checker_thread_begin(struct rt_thread *t, uint64_t birth_clock, bool tables, bool history);
/* The thread gives its slot back; its transaction has ended. `last` is its last step. */
struct rt_point checker_thread_end(struct rt_thread *t, uint64_t last);

/* Around fork(). checker_fork_child(): false if checking has stopped. */
void checker_fork_prepare(void);
void checker_fork_parent(void);
bool checker_fork_child(struct rt_thread *t);

/* --- transactions --- */

/* The thread has done more than can be counted; one message says so, and it must end. */
bool checker_is_late(const struct rt_thread *t);
/* A transaction begins: a new stretch. */
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
	/* RAW_SEM_WAIT or RAW_SEM_POST; `held`: the thread has waited for it and not posted it. */
	void (*semaphore)(struct rt_thread *t, enum raw_op op, uintptr_t address, bool held,
			  uint64_t *time, uintptr_t pc);
	void (*forget)(uintptr_t address); /* a new lock is at this address */
};
/* The tool's sync(), with these. */
void checker_sync(struct rt_thread *t, const struct checker_locks *locks, enum raw_op op,
		  uintptr_t object, uint32_t aux, uint64_t *time, uintptr_t pc);

/* The thread is cut, and creates another. */
void checker_create(struct rt_thread *t, uint32_t id, uintptr_t pc);

/* --- memory --- */

/*
 * The clocks of threads that freed memory, by address: a thread that gets the memory again comes
 * after them.
 */
void checker_freed(struct rt_thread *t, uintptr_t address);
void checker_allocated(struct rt_thread *t, uintptr_t address);

#endif
