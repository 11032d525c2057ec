/*
 * Threads and processes: creation, end, join; fork.
 *
 * Not intercepted here, because nothing needs to be done:
 *  - pthread_exit and pthread_cancel: a destructor of thread-local data notes the end
 *    of a thread, however it ends; signals.c ensures that no thread ends in a hook
 *  - vfork: its child borrows the thread, and what it does is noted as the thread's
 *  - exec, posix_spawn and system: the new program has its own runtime, if it was
 *    instrumented
 *
 * start.c intercepts _exit, abort and quick_exit.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "runtime/blocks/calls.h"
#include "runtime/history/origins.h"
#include "runtime/hooks/annotate.h"
#include "runtime/intercept/driven.h"
#include "runtime/intercept/intercept.h"
#include "runtime/link/modules.h"
#include "runtime/schedule/schedule.h"
#include "runtime/thread/mode.h"
#include "runtime/thread/registry.h"
#include "runtime/thread/signals.h"
#include "runtime/thread/thread.h"

#include "base/banned.h"

/* What a new thread needs; from a list of free ones. */
struct start {
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
		struct start *next_free;
	} u;
	void *arg;
	uint32_t id;
	uint32_t turn;         /* of schedule_create() */
	struct rt_point birth; /* the point of its creation */
	bool detached;
};
static struct start *free_starts;
static uint32_t free_lock;

/* Returns a struct start with a new thread number, or NULL if there is no memory. */
static struct start *alloc_start(void *arg, bool detached)
{
	struct rt_thread *t = rt_enter(&rt_self) ? &rt_self : NULL;
	struct start *s;

	rt_lock(&free_lock);
	if (!free_starts) {
		struct start *page = rt_pages(RAW_PAGE);

		for (size_t i = 0; page && i < RAW_PAGE / sizeof *page; i++) {
			page[i].u.next_free = free_starts;
			free_starts = &page[i];
		}
	}
	s = free_starts;
	if (s)
		free_starts = s->u.next_free;
	rt_unlock(&free_lock);
	if (t)
		rt_leave(t);
	if (s) {
		s->arg = arg;
		mode_thread_created();
		s->id = registry_new_number();
		s->detached = detached;
	}
	return s;
}

static void free_start(struct start *s)
{
	struct rt_thread *t = rt_enter(&rt_self) ? &rt_self : NULL;

	rt_lock(&free_lock);
	s->u.next_free = free_starts;
	free_starts = s;
	rt_unlock(&free_lock);
	if (t)
		rt_leave(t);
}

/* The new thread begins. Returns a copy of *arg, which is freed. */
static struct start begin_thread(void *arg)
{
	struct start s = *(struct start *)arg;

	schedule_thread_begin(s.turn);
	thread_begin(&rt_self, s.id, s.birth);
	if (!s.detached)
		registry_add(pthread_self(), s.id);
	free_start(arg);
	return s;
}

/*
 * The thread leaves its start function: by return, pthread_exit() or cancellation. The cancellation
 * handlers have run.
 */
static void leave_start_function(const struct start *s)
{
	(void)s;
	calls_leave_all(&rt_self);
}

static void *start_posix(void *arg)
{
	__attribute__((cleanup(leave_start_function))) struct start s = begin_thread(arg);

	rt_self.calls.start_caller = RT_CALLER;
	return s.u.posix(s.arg);
}

static int start_c11(void *arg)
{
	__attribute__((cleanup(leave_start_function))) struct start s = begin_thread(arg);

	rt_self.calls.start_caller = RT_CALLER;
	return s.u.c11(s.arg);
}

/*
 * Note the creation of a thread before the thread can run, and before any signal handler
 * that interrupts the creation. If the creation fails, a thread was noted that never does
 * anything.
 */
static void note_create(struct start *s, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uint64_t now;

	s->birth = (struct rt_point){0};
	if (!rt_enter(t))
		return;
	now = machine_clock_ordered();
	s->birth = rt_tool->create(t, s->id, now, pc);
	rt_recorder->create(t, s->id, now, pc);
	rt_leave(t);
}

RT_INTERCEPT int pthread_create(pthread_t *restrict handle, const pthread_attr_t *restrict attr,
				void *(*fn)(void *), void *restrict arg)
{
	int state = PTHREAD_CREATE_JOINABLE, rc;
	struct start *s;
	uint32_t id, turn;
	bool detached;

	if (RT_UNLIKELY(schedule_wanted))
		schedule_begin_driving();
	if (rt_self.gate.quiet & RT_GONE)
		return REAL(pthread_create)(handle, attr, fn, arg);
	if (attr)
		pthread_attr_getdetachstate(attr, &state);
	detached = state == PTHREAD_CREATE_DETACHED;
	s = alloc_start(arg, detached);
	if (!s)
		return EAGAIN;
	s->u.posix = fn;
	id = s->id;
	turn = s->turn = schedule_create(id, (const void *)fn, PROGRAM_CALLER);
	note_create(s, PROGRAM_CALLER);
	rc = REAL(pthread_create)(handle, attr, start_posix, s);
	if (rc) {
		schedule_create_failed(turn);
		free_start(s);
		mode_thread_joined();
	} else if (!detached) {
		registry_add(*handle, id);
	}
	return rc;
}

RT_INTERCEPT int thrd_create(thrd_t *handle, thrd_start_t fn, void *arg)
{
	struct start *s;
	uint32_t id, turn;
	int rc;

	if (RT_UNLIKELY(schedule_wanted))
		schedule_begin_driving();
	if (rt_self.gate.quiet & RT_GONE)
		return REAL(thrd_create)(handle, fn, arg);
	s = alloc_start(arg, false);
	if (!s)
		return thrd_nomem;
	s->u.c11 = fn;
	id = s->id;
	turn = s->turn = schedule_create(id, (const void *)fn, RT_CALLER);
	note_create(s, RT_CALLER);
	rc = REAL(thrd_create)(handle, start_c11, s);
	if (rc != thrd_success) {
		schedule_create_failed(turn);
		free_start(s);
		mode_thread_joined();
	} else {
		registry_add(*handle, id);
	}
	return rc;
}

static void note_join(pthread_t handle, uint32_t id, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	struct rt_point last;
	uint64_t now;

	if (id == REGISTRY_UNKNOWN)
		return;
	last = registry_remove(handle, id);
	if (rt_enter(t)) {
		now = machine_clock_ordered();
		rt_tool->join(t, id, last, &now, pc);
		rt_recorder->join(t, id, last, &now, pc);
		rt_leave(t);
	}
	mode_thread_joined();
}

/* A driven thread tries to join: if the other has ended for the scheduler, it is about to end. */
static bool driven_try_join_fails(uint32_t id)
{
	if (!schedule_on || schedule_has_ended(id))
		return false;
	schedule_yield(RT_CALLER);
	return !schedule_has_ended(id);
}

/*
 * The handle is looked up before the join: afterwards it may be another thread's. `late`: a driven
 * thread does not even try; then this is the result.
 */
#define JOIN(name, params, args, late, result)                                                     \
	RT_INTERCEPT int name params                                                               \
	{                                                                                          \
		uint32_t id = registry_find(handle);                                               \
		int rc;                                                                            \
                                                                                                   \
		if (RT_UNLIKELY(schedule_on) && (late))                                            \
			return result;                                                             \
		rc = REAL(name) args;                                                              \
		if (!rc)                                                                           \
			note_join(handle, id, PROGRAM_CALLER);                                     \
		return rc;                                                                         \
	}
JOIN(pthread_join, (pthread_t handle, void **result), (handle, result),
     driven_join(id, 0, PROGRAM_CALLER), 0)
JOIN(pthread_tryjoin_np, (pthread_t handle, void **result), (handle, result),
     driven_try_join_fails(id), EBUSY)
JOIN(pthread_timedjoin_np, (pthread_t handle, void **result, const struct timespec *until),
     (handle, result, until),
     driven_join(id, schedule_deadline(CLOCK_REALTIME, until), PROGRAM_CALLER), ETIMEDOUT)
JOIN(pthread_clockjoin_np,
     (pthread_t handle, void **result, clockid_t clock, const struct timespec *until),
     (handle, result, clock, until),
     driven_join(id, schedule_deadline(clock, until), PROGRAM_CALLER), ETIMEDOUT)
JOIN(thrd_join, (thrd_t handle, int *result), (handle, result), driven_join(id, 0, PROGRAM_CALLER),
     thrd_success)

#define DETACH(name, type)                                                                         \
	RT_INTERCEPT int name(type handle)                                                         \
	{                                                                                          \
		uint32_t id = registry_find(handle);                                               \
		int rc = REAL(name)(handle);                                                       \
                                                                                                   \
		if (!rc)                                                                           \
			registry_remove(handle, id);                                               \
		return rc;                                                                         \
	}
DETACH(pthread_detach, pthread_t)
DETACH(thrd_detach, thrd_t)

/* Only noted if a thread names itself. */
RT_INTERCEPT int pthread_setname_np(pthread_t handle, const char *name)
{
	struct rt_thread *t = &rt_self;
	int rc = REAL(pthread_setname_np)(handle, name);

	if (!rc && pthread_equal(handle, pthread_self()) && rt_enter(t)) {
		rt_recorder->name(t, name, strlen(name));
		origins_name(t, name, strlen(name));
		rt_leave(t);
	}
	return rc;
}

/* --- fork --- */

/*
 * These handlers were registered first. So prepare_fork() runs after the program's own handlers,
 * and resume_child() before them.
 */
static __thread uint32_t quiet_before __attribute__((tls_model("initial-exec")));

/*
 * From here to resume_parent() or resume_child() the thread is in the runtime, so that signals are
 * delayed: their handlers would need the locks that this thread holds.
 */
static void prepare_fork(void)
{
	uint32_t quiet = rt_self.gate.quiet;

	rt_begin(&rt_self);
	rt_tool->fork_prepare();
	quiet_before = quiet;
}

static void resume_parent(void)
{
	uint32_t quiet = quiet_before;

	rt_tool->fork_parent();
	RT_COMPILER_BARRIER();
	rt_self.gate.quiet = quiet;
	RT_COMPILER_BARRIER();
	if (!rt_self.gate.quiet && rt_self.gate.pending)
		rt_signals_deliver(&rt_self);
}

/* In the child: the tool keeps its state, or the thread begins again as thread 0. */
static void begin_child(struct rt_thread *t)
{
	registry_child();
	mode_child(t);
	rt_process = getpid();
	rt_recorder->fork_child(t);
	if (shadow_serial && rt_recording)
		rt_stop_checking("a forked child cannot be both recorded and checked");
	if (rt_tool->fork_child(t))
		return;
	registry_child_restart();
	t->gate.quiet = RT_GONE;
	shadow_child();
	modules_forget();
	annotate_child();
	if (!tool_any())
		return;
	thread_begin(t, 0, (struct rt_point){0});
	modules_note();
	if (rt_recording && rt_enter(t)) {
		for (size_t i = 0; i < t->calls.depth; i++)
			rt_recorder->call(t, &t->calls.frame[i]);
		rt_leave(t);
	}
}

static void resume_child(void)
{
	free_lock = 0;
	schedule_child();
	signals_child(&rt_self);
	rt_self.gate.quiet = quiet_before;
	begin_child(&rt_self);
}

void intercept_thread_init(void)
{
	calls_starters[0] = (uintptr_t)start_posix;
	calls_starters[1] = (uintptr_t)start_c11;
	pthread_atfork(prepare_fork, resume_parent, resume_child);
}
