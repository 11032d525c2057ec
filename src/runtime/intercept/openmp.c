/*
 * OpenMP as gcc compiles it: the entry points of its library libgomp. And the locks of
 * OpenMP, which programs of both compilers use.
 *
 * Not intercepted:
 *  - GOMP_loop_*_start, _next, GOMP_sections_*, GOMP_single_start: they hand out work, which is no
 *    synchronisation
 *  - `omp atomic`: gcc makes an atomic operation of it, or calls GOMP_atomic_start()
 *  - doacross loops (`ordered` with `depend`) and task dependences: the order that they give is not
 *    known, so a prediction may contradict it
 *  - offloading to devices
 */
#include <stdlib.h>

#include "runtime/intercept/openmp.h"

#include "base/banned.h"

bool openmp_has_tool;

/* The locks of critical sections without a name, and of atomic updates. */
static const char omp_critical, omp_atomic;
/* The team outside of parallel regions. */
static const char outside[TEAM_BYTES];
/* Some task was made. */
static bool has_tasks;

/* A function of the library. */
#define GOMP(name) ORIGINAL(name, "libgomp.so.1")
int omp_get_num_threads(void);

/* --- for both libraries --- */

const void *openmp_object(const struct rt_thread *t, enum rt_team which)
{
	return (t->openmp.team ? (const char *)t->openmp.team : outside) + which;
}

void openmp_begin_region(const char *team, uintptr_t pc)
{
	for (int i = 0; i < TEAM_BYTES; i++)
		note(RAW_LOCK_NEW, team + i, 0, pc);
	note(RAW_WAIT, team + TEAM_MADE, RAW_CONDITION, pc);
}

void openmp_end_region(const char *team, uintptr_t pc)
{
	note(RAW_WAIT, team + TEAM_DONE, RAW_CONDITION, pc);
}

void openmp_make_task(uintptr_t pc)
{
	__atomic_store_n(&has_tasks, true, __ATOMIC_RELAXED);
	note(RAW_WAIT, openmp_object(&rt_self, TEAM_MADE), RAW_CONDITION, pc);
}

void openmp_await_tasks(uintptr_t pc)
{
	note(RAW_WAIT, openmp_object(&rt_self, TEAM_DONE), RAW_CONDITION, pc);
}

void openmp_pass(uintptr_t pc)
{
	if (__atomic_load_n(&has_tasks, __ATOMIC_RELAXED))
		openmp_await_tasks(pc);
}

void openmp_arrive(uintptr_t pc)
{
	if (rt_self.openmp.team)
		note(RAW_BARRIER, openmp_object(&rt_self, TEAM_BARRIER), RAW_BARRIER_OBJECT, pc);
}

void openmp_begin_part(uint32_t *begun, uint32_t threads, uintptr_t pc)
{
	enum { TRIES = 100 };

	openmp_arrive(pc);
	__atomic_fetch_add(begun, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; rt_recording && __atomic_load_n(begun, __ATOMIC_SEQ_CST) < threads; i++)
		if (i < TRIES)
			rt_yield();
		else
			rt_nap();
}

/* The turn before has ended: so this wait comes after its notify. */
void openmp_begin_ordered(uintptr_t pc)
{
	note(RAW_WAIT, openmp_object(&rt_self, TEAM_TURNS), RAW_CONDITION, pc);
	openmp_acquired(openmp_object(&rt_self, TEAM_ORDERED), pc);
}

void openmp_end_ordered(uintptr_t pc)
{
	openmp_releasing(openmp_object(&rt_self, TEAM_ORDERED), pc);
	note(RAW_NOTIFY, openmp_object(&rt_self, TEAM_TURNS), RAW_CONDITION, pc);
}

/* --- parallel regions --- */

typedef void body_fn(void *data);

/* A parallel region; the team is in it. */
struct parallel {
	body_fn *fn, *run; /* the program's function; the one that the library has to call */
	void *data, *arg;  /* their arguments */
	uintptr_t caller;  /* where the program began the region */
	/* The thread that began the region, and where it was before. */
	struct rt_thread *owner;
	struct calls_place place;
	uintptr_t outer, creating; /* its team, and its callers.std */
	uint32_t begun;            /* number of threads that have begun their part */
	char team[TEAM_BYTES];     /* only its address matters */
};

/*
 * Called by the library in each thread of the region. A thread may still run tasks of the region
 * when this has returned, so the other threads remain in the library and in the region's team,
 * until they get a part of another region.
 */
static void run_part(void *arg)
{
	struct parallel *p = arg;
	struct rt_thread *t = &rt_self;
	uintptr_t caller = p->caller;

	if (t != p->owner) {
		calls_enter_openmp(t, RT_BODY_REGION, caller);
		t->openmp.team = (uintptr_t)p->team;
	}
	t->callers.std = 0;
	openmp_begin_part(&p->begun, (uint32_t)GOMP(omp_get_num_threads)(), caller);
	p->fn(p->data);
	t->calls.body = RT_BODY_TASK;
	openmp_arrive(caller);
}

static void begin_parallel(struct parallel *p, body_fn *fn, void *data, uintptr_t caller)
{
	struct rt_thread *t = &rt_self;

	*p = (struct parallel){.fn = fn, .run = fn, .data = data, .arg = data, .caller = caller};
	if (openmp_has_tool)
		return;
	p->run = run_part;
	p->arg = p;
	openmp_begin_region(p->team, caller);
	p->owner = t;
	p->place = calls_enter_openmp(t, RT_BODY_REGION, caller);
	p->outer = t->openmp.team;
	t->openmp.team = (uintptr_t)p->team;
	/* The library may create threads now. */
	p->creating = t->callers.std;
	t->callers.std = caller;
}

static void end_parallel(struct parallel *p)
{
	struct rt_thread *t = &rt_self;

	if (openmp_has_tool)
		return;
	t->callers.std = p->creating;
	t->openmp.team = p->outer;
	calls_leave_openmp(t, p->place);
	openmp_end_region(p->team, p->caller);
}

#define PARALLEL(name, params, args)                                                               \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		struct parallel p;                                                                 \
                                                                                                   \
		begin_parallel(&p, fn, data, RT_CALLER);                                           \
		GOMP(name) args;                                                                   \
		end_parallel(&p);                                                                  \
	}
PARALLEL(GOMP_parallel, (body_fn * fn, void *data, unsigned threads, unsigned flags),
	 (p.run, p.arg, threads, flags))
PARALLEL(GOMP_parallel_sections,
	 (body_fn * fn, void *data, unsigned threads, unsigned count, unsigned flags),
	 (p.run, p.arg, threads, count, flags))
PARALLEL(GOMP_teams_reg,
	 (body_fn * fn, void *data, unsigned teams, unsigned threads, unsigned flags),
	 (p.run, p.arg, teams, threads, flags))

#define PARALLEL_CHUNKS(name)                                                                      \
	PARALLEL(name,                                                                             \
		 (body_fn * fn, void *data, unsigned threads, long start, long end, long by,       \
		  long chunk, unsigned flags),                                                     \
		 (p.run, p.arg, threads, start, end, by, chunk, flags))
PARALLEL_CHUNKS(GOMP_parallel_loop_static)
PARALLEL_CHUNKS(GOMP_parallel_loop_dynamic)
PARALLEL_CHUNKS(GOMP_parallel_loop_guided)
PARALLEL_CHUNKS(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_CHUNKS(GOMP_parallel_loop_nonmonotonic_guided)

#define PARALLEL_RUNTIME(name)                                                                     \
	PARALLEL(name,                                                                             \
		 (body_fn * fn, void *data, unsigned threads, long start, long end, long by,       \
		  unsigned flags),                                                                 \
		 (p.run, p.arg, threads, start, end, by, flags))
PARALLEL_RUNTIME(GOMP_parallel_loop_runtime)
PARALLEL_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

unsigned GOMP_parallel_reductions(body_fn *fn, void *data, unsigned threads, unsigned flags);
RT_INTERCEPT unsigned GOMP_parallel_reductions(body_fn *fn, void *data, unsigned threads,
					       unsigned flags)
{
	struct parallel p;
	unsigned result;

	begin_parallel(&p, fn, data, RT_CALLER);
	result = GOMP(GOMP_parallel_reductions)(p.run, p.arg, threads, flags);
	end_parallel(&p);
	return result;
}

/* --- barriers and tasks: the library may run bodies of tasks in all of these --- */

static struct calls_place enter_library(uintptr_t caller)
{
	if (openmp_has_tool)
		return (struct calls_place){0};
	return calls_enter_openmp(&rt_self, RT_BODY_TASK, caller);
}

static void leave_library(const struct calls_place *before)
{
	if (!openmp_has_tool)
		calls_leave_openmp(&rt_self, *before);
}

#define IN_LIBRARY()                                                                               \
	__attribute__((cleanup(leave_library), unused)) struct calls_place before =                \
		enter_library(RT_CALLER)

/* What the wrappers below note, unless OMPT does. */
#define NOTE(what)                                                                                 \
	do {                                                                                       \
		if (!openmp_has_tool)                                                              \
			openmp_##what(RT_CALLER);                                                  \
	} while (0)

#define WAIT(name, first, last, params, args)                                                      \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		IN_LIBRARY();                                                                      \
		NOTE(first);                                                                       \
		GOMP(name) args;                                                                   \
		NOTE(last);                                                                        \
	}
#define WAIT_OR_CANCEL(name, first, last)                                                          \
	bool name(void);                                                                           \
	RT_INTERCEPT bool name(void)                                                               \
	{                                                                                          \
		bool cancelled;                                                                    \
		IN_LIBRARY();                                                                      \
                                                                                                   \
		NOTE(first);                                                                       \
		cancelled = GOMP(name)();                                                          \
		NOTE(last);                                                                        \
		return cancelled;                                                                  \
	}
WAIT(GOMP_barrier, arrive, pass, (void), ())
WAIT(GOMP_loop_end, arrive, pass, (void), ())
WAIT(GOMP_sections_end, arrive, pass, (void), ())
WAIT_OR_CANCEL(GOMP_barrier_cancel, arrive, pass)
WAIT_OR_CANCEL(GOMP_loop_end_cancel, arrive, pass)
WAIT_OR_CANCEL(GOMP_sections_end_cancel, arrive, pass)
WAIT(GOMP_taskwait, await_tasks, await_tasks, (void), ())
WAIT(GOMP_taskwait_depend, await_tasks, await_tasks, (void **depend), (depend))
WAIT(GOMP_taskyield, await_tasks, await_tasks, (void), ())
WAIT(GOMP_taskgroup_end, await_tasks, await_tasks, (void), ())
WAIT(GOMP_task, make_task, make_task,
     (body_fn * fn, void *data, void (*copy)(void *, void *), long size, long align, bool condition,
      unsigned flags, void **depend, int priority, void *detach),
     (fn, data, copy, size, align, condition, flags, depend, priority, detach))
WAIT(GOMP_taskloop, make_task, await_tasks,
     (body_fn * fn, void *data, void (*copy)(void *, void *), long size, long align, unsigned flags,
      unsigned long tasks, int priority, long start, long end, long by),
     (fn, data, copy, size, align, flags, tasks, priority, start, end, by))
WAIT(GOMP_taskloop_ull, make_task, await_tasks,
     (body_fn * fn, void *data, void (*copy)(void *, void *), long size, long align, unsigned flags,
      unsigned long tasks, int priority, unsigned long long start, unsigned long long end,
      unsigned long long by),
     (fn, data, copy, size, align, flags, tasks, priority, start, end, by))

/* `single copyprivate`: one thread hands its data to the others. */
void *GOMP_single_copy_start(void);
RT_INTERCEPT void *GOMP_single_copy_start(void)
{
	void *data;
	IN_LIBRARY();

	data = GOMP(GOMP_single_copy_start)();
	if (data)
		NOTE(await_tasks);
	return data;
}
WAIT(GOMP_single_copy_end, await_tasks, pass, (void *data), (data))

/* --- critical, atomic, ordered --- */

#define BEGIN_SECTION(name, params, args, lock)                                                    \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		GOMP(name) args;                                                                   \
		openmp_acquired(lock, RT_CALLER);                                                  \
	}
#define END_SECTION(name, params, args, lock)                                                      \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		openmp_releasing(lock, RT_CALLER);                                                 \
		GOMP(name) args;                                                                   \
	}
BEGIN_SECTION(GOMP_critical_start, (void), (), &omp_critical)
END_SECTION(GOMP_critical_end, (void), (), &omp_critical)
BEGIN_SECTION(GOMP_critical_name_start, (void **name), (name), name)
END_SECTION(GOMP_critical_name_end, (void **name), (name), name)
BEGIN_SECTION(GOMP_atomic_start, (void), (), &omp_atomic)
END_SECTION(GOMP_atomic_end, (void), (), &omp_atomic)

void GOMP_ordered_start(void);
RT_INTERCEPT void GOMP_ordered_start(void)
{
	GOMP(GOMP_ordered_start)();
	openmp_begin_ordered(RT_CALLER);
}

void GOMP_ordered_end(void);
RT_INTERCEPT void GOMP_ordered_end(void)
{
	openmp_end_ordered(RT_CALLER);
	GOMP(GOMP_ordered_end)();
}

/* --- the locks for programs --- */

#define NEW_LOCK(name, params, args)                                                               \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		GOMP(name) args;                                                                   \
		note(RAW_LOCK_NEW, lock, 0, RT_CALLER);                                            \
	}
NEW_LOCK(omp_init_lock, (void *lock), (lock))
NEW_LOCK(omp_init_nest_lock, (void *lock), (lock))
NEW_LOCK(omp_init_lock_with_hint, (void *lock, int hint), (lock, hint))
NEW_LOCK(omp_init_nest_lock_with_hint, (void *lock, int hint), (lock, hint))
NEW_LOCK(omp_destroy_lock, (void *lock), (lock))
NEW_LOCK(omp_destroy_nest_lock, (void *lock), (lock))
BEGIN_SECTION(omp_set_lock, (void *lock), (lock), lock)
BEGIN_SECTION(omp_set_nest_lock, (void *lock), (lock), lock)
END_SECTION(omp_unset_lock, (void *lock), (lock), lock)
END_SECTION(omp_unset_nest_lock, (void *lock), (lock), lock)

#define TEST_LOCK(name)                                                                            \
	int name(void *lock);                                                                      \
	RT_INTERCEPT int name(void *lock)                                                          \
	{                                                                                          \
		int taken = GOMP(name)(lock);                                                      \
                                                                                                   \
		if (taken)                                                                         \
			openmp_acquired(lock, RT_CALLER);                                          \
		return taken;                                                                      \
	}
TEST_LOCK(omp_test_lock)
TEST_LOCK(omp_test_nest_lock)
