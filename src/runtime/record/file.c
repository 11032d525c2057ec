#include "runtime/record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/os/clock.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"

#include "base/banned.h"

struct raw_header *record_header;

/* Bytes that are reserved together if chunks are appended. */
enum { AHEAD = 1 << 20 };

static int file = -1;
static struct stat identity; /* of the file */
static char path[4096];      /* its name; the folder of a temporary file */
static char folder[1024];    /* for temporary files; "": the usual one */
static bool has_name;
static bool created;       /* by this process, with its name */
static uint64_t reserved;  /* end of the space that is reserved */
static uint32_t file_lock; /* the file's end, and opening the file again */

void record_file_init(char **environment)
{
	static const char key_is[] = "TMPDIR=/";

	for (; *environment; environment++)
		if (!strncmp(*environment, key_is, sizeof key_is - 1) &&
		    strlen(*environment) < sizeof folder)
			rt_format(folder, sizeof folder, "%s", *environment + sizeof key_is - 2);
}

const char *record_file_name(void)
{
	return path;
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

static void append_process(void)
{
	rt_format(path + strlen(path), sizeof path - strlen(path), ".%d", getpid());
}

static void note_command(void)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, record_header + 1, RAW_PAGE - sizeof *record_header);
	if (n > 0)
		record_header->command = (uint32_t)n;
	close(fd);
}

/*
 * Open a file with a high descriptor, since the program may count on a low one. Returns the
 * descriptor, or -1 and errno. Uses system calls, since open() and close() are cancellation points.
 */
static int open_high(const char *name, int flags, int mode)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CLOEXEC | flags, mode), high;

	if (fd < 0)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, 500);
	if (high < 0)
		return fd;
	syscall(SYS_close, fd);
	return high;
}

/* Open a file without a name in the folder `path`. Some file systems must name it for a moment. */
static int open_in_folder(void)
{
	static char name[sizeof path + 64]; /* static, because threads may have little stack */
	unsigned long random = 0;
	int fd = open_high(path, O_TMPFILE, 0600);

	if (fd >= 0 || errno == ENOENT || errno == EACCES || errno == ENOSPC)
		return fd;
	if (syscall(SYS_getrandom, &random, sizeof random, 0) != sizeof random)
		random = machine_clock();
	rt_format(name, sizeof name, "%s/atomsan-%lx", path, random);
	fd = open_high(name, O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd >= 0)
		unlink(name);
	return fd;
}

static int open_temporary(void)
{
	int fd = -1;

	if (*folder) {
		rt_format(path, sizeof path, "%s", folder);
		fd = open_in_folder();
	}
	if (fd < 0) {
		rt_format(path, sizeof path, "/tmp");
		fd = open_in_folder();
	}
	return fd;
}

/* Is this a regular file that belongs to this process's user, and has no other name? */
static bool is_safe_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == geteuid();
}

/*
 * Create the file `path`. A file that is there already is used again if it is safe: the program may
 * have been started with the same options before, or may have executed itself. Returns the
 * descriptor, or -1 and errno.
 */
static int create_named(void)
{
	int fd = open_high(path, O_CREAT | O_EXCL | O_NOFOLLOW, 0600);

	created = fd >= 0;
	if (fd >= 0 || errno != EEXIST)
		return fd;
	/* O_NONBLOCK: it may be a pipe. */
	fd = open_high(path, O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd >= 0 && !is_safe_file(fd)) {
		close(fd);
		errno = EEXIST;
		fd = -1;
	}
	return fd;
}

static int open_named(void)
{
	int fd = create_named();

	/* Another process writes to it, as a rule the one that started this: use another file. */
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		close(fd);
		append_process();
		fd = create_named();
	}
	return fd;
}

/* Is this a descriptor of the recording? */
static bool is_our_file(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == identity.st_dev && st.st_ino == identity.st_ino;
}

int record_file_descriptor(void)
{
	return is_our_file(file) ? file : -1;
}

/* The program has closed our descriptor: open the file again. Returns 0 or an error number. */
static int open_again(void)
{
	int fd;

	if (!has_name)
		return EBADF;
	fd = open_high(path, O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	if (!is_our_file(fd)) {
		syscall(SYS_close, fd);
		return ESTALE;
	}
	file = fd;
	return 0;
}

/*
 * Reserve space in the file up to `end`, and `ahead` more if there is room. Returns 0 or an error
 * number.
 *
 * The program may have closed our descriptor and use the number for a file of its own, which must
 * not be touched. The size of files may be limited: then growing one is a fatal signal, not an
 * error.
 */
static int reserve_space(uint64_t end, size_t ahead)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
	int error = is_our_file(file) ? 0 : open_again();

	if (error || end <= reserved)
		return error;
	syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit);
	if (end > limit.rlim_cur)
		return EFBIG;
	if (end + ahead > limit.rlim_cur ||
	    posix_fallocate(file, (off_t)reserved, (off_t)(end + ahead - reserved))) {
		ahead = 0;
		error = posix_fallocate(file, (off_t)reserved, (off_t)(end - reserved));
	}
	if (!error)
		reserved = end + ahead;
	return error;
}

static bool fail_to_open(int error)
{
	/* An empty file would be taken for a recording. */
	if (file >= 0 && created)
		unlink(path);
	rt_say("cannot record to %s: %s%s", path, strerrordesc_np(error),
	       rt_options.predict ? "; nothing is predicted" : "");
	if (file >= 0)
		syscall(SYS_close, file);
	file = -1;
	record_header = NULL;
	return false;
}

bool record_file_open(bool temporary)
{
	int error;

	has_name = !temporary;
	created = false;
	if (has_name && (!*path || strstr(rt_options.record, "%p")))
		name_file(rt_options.record);
	file = temporary ? open_temporary() : open_named();
	if (file < 0 || fstat(file, &identity) || ftruncate(file, 0))
		return fail_to_open(errno);
	reserved = 0;
	error = reserve_space(RAW_PAGE, 0);
	if (error)
		return fail_to_open(error);
	record_header = mmap(NULL, RAW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (record_header == MAP_FAILED)
		return fail_to_open(errno);
	record_header->version = RAW_VERSION;
	record_header->pid = (uint32_t)getpid();
	record_header->end = RAW_PAGE;
	note_command();
	RT_COMPILER_BARRIER();
	__builtin_memcpy(record_header->magic, RAW_MAGIC, sizeof record_header->magic);
	return true;
}

/* Does the limit of a temporary file allow this size? */
static bool is_within_limit(uint64_t bytes)
{
	int mib = rt_options.predict_size;

	return has_name || bytes <= (uint64_t)(mib > 0 ? mib : 0) << 20;
}

/* Take space at the end of the file. Returns where it is; 0, and why, if there is none. */
static uint64_t take_space(size_t bytes, size_t ahead, struct record_failure *why)
{
	uint64_t at;

	/* One at a time: another thread may be about to open the file again. */
	rt_lock(&file_lock);
	at = record_header->end;
	*why = (struct record_failure){.doing = "writing to"};
	if (!is_within_limit(at + bytes)) {
		at = 0;
	} else {
		why->error = reserve_space(at + bytes, ahead);
		if (why->error)
			at = 0;
		else
			record_header->end = at + bytes;
	}
	rt_unlock(&file_lock);
	return at;
}

void *record_file_grow(size_t bytes, struct record_failure *why)
{
	uint64_t at = take_space(bytes, 0, why);
	void *part;

	if (!at)
		return NULL;
	part = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)at);
	if (part != MAP_FAILED)
		return part;
	*why = (struct record_failure){"mapping", errno};
	return NULL;
}

bool record_file_append(const void *from, size_t bytes, struct record_failure *why)
{
	uint64_t at = take_space(bytes, AHEAD, why);

	while (at && bytes) {
		long done = syscall(SYS_pwrite64, file, from, bytes, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			why->error = done ? errno : EIO;
			return false;
		}
		from = (const char *)from + done;
		bytes -= (size_t)done;
		at += (size_t)done;
	}
	return at;
}

void record_file_child(bool keep_name)
{
	if (record_header)
		munmap(record_header, RAW_PAGE);
	if (file >= 0 && is_our_file(file))
		close(file);
	record_header = NULL;
	file = -1;
	file_lock = 0;
	if (keep_name && has_name)
		append_process();
}
