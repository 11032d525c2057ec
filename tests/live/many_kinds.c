/*
 * many_kinds: a block that is cut at forty places, one in each of its runs; another such block,
 * which later waits; and a third, which is cut once.
 */
#include <pthread.h>
#include <unistd.h>

#include "../programs/window.h"

static volatile long word, waits_word, other_word;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

/* Each expansion is a separate place. */
#define PLACE(n, w)                                                                                \
	case n: {                                                                                  \
		long v = w;                                                                        \
		reached(2 * step);                                                                 \
		await(2 * step + 1);                                                               \
		w = v + 1;                                                                         \
		break;                                                                             \
	}
#define TEN(n, w)                                                                                  \
	PLACE(n, w)                                                                                \
	PLACE(n + 1, w)                                                                            \
	PLACE(n + 2, w)                                                                            \
	PLACE(n + 3, w)                                                                            \
	PLACE(n + 4, w)                                                                            \
	PLACE(n + 5, w)                                                                            \
	PLACE(n + 6, w)                                                                            \
	PLACE(n + 7, w)                                                                            \
	PLACE(n + 8, w)                                                                            \
	PLACE(n + 9, w)

enum { PLACES = 40 };

BLOCK static void many(int place, int step)
{
	switch (place) {
		TEN(0, word)
		TEN(10, word)
		TEN(20, word)
		TEN(30, word)
	}
}

BLOCK static void waits(int place, int step)
{
	struct timespec past = {0};

	switch (place) {
		TEN(0, waits_word)
		TEN(10, waits_word)
		TEN(20, waits_word)
		TEN(30, waits_word)
	}
	if (place < PLACES - 1)
		return;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&never, &mutex, &past);
	pthread_mutex_unlock(&mutex);
}

BLOCK static void once(int step)
{
	long v = other_word;

	reached(2 * step);
	await(2 * step + 1);
	other_word = v + 1;
}

BLOCK static void cut(volatile long *w)
{
	*w = 5;
}

static void *first(void *arg)
{
	for (int i = 0; i < PLACES; i++)
		waits(i, i);
	for (int i = 0; i < PLACES; i++)
		many(i, PLACES + i);
	once(2 * PLACES);
	return arg;
}

static void *second(void *arg)
{
	for (int i = 0; i <= 2 * PLACES; i++) {
		await(2 * i);
		cut(i < PLACES ? &waits_word : i < 2 * PLACES ? &word : &other_word);
		reached(2 * i + 1);
	}
	return arg;
}

int main(void)
{
	run_two(first, second);
	return 0;
}
