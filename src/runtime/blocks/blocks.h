/*
 * Blocks: which block is open in a thread, and when a transaction begins and ends.
 * This is decided here, once for every tool; the tools' callbacks (tool.h) get the
 * result. block_policy.h decides which functions and marks are blocks.
 *
 * The outermost open block is the transaction. A thread that waits, joins, creates
 * a thread or passes a barrier is cut: its open blocks end, and the functions that
 * are open turn out not to be blocks.
 *
 * The caller of every function here is between rt_enter() and rt_leave(). A thread's
 * calls and blocks are followed only while other threads exist.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_BLOCKS_BLOCKS_H
#define ATOMSAN_RUNTIME_BLOCKS_BLOCKS_H

#include "runtime/history/history.h"
#include "runtime/shadow/time.h"

/* A function was entered; `f` is its frame, the last one on the stack of calls. */
void blocks_call_slow(struct rt_thread *t, struct rt_frame *f);
/* A function is left; `f`, its frame, has just been removed from the stack of calls. */
void blocks_return(struct rt_thread *t, struct rt_frame *f);

/* A marked block begins or ends. */
void blocks_mark(struct rt_thread *t, uint32_t label, const char *text, uintptr_t pc);
void blocks_unmark(struct rt_thread *t, uintptr_t pc);
/* The source says that the innermost function is not atomic. */
void blocks_not_atomic(struct rt_thread *t, uintptr_t pc);

/* End every open block of the thread; the open functions are no blocks from now on. */
void blocks_cut(struct rt_thread *t);
/* End the thread's transaction, if one is open. */
void blocks_close(struct rt_thread *t);

/*
 * Returns the block of the open transaction: an address in its function, or the number of its label
 * with BLOCK_LABEL. A transaction must be open.
 */
#define BLOCK_LABEL (1ull << 63)
uint64_t blocks_open_block(const struct rt_thread *t);

/* Like blocks_call_slow(), with a short way for a call inside a transaction if frontier checks. */
static inline void blocks_call(struct rt_thread *t, struct rt_frame *f)
{
	if (RT_UNLIKELY(!t->blocks.txn || rt_tools_mode != RT_CHECKING)) {
		blocks_call_slow(t, f);
		return;
	}
	f->limit = t->time.limit;
	time_enter_function(t);
	history_put_call(t, f);
}

#endif
