/*
 * Functions of the C library that read or write the program's memory are accesses: each
 * block reads by one function, is cut, and writes by another.
 *
 * buggy blame: memcmp_memset
 * buggy blame: memchr_memcpy
 * buggy blame: memcpy_memmove
 * buggy blame: memmove_mempcpy
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: done
 * fixed prints: done
 */
#define _GNU_SOURCE
#include <string.h>

#include "window.h"

enum { SIZE = 100 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static char shared[4][SIZE];
static volatile long size = SIZE; /* not known at compile time */

#ifdef FIXED
#define LOCK   pthread_mutex_lock(&m)
#define UNLOCK pthread_mutex_unlock(&m)
#else
#define LOCK   (void)m
#define UNLOCK (void)m
#endif

#define READ_THEN_WRITE(name, i, read, write)                                                      \
	BLOCK long name(long n)                                                                    \
	{                                                                                          \
		char *s = shared[i], own[SIZE] = "own";                                            \
		long result;                                                                       \
                                                                                                   \
		LOCK;                                                                              \
		result = (long)(read);                                                             \
		window_hold(i);                                                                    \
		(void)(write);                                                                     \
		UNLOCK;                                                                            \
		return result + own[0];                                                            \
	}

READ_THEN_WRITE(memcmp_memset, 0, memcmp(s, own, n), memset(s, 1, n))
READ_THEN_WRITE(memchr_memcpy, 1, memchr(s, 'x', n), memcpy(s, own, n))
READ_THEN_WRITE(memcpy_memmove, 2, memcpy(own, s, n), memmove(s, own, n))
READ_THEN_WRITE(memmove_mempcpy, 3, memmove(own, s, n), mempcpy(s, own, n))

static void *first(void *arg)
{
	long n = size;

	memcmp_memset(n);
	memchr_memcpy(n);
	memcpy_memmove(n);
	memmove_mempcpy(n);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < 4; i++) {
		window_enter(i);
		LOCK;
		shared[i][0] = 'a';
		UNLOCK;
		window_leave(i);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	printf("done\n");
}
