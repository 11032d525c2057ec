/*
 * The beginning of driving: the drive file, and the threads of the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/os/options.h"
#include "runtime/schedule/impl.h"
#include "runtime/thread/mode.h"
#include "runtime/thread/thread.h"

#include "base/banned.h"

bool schedule_on, schedule_wanted;
uint32_t schedule_lock;
struct drive_file *schedule_file;
struct sched_thread *schedule_threads, *schedule_first;
__thread struct sched_thread *schedule_self;
static struct sched_thread *last; /* of the list */

void schedule_init(void)
{
	struct stat st;
	void *map;
	int fd;

	if (!*rt_options.drive)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, rt_options.drive, O_RDWR | O_CLOEXEC, 0);
	/* A child that outlives the command finds no file: it runs freely. */
	if (fd < 0)
		return;
	if (fstat(fd, &st) || (size_t)st.st_size < sizeof(struct drive_file)) {
		close(fd);
		rt_say("%s is no drive file", rt_options.drive);
		return;
	}
	map = (void *)syscall(SYS_mmap, NULL, sizeof(struct drive_file), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	schedule_file = map;
	if (schedule_file->magic != DRIVE_MAGIC || schedule_file->version != DRIVE_VERSION) {
		rt_say("%s is a drive file of another version of AtomSan", rt_options.drive);
		return;
	}
	schedule_wanted = !schedule_file->owner;
}

/* Add a thread to the table and the list. The lock is held, except for the first. */
static struct sched_thread *add_thread(struct sched_thread *parent, uint32_t id)
{
	struct drive_file *f = schedule_file;
	struct sched_thread *t = &schedule_threads[f->nthreads];

	t->number = f->nthreads;
	t->id = id;
	t->shared = &f->thread[t->number];
	t->shared->parent = parent ? parent->number : 0;
	t->shared->nth = parent ? ++parent->children : 0;
	t->state = t->shared->state = parent ? DRIVE_READY : DRIVE_RUNNING;
	t->op = DRIVE_BEGIN;
	t->shared->op = DRIVE_BEGIN;
	t->before = last;
	if (last && schedule_first)
		last->next = t;
	else
		schedule_first = t;
	last = t;
	choose_thread_created(t, parent);
	__atomic_store_n(&f->nthreads, f->nthreads + 1, __ATOMIC_RELEASE);
	return t;
}

void schedule_begin_driving(void)
{
	uint32_t unowned = 0;
	bool inside;

	/* Only the first process of a run that creates a thread is driven. */
	if (!schedule_wanted || getpid() != rt_process ||
	    !__atomic_compare_exchange_n(&schedule_file->owner, &unowned, (uint32_t)getpid(), false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		schedule_wanted = false;
		return;
	}
	schedule_wanted = false;
	inside = rt_enter_nested(&rt_self);
	schedule_threads = rt_pages(DRIVE_THREADS * sizeof *schedule_threads);
	if (!schedule_threads) {
		rt_say("the program is not driven: out of memory");
		rt_leave_nested(&rt_self, inside);
		return;
	}
	clock_start();
	choose_init();
	schedule_self = add_thread(NULL, rt_self.id);
	schedule_self->rt = &rt_self;
	schedule_self->shared->tid = (uint32_t)syscall(SYS_gettid);
	schedule_file->holder = 1;
	schedule_file->awake = 1;
	schedule_file->end = DRIVE_DRIVEN;
	thread_on_end = turn_end_thread;
	__atomic_store_n(&schedule_on, true, __ATOMIC_SEQ_CST);
	mode_set_driven(true);
	rt_leave_nested(&rt_self, inside);
}

uint32_t schedule_create(uint32_t id, const void *start, uintptr_t pc)
{
	struct sched_thread *t;
	uint32_t number = 0;
	bool inside;

	if (!schedule_on || !schedule_self)
		return 0;
	inside = rt_enter_nested(&rt_self);
	places_find_modules();
	rt_leave_nested(&rt_self, inside);
	schedule_point(DRIVE_CREATE, NULL, pc);
	if (!schedule_on)
		return 0;
	if (schedule_file->nthreads == DRIVE_THREADS) {
		turn_release(DRIVE_FULL);
		return 0;
	}
	inside = rt_enter_nested(&rt_self);
	rt_lock(&schedule_lock);
	if (schedule_on) {
		t = add_thread(schedule_self, id);
		t->shared->start = places_of((uintptr_t)start);
		number = t->number + 1;
	}
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
	return number;
}

void threads_remove(struct sched_thread *t)
{
	t->state = t->shared->state = DRIVE_ENDED;
	if (t->before)
		t->before->next = t->next;
	else
		schedule_first = t->next;
	if (t->next)
		t->next->before = t->before;
	if (last == t)
		last = t->before;
	t->next = t->before = NULL;
}

void schedule_create_failed(uint32_t thread)
{
	bool inside;

	if (!thread)
		return;
	inside = rt_enter_nested(&rt_self);
	rt_lock(&schedule_lock);
	threads_remove(&schedule_threads[thread - 1]);
	rt_unlock(&schedule_lock);
	rt_leave_nested(&rt_self, inside);
}

static struct sched_thread *find_thread(uint32_t id)
{
	for (uint32_t i = 0; schedule_file && schedule_threads && i < schedule_file->nthreads; i++)
		if (schedule_threads[i].id == id)
			return &schedule_threads[i];
	return NULL;
}

bool schedule_has_ended(uint32_t id)
{
	const struct sched_thread *t = find_thread(id);

	return !t || t->state == DRIVE_ENDED;
}

const void *schedule_end_of(uint32_t id)
{
	return find_thread(id);
}

void schedule_child(void)
{
	schedule_on = schedule_wanted = schedule_clocks = false;
	schedule_lock = 0;
	schedule_self = NULL;
	thread_on_end = NULL;
}
