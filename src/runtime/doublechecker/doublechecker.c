#include "runtime/doublechecker/doublechecker.h"

#include "runtime/blocks/block_policy.h"
#include "runtime/blocks/blocks.h"
#include "runtime/checker/lock_use.h"
#include "runtime/doublechecker/icd.h"
#include "runtime/history/history.h"
#include "runtime/history/origins.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

static bool second_run;

static enum rt_mode doublechecker_wants(void)
{
	return rt_checking && mode_any_active() ? RT_OWNING : RT_NOTHING;
}

/* Put a marker for the replay into the thread's history: ICD_BORN and its kin. */
static void doublechecker_put_marker(struct rt_thread *t, uint64_t marker)
{
	if (t->history)
		history_put_edge(t, marker);
}

/* --- threads --- */

static void doublechecker_thread_begin(struct rt_thread *t, struct rt_point birth)
{
	if (!checker_thread_begin(t, birth.clock, false, icd_logs))
		return;
	if (!icd_thread_begin(t, birth.step)) {
		t->slot = 0;
		t->blocks.followed = false;
		return;
	}
	if (t->history)
		history_put_sized(t, RAW_FORGET, t->stack.low, t->stack.high - t->stack.low,
				  t->hist.pc_high);
	doublechecker_put_marker(t, ICD_BORN);
}

static struct rt_point doublechecker_thread_end(struct rt_thread *t)
{
	uint64_t last;

	if (!t->slot)
		return (struct rt_point){0};
	blocks_close(t);
	mode_rest(t);
	doublechecker_put_marker(t, ICD_GONE);
	last = icd_thread_end(t);
	icd_report(t, false);
	return checker_thread_end(t, last);
}

static struct rt_point doublechecker_create(struct rt_thread *t, uint32_t id, uint64_t time,
					    uintptr_t pc)
{
	struct rt_point here;

	(void)time;
	if (checker_create(t, id, pc, &here))
		here.step = icd_point(t);
	return here;
}

static void doublechecker_join(struct rt_thread *t, uint32_t id, struct rt_point last,
			       uint64_t *time, uintptr_t pc)
{
	checker_join(t, id, last, time, pc, icd_join);
}

/* --- blocks --- */

static void doublechecker_block_begin(struct rt_thread *t)
{
	uint64_t block = blocks_open_block(t);
	bool skipped = second_run && !block_policy_is_suspected(block);

	if (RT_UNLIKELY(checker_is_late(t))) {
		t->blocks.txn = t->blocks.txn_mark = 0;
		doublechecker_thread_end(t);
		return;
	}
	checker_begin(t);
	if (RT_UNLIKELY(!t->blocks.active && !skipped))
		mode_activate(t);
	icd_begin(t, block, skipped);
}

static void doublechecker_block_end(struct rt_thread *t)
{
	time_new_stretch(t);
	icd_end(t);
}

/* In a second run: is the label among those that a first run suspected? */
static void doublechecker_label(struct rt_thread *t, uint32_t number, const char *text, size_t n)
{
	(void)t;
	if (second_run)
		block_policy_set_suspected(BLOCK_LABEL | number, icd_names_label(text, n));
}

/* --- locks --- */

static void doublechecker_acquire_or_release(struct rt_thread *t, uintptr_t address, uint32_t kind,
					     bool shared, uint64_t *time)
{
	(void)kind;
	icd_lock_access(t, address, !shared, time);
}

static void doublechecker_semaphore(struct rt_thread *t, enum raw_op op, uintptr_t address,
				    bool held, uint64_t *time, uintptr_t pc)
{
	if (op == RAW_SEM_POST && !held)
		doublechecker_put_marker(t, ICD_NOT_HELD);
	icd_lock_access(t, address, true, time);
	history_note(t, op, address, RAW_SEMAPHORE, pc);
}

static const struct checker_locks locks = {doublechecker_acquire_or_release,
					   doublechecker_acquire_or_release,
					   doublechecker_semaphore, icd_clear_lock};

static void doublechecker_sync(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			       uint64_t *time, uintptr_t pc)
{
	checker_sync(t, &locks, op, object, aux, time, pc);
}

/* --- memory --- */

static void doublechecker_forget(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	(void)pc;
	icd_clear(address, size);
	if (rt_unjoined_threads && t->history)
		history_put_sized(t, RAW_FORGET, address, size, t->hist.pc_high);
}

static void doublechecker_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	origins_freed(address);
	if (!rt_unjoined_threads || !t->slot)
		return;
	history_note(t, RAW_FREE, address, 0, pc);
	checker_freed(t, address);
	icd_clear(address, size);
}

static void doublechecker_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	if (icd_logs)
		origins_allocated(t, address, size, pc);
	if (!rt_unjoined_threads || !t->slot)
		return;
	checker_allocated(t, address);
	if (t->history)
		history_put_sized(t, RAW_ALLOC, address, size, pc);
	/* What the thread has logged about this memory is from before it was freed. */
	time_new_stretch(t);
}

static void doublechecker_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address,
				 uint32_t size, uintptr_t pc)
{
	if (t->slot && rt_checking)
		icd_atomic(t, op, address, size, pc);
}

/* --- the process --- */

static bool forking;

static void doublechecker_fork_prepare(void)
{
	forking = rt_checking;
	if (forking)
		icd_fork_prepare();
	checker_fork_prepare();
}

static void doublechecker_fork_parent(void)
{
	checker_fork_parent();
	if (forking)
		icd_fork_parent();
}

static bool doublechecker_fork_child(struct rt_thread *t)
{
	if (!checker_fork_child(t))
		return false;
	icd_fork_child(t);
	return true;
}

static uint64_t doublechecker_finish(void)
{
	if (!rt_checking)
		return 0;
	icd_finish(&rt_self);
	lock_use_end(&rt_self, true);
	return report_end(checker_order.n - 1);
}

void doublechecker_init(bool first, bool second)
{
	static struct rt_tool tool = {
		.wants = doublechecker_wants,
		.thread_begin = doublechecker_thread_begin,
		.thread_end = doublechecker_thread_end,
		.create = doublechecker_create,
		.join = doublechecker_join,
		.call = checker_call,
		.ret = checker_ret,
		.mark = checker_mark,
		.unmark = checker_unmark,
		.not_atomic = checker_not_atomic,
		.block_begin = doublechecker_block_begin,
		.block_inner = time_begin_inner,
		.block_end = doublechecker_block_end,
		.settle = icd_report,
		.label = doublechecker_label,
		.access = icd_access,
		.atomic = doublechecker_atomic,
		.alloc = doublechecker_alloc,
		.free = doublechecker_free,
		.forget = doublechecker_forget,
		.sync = doublechecker_sync,
		.releasing = doublechecker_sync,
		.fork_prepare = doublechecker_fork_prepare,
		.fork_parent = doublechecker_fork_parent,
		.fork_child = doublechecker_fork_child,
		.finish = doublechecker_finish,
	};

	if (!checker_init(true))
		return;
	second_run = second;
	icd_init(first, second);
	tool_use(&tool);
}
