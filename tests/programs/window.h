/*
 * With these functions a small program forces one thread into the middle of another
 * thread's block.
 *
 * These functions are compiled plainly and use bare futexes: the checker sees
 * nothing of them, so they neither make nor hide a conflict, and ThreadSanitizer
 * does not take them for synchronisation either.
 *
 *	window_hold(N)   in the block: the first thread that comes here opens window N
 *	                 and waits until a thread leaves it; any other passes by
 *	window_enter(N)  in another thread: wait until window N is open
 *	window_leave(N)  done: the thread that holds the window goes on
 *	reached(N)       for any other order: step N is done
 *	await(N)         wait for that
 *
 * In a fixed program no thread can come in, so there window_hold() waits only a
 * moment. Anything else that waits for 20 seconds ends the program: a test
 * whose window never opened does not pass.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <pthread.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

void window_hold_for(int window, int milliseconds); /* 0: without a limit of its own */
void window_enter(int window);
void window_leave(int window);
void reached(int step);
void await(int step);

int window_thread_id(void);
void window_await_gone(int thread_id); /* waits until the thread no longer exists for the system */

#ifdef __cplusplus
}
#endif

#ifdef FIXED
#define window_hold(n) window_hold_for(n, 20)
#else
#define window_hold(n) window_hold_for(n, 0)
#endif

/* A function that is meant to be atomic and that is not inlined at -O2. */
#define BLOCK __attribute__((noinline))

/* Defines the thread functions first(), which does A, and second(), which does B in window 1. */
#define TWO_THREADS(A, B)                                                                          \
	static void *first(void *arg)                                                              \
	{                                                                                          \
		A;                                                                                 \
		return arg;                                                                        \
	}                                                                                          \
	static void *second(void *arg)                                                             \
	{                                                                                          \
		window_enter(1);                                                                   \
		B;                                                                                 \
		window_leave(1);                                                                   \
		return arg;                                                                        \
	}

static inline void run_two(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, one, NULL);
	pthread_create(&t2, NULL, other, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
}

#endif
