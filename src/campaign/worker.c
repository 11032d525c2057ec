#include "campaign/worker.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"

#include "base/banned.h"

enum { TEXT_MAX = 512 };

/* Reads a small file of the system; without its last newline. Empty if there is none. */
static void read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (fd >= 0)
		close(fd);
	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
}

/* When the process was started, in ticks since the machine was; 0 if there is no such process. */
static uint64_t process_start(long pid)
{
	char path[64], text[1024], *p;

	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	read_small(path, text, sizeof text);
	/* The name of the program may hold anything; it ends with the last parenthesis. */
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

/* Where process numbers mean the same: this start of this machine, and the container. */
static void add_machine(char *out, size_t size)
{
	char boot[64], space[64] = "";
	ssize_t n = readlink("/proc/self/ns/pid", space, sizeof space - 1);

	space[n > 0 ? n : 0] = 0;
	read_small("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
	snprintf(out, size, "%s %s", *boot ? boot : "-", *space ? space : "-");
}

static int write_file(struct worker *w, int flags)
{
	char text[TEXT_MAX], machine[160];
	int fd, n, rc;

	add_machine(machine, sizeof machine);
	/* Always of the same length, so that a reader never sees half of an old text after it. */
	n = snprintf(text, sizeof text, "%s %ld %" PRIu64 " %020" PRIu64 "\n", machine,
		     (long)getpid(), process_start(getpid()), w->beat);
	fd = open(w->path.s, O_WRONLY | O_CLOEXEC | flags, 0666);
	if (fd < 0)
		return -1;
	rc = write(fd, text, (size_t)n) != n;
	return close(fd) || rc ? -1 : 0;
}

int worker_begin(struct worker *w, const struct campaign *c, struct err *err)
{
	uint32_t random;

	*w = (struct worker){.path = STR_INIT, .beat_at = clock_seconds()};
	if (gethostname(w->host, sizeof w->host - 1) || !*w->host)
		memcpy(w->host, "host", sizeof "host");
	for (char *p = w->host; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return err_sys(err, "cannot get a random number");
	snprintf(w->name, sizeof w->name, "%s-%ld-%08" PRIx32, w->host, (long)getpid(), random);
	campaign_path(c, &w->path, "workers", w->name);
	if (write_file(w, O_CREAT | O_EXCL))
		return err_sys(err, "%s", w->path.s);
	return 0;
}

void worker_end(struct worker *w)
{
	str_free(&w->path);
}

void worker_beat(struct worker *w)
{
	double now = clock_seconds();

	if (now - w->beat_at < WORKER_BEAT_MS / 1000.0)
		return;
	w->beat_at = now;
	w->beat++;
	write_file(w, 0);
}

/* Is it certain that the process is no more? */
static bool has_died(const char *text)
{
	char machine[160];
	unsigned long long start;
	size_t n;
	long pid;

	add_machine(machine, sizeof machine);
	n = strlen(machine);
	if (strncmp(text, machine, n) || *machine == '-' ||
	    sscanf(text + n, " %ld %llu", &pid, &start) != 2 || pid <= 0)
		return false;
	/* Without /proc, nothing is known. */
	return process_start(getpid()) && process_start(pid) != start;
}

bool worker_is_gone(struct worker_watch *watch, const struct campaign *c, const char *name,
		    double patience)
{
	struct str path = STR_INIT;
	struct worker_seen *s = NULL;
	double now = clock_seconds();
	char text[TEXT_MAX];
	uint64_t beat;

	campaign_path(c, &path, "workers", name);
	read_small(path.s, text, sizeof text);
	str_free(&path);
	if (has_died(text))
		return true;
	beat = XXH3_64bits(text, strlen(text));
	for (size_t i = 0; i < watch->n && !s; i++)
		if (!strcmp(watch->v[i].name, name))
			s = &watch->v[i];
	if (!s) {
		MEM_GROW(watch->v, watch->cap, watch->n + 1);
		s = &watch->v[watch->n++];
		snprintf(s->name, sizeof s->name, "%s", name);
		s->beat = ~beat;
	}
	if (s->beat != beat) {
		s->beat = beat;
		s->since = now;
	}
	return now - s->since >= patience;
}

void worker_watch_free(struct worker_watch *watch)
{
	mem_free(watch->v);
	*watch = (struct worker_watch){0};
}
