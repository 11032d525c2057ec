#include "turn.h"

#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STEPS = 1 << 14 };
static struct turn steps[STEPS];
static int n, now;
static int busy[64]; /* by thread: it has a step that is not done */

int turn_load(const char *path)
{
	FILE *f = fopen(path, "r");
	struct turn *s = steps;
	int threads = 0;

	while (f && n < STEPS &&
	       fscanf(f, "%d %d %d %d", &s->thread, &s->kind, &s->at, &s->size) == 4) {
		threads = s->thread >= threads ? s->thread + 1 : threads;
		n++;
		s++;
	}
	if (!n || threads > 64)
		exit(90);
	fclose(f);
	return threads;
}

static long futex(int op, int value, const struct timespec *limit)
{
	return syscall(SYS_futex, &now, op, value, limit, NULL, 0);
}

/*
 * The length of a file is the number of steps done: a program that the check stops here cannot
 * print that number itself.
 */
static void done(void)
{
	static const char path[] = "done";
	char one = 0;
	static int fd = -1;

	if (fd < 0)
		fd = (int)syscall(SYS_creat, path, 0600);
	syscall(SYS_write, fd, &one, 1);
	__atomic_add_fetch(&now, 1, __ATOMIC_RELEASE);
	futex(FUTEX_WAKE_PRIVATE, 64, NULL);
}

struct turn turn_next(int thread)
{
	const struct timespec limit = {20, 0};
	int at;

	if (busy[thread])
		done();
	busy[thread] = 1;
	while ((at = __atomic_load_n(&now, __ATOMIC_ACQUIRE)) < n && steps[at].thread != thread)
		if (futex(FUTEX_WAIT_PRIVATE, at, &limit) < 0 &&
		    __atomic_load_n(&now, __ATOMIC_ACQUIRE) == at)
			_exit(91); /* no other thread takes its turn */
	return at < n ? steps[at] : (struct turn){thread, TURN_END, 0, 0};
}
