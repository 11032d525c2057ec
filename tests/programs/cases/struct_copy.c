/*
 * A structure that is assigned is accessed, also if the compiler makes a few moves of it: the
 * first block reads a pair, is cut, and writes it; the second copies with memcpy and a small
 * constant size.
 *
 * buggy blame: assign
 * buggy blame: copy
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: done
 * fixed prints: done
 */
#include <string.h>

#include "window.h"

struct pair {
	long requests, bytes;
};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static struct pair total[2];

#ifdef FIXED
#define LOCK   pthread_mutex_lock(&m)
#define UNLOCK pthread_mutex_unlock(&m)
#else
#define LOCK   (void)m
#define UNLOCK (void)m
#endif

BLOCK long assign(const struct pair *next)
{
	LOCK;
	long before = total[0].requests;
	window_hold(0);
	total[0] = *next;
	UNLOCK;
	return before;
}

BLOCK long copy(const struct pair *next)
{
	LOCK;
	long before = total[1].requests;
	window_hold(1);
	memcpy(&total[1], next, sizeof *next);
	UNLOCK;
	return before;
}

static void *first(void *arg)
{
	static struct pair next = {1, 100};

	assign(&next);
	copy(&next);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i < 2; i++) {
		window_enter(i);
		LOCK;
		total[i].requests = 7;
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
