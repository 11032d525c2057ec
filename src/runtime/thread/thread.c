#include "runtime/thread/thread.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/doublechecker/icd.h"
#include "runtime/record/record.h"
#include "runtime/history/modules.h"
#include "runtime/predict/predict.h"
#include "runtime/thread/signals.h"

extern void *__libc_stack_end; /* the C library's; no header has it */

volatile uint32_t rt_threads_out;
volatile uint32_t rt_mode;
RT_EXPORT extern volatile uint32_t atomsan_3_mode __attribute__((alias("rt_mode")));
static uint32_t next_id;
static pthread_key_t at_end;

/* Handles to numbers: open addressing, grown under its lock; entries are removed by moving others
 * up. */
struct entry {
	pthread_t handle; /* 0: empty */
	uint32_t id;
	struct check_point last; /* when it has ended */
};
static struct entry *entries;
static size_t nentries, entries_cap;
static uint32_t entries_lock;
static uint32_t mode_lock;

static size_t home(pthread_t handle)
{
	return ((uintptr_t)handle * 0x9e3779b97f4a7c15ull) >> 32 & (entries_cap - 1);
}

static struct entry *find(pthread_t handle)
{
	if (!entries_cap)
		return NULL;
	for (size_t i = home(handle);; i = (i + 1) & (entries_cap - 1)) {
		if (entries[i].handle == handle)
			return &entries[i];
		if (!entries[i].handle)
			return NULL;
	}
}

static void insert(struct entry e)
{
	size_t i = home(e.handle);

	while (entries[i].handle)
		i = (i + 1) & (entries_cap - 1);
	entries[i] = e;
	nentries++;
}

static void remove_entry(struct entry *gone)
{
	size_t hole = (size_t)(gone - entries), i = hole;

	entries[hole].handle = 0;
	nentries--;
	for (;;) {
		size_t want;

		i = (i + 1) & (entries_cap - 1);
		if (!entries[i].handle)
			return;
		want = home(entries[i].handle);
		if (((i - want) & (entries_cap - 1)) >= ((i - hole) & (entries_cap - 1))) {
			entries[hole] = entries[i];
			entries[i].handle = 0;
			hole = i;
		}
	}
}

static bool room(void)
{
	struct entry *old = entries;
	size_t old_cap = entries_cap;

	if (2 * (nentries + 1) <= entries_cap)
		return true;
	entries = rt_pages((old_cap ? 2 * old_cap : 256) * sizeof *entries);
	if (!entries) {
		entries = old;
		return false;
	}
	entries_cap = old_cap ? 2 * old_cap : 256;
	nentries = 0;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].handle)
			insert(old[i]);
	rt_pages_free(old, old_cap * sizeof *old);
	return true;
}

/* The table's lock is a leaf; a signal handler must not meet it held. */
static struct rt_thread *table_enter(void)
{
	struct rt_thread *t = rt_enter(&rt_self) ? &rt_self : NULL;

	rt_lock(&entries_lock);
	return t;
}

static void table_leave(struct rt_thread *t)
{
	rt_unlock(&entries_lock);
	if (t)
		rt_leave(t);
}

void thread_enlist(pthread_t handle, uint32_t id)
{
	struct rt_thread *t = table_enter();
	struct entry *e = find(handle);

	/* Creator and created both do this. An older one of that handle was never joined. */
	if (e && e->id < id)
		e->id = id;
	else if (!e && room())
		insert((struct entry){handle, id, {0}});
	table_leave(t);
}

uint32_t thread_find(pthread_t handle)
{
	struct rt_thread *t = table_enter();
	struct entry *e = find(handle);
	uint32_t id = e ? e->id : THREAD_UNKNOWN;

	table_leave(t);
	return id;
}

struct check_point thread_forget(pthread_t handle, uint32_t id)
{
	struct rt_thread *t = table_enter();
	struct entry *e = find(handle);
	struct check_point last = {0};

	if (e && e->id == id) {
		last = e->last;
		remove_entry(e);
	}
	table_leave(t);
	return last;
}

/* For whoever joins it. */
static void note_last(uint32_t id, struct check_point last)
{
	struct entry *e;

	rt_lock(&entries_lock);
	e = find(pthread_self());
	if (e && e->id == id)
		e->last = last;
	rt_unlock(&entries_lock);
}

uint32_t thread_count(void)
{
	return __atomic_load_n(&next_id, __ATOMIC_RELAXED);
}

/* Some come here from outside of the runtime, and a signal's handler would come here, too. */
void rt_choose_mode(void)
{
	struct rt_thread *t = &rt_self;
	bool inside = t->quiet & RT_IN_RUNTIME;
	uint32_t mode = RT_NOTHING;

	t->quiet |= RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
	rt_lock_ranked(&mode_lock, RT_MODE);
	if (rt_threads_out && (record_on || (predict_on && !predict_over)))
		mode = RT_ALL;
	else if (rt_threads_out && check_on && __atomic_load_n(&check_active, __ATOMIC_SEQ_CST))
		mode = icd_on ? RT_OWNING : RT_CHECKING;
	if (rt_mode != mode)
		__atomic_store_n(&rt_mode, mode, __ATOMIC_SEQ_CST);
	rt_unlock(&mode_lock);
	if (!inside)
		rt_leave(t);
}

/* Nobody else is there to see when the first thread goes out, and when the last has come back. */
uint32_t thread_number(void)
{
	__atomic_fetch_add(&rt_threads_out, 1, __ATOMIC_SEQ_CST);
	rt_choose_mode();
	return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
}

void thread_not_out(void)
{
	__atomic_fetch_sub(&rt_threads_out, 1, __ATOMIC_SEQ_CST);
	rt_choose_mode();
}

static void look_at_stack(struct rt_thread *t)
{
	pthread_attr_t attr;
	struct rlimit limit;
	void *low;
	size_t size;

	/* Of the first thread the C library would read it from /proc. */
	if (syscall(SYS_gettid) == getpid()) {
		t->stack_high = ((uintptr_t)__libc_stack_end | 4095) + 1;
		if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > 1u << 30)
			limit.rlim_cur = 1u << 30;
		t->stack_low = t->stack_high - limit.rlim_cur;
		return;
	}
	if (pthread_getattr_np(pthread_self(), &attr))
		return;
	if (!pthread_attr_getstack(&attr, &low, &size)) {
		t->stack_low = (uintptr_t)low;
		t->stack_high = (uintptr_t)low + size;
	}
	pthread_attr_destroy(&attr);
}

void thread_begin(struct rt_thread *t, uint32_t id, struct check_point birth)
{
	int saved = errno;

	if (!record_on && !check_on && !predict_on) {
		t->quiet = RT_GONE;
		return;
	}
	t->quiet = RT_IN_RUNTIME;
	t->id = id;
	look_at_stack(t);
	/* What was on this stack before is not this thread's. */
	if (id && check_on)
		check_clear(t->stack_low, t->stack_high - t->stack_low);
	check_thread_begin(t, birth);
	if (predict_on)
		predict_thread_begin(t);
	record_sized(t, RAW_START, t->stack_low, t->stack_high - t->stack_low, record_now(),
		     t->rec.pc_high);
	pthread_setspecific(at_end, (void *)1);
	errno = saved;
	rt_leave(t);
}

bool rt_thread_born(struct rt_thread *t)
{
	if (!record_on && !check_on && !predict_on)
		t->quiet = RT_GONE;
	else
		/* Nobody told us of its creation: a library made it in its own way. */
		thread_begin(t, thread_number(), (struct check_point){0});
	return !t->quiet;
}

/*
 * Destructors of thread-local data run in rounds, ours among the others. It asks for
 * another round until the last, so that what the others do is still seen.
 */
static void end(void *round)
{
	struct rt_thread *t = &rt_self;

	if ((uintptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(at_end, (void *)((uintptr_t)round + 1));
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL); /* it ends as it is */
	if (rt_enter(t)) {
		record(t, RAW_EXIT, 0, 0, t->rec.pc_high);
		note_last(t->id, check_thread_end(t));
		predict_thread_end(t);
		t->quiet |= RT_GONE;
		rt_leave(t);
	}
	t->quiet = RT_GONE;
	record_thread_gone(t);
	rt_pages_free(t->frame, t->frame_cap * sizeof *t->frame);
	t->frame = NULL;
	t->frame_cap = t->depth = 0;
	signals_thread_gone(t);
}

void thread_init(void)
{
	pthread_key_create(&at_end, end);
	thread_begin(&rt_self, next_id++, (struct check_point){0});
}

void thread_child(struct rt_thread *t)
{
	/* Locks that other threads held are held by nobody. */
	entries_lock = mode_lock = 0;
	rt_threads_out = 0;
	rt_choose_mode();
	rt_process = getpid();
	record_child(t);
	if (predict_on)
		predict_child(t);
	if (check_on && record_on)
		check_give_up("a forked child that is recorded is not checked");
	if (check_on) {
		check_fork_child(t);
		return;
	}
	next_id = 1;
	t->quiet = RT_GONE;
	shadow_child();
	modules_forget();
	annotate_child();
	if (record_on || predict_on) {
		thread_begin(t, 0, (struct check_point){0});
		modules_note();
		if (record_on && rt_enter(t)) {
			for (size_t i = 0; i < t->depth; i++)
				record(t, RAW_CALL, t->frame[i].function, 0, t->frame[i].caller);
			rt_leave(t);
		}
	}
}

static inline void leave_one(struct rt_thread *t)
{
	t->depth--;
	if (predict_on)
		predict_return(t);
	else if (rt_threads_out)
		check_return(t, &t->frame[t->depth]);
	else if (t->cut > t->depth)
		t->cut = t->depth;
	record(t, RAW_RETURN, 0, 0, t->rec.pc_high);
}

/*
 * Stacks grow downwards: a function that is still running has its frame above
 * that of the one it called. A frame that is not is one that was left without
 * notice. On a stack elsewhere (a signal handler's, a coroutine's) that tells nothing; but who is
 * back on the thread's own has left what was there, for good or for a while.
 */
static inline void leave_stale(struct rt_thread *t, uintptr_t sp)
{
	if (RT_UNLIKELY(!rt_on_stack(t, sp)))
		return;
	while (t->depth &&
	       (t->frame[t->depth - 1].sp < sp || !rt_on_stack(t, t->frame[t->depth - 1].sp)))
		leave_one(t);
}

/* Its hook is called near its beginning. */
static bool is_main(uintptr_t pc)
{
	extern RT_EXPORT __attribute__((weak)) int main(int, char **);

	return pc - (uintptr_t)&main < 128;
}

/* What a function is that nobody called: see RAW_CALL. */
static uint32_t first_call(const struct rt_thread *t, const struct rt_frame *frame)
{
	if (rt_in_handler(t, frame->sp))
		return 2;
	return !t->id && is_main(frame->function);
}

static bool more_frames(struct rt_thread *t)
{
	size_t cap = t->frame_cap ? 4 * t->frame_cap : RAW_PAGE / sizeof *t->frame;
	struct rt_frame *grown = rt_pages(cap * sizeof *grown);

	if (!grown) {
		rt_say("no memory for the stack of thread %u: it is no longer checked", t->id);
		t->quiet |= RT_GONE;
		return false;
	}
	for (size_t i = 0; i < t->depth; i++)
		grown[i] = t->frame[i];
	rt_pages_free(t->frame, t->frame_cap * sizeof *grown);
	t->frame = grown;
	t->frame_cap = cap;
	return true;
}

/*
 * A function was entered; one is about to return. Functions in between that
 * were left by longjmp, an exception or an end of the thread's cancellation
 * are noted to have returned.
 *
 * Field by field: a whole frame that is written and then copied makes the processor wait.
 */
static inline void call(struct rt_thread *t, uintptr_t sp, uintptr_t function, uintptr_t caller)
{
	struct rt_frame *f;

	if (RT_UNLIKELY(!t->depth) && thread_is_start(caller))
		caller = t->start_caller; /* nobody wants to read of us */
	/* One at the very same place has returned, too: its frame is this one's. */
	leave_stale(t, sp + 1);
	if (RT_UNLIKELY(t->depth == t->frame_cap) && !more_frames(t))
		return;
	f = &t->frame[t->depth];
	f->sp = sp;
	f->function = function;
	f->caller = caller;
	f->limit = 0;
	f->unit = NULL;
	f->kind = (uint8_t)(RT_LIKELY(t->depth) ? 0 : first_call(t, f));
	f->starts = f->hands_on = false;
	record(t, RAW_CALL, function, f->kind, caller);
	t->depth++;
	if (RT_UNLIKELY(!rt_threads_out))
		return;
	if (RT_UNLIKELY(predict_on))
		predict_call(t, f);
	else
		check_call(t, f);
}

/*
 * A function that ends by a jump to the hook has given up its frame by then: it
 * looks like one that was left without notice, and the hook returns to where
 * the function was called.
 */
static size_t ended_by_jump(const struct rt_thread *t, uintptr_t sp, uintptr_t pc)
{
	bool here = rt_on_stack(t, sp);

	for (size_t k = t->depth; k && t->frame[k - 1].sp < sp; k--)
		if (t->frame[k - 1].caller == pc && rt_on_stack(t, t->frame[k - 1].sp) == here)
			return k;
	return 0;
}

/* A coroutine's function, whose frame was taken for one that is left, does return. */
static bool was_left(const struct rt_thread *t, uintptr_t sp)
{
	return !t->depth || (!rt_on_stack(t, sp) && rt_on_stack(t, t->frame[t->depth - 1].sp));
}

static inline void leave(struct rt_thread *t, uintptr_t sp, uintptr_t pc)
{
	size_t jumped = ended_by_jump(t, sp, pc);

	if (RT_UNLIKELY(jumped)) {
		while (t->depth >= jumped)
			leave_one(t);
		return;
	}
	leave_stale(t, sp);
	if (RT_LIKELY(!was_left(t, sp)))
		leave_one(t);
}

/*
 * `caller` is where the function was called. The function itself is known by our
 * own return address, so this must not be inlined, whatever else is.
 */
RT_EXPORT __attribute__((noinline)) void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	call(t, (uintptr_t)__builtin_frame_address(0), RT_CALLER, (uintptr_t)caller);
	rt_leave(t);
}

RT_EXPORT void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	leave(t, (uintptr_t)__builtin_frame_address(0), RT_CALLER);
	rt_leave(t);
}

void thread_left(struct rt_thread *t)
{
	if (!t->depth || !rt_enter(t))
		return;
	while (t->depth)
		leave_one(t);
	rt_leave(t);
}
