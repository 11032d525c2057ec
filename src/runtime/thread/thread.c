#include "runtime/thread/thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/thread/mode.h"
#include "runtime/thread/registry.h"
#include "runtime/thread/signals.h"

#include "base/banned.h"

extern void *__libc_stack_end; /* the C library's; no header declares it */

void (*thread_on_end)(void);
static pthread_key_t end_key; /* its destructor is end_thread() */

static void find_stack(struct rt_thread *t)
{
	pthread_attr_t attr;
	struct rlimit limit;
	void *low;
	size_t size;

	/* For the first thread the C library would read /proc: compute it here. */
	if (syscall(SYS_gettid) == getpid()) {
		t->stack.high = ((uintptr_t)__libc_stack_end | 4095) + 1;
		if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > 1u << 30)
			limit.rlim_cur = 1u << 30;
		t->stack.low = t->stack.high - limit.rlim_cur;
		return;
	}
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size)) {
		t->stack.low = (uintptr_t)low;
		t->stack.high = (uintptr_t)low + size;
	}
	pthread_attr_destroy(&attr);
}

void thread_begin(struct rt_thread *t, uint32_t id, struct rt_point birth)
{
	struct thread_blocks *b = &t->blocks;
	int saved = errno;

	RT_ASSERT(t == &rt_self && !rt_is_inside(t));
	if (!tool_any()) {
		t->gate.quiet = RT_GONE;
		if (thread_on_end)
			pthread_setspecific(end_key, (void *)1);
		return;
	}
	t->gate.quiet = RT_IN_RUNTIME;
	t->id = id;
	b->txn = b->cut = 0;
	b->txn_mark = b->nmarks = 0;
	b->followed = b->started = false;
	find_stack(t);
	/* The accesses of this stack so far were another thread's. */
	if (id)
		rt_tool->forget(t, t->stack.low, t->stack.high - t->stack.low, 0);
	rt_tool->thread_begin(t, birth);
	rt_recorder->thread_begin(t, birth);
	pthread_setspecific(end_key, (void *)1);
	errno = saved;
	rt_leave(t);
}

bool rt_thread_born(struct rt_thread *t)
{
	if (!tool_any()) {
		t->gate.quiet = RT_GONE;
	} else {
		/* No interceptor saw its creation: a library made it in its own way. */
		mode_thread_created();
		thread_begin(t, registry_new_number(), (struct rt_point){0});
	}
	return !t->gate.quiet;
}

/*
 * Destructors of thread-local data run in rounds, this one among the program's. It asks for another
 * round until the last one, so that what the program's destructors do is still noted.
 */
static void end_thread(void *round)
{
	struct rt_thread *t = &rt_self;

	if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(end_key, (void *)((uintptr_t)round + 1));
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* it ends anyway */
	if (rt_enter(t)) {
		rt_recorder->thread_end(t);
		registry_set_last(t->id, rt_tool->thread_end(t));
		t->gate.quiet |= RT_GONE;
		rt_leave(t);
	}
	t->gate.quiet = RT_GONE;
	rt_recorder->thread_gone(t);
	rt_pages_free(t->calls.frame, t->calls.cap * sizeof *t->calls.frame);
	t->calls.frame = NULL;
	t->calls.cap = t->calls.depth = 0;
	signals_thread_gone(t);
	if (thread_on_end)
		thread_on_end();
}

void thread_init(void)
{
	pthread_key_create(&end_key, end_thread);
	thread_begin(&rt_self, registry_new_number(), (struct rt_point){0});
}
