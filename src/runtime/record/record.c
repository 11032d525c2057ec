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

#include "runtime/frontier/check.h"
#include "runtime/history/modules.h"
#include "runtime/os/options.h"
#include "runtime/predict/predict.h"

/* A thread's first chunk is small, since many threads live short; then each is four times larger.
 */
enum { CHUNK_FIRST = 1 << 12, TIMES = 1 << 12 };
_Static_assert(CHUNK_FIRST << 6 <= (int)RAW_CHUNK_MAX, "readers take them");

bool record_on, record_timed;
static int file = -1;
static struct stat identity; /* of the file */
static char path[4096];
static struct raw_header *header;
static uint32_t file_lock;
static uint64_t times[TIMES];

/* Once: say why, and let everybody go on without us. */
static void give_up(const char *doing, int error)
{
	if (!__atomic_exchange_n(&record_on, false, __ATOMIC_RELAXED))
		return;
	rt_choose_mode();
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
 * A low number could be one that the program counts on. By system calls: open() and close() are
 * where a thread may be cancelled.
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

static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == identity.st_dev && st.st_ino == identity.st_ino;
}

/*
 * Make the file larger. The program may have closed our descriptor, and the number
 * may be one of its own files now: that must not be touched. The size of a file
 * may be limited: then growing it is a deadly signal, not an error.
 */
static int grow(uint64_t at, size_t bytes)
{
	struct rlimit limit;
	int fd;

	if (!is_ours(file)) {
		fd = open_high(0);
		if (fd < 0)
			return errno;
		if (!is_ours(fd)) {
			syscall(SYS_close, fd);
			return ESTALE;
		}
		file = fd;
	}
	if (!syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) && at + bytes > limit.rlim_cur)
		return EFBIG;
	return posix_fallocate(file, (off_t)at, (off_t)bytes);
}

static bool cannot_record(int error)
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
		return cannot_record(errno);
	/* Another process is writing to it, a program that started this one: both need a file. */
	if (flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(file);
		rt_format(path + strlen(path), sizeof path - strlen(path), ".%d", getpid());
		file = open_high(O_CREAT);
		if (file < 0)
			return cannot_record(errno);
	}
	if (fstat(file, &identity) || ftruncate(file, 0))
		return cannot_record(errno);
	error = grow(0, RAW_PAGE);
	if (error)
		return cannot_record(error);
	header = mmap(NULL, RAW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (header == MAP_FAILED)
		return cannot_record(errno);
	header->version = RAW_VERSION;
	header->pid = (uint32_t)getpid();
	header->end = RAW_PAGE;
	note_command();
	RT_COMPILER_BARRIER();
	__builtin_memcpy(header->magic, RAW_MAGIC, sizeof header->magic);
	record_on = record_timed = true;
	return true;
}

void record_init(void)
{
	if (!*rt_options.record)
		return;
	name_file(rt_options.record);
	open_file();
}

void record_close(void)
{
	if (record_on && header->pid == (uint32_t)getpid())
		header->closed = 1;
}

void record_child(struct rt_thread *t)
{
	bool was_on = record_on;

	/* The mappings are the parent's. */
	record_on = false;
	if (t->chunk)
		munmap(t->chunk, t->chunk_bytes);
	if (header)
		munmap(header, RAW_PAGE);
	if (file >= 0 && is_ours(file))
		close(file);
	header = NULL;
	file = -1;
	t->chunk = NULL;
	t->rec.next = t->rec.end = NULL;
	t->nchunks = 0;
	t->rec.base = 0;
	file_lock = 0;
	if (!was_on || !rt_options.record_children)
		return;
	if (strstr(rt_options.record, "%p"))
		name_file(rt_options.record);
	else
		rt_format(path + strlen(path), sizeof path - strlen(path), ".%d", getpid());
	open_file();
}

static bool new_chunk(struct rt_thread *t, uint64_t time, uintptr_t pc)
{
	size_t bytes = CHUNK_FIRST << 2 * (t->nchunks < 3 ? t->nchunks : 3);
	struct raw_chunk *c;
	uint64_t at;
	int error;

	if (t->chunk)
		munmap(t->chunk, t->chunk_bytes);
	t->chunk = NULL;
	t->rec.next = t->rec.end = NULL;
	if (!record_on)
		return false;
	/* One at a time: another thread may be about to open the file again. */
	rt_lock(&file_lock);
	at = header->end;
	error = grow(at, bytes);
	if (error) {
		rt_unlock(&file_lock);
		give_up("writing to", error);
		return false;
	}
	c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
	error = errno;
	header->end = at + bytes;
	rt_unlock(&file_lock);
	if (c == MAP_FAILED) {
		give_up("mapping", error);
		return false;
	}
	if (!t->nchunks)
		__atomic_fetch_add(&header->threads, 1, __ATOMIC_RELAXED);
	t->rec.base = time;
	t->rec.pc_high = pc & ~0xffffffffull;
	c->thread = t->id;
	c->number = t->nchunks++;
	c->bytes = (uint32_t)bytes;
	c->base = t->rec.base;
	c->pc_high = t->rec.pc_high;
	RT_COMPILER_BARRIER();
	c->magic = RAW_CHUNK_MAGIC;
	t->chunk = c;
	t->chunk_bytes = bytes;
	t->rec.next = (uint64_t *)(c + 1);
	t->rec.end = (uint64_t *)((char *)c + bytes);
	return true;
}

bool record_room(struct rt_thread *t, uint32_t units, uint64_t *time, uintptr_t pc)
{
	int saved = errno;

	if (!record_on)
		return false;
	if (t->rec.end - t->rec.next < (ptrdiff_t)(2 * (units + 2)) && !new_chunk(t, *time, pc)) {
		if (!check_on && !predict_on)
			t->quiet |= RT_GONE;
		errno = saved;
		return false;
	}
	/*
	 * Before the base: clocks that disagree, or a time that was taken before
	 * something that needed a new chunk, as that of a fork is.
	 */
	if ((int64_t)(*time - t->rec.base) < 0) {
		*time = t->rec.base;
	} else if ((*time - t->rec.base) >> 32) {
		t->rec.base = *time;
		record_put(t, record_what(RAW_TIME, 0, 0), t->rec.base);
	}
	if ((pc ^ t->rec.pc_high) >> 32) {
		t->rec.pc_high = pc & ~0xffffffffull;
		record_put(t, record_what(RAW_PC_HIGH, pc >> 32, 0), record_when(t, *time, 0));
	}
	errno = saved;
	return true;
}

void record_sized(struct rt_thread *t, enum raw_op op, uint64_t address, uint64_t size,
		  uint64_t time, uintptr_t pc)
{
	if (!record_room(t, 2, &time, pc))
		return;
	/* The second unit first: without its operation the first is not there. */
	t->rec.next[2] = size;
	t->rec.next[3] = 0;
	record_put(t, record_what(op, address, 0), record_when(t, time, pc));
	t->rec.next += 2;
}

void record_text(struct rt_thread *t, enum raw_op op, uint64_t address, const char *text, size_t n)
{
	uint64_t time = record_now();
	uint32_t units;
	char *to;

	if (n > 200 * sizeof(struct raw_unit))
		n = 200 * sizeof(struct raw_unit);
	units = (uint32_t)((n + 15) / 16);
	if (!record_room(t, 1 + units, &time, t->rec.pc_high))
		return;
	to = (char *)(t->rec.next + 2);
	for (size_t i = 0; i < n; i++)
		to[i] = text[i];
	record_put(t, record_what(op, address, units), record_when(t, time, 0));
	t->rec.next += 2 * (size_t)units;
}

void record_thread_gone(struct rt_thread *t)
{
	if (t->chunk)
		munmap(t->chunk, t->chunk_bytes);
	t->chunk = NULL;
	t->rec.next = t->rec.end = NULL;
}

static uint64_t *time_of(const void *lock)
{
	uint64_t h = (uintptr_t)lock * 0x9e3779b97f4a7c15ull;

	return &times[h >> 52];
}

uint64_t record_time_acquired(const void *lock)
{
	uint64_t now, last;

	/* Nobody will note it, and reading the clock in order takes its time. */
	if (!record_timed)
		return 0;
	now = record_now_ordered();
	last = __atomic_load_n(time_of(lock), __ATOMIC_RELAXED);
	return RT_LIKELY(now > last) ? now : last + 1;
}

uint64_t record_time_releasing(const void *lock)
{
	uint64_t *slot = time_of(lock), now = record_time_acquired(lock);

	if (now)
		__atomic_store_n(slot, now, __ATOMIC_RELAXED);
	return now;
}
