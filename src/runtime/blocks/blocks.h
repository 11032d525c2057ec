/*
 * Blocks: which block is open in a thread, and when a transaction begins and ends.
 * This is decided here, once for every tool; the tools hear of it by their
 * callbacks (tool.h). What counts as a block is block_policy.h's.
 *
 * The outermost open block is the transaction. A thread that waits, joins, creates
 * a thread or passes a barrier is cut: its open blocks end, and the functions that
 * are open turn out to be no blocks.
 *
 * Every function here runs between rt_enter() and rt_leave(). The thread's calls
 * and blocks are followed only while other threads exist.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_BLOCKS_BLOCKS_H
#define ATOMSAN_RUNTIME_BLOCKS_BLOCKS_H

#include "runtime/history/history.h"
#include "runtime/shadow/time.h"

/* A function was entered; its frame is the last one. */
void blocks_call_slow(struct rt_thread *t, struct rt_frame *f);
/* A function is left; its frame has just been removed from the stack of calls. */
void blocks_return(struct rt_thread *t, struct rt_frame *f);
/* blocks_return() is wanted even while no other thread exists. */
extern bool blocks_follow_alone;

/* A marked block begins or ends. */
void blocks_mark(struct rt_thread *t, uint32_t label, const char *text, uintptr_t pc);
void blocks_unmark(struct rt_thread *t, uintptr_t pc);
/* The source says that the innermost function is not atomic. */
void blocks_not_atomic(struct rt_thread *t, uintptr_t pc);

/* Every open block ends, and the open functions are seen to wait. */
void blocks_cut(struct rt_thread *t);
/* The thread ends: so does its transaction, if one is open. */
void blocks_close(struct rt_thread *t);

/*
 * The transaction's block: an address in its function, or its label's number with BLOCK_LABEL. One
 * must be open.
 */
#define BLOCK_LABEL (1ull << 63)
uint64_t blocks_open_block(const struct rt_thread *t);

/* The usual case needs no tool: a call within a transaction of the default tool. */
static inline void blocks_call(struct rt_thread *t, struct rt_frame *f)
{
	if (RT_UNLIKELY(!t->blocks.txn || rt_mode != RT_CHECKING)) {
		blocks_call_slow(t, f);
		return;
	}
	f->limit = t->time.limit;
	time_enter_function(t);
	history_put_call(t, f);
}

#endif
