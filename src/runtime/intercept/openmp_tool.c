/*
 * OpenMP as clang compiles it: its library libomp. Parallel regions, tasks and barriers come
 * through OMPT, the interface for tools of OpenMP 5.0: the library finds ompt_start_tool() in the
 * program. The header of this interface comes with clang only, so what is needed is declared here.
 *
 * OMPT reports the release of a lock after it has happened, which is too late for us. So critical
 * sections, `ordered` and reductions are intercepted. `omp atomic` becomes atomic operations.
 *
 * Not known: what openmp.c does not know either, and anything if the library is linked statically.
 */
#include "runtime/intercept/openmp.h"
#include "runtime/os/lock.h"

#include "base/banned.h"

/* --- OMPT's declarations --- */

union ompt_data {
	uint64_t value;
	void *ptr;
};
typedef void (*ompt_callback_fn)(void);
typedef ompt_callback_fn (*ompt_lookup_fn)(const char *name);
typedef int (*ompt_set_callback_fn)(int which, ompt_callback_fn callback);

struct ompt_start_tool_result {
	int (*initialize)(ompt_lookup_fn lookup, int device, union ompt_data *data);
	void (*finalize)(union ompt_data *data);
	union ompt_data data;
};

enum { CALLBACK_PARALLEL_BEGIN = 3, CALLBACK_PARALLEL_END, CALLBACK_TASK_CREATE };
enum { CALLBACK_TASK_SCHEDULE = 6, CALLBACK_IMPLICIT_TASK, CALLBACK_SYNC_REGION = 23 };
enum { SCOPE_BEGIN = 1 };
enum { TASK_INITIAL = 1, TASK_EXPLICIT = 4 }; /* flags of a task */
enum { TASK_SWITCH = 7 };                     /* a task begins; other values: it has ended */
enum { SYNC_TASKWAIT = 5, SYNC_TASKGROUP, SYNC_REDUCTION };

/* --- parallel regions --- */

struct team {
	char objects[TEAM_BYTES];
	uintptr_t caller;
	uint32_t begun; /* number of threads that have begun their part */
	struct team *next_free;
};
static struct team *free_teams;
static uint32_t free_lock;
static struct team spare; /* for all regions, if there is no memory */

static struct team *alloc_team(void)
{
	struct rt_thread *t = rt_enter(&rt_self) ? &rt_self : NULL;
	struct team *team;

	rt_lock(&free_lock);
	if (!free_teams) {
		struct team *page = rt_pages(RAW_PAGE);

		for (size_t i = 0; page && i < RAW_PAGE / sizeof *page; i++) {
			page[i].next_free = free_teams;
			free_teams = &page[i];
		}
	}
	team = free_teams;
	if (team)
		free_teams = team->next_free;
	rt_unlock(&free_lock);
	if (t)
		rt_leave(t);
	return team ? team : &spare;
}

static void free_team(struct team *team)
{
	struct rt_thread *t = rt_enter(&rt_self) ? &rt_self : NULL;

	if (team != &spare) {
		rt_lock(&free_lock);
		team->next_free = free_teams;
		free_teams = team;
		rt_unlock(&free_lock);
	}
	if (t)
		rt_leave(t);
}

static void note_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
				unsigned threads, int flags, const void *caller)
{
	struct team *team = alloc_team();

	(void)task, (void)frame, (void)threads, (void)flags;
	team->caller = (uintptr_t)caller;
	team->begun = 0;
	parallel->ptr = team;
	openmp_begin_region(team->objects, team->caller);
	/* The library may create threads now. */
	rt_self.callers.std = team->caller;
}

static void note_parallel_end(union ompt_data *parallel, union ompt_data *task, int flags,
			      const void *caller)
{
	struct team *team = parallel->ptr;

	(void)task, (void)flags, (void)caller;
	rt_self.callers.std = 0;
	if (!team)
		return;
	openmp_end_region(team->objects, team->caller);
	free_team(team);
}

/*
 * A thread of a region is about to call the region's function, or has returned from it. The data of
 * the thread's implicit task keep the team of the region around it.
 */
static void note_implicit_task(int scope, union ompt_data *parallel, union ompt_data *task,
			       unsigned threads, unsigned index, int flags)
{
	struct rt_thread *t = &rt_self;
	struct team *team = parallel ? parallel->ptr : NULL;

	(void)index;
	if (flags & TASK_INITIAL)
		return;
	if (scope != SCOPE_BEGIN) {
		t->openmp.team = task->value;
		t->calls.body_at = 0;
		return;
	}
	if (!team)
		return;
	t->callers.std = 0;
	task->value = t->openmp.team;
	t->openmp.team = (uintptr_t)team->objects;
	openmp_begin_part(&team->begun, team == &spare ? 0 : threads, team->caller);
	calls_enter_openmp(t, RT_BODY_REGION, team->caller);
}

/* --- tasks and barriers --- */

static void note_task_create(union ompt_data *task, const void *frame, union ompt_data *made,
			     int flags, int dependences, const void *caller)
{
	(void)task, (void)frame, (void)dependences;
	if (!(flags & TASK_EXPLICIT))
		return;
	made->ptr = (void *)(uintptr_t)caller;
	openmp_make_task((uintptr_t)caller);
}

static void note_task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
	(void)prior;
	if (status == TASK_SWITCH && next)
		calls_enter_openmp(&rt_self, RT_BODY_TASK, next->value);
	else
		rt_self.calls.body_at = 0;
}

static void note_sync_region(int kind, int scope, union ompt_data *parallel, union ompt_data *task,
			     const void *caller)
{
	const struct rt_thread *t = &rt_self;
	uintptr_t pc = (uintptr_t)caller;

	(void)parallel, (void)task;
	if (!pc && t->openmp.team)
		pc = ((const struct team *)t->openmp.team)->caller;
	if (kind == SYNC_TASKWAIT || kind == SYNC_TASKGROUP)
		openmp_await_tasks(pc);
	else if (kind != SYNC_REDUCTION && scope == SCOPE_BEGIN)
		openmp_arrive(pc);
	else if (kind != SYNC_REDUCTION && t->openmp.team)
		openmp_pass(pc);
}

/* --- the tool --- */

static int begin_tool(ompt_lookup_fn lookup, int device, union ompt_data *data)
{
	ompt_set_callback_fn set = (ompt_set_callback_fn)lookup("ompt_set_callback");

	(void)device, (void)data;
	if (!set)
		return 0;
	openmp_has_tool = true;
	set(CALLBACK_PARALLEL_BEGIN, (ompt_callback_fn)note_parallel_begin);
	set(CALLBACK_PARALLEL_END, (ompt_callback_fn)note_parallel_end);
	set(CALLBACK_IMPLICIT_TASK, (ompt_callback_fn)note_implicit_task);
	set(CALLBACK_TASK_CREATE, (ompt_callback_fn)note_task_create);
	set(CALLBACK_TASK_SCHEDULE, (ompt_callback_fn)note_task_schedule);
	set(CALLBACK_SYNC_REGION, (ompt_callback_fn)note_sync_region);
	return 1;
}

static void end_tool(union ompt_data *data)
{
	(void)data;
}

struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime);
RT_INTERCEPT struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct ompt_start_tool_result tool = {begin_tool, end_tool, {0}};

	(void)version, (void)runtime;
	return tool_any() ? &tool : NULL;
}

/* --- critical sections, ordered, reductions --- */

#define LIBOMP(name) ORIGINAL(name, "libomp.so.5")
#define BEGIN_CRITICAL(name, params, args)                                                         \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		LIBOMP(name) args;                                                                 \
		openmp_acquired(lock, RT_CALLER);                                                  \
	}
BEGIN_CRITICAL(__kmpc_critical, (void *loc, int thread, void *lock), (loc, thread, lock))
BEGIN_CRITICAL(__kmpc_critical_with_hint, (void *loc, int thread, void *lock, uint32_t hint),
	       (loc, thread, lock, hint))

void __kmpc_end_critical(void *loc, int thread, void *lock);
RT_INTERCEPT void __kmpc_end_critical(void *loc, int thread, void *lock)
{
	openmp_releasing(lock, RT_CALLER);
	LIBOMP(__kmpc_end_critical)(loc, thread, lock);
}

void __kmpc_ordered(void *loc, int thread);
RT_INTERCEPT void __kmpc_ordered(void *loc, int thread)
{
	LIBOMP(__kmpc_ordered)(loc, thread);
	openmp_begin_ordered(RT_CALLER);
}

void __kmpc_end_ordered(void *loc, int thread);
RT_INTERCEPT void __kmpc_end_ordered(void *loc, int thread)
{
	openmp_end_ordered(RT_CALLER);
	LIBOMP(__kmpc_end_ordered)(loc, thread);
}

/*
 * A reduction: the library says how the thread has to add its values. If the result is 1, the
 * thread does it as in a critical section; in other cases it uses atomic operations, or has nothing
 * to do.
 */
enum { REDUCE_ALONE = 1 };

static int note_reduce(int how, const void *lock, uintptr_t pc)
{
	if (how == REDUCE_ALONE) {
		rt_self.openmp.reducing++;
		openmp_acquired(lock, pc);
	}
	return how;
}

static void note_reduce_end(const void *lock, uintptr_t pc)
{
	if (!rt_self.openmp.reducing)
		return;
	rt_self.openmp.reducing--;
	openmp_releasing(lock, pc);
}

typedef void reduce_fn(void *to, void *from);
#define REDUCE(name)                                                                               \
	int name(void *loc, int thread, int n, size_t size, void *data, reduce_fn *fn,             \
		 void *lock);                                                                      \
	RT_INTERCEPT int name(void *loc, int thread, int n, size_t size, void *data,               \
			      reduce_fn *fn, void *lock)                                           \
	{                                                                                          \
		return note_reduce(LIBOMP(name)(loc, thread, n, size, data, fn, lock), lock,       \
				   RT_CALLER);                                                     \
	}
#define END_REDUCE(name)                                                                           \
	void name(void *loc, int thread, void *lock);                                              \
	RT_INTERCEPT void name(void *loc, int thread, void *lock)                                  \
	{                                                                                          \
		note_reduce_end(lock, RT_CALLER);                                                  \
		LIBOMP(name)(loc, thread, lock);                                                   \
	}
REDUCE(__kmpc_reduce)
REDUCE(__kmpc_reduce_nowait)
END_REDUCE(__kmpc_end_reduce)
END_REDUCE(__kmpc_end_reduce_nowait)
