#include "runtime/frontier/frontier.h"

#include "runtime/blocks/blocks.h"
#include "runtime/checker/checker.h"
#include "runtime/checker/lock_use.h"
#include "runtime/checker/outside.h"
#include "runtime/history/history.h"
#include "runtime/history/origins.h"
#include "runtime/os/options.h"
#include "runtime/report/report.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

static enum rt_mode frontier_wants(void)
{
	if (!rt_checking || (rt_options.skeleton && !shadow_serial))
		return RT_NOTHING;
	if (outside_left)
		return RT_ALL;
	if (!mode_any_active())
		return RT_NOTHING;
	/* The fast path takes no lock, but serial mode needs one, even after recording failed. */
	return shadow_serial ? RT_ALL : RT_CHECKING;
}

/* --- threads --- */

/* Take the edge of a creation or a join; `from` is 0 if there is none. */
static void take_thread_edge(struct rt_thread *t, uint64_t from)
{
	bool fresh = false;

	if (from)
		frontier_edge(t, from << SHADOW_TIME_SHIFT, &fresh);
}

static void frontier_thread_begin(struct rt_thread *t, struct rt_point birth)
{
	if (!checker_thread_begin(t, birth.clock, true, true))
		return;
	time_bury(t);
	t->shadow.outside = true;
	take_thread_edge(t, birth.step);
}

static struct rt_point frontier_thread_end(struct rt_thread *t)
{
	if (!t->slot)
		return (struct rt_point){0};
	blocks_close(t);
	return checker_thread_end(t, shadow_step(t->time.now));
}

static struct rt_point frontier_create(struct rt_thread *t, uint32_t id, uint64_t time,
				       uintptr_t pc)
{
	struct rt_point here;

	(void)time;
	if (checker_create(t, id, pc, &here) && time_matters(t))
		here.step = shadow_step(t->time.now);
	return here;
}

static void frontier_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
			  uintptr_t pc)
{
	checker_join(t, id, last, time, pc, take_thread_edge);
	frontier_report(t, RAW_JOIN, pc);
}

/* --- blocks --- */

static void frontier_block_begin(struct rt_thread *t)
{
	if (RT_UNLIKELY(checker_is_late(t))) {
		t->blocks.txn = t->blocks.txn_mark = 0;
		frontier_thread_end(t);
		return;
	}
	checker_begin(t);
	if (RT_UNLIKELY(!t->blocks.active))
		mode_activate(t);
	order_begin_alone(&checker_order, t->slot, (order_index)time_now(t));
	time_bury(t);
}

static void frontier_block_end(struct rt_thread *t)
{
	if (RT_UNLIKELY(!order_end_alone(&checker_order, t->slot))) {
		rt_lock_ranked(&checker_order_lock, RT_ORDER);
		order_end(&checker_order, t->slot);
		rt_unlock(&checker_order_lock);
	}
	time_new_stretch(t);
	time_bury(t);
	t->shadow.outside = !time_matters(t);
}

static void frontier_settle(struct rt_thread *t, bool cut)
{
	if (cut)
		outside_cut(t);
	if (RT_UNLIKELY(t->blocks.nreports))
		report_settled(t, cut);
}

/* --- locks --- */

/*
 * Can a lock's cell be used without the stripe's lock? That of a mutex can: only the mutex's owner
 * uses it, and one word is enough. But the memory may have been a lock of another kind before, and
 * the cell may still have that lock's words. A spin lock takes half a cell, so two may share one.
 * In serial mode the stripe's lock is needed for the time.
 */
static bool has_own_cell(const struct shadow_cell *cell, uint32_t kind)
{
	return kind == RAW_MUTEX && !shadow_serial && !cell->w[1];
}

/* Take edges from the lock's former owners; an exclusive owner comes after shared ones, too. */
static void frontier_acquire(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared,
			     uint64_t *time)
{
	struct shadow_cell *cell = RT_UNLIKELY(shadow_serial) ? shadow_make(SHADOW_LOCKS, address)
							      : shadow_find(SHADOW_LOCKS, address);

	if (!cell)
		return;
	if (has_own_cell(cell, kind))
		cell_mutex_edge(t, cell);
	else
		cell_lock(t, cell, address, CELL_TAKES | (shared ? CELL_SHARED : 0), time);
}

/*
 * Remember the release, even if nothing that the thread does now can matter to others: the clock of
 * the next owner must go above this one's.
 */
static void frontier_release(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared,
			     uint64_t *time)
{
	struct shadow_cell *cell = shadow_make(SHADOW_LOCKS, address);

	if (!cell)
		return;
	if (has_own_cell(cell, kind))
		__atomic_store_n(&cell->w[0], t->time.now | SHADOW_WRITE | 1, __ATOMIC_RELAXED);
	else
		cell_lock(t, cell, address, CELL_GIVES | (shared ? CELL_SHARED : 0), time);
}

static void frontier_semaphore(struct rt_thread *t, enum raw_op op, uintptr_t address, bool held,
			       uint64_t *time, uintptr_t pc)
{
	struct shadow_cell *cell = shadow_make(SHADOW_LOCKS, address);
	bool waits = op == RAW_SEM_WAIT;

	if (!cell)
		return;
	cell_lock(t, cell, address, (waits || !held ? CELL_TAKES : 0) | (waits ? 0 : CELL_GIVES),
		  time);
	history_note(t, op, address, RAW_SEMAPHORE, pc);
}

static void frontier_forget_lock(uintptr_t address)
{
	shadow_clear_locks(address, 1);
}

static const struct checker_locks locks = {frontier_acquire, frontier_release, frontier_semaphore,
					   frontier_forget_lock};

static void frontier_sync(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			  uint64_t *time, uintptr_t pc)
{
	checker_sync(t, &locks, op, object, aux, time, pc);
	frontier_report(t, op, pc);
}

/* --- memory --- */

static void frontier_forget(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	(void)t;
	(void)pc;
	line_clear(address, size);
	shadow_clear_locks(address, size);
}

static void frontier_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	origins_freed(address);
	if (!rt_unjoined_threads || !t->slot)
		return;
	history_note(t, RAW_FREE, address, 0, pc);
	checker_freed(t, address);
	frontier_forget(t, address, size, pc);
}

static void frontier_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	origins_allocated(t, address, size, pc);
	if (!rt_unjoined_threads || !t->slot)
		return;
	checker_allocated(t, address);
	history_put_sized(t, RAW_ALLOC, address, size, pc);
}

static void frontier_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
			    uintptr_t pc)
{
	uintptr_t end = address + size, line = (address | (LINE_SIZE - 1)) + 1;
	uint64_t stretch = t->time.stretch, limit;
	bool noted = false, fresh = false;

	if (!t->slot || !rt_checking)
		return;
	t->shadow.loaded = op == RAW_READ ? address : 0;
	limit = time_begin_atomic(t);
	/* The next line has another lock. No machine has an atomic operation across two lines. */
	shadow_access_locked(t, address, end < line ? end : line, op == RAW_READ ? 0 : SHADOW_WRITE,
			     pc, true, &fresh, &noted);
	if (noted || fresh)
		history_put(t, op, address, size, pc);
	time_end_atomic(t, limit, stretch);
}

static void frontier_atomic_done(struct rt_thread *t, enum raw_op op, uintptr_t address,
				 uint32_t size, uint8_t value, uint64_t time, uintptr_t pc)
{
	(void)address;
	(void)size;
	(void)value;
	(void)time;
	frontier_report(t, op, pc);
}

/* --- the process --- */

/* An access in the mode RT_ALL: recorded, too, or one of the first of the program. */
static void frontier_access_all(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	outside_access(op, address, pc);
	if (shadow_serial)
		frontier_access_serial(op, address, size, pc);
	else
		frontier_access(op, address, size, pc);
}

static uint64_t frontier_finish(void)
{
	if (rt_checking) {
		outside_send();
		lock_use_end(&rt_self, true);
	}
	return rt_checking ? report_end(checker_order.n - 1) : 0;
}

void frontier_init(void)
{
	static struct rt_tool tool = {
		.wants = frontier_wants,
		.thread_begin = frontier_thread_begin,
		.thread_end = frontier_thread_end,
		.create = frontier_create,
		.join = frontier_join,
		.call = checker_call,
		.ret = checker_ret,
		.mark = checker_mark,
		.unmark = checker_unmark,
		.not_atomic = checker_not_atomic,
		.block_begin = frontier_block_begin,
		.block_inner = time_begin_inner,
		.block_end = frontier_block_end,
		.settle = frontier_settle,
		.access = frontier_access_all,
		.atomic = frontier_atomic,
		.atomic_done = frontier_atomic_done,
		.alloc = frontier_alloc,
		.free = frontier_free,
		.forget = frontier_forget,
		.sync = frontier_sync,
		.releasing = frontier_sync,
		.fork_prepare = checker_fork_prepare,
		.fork_parent = checker_fork_parent,
		.fork_child = checker_fork_child,
		.finish = frontier_finish,
	};

	if (!checker_init(false))
		return;
	cell_edge = frontier_edge;
	if (*rt_options.reporter)
		outside_init();
	tool_use(&tool);
}
