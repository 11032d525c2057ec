/*
 * The time of day is kept as seconds and microseconds, as in a kernel on a machine that cannot
 * write both at once. The clock thread changes both under the lock. The reader, written for speed,
 * takes no lock: it can read the seconds before a carry and the microseconds after it, and time
 * then runs backwards by nearly a second. Kernels have had this bug in more than one place before
 * they got sequence locks for the time.
 *
 * Meant to be atomic: reading seconds and microseconds. The fields are read and written as atomic
 * variables. The twin takes the lock to read.
 */
// expect: function=stamp_packets,run_clock variable=seconds,micros class=torn-pair where=loop
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

enum { TICKS = 40, STEP = 100000, PACKETS = 40 };

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long seconds, micros;
static int backwards;

static void *run_clock(void *arg)
{
	(void)arg;
	for (int i = 0; i < TICKS; i++) {
		pass_window();
		pthread_mutex_lock(&clock_lock);
		long next = atomic_load(&micros) + STEP;
		if (next >= 1000000) {
			atomic_store(&micros, 0);
			atomic_store(&seconds, atomic_load(&seconds) + 1);
		} else {
			atomic_store(&micros, next);
		}
		pthread_mutex_unlock(&clock_lock);
	}
	return NULL;
}

static void *stamp_packets(void *arg)
{
	long long before = 0;

	(void)arg;
	for (int i = 0; i < PACKETS; i++) {
#ifdef FIXED
		pthread_mutex_lock(&clock_lock);
#endif
		long s = atomic_load(&seconds);
		pass_window();
		long u = atomic_load(&micros);
#ifdef FIXED
		pthread_mutex_unlock(&clock_lock);
#endif
		long long now = s * 1000000LL + u;
		if (now < before)
			backwards++;
		before = now;
	}
	return NULL;
}

int main(void)
{
	pthread_t clock_thread, network;

	pthread_create(&network, NULL, stamp_packets, NULL);
	pthread_create(&clock_thread, NULL, run_clock, NULL);
	pthread_join(network, NULL);
	pthread_join(clock_thread, NULL);
	return print_outcome(backwards == 0);
}
