#include "runtime/thread/mode.h"

#include "runtime/os/lock.h"
#include "runtime/thread/state.h"
#include "runtime/tool.h"

#include "base/banned.h"

volatile uint32_t rt_mode, rt_tools_mode;
static bool driven; /* do threads take turns? */
RT_EXPORT extern volatile uint32_t atomsan_4_mode __attribute__((alias("rt_mode")));
volatile uint32_t rt_unjoined_threads;
uint32_t mode_nactive;
static uint32_t mode_lock;

/*
 * The caller may be outside the runtime. A signal handler must not interrupt this, because it may
 * come here itself: so the thread is in the runtime meanwhile.
 */
void mode_choose(void)
{
	struct rt_thread *t = &rt_self;
	bool inside = rt_enter_nested(t);
	uint32_t mode = RT_NOTHING;

	rt_lock_ranked(&mode_lock, RT_MODE);
	if (rt_unjoined_threads) {
		mode = rt_recorder->wants();
		if (mode == RT_NOTHING)
			mode = rt_tool->wants();
	}
	rt_tools_mode = mode;
	if (driven && rt_unjoined_threads)
		mode = RT_DRIVEN;
	if (rt_mode != mode)
		__atomic_store_n(&rt_mode, mode, __ATOMIC_SEQ_CST);
	rt_unlock(&mode_lock);
	rt_leave_nested(t, inside);
}

/* The caller counts a thread before it can run, so that none of its accesses is missed. */
void mode_thread_created(void)
{
	__atomic_fetch_add(&rt_unjoined_threads, 1, __ATOMIC_SEQ_CST);
	mode_choose();
}

void mode_thread_joined(void)
{
	uint32_t before = __atomic_fetch_sub(&rt_unjoined_threads, 1, __ATOMIC_SEQ_CST);

	RT_ASSERT(before);
	(void)before;
	mode_choose();
}

/* Always choose again: a thread that comes to rest may be about to switch checking off. */
void mode_activate(struct rt_thread *t)
{
	RT_ASSERT(!t->blocks.active);
	t->blocks.active = true;
	__atomic_fetch_add(&mode_nactive, 1, __ATOMIC_SEQ_CST);
	mode_choose();
}

void mode_rest(struct rt_thread *t)
{
	if (!t->blocks.active)
		return;
	RT_ASSERT(mode_nactive);
	t->blocks.active = false;
	if (!__atomic_sub_fetch(&mode_nactive, 1, __ATOMIC_SEQ_CST))
		mode_choose();
}

void rt_stop_checking(const char *why)
{
	if (!__atomic_exchange_n(&rt_checking, false, __ATOMIC_RELAXED))
		return;
	mode_choose();
	rt_note_incomplete("the check stopped: %s", why);
	rt_say("the check stopped: %s; the program continues", why);
}

void mode_set_driven(bool now)
{
	driven = now;
	mode_choose();
}

void mode_child(const struct rt_thread *t)
{
	mode_lock = 0;
	driven = false;
	mode_nactive = t->blocks.active;
	rt_unjoined_threads = 0;
	mode_choose();
}
