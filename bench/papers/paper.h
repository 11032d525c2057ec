/*
 * What the programs in this folder have in common: their arguments, threads, locks that can be
 * taken away, and cuts.
 *
 * A program is called as NAME [small|medium|full] [THREADS]. It prints one line, the same in every
 * run, and exits with 0 if its result is right.
 *
 *  - LOCK(mutex, place) and UNLOCK(mutex, place) surround a critical section. The environment
 *    variable PAPERS_WITHOUT=place disables both, as if the programmer had forgotten them.
 *    With PAPERS_PLACES=yes the program ends by listing the places to which several threads came.
 *  - At the small size, cut_point(N) holds each thread that comes until the one that waited for it
 * in cut_enter(N) has called cut_leave(N), and cut_after(N) waits for that, too. So a violation
 * that needs luck is in every run. At other sizes these functions do nothing.
 *
 * The functions marked PLAIN are not instrumented: a checker sees neither accesses nor
 * synchronisation in them.
 *
 * Included by: bench/papers.
 */
#ifndef ATOMSAN_BENCH_PAPERS_PAPER_H
#define ATOMSAN_BENCH_PAPERS_PAPER_H

#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define PLAIN __attribute__((noinline, unused, disable_sanitizer_instrumentation))
#else
#define PLAIN __attribute__((noinline, unused, no_sanitize_thread))
#endif

enum { PAPER_CUTS = 8, PAPER_PATIENCE = 30 /* s */, PAPER_MAX_THREADS = 64 };

static struct paper {
	const char *name;
	int is_small;
	int size; /* the number that the program gave for this size */
	int threads;
	pthread_t thread[PAPER_MAX_THREADS];

	const char *without; /* the lock place that is disabled */
	int list_places;
	int cut_open[PAPER_CUTS], cut_left[PAPER_CUTS], cutter[PAPER_CUTS];
} paper;

/* A place at which a lock is acquired. */
struct paper_place {
	const char *name;
	int thread;    /* the last thread that came here, 0 for none */
	int contended; /* several threads came here */
	struct paper_place *next;
};

static struct paper_place *paper_places;

static inline void paper_fail(const char *what)
{
	fprintf(stderr, "%s: wrong: %s\n", paper.name, what);
	exit(1);
}

/* Ends the program if a result is wrong. With a lock taken away a wrong result is no surprise. */
static inline void paper_verify(int right, const char *what)
{
	if (!right && !paper.without)
		paper_fail(what);
}

/* Reads the arguments. small, medium and full are what paper.size becomes. */
static inline void paper_start(int argc, char **argv, const char *name, int small, int medium,
			       int full, int threads)
{
	const char *size = argc > 1 ? argv[1] : "full";

	paper.name = name;
	paper.is_small = strcmp(size, "small") == 0;
	paper.size = paper.is_small ? small : strcmp(size, "medium") == 0 ? medium : full;
	paper.threads = argc > 2 ? atoi(argv[2]) : threads;
	paper.without = getenv("PAPERS_WITHOUT");
	paper.list_places = getenv("PAPERS_PLACES") != NULL;
	if (argc > 3 || paper.threads < 2 || paper.threads > PAPER_MAX_THREADS ||
	    (!paper.is_small && strcmp(size, "medium") != 0 && strcmp(size, "full") != 0)) {
		fprintf(stderr, "usage: %s [small|medium|full] [THREADS]\n", name);
		exit(2);
	}
}

/* Starts the function in n threads, with the numbers from `first` as arguments. */
static inline void paper_start_threads(void *(*function)(void *), int first, int n)
{
	for (int i = first; i < first + n; i++)
		if (pthread_create(&paper.thread[i], NULL, function, (void *)(intptr_t)i) != 0)
			paper_fail("cannot create a thread");
}

static inline void paper_join_threads(void)
{
	for (int i = 0; i < paper.threads; i++)
		pthread_join(paper.thread[i], NULL);
}

/* Runs the function in paper.threads threads. */
static inline void paper_run_threads(void *(*function)(void *))
{
	paper_start_threads(function, 0, paper.threads);
	paper_join_threads();
}

PLAIN static void paper_note_place(struct paper_place *place)
{
	int self = (int)syscall(SYS_gettid);
	int before = __atomic_exchange_n(&place->thread, self, __ATOMIC_SEQ_CST);

	if (before == 0) {
		place->next = __atomic_load_n(&paper_places, __ATOMIC_SEQ_CST);
		while (!__atomic_compare_exchange_n(&paper_places, &place->next, place, 0,
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
	} else if (before != self) {
		__atomic_store_n(&place->contended, 1, __ATOMIC_SEQ_CST);
	}
}

PLAIN static int paper_is_removed(const char *place)
{
	return paper.without && strcmp(paper.without, place) == 0;
}

/* Prints the contended places if PAPERS_PLACES is set. Call it at the end of main(). */
PLAIN static void paper_print_places(void)
{
	for (struct paper_place *p = paper_places; p; p = p->next)
		if (p->contended)
			fprintf(stderr, "place %s\n", p->name);
}

#define LOCK(mutex, place)                                                                         \
	do {                                                                                       \
		static struct paper_place paper_place_ = {#place, 0, 0, NULL};                     \
                                                                                                   \
		if (paper.list_places)                                                             \
			paper_note_place(&paper_place_);                                           \
		if (!paper.without || !paper_is_removed(#place))                                   \
			pthread_mutex_lock(mutex);                                                 \
	} while (0)

#define UNLOCK(mutex, place)                                                                       \
	do {                                                                                       \
		if (!paper.without || !paper_is_removed(#place))                                   \
			pthread_mutex_unlock(mutex);                                               \
	} while (0)

/* A random number from the state, which belongs to the caller and must not be 0. */
static inline uint64_t paper_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A random number from 0 (included) to 1 (excluded). */
static inline double paper_random_unit(uint64_t *state)
{
	return (double)(paper_random(state) >> 11) / 9007199254740992.0;
}

PLAIN static void cut_set(int *flag)
{
	__atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, flag, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

PLAIN static void cut_await(int *flag)
{
	struct timespec patience = {PAPER_PATIENCE, 0};

	/* A wake-up without reason is rare; a second one is not expected. */
	for (int i = 0; i < 3 && !__atomic_load_n(flag, __ATOMIC_SEQ_CST); i++)
		syscall(SYS_futex, flag, FUTEX_WAIT, 0, &patience, NULL, 0);
	if (!__atomic_load_n(flag, __ATOMIC_SEQ_CST)) {
		fprintf(stderr, "%s: a cut was waited for in vain\n", paper.name);
		_exit(99);
	}
}

PLAIN static void cut_point(int n)
{
	if (!paper.is_small || paper.without ||
	    __atomic_load_n(&paper.cutter[n], __ATOMIC_SEQ_CST) == (int)syscall(SYS_gettid))
		return;
	cut_set(&paper.cut_open[n]);
	cut_await(&paper.cut_left[n]);
}

PLAIN static void cut_enter(int n)
{
	if (!paper.is_small || paper.without)
		return;
	__atomic_store_n(&paper.cutter[n], (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	cut_await(&paper.cut_open[n]);
}

PLAIN static void cut_leave(int n)
{
	if (paper.is_small && !paper.without)
		cut_set(&paper.cut_left[n]);
}

PLAIN static void cut_after(int n)
{
	if (paper.is_small && !paper.without)
		cut_await(&paper.cut_left[n]);
}

#endif
