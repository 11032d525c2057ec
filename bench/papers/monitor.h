/*
 * Java's monitors for the classes in this folder: each object has a recursive lock. SYNCHRONIZED(x)
 * holds x's lock until the end of the scope.
 *
 * Included by: bench/papers.
 */
#ifndef ATOMSAN_BENCH_PAPERS_MONITOR_H
#define ATOMSAN_BENCH_PAPERS_MONITOR_H

#include <pthread.h>

static inline __attribute__((always_inline)) void monitor_init(pthread_mutex_t *m)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
}

static inline __attribute__((always_inline)) pthread_mutex_t *monitor_enter(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}

static inline __attribute__((always_inline)) void monitor_exit(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

#define SYNCHRONIZED(x)                                                                            \
	pthread_mutex_t *held_ __attribute__((cleanup(monitor_exit), unused)) =                    \
		monitor_enter(&(x)->monitor)

#endif
