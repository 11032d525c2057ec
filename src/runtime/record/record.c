#include "runtime/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/history/unit.h"
#include "runtime/os/clock.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"
#include "runtime/thread/mode.h"
#include "runtime/thread/state.h"
#include "runtime/tool.h"

#include "base/banned.h"

/*
 * Bytes of a thread's first chunk. It is small, since many threads do not live long; each of the
 * next three chunks is four times as large as the one before.
 */
enum { CHUNK_FIRST = 1 << 12 };
_Static_assert(CHUNK_FIRST << 6 <= (int)RAW_CHUNK_MAX, "readers accept the largest chunk");

static int file = -1;
static struct stat identity; /* of the file */
static char path[4096];
static struct raw_header *header;
static uint32_t file_lock; /* the file's end, and opening the file again */

/* Print why, once; the program goes on unrecorded. */
static void stop_recording(const char *doing, int error)
{
	if (!__atomic_exchange_n(&rt_recording, false, __ATOMIC_RELAXED))
		return;
	mode_choose();
	rt_say("recording stopped: %s %s: %s", doing, path, strerrordesc_np(error));
	if (header) {
		rt_format(header->why, sizeof header->why, "%s: %s", doing, strerrordesc_np(error));
		header->closed = 2;
	}
}

/* "%p" in a file name is the number of the process. */
static void name_file(const char *pattern)
{
	size_t n = 0;

	for (; *pattern && n < sizeof path - 16; pattern++) {
		if (pattern[0] == '%' && pattern[1] == 'p') {
			n += rt_format(path + n, 16, "%d", getpid());
			pattern++;
		} else {
			path[n++] = *pattern;
		}
	}
	path[n] = 0;
}

static void note_command(void)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, header + 1, RAW_PAGE - sizeof *header);
	if (n > 0)
		header->command = (uint32_t)n;
	close(fd);
}

/*
 * Open the file with a high descriptor, since the program may count on a low one. Returns the
 * descriptor, or -1 and errno. Uses system calls, since open() and close() are cancellation points.
 */
static int open_high(int flags)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | flags, 0666), high;

	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 500);
	if (high < 0)
		return fd;
	syscall(SYS_close, fd);
	return high;
}

/* Is this a descriptor of the recording? */
static bool is_our_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == identity.st_dev && st.st_ino == identity.st_ino;
}

/*
 * Make the file larger. Returns 0 or an error number.
 *
 * The program may have closed our descriptor and use the number for a file of its own, which must
 * not be touched. The size of files may be limited: then growing one is a fatal signal, not an
 * error.
 */
static int grow_file(uint64_t at, size_t bytes)
{
	struct rlimit limit;
	int fd;

	if (!is_our_file(file)) {
		fd = open_high(0);
		if (fd < 0)
			return errno;
		if (!is_our_file(fd)) {
			syscall(SYS_close, fd);
			return ESTALE;
		}
		file = fd;
	}
	if (!syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) && at + bytes > limit.rlim_cur)
		return EFBIG;
	return posix_fallocate(file, (off_t)at, (off_t)bytes);
}

static bool fail_to_open(int error)
{
	rt_say("cannot record to %s: %s", path, strerrordesc_np(error));
	if (file >= 0)
		syscall(SYS_close, file);
	file = -1;
	header = NULL;
	return false;
}

static bool open_file(void)
{
	int error = 0;

	file = open_high(O_CREAT);
	if (file < 0)
		return fail_to_open(errno);
	/* Another process writes to it, as a rule the one that started this: use another file. */
	if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(file);
		rt_format(path + strlen(path), sizeof path - strlen(path), ".%d", getpid());
		file = open_high(O_CREAT);
		if (file < 0)
			return fail_to_open(errno);
	}
	if (fstat(file, &identity) || ftruncate(file, 0))
		return fail_to_open(errno);
	error = grow_file(0, RAW_PAGE);
	if (error)
		return fail_to_open(error);
	header = mmap(NULL, RAW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (header == MAP_FAILED)
		return fail_to_open(errno);
	header->version = RAW_VERSION;
	header->pid = (uint32_t)getpid();
	header->end = RAW_PAGE;
	note_command();
	RT_COMPILER_BARRIER();
	__builtin_memcpy(header->magic, RAW_MAGIC, sizeof header->magic);
	rt_recording = rt_timed = true;
	return true;
}

static uint64_t record_finish(void)
{
	if (rt_recording && header->pid == (uint32_t)getpid())
		header->closed = 1;
	return 0;
}

/* A forked child begins a recording of its own, or records nothing. */
static bool record_fork_child(struct rt_thread *t)
{
	bool was_on = rt_recording;

	/* The mappings are the parent's. */
	rt_recording = false;
	if (t->rec.chunk)
		munmap(t->rec.chunk, t->rec.chunk_bytes);
	if (header)
		munmap(header, RAW_PAGE);
	if (file >= 0 && is_our_file(file))
		close(file);
	header = NULL;
	file = -1;
	t->rec.chunk = NULL;
	t->rec.log.next = t->rec.log.end = NULL;
	t->rec.nchunks = 0;
	t->rec.log.base = 0;
	file_lock = 0;
	if (!was_on || !rt_options.record_children)
		return false;
	if (strstr(rt_options.record, "%p"))
		name_file(rt_options.record);
	else
		rt_format(path + strlen(path), sizeof path - strlen(path), ".%d", getpid());
	open_file();
	return false;
}

/* Give the thread a new chunk. False: the recorder is not at work, or has just stopped. */
static bool begin_chunk(struct rt_thread *t, uint64_t time, uintptr_t pc)
{
	size_t bytes = CHUNK_FIRST << 2 * (t->rec.nchunks < 3 ? t->rec.nchunks : 3);
	struct raw_chunk *c;
	uint64_t at;
	int error;

	if (t->rec.chunk)
		munmap(t->rec.chunk, t->rec.chunk_bytes);
	t->rec.chunk = NULL;
	t->rec.log.next = t->rec.log.end = NULL;
	if (!rt_recording)
		return false;
	/* One at a time: another thread may be about to open the file again. */
	rt_lock(&file_lock);
	at = header->end;
	error = grow_file(at, bytes);
	if (error) {
		rt_unlock(&file_lock);
		stop_recording("writing to", error);
		return false;
	}
	c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
	error = errno;
	header->end = at + bytes;
	rt_unlock(&file_lock);
	if (c == MAP_FAILED) {
		stop_recording("mapping", error);
		return false;
	}
	if (!t->rec.nchunks)
		__atomic_fetch_add(&header->threads, 1, __ATOMIC_RELAXED);
	t->rec.log.base = time;
	t->rec.log.pc_high = pc & ~0xffffffffull;
	c->thread = t->id;
	c->number = t->rec.nchunks++;
	c->bytes = (uint32_t)bytes;
	c->base = t->rec.log.base;
	c->pc_high = t->rec.log.pc_high;
	RT_COMPILER_BARRIER();
	c->magic = RAW_CHUNK_MAGIC;
	t->rec.chunk = c;
	t->rec.chunk_bytes = bytes;
	t->rec.log.next = (uint64_t *)(c + 1);
	t->rec.log.end = (uint64_t *)((char *)c + bytes);
	return true;
}

static void put_unit(struct rt_thread *t, uint64_t what, uint64_t when)
{
	uint64_t *to = t->rec.log.next;

	to[1] = when;
	/* The operation comes last: a unit without one does not exist for a reader. */
	RT_COMPILER_BARRIER();
	to[0] = what;
	t->rec.log.next = to + 2;
}

static inline uint64_t unit_when(const struct rt_thread *t, uint64_t time, uintptr_t pc)
{
	return (uint32_t)(time - t->rec.log.base) | (uint64_t)pc << 32;
}

/*
 * Make room for `units` units, and put units that change the base or the high half of the pc if
 * they need to change. A time before the base becomes the base. False: the recorder has stopped.
 */
static bool make_room(struct rt_thread *t, uint32_t units, uint64_t *time, uintptr_t pc)
{
	int saved = errno;

	if (!rt_recording)
		return false;
	if (t->rec.log.end - t->rec.log.next < (ptrdiff_t)(2 * (units + 2)) &&
	    !begin_chunk(t, *time, pc)) {
		if (!rt_checking)
			t->gate.quiet |= RT_GONE;
		errno = saved;
		return false;
	}
	/*
	 * A time is before the base if the clocks of two processors disagree, or if it was taken
	 * before an operation that needed a new chunk, such as a fork.
	 */
	if ((int64_t)(*time - t->rec.log.base) < 0) {
		*time = t->rec.log.base;
	} else if ((*time - t->rec.log.base) >> 32) {
		t->rec.log.base = *time;
		put_unit(t, unit_what(RAW_TIME, 0, 0), t->rec.log.base);
	}
	if ((pc ^ t->rec.log.pc_high) >> 32) {
		t->rec.log.pc_high = pc & ~0xffffffffull;
		put_unit(t, unit_what(RAW_PC_HIGH, pc >> 32, 0), unit_when(t, *time, 0));
	}
	errno = saved;
	return true;
}

/* Write one unit. */
static void record_at(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
		      uint64_t time, uintptr_t pc)
{
	struct rt_log *l = &t->rec.log;

	if (!rt_recording)
		return;
	if (RT_UNLIKELY(l->next == l->end || (time - l->base) >> 32 || (pc ^ l->pc_high) >> 32) &&
	    !make_room(t, 1, &time, pc))
		return;
	put_unit(t, unit_what(op, address, aux), unit_when(t, time, pc));
}

/* Write one unit with the present time. */
static void record_now(struct rt_thread *t, enum raw_op op, uint64_t address, uint32_t aux,
		       uintptr_t pc)
{
	record_at(t, op, address, aux, machine_clock(), pc);
}

/* Write a unit and its size. */
static void record_sized(struct rt_thread *t, enum raw_op op, uint64_t address, uint64_t size,
			 uint64_t time, uintptr_t pc)
{
	if (!make_room(t, 2, &time, pc))
		return;
	/* The size first: without its operation the first unit does not exist for a reader. */
	t->rec.log.next[2] = size;
	t->rec.log.next[3] = 0;
	put_unit(t, unit_what(op, address, 0), unit_when(t, time, pc));
	t->rec.log.next += 2;
}

/* Write a unit and its text, which is cut if it is long. */
static void record_text(struct rt_thread *t, enum raw_op op, uint64_t address, const char *text,
			size_t n)
{
	uint64_t time = machine_clock();
	uint32_t units;
	char *to;

	if (n > 200 * sizeof(struct raw_unit))
		n = 200 * sizeof(struct raw_unit);
	units = (uint32_t)((n + 15) / 16);
	if (!make_room(t, 1 + units, &time, t->rec.log.pc_high))
		return;
	to = (char *)(t->rec.log.next + 2);
	for (size_t i = 0; i < n; i++)
		to[i] = text[i];
	put_unit(t, unit_what(op, address, units), unit_when(t, time, 0));
	t->rec.log.next += 2 * (size_t)units;
}

static void record_thread_gone(struct rt_thread *t)
{
	if (t->rec.chunk)
		munmap(t->rec.chunk, t->rec.chunk_bytes);
	t->rec.chunk = NULL;
	t->rec.log.next = t->rec.log.end = NULL;
}

/* --- events --- */

static enum rt_mode record_wants(void)
{
	return rt_recording ? RT_ALL : RT_NOTHING;
}

static void record_thread_begin(struct rt_thread *t, struct rt_point birth)
{
	(void)birth;
	record_sized(t, RAW_START, t->stack.low, t->stack.high - t->stack.low, machine_clock(),
		     t->rec.log.pc_high);
}

static struct rt_point record_thread_end(struct rt_thread *t)
{
	record_now(t, RAW_EXIT, 0, 0, t->rec.log.pc_high);
	return (struct rt_point){0};
}

static struct rt_point record_create(struct rt_thread *t, uint32_t id, uint64_t time, uintptr_t pc)
{
	record_at(t, RAW_FORK, id, 0, time, pc);
	return (struct rt_point){0};
}

static void record_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
			uintptr_t pc)
{
	(void)last;
	record_at(t, RAW_JOIN, id, 0, *time, pc);
}

static void record_name(struct rt_thread *t, const char *text, size_t n)
{
	record_text(t, RAW_NAME, 0, text, n);
}

static void record_call(struct rt_thread *t, struct rt_frame *f)
{
	record_now(t, RAW_CALL, f->function, f->kind, f->caller);
}

static void record_ret(struct rt_thread *t, struct rt_frame *f)
{
	(void)f;
	record_now(t, RAW_RETURN, 0, 0, t->rec.log.pc_high);
}

static void record_mark(struct rt_thread *t, uint32_t number, uintptr_t pc)
{
	record_now(t, RAW_BEGIN, number, 0, pc);
}

static void record_unmark(struct rt_thread *t, uintptr_t pc)
{
	record_now(t, RAW_END, 0, 0, pc);
}

static void record_not_atomic(struct rt_thread *t, bool applies, uintptr_t pc)
{
	(void)applies;
	record_now(t, RAW_NOT_ATOMIC, 0, 0, pc);
}

static void record_label(struct rt_thread *t, uint32_t number, const char *text, size_t n)
{
	record_text(t, RAW_LABEL, number, text, n);
}

static void record_accessed(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
			    uint64_t time, uintptr_t pc)
{
	if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
		record_sized(t, op, address, size, time, pc);
	else
		record_at(t, op, address, (uint32_t)size, time, pc);
}

static void record_atomic_done(struct rt_thread *t, enum raw_op op, uintptr_t address,
			       uint32_t size, uint64_t time, uintptr_t pc)
{
	record_at(t, op, address, size, time, pc);
}

static void record_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	record_sized(t, RAW_ALLOC, address, size, machine_clock_ordered(), pc);
}

static void record_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	(void)size;
	record_at(t, RAW_FREE, address, 0, machine_clock_ordered(), pc);
}

static void record_forget(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	record_sized(t, RAW_FORGET, address, size, machine_clock_ordered(),
		     pc ? pc : t->rec.log.pc_high);
}

static void record_sync(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			uint64_t *time, uintptr_t pc)
{
	record_at(t, op, object, aux, *time, pc);
}

static void record_module(struct rt_thread *t, uint64_t bias, const char *text, size_t n)
{
	record_text(t, RAW_MODULE, bias, text, n);
}

void record_init(void)
{
	static struct rt_tool recorder = {
		.wants = record_wants,
		.thread_begin = record_thread_begin,
		.thread_end = record_thread_end,
		.thread_gone = record_thread_gone,
		.create = record_create,
		.join = record_join,
		.name = record_name,
		.call = record_call,
		.ret = record_ret,
		.mark = record_mark,
		.unmark = record_unmark,
		.not_atomic = record_not_atomic,
		.label = record_label,
		.accessed = record_accessed,
		.atomic_done = record_atomic_done,
		.alloc = record_alloc,
		.free = record_free,
		.forget = record_forget,
		.sync = record_sync,
		.released = record_sync,
		.module = record_module,
		.fork_child = record_fork_child,
		.finish = record_finish,
	};

	name_file(rt_options.record);
	if (open_file())
		tool_use_recorder(&recorder);
}
