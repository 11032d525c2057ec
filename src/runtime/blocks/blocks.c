#include "runtime/blocks/blocks.h"

#include "runtime/blocks/block_policy.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

uint64_t blocks_open_block(const struct rt_thread *t)
{
	const struct thread_blocks *b = &t->blocks;

	RT_ASSERT(b->txn);
	return b->txn_mark ? BLOCK_LABEL | b->mark[b->txn_mark - 1].label
			   : t->calls.frame[b->txn - 1].function;
}

static void begin_transaction(struct rt_thread *t, size_t txn, uint32_t mark)
{
	RT_ASSERT(rt_is_inside(t));
	RT_ASSERT(!t->blocks.txn);
	t->blocks.txn = txn;
	t->blocks.txn_mark = mark;
	t->blocks.transactions++;
	rt_tool->block_begin(t);
}

static void end_transaction(struct rt_thread *t)
{
	RT_ASSERT(rt_is_inside(t));
	RT_ASSERT(t->blocks.txn);
	t->blocks.txn = 0;
	t->blocks.txn_mark = 0;
	rt_tool->block_end(t);
}

void blocks_close(struct rt_thread *t)
{
	if (!t->blocks.txn)
		return;
	end_transaction(t);
	rt_tool->settle(t, false);
}

void blocks_call_slow(struct rt_thread *t, struct rt_frame *f)
{
	if (RT_UNLIKELY(!t->blocks.followed))
		return;
	f->limit = t->time.limit;
	if (t->blocks.txn)
		rt_tool->block_inner(t);
	else if (block_policy_of_call(t, f))
		begin_transaction(t, t->calls.depth, 0);
	rt_tool->call(t, f);
}

/* Returns the innermost open mark, or NULL if there is none or if it is not kept. */
static const struct rt_mark *get_innermost_mark(const struct rt_thread *t)
{
	uint32_t n = t->blocks.nmarks;

	return n && n <= RT_MARKS ? &t->blocks.mark[n - 1] : NULL;
}

/*
 * A function returns: end the marks that it left open. `depth`: the number of frames before it
 * returned.
 */
static void close_marks(struct rt_thread *t, size_t depth)
{
	const struct rt_mark *m;

	while (RT_UNLIKELY((m = get_innermost_mark(t)) && m->depth >= depth)) {
		if (t->blocks.txn_mark == t->blocks.nmarks)
			blocks_close(t);
		t->blocks.nmarks--;
	}
}

void blocks_return(struct rt_thread *t, struct rt_frame *f)
{
	size_t depth = t->calls.depth + 1;

	RT_ASSERT(rt_is_inside(t));
	RT_ASSERT(f == &t->calls.frame[t->calls.depth]);
	if (t->blocks.cut > t->calls.depth)
		t->blocks.cut = t->calls.depth;
	close_marks(t, depth);
	if (RT_UNLIKELY(!t->blocks.followed))
		return;
	if (RT_LIKELY(rt_tools_mode == RT_CHECKING))
		history_put_return(t, f);
	else
		rt_tool->ret(t, f);
	if (t->blocks.txn == depth && !t->blocks.txn_mark)
		blocks_close(t);
	else
		time_leave_function(t, f->limit);
}

void blocks_cut(struct rt_thread *t)
{
	RT_ASSERT(rt_is_inside(t));
	if (t->blocks.txn)
		end_transaction(t);
	for (size_t i = t->blocks.cut; i < t->calls.depth; i++)
		if (!t->calls.frame[i].hands_on)
			block_policy_leave_out(t, t->calls.frame[i].function, false);
	t->blocks.cut = t->calls.depth;
	mode_rest(t);
	rt_tool->settle(t, true);
}

void blocks_mark(struct rt_thread *t, uint32_t label, const char *text, uintptr_t pc)
{
	struct thread_blocks *b = &t->blocks;

	if (!b->followed)
		return;
	if (b->nmarks < RT_MARKS)
		b->mark[b->nmarks] = (struct rt_mark){t->calls.depth, label, pc};
	b->nmarks++;
	if (b->txn)
		rt_tool->block_inner(t);
	else if (b->nmarks <= RT_MARKS && block_policy_of_mark(label, text, pc))
		begin_transaction(t, t->calls.depth + 1, b->nmarks);
	rt_tool->mark(t, label, pc);
}

void blocks_unmark(struct rt_thread *t, uintptr_t pc)
{
	const struct rt_mark *m = get_innermost_mark(t);

	if (!t->blocks.followed || !t->blocks.nmarks)
		return;
	/* A mark of another function stays open; the reader of recordings agrees. */
	if (m && m->depth != t->calls.depth)
		return;
	rt_tool->unmark(t, pc);
	if (t->blocks.txn_mark == t->blocks.nmarks)
		blocks_close(t);
	t->blocks.nmarks--;
}

/* Does not apply if the innermost function was cut already, or if a mark in it is open. */
void blocks_not_atomic(struct rt_thread *t, uintptr_t pc)
{
	const struct rt_mark *m = get_innermost_mark(t);
	size_t depth = t->calls.depth;
	bool applies;

	if (!t->blocks.followed)
		return;
	applies = depth && depth > t->blocks.cut && !(m && m->depth == depth);
	rt_tool->not_atomic(
		t, applies && !block_policy_said_not(t->calls.frame[depth - 1].function), pc);
	if (!applies)
		return;
	block_policy_leave_out(t, t->calls.frame[depth - 1].function, true);
	if (t->blocks.txn == depth && !t->blocks.txn_mark) {
		end_transaction(t);
		rt_tool->settle(t, true);
	}
}
