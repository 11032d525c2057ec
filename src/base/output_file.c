#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#include "base/banned.h"

void output_file_add_random(struct str *name)
{
	uint64_t random = 0;

	/* Without random numbers the name can be guessed; O_EXCL still protects it. */
	if (getrandom(&random, sizeof random, 0) != sizeof random) {
		struct timespec now = {0};

		clock_gettime(CLOCK_MONOTONIC, &now);
		random = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid();
	}
	str_fmt(name, ".%016llx", (unsigned long long)random);
}

/* Set the sentence unless one is there. */
static int fail(struct err *err, const char *path)
{
	return err_is_set(err) ? -1 : err_sys(err, "%s", path);
}

/* The permissions of a file that a command creates. */
static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Open the file itself. */
static int open_directly(struct output_file *f, bool follow, struct err *err)
{
	f->fd = open(f->path,
		     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY |
			     (follow ? 0 : O_NOFOLLOW),
		     0666);
	return f->fd < 0 ? fail(err, f->path) : 0;
}

/* Create the new file next to f->to. Returns its descriptor, or -1 and errno. */
static int create_part(struct output_file *f)
{
	struct str part = STR_INIT;
	int fd;

	str_add(&part, f->to);
	output_file_add_random(&part);
	fd = open(part.s, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f->part = mem_strdup(part.s);
	str_free(&part);
	return fd;
}

static void free_names(struct output_file *f)
{
	mem_free(f->path);
	mem_free(f->to);
	mem_free(f->part);
	*f = (struct output_file){.fd = -1};
}

/* Replace the regular file at f->path, which is `old`, or NULL if there is none. */
static int open_part(struct output_file *f, const struct stat *old, bool follow, struct err *err)
{
	char resolved[PATH_MAX];
	int why;

	if (old && follow && access(f->path, W_OK))
		return fail(err, f->path);
	f->mode = old ? old->st_mode & 0777 : usual_mode();
	f->to = mem_strdup(old && follow && realpath(f->path, resolved) ? resolved : f->path);
	f->fd = create_part(f);
	if (f->fd >= 0)
		return 0;
	why = errno;
	mem_free(f->to);
	mem_free(f->part);
	f->to = f->part = NULL;
	errno = why;
	return old && follow ? open_directly(f, true, err) : fail(err, f->path);
}

static int open_file(struct output_file *f, const char *path, bool follow, struct err *err)
{
	struct stat st, link;
	bool is_link = !lstat(path, &link) && S_ISLNK(link.st_mode);
	bool exists = !(follow ? stat(path, &st) : lstat(path, &st));
	int rc;

	*f = (struct output_file){.fd = -1, .path = mem_strdup(path)};
	if (follow && ((exists && !S_ISREG(st.st_mode)) || (!exists && is_link)))
		rc = open_directly(f, true, err);
	else if (!follow && exists && !S_ISREG(st.st_mode) && !is_link)
		rc = open_directly(f, false, err);
	else
		rc = open_part(f, exists && S_ISREG(st.st_mode) ? &st : NULL, follow, err);
	if (rc)
		free_names(f);
	return rc;
}

int output_file_open(struct output_file *f, const char *path, struct err *err)
{
	return open_file(f, path, true, err);
}

int output_file_open_own(struct output_file *f, const char *path, struct err *err)
{
	return open_file(f, path, false, err);
}

static int write_all(struct output_file *f, const char *p, size_t n, struct err *err)
{
	while (n) {
		ssize_t done = write(f->fd, p, n);

		if (done > 0) {
			p += done;
			n -= (size_t)done;
		} else if (done < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){.fd = f->fd, .events = POLLOUT}, 1, -1);
		} else if (done == 0 || errno != EINTR) {
			errno = done ? errno : EIO;
			return fail(err, f->path);
		}
	}
	return 0;
}

int output_file_write(struct output_file *f, const void *bytes, size_t n, struct err *err)
{
	/* A limit of the size of files is an error like any other, and not fatal. */
	void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
	int rc = write_all(f, bytes, n, err);

	signal(SIGXFSZ, before);
	return rc;
}

int output_file_close(struct output_file *f, bool keep, struct err *err)
{
	int rc = 0;

	if (keep && f->to && fchmod(f->fd, f->mode) && errno != EPERM && errno != ENOTSUP)
		rc = fail(err, f->path);
	/* A network file system may report a failed write only now. */
	if (close(f->fd))
		rc = fail(err, f->path);
	if (f->to && keep && !rc && rename(f->part, f->to))
		rc = fail(err, f->path);
	if (f->to && (!keep || rc))
		unlink(f->part);
	free_names(f);
	return rc;
}

int output_file_try(const char *path, struct err *err)
{
	struct output_file f;
	struct stat st;

	/* Opening a pipe or a device may do something: it is opened when there is something to
	 * write. */
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return access(path, W_OK) ? fail(err, path) : 0;
	if (!stat(path, &st) && S_ISREG(st.st_mode) && access(path, W_OK))
		return fail(err, path);
	return output_file_open(&f, path, err) || output_file_close(&f, false, err) ? -1 : 0;
}
