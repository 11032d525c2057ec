/*
 * A timer interrupts everything, including atomic operations and locks. Its handler uses
 * atomics, memory and the errno of its thread.
 *
 * silent prints: 4000 4000, counted
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>

#include "window.h"

enum { EACH = 2000 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_long by_atomic;
static long by_lock;
static __thread volatile int own_signals;
static __thread char from[64], to[64];
static atomic_int signals;

static void on_timer(int signal)
{
	int saved = errno;

	(void)signal;
	own_signals++;
	memcpy(to, from, sizeof to);
	atomic_fetch_add(&signals, 1);
	errno = saved;
}

static void *run(void *arg)
{
	for (int i = 0; i < EACH || atomic_load(&signals) < 20; i++) {
		if (i >= EACH)
			continue;
		atomic_fetch_add(&by_atomic, 1);
		pthread_mutex_lock(&m);
		by_lock++;
		pthread_mutex_unlock(&m);
	}
	return arg;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	run_two(run, run);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%ld %ld, %s\n", atomic_load(&by_atomic), by_lock,
	       atomic_load(&signals) >= 20 ? "counted" : "lost");
}
