#include "sched/drive.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#include "base/banned.h"

/*
 * A thread that was seen asleep this many times in a row, without a step in between, has left. If
 * it computes, others wait this long for it. Writing to a file or a terminal is no reason to leave
 * soon: how long it takes must not matter.
 */
enum { ASLEEP_TIMES = 3, WRITING_TIMES = 500, COMPUTES_MS = 1000 };

static int make_file(struct drive *d, const char *folder)
{
	struct str path = STR_INIT;
	int fd;

	str_fmt(&path, "%s/atomsan-drive-XXXXXX", folder);
	fd = mkostemp(path.s, O_CLOEXEC);
	if (fd < 0)
		str_free(&path);
	else
		d->path = path.s;
	return fd;
}

int drive_open(struct drive *d, struct err *err)
{
	const char *folder = getenv("TMPDIR");
	void *map;
	int fd;

	*d = (struct drive){0};
	fd = make_file(d, "/dev/shm");
	if (fd < 0)
		fd = make_file(d, folder && *folder ? folder : "/tmp");
	if (fd < 0)
		return err_sys(err, "cannot make a file to drive the program");
	map = ftruncate(fd, sizeof *d->file)
		      ? MAP_FAILED
		      : mmap(NULL, sizeof *d->file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		err_sys(err, "%s", d->path);
		unlink(d->path);
		mem_free(d->path);
		return -1;
	}
	d->file = map;
	d->file->magic = DRIVE_MAGIC;
	d->file->version = DRIVE_VERSION;
	return 0;
}

void drive_close(struct drive *d)
{
	if (!d->file)
		return;
	munmap(d->file, sizeof *d->file);
	unlink(d->path);
	mem_free(d->path);
	*d = (struct drive){0};
}

void drive_again(struct drive *d)
{
	struct drive_file *f = d->file;
	uint32_t nholds = f->nholds;

	memset(f->thread, 0, f->nthreads * sizeof *f->thread);
	memset(&f->owner, 0,
	       offsetof(struct drive_file, plan_thread) - offsetof(struct drive_file, owner));
	for (uint32_t i = 0; i < nholds && i < DRIVE_HOLDS; i++)
		f->hold[i].held = f->hold[i].released = f->hold[i].forced = 0;
	d->steps = d->since = 0;
	d->holder = d->asleep = 0;
}

/* Wakes a thread that waits for the turn, so that it looks at the file. */
static void wake_thread(struct drive_thread *t)
{
	syscall(SYS_futex, &t->go, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* The state letter of the thread and whether it writes to a file: from /proc. Returns 0 if unknown.
 */
static char read_state(uint32_t pid, uint32_t tid, bool *writes)
{
	char path[64], text[512];
	const char *end;
	size_t n;
	FILE *in;

	snprintf(path, sizeof path, "/proc/%u/task/%u/syscall", pid, tid);
	in = fopen(path, "re");
	n = in ? fread(text, 1, sizeof text - 1, in) : 0;
	text[n] = 0;
	if (in)
		fclose(in);
	*writes =
		n && (strtol(text, NULL, 10) == SYS_write || strtol(text, NULL, 10) == SYS_writev);
	snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, tid);
	in = fopen(path, "re");
	n = in ? fread(text, 1, sizeof text - 1, in) : 0;
	text[n] = 0;
	if (in)
		fclose(in);
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 0;
}

/* Is the process stopped by a debugger, or traced? Then it is patient. */
static bool is_traced(uint32_t pid)
{
	char path[64], line[256];
	bool traced = false;
	FILE *in;

	snprintf(path, sizeof path, "/proc/%u/status", pid);
	in = fopen(path, "re");
	while (in && fgets(line, sizeof line, in))
		if (!strncmp(line, "TracerPid:", 10))
			traced = strtol(line + 10, NULL, 10) != 0;
	if (in)
		fclose(in);
	return traced;
}

/* Does any thread wait, so that it could take the turn? Returns it. */
static struct drive_thread *find_waiting(struct drive_file *f)
{
	for (uint32_t i = 0; i < f->nthreads && i < DRIVE_THREADS; i++) {
		uint32_t state = __atomic_load_n(&f->thread[i].state, __ATOMIC_RELAXED);

		if ((state == DRIVE_READY || state == DRIVE_BLOCKED || state == DRIVE_HELD) &&
		    f->thread[i].tid)
			return &f->thread[i];
	}
	return NULL;
}

void drive_watch(struct drive *d)
{
	struct drive_file *f = d->file;
	uint64_t steps = __atomic_load_n(&f->steps, __ATOMIC_ACQUIRE);
	uint32_t holder = __atomic_load_n(&f->holder, __ATOMIC_ACQUIRE);
	struct drive_thread *waiting;
	bool writes = false;
	char state;

	if (f->end != DRIVE_DRIVEN || f->released || !holder || holder > DRIVE_THREADS ||
	    !f->awake || steps != d->steps || holder != d->holder) {
		d->steps = steps;
		d->holder = holder;
		d->since = clock_ns();
		d->asleep = 0;
		return;
	}
	waiting = find_waiting(f);
	if (!waiting)
		return;
	state = read_state(f->owner, f->thread[holder - 1].tid, &writes);
	d->asleep = state == 'S' ? d->asleep + 1 : 0;
	if (d->asleep < (writes ? (uint32_t)WRITING_TIMES : (uint32_t)ASLEEP_TIMES) &&
	    clock_ns() - d->since < COMPUTES_MS * 1000000ull)
		return;
	/* Under a debugger a thread may stand for as long as it likes. */
	if (is_traced(f->owner)) {
		d->since = clock_ns();
		return;
	}
	__atomic_store_n(&f->leave, (uint32_t)steps + 1, __ATOMIC_SEQ_CST);
	wake_thread(waiting);
	d->asleep = 0;
}

void drive_release(struct drive *d)
{
	__atomic_store_n(&d->file->released, 1, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < d->file->nthreads && i < DRIVE_THREADS; i++)
		wake_thread(&d->file->thread[i]);
}

/* By thread, then by step. */
static int by_thread(const void *a, const void *b)
{
	const struct drive_choice *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

void drive_sort_choices(struct drive_file *f)
{
	qsort(f->choice, f->nchoices, sizeof *f->choice, by_thread);
}

bool drive_was_driven(const struct drive *d)
{
	return d->file->end != DRIVE_NOT_DRIVEN;
}

const char *drive_op_text(enum drive_op op)
{
	static const char *const text[DRIVE_OPS] = {
		[DRIVE_READ] = "read",
		[DRIVE_WRITE] = "write",
		[DRIVE_ATOMIC_READ] = "atomic read",
		[DRIVE_ATOMIC_WRITE] = "atomic write",
		[DRIVE_LOCK] = "lock",
		[DRIVE_LOCK_SHARED] = "shared lock",
		[DRIVE_UNLOCK] = "unlock",
		[DRIVE_WAIT] = "condition wait",
		[DRIVE_NOTIFY] = "condition signal",
		[DRIVE_SEM_WAIT] = "semaphore wait",
		[DRIVE_SEM_POST] = "semaphore post",
		[DRIVE_BARRIER] = "barrier",
		[DRIVE_ONCE] = "one-time initialisation",
		[DRIVE_CREATE] = "thread creation",
		[DRIVE_JOIN] = "join",
		[DRIVE_BEGIN] = "begin",
		[DRIVE_END] = "end",
		[DRIVE_SLEEP] = "sleep",
		[DRIVE_YIELD] = "yield",
		[DRIVE_SPIN] = "spinning",
		[DRIVE_FILE] = "input or output",
		[DRIVE_PROCESS] = "wait for a process",
		[DRIVE_SIGNAL] = "wait for a signal",
		[DRIVE_FUTEX] = "futex wait",
		[DRIVE_OTHER] = "blocking call",
	};

	return (unsigned int)op < DRIVE_OPS && text[op] ? text[op] : "?";
}

void drive_add_path(struct str *to, const struct drive_thread *threads, uint32_t n, uint32_t thread)
{
	if (!thread) {
		str_add(to, "main");
	} else if (thread < n && threads[thread].parent < thread) {
		drive_add_path(to, threads, n, threads[thread].parent);
		str_fmt(to, "/%u", threads[thread].nth);
	} else {
		str_addc(to, '?');
	}
}
