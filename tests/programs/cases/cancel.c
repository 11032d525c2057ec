/*
 * Cancellation ends the open blocks, as in thread_exit.c. One thread is cancelled
 * while it waits, another when it calls pthread_testcancel().
 *
 * buggy blame: wait_forever
 * buggy blame: test_forever
 * buggy variable: x
 * buggy prints: 5 canceled 2
 * fixed prints: 5 canceled 2
 */
#include <stdatomic.h>
#include <unistd.h>

#include "window.h"

static pthread_key_t key;
static atomic_int x;
static int five = 5;

BLOCK void put(void *value)
{
	atomic_store(&x, *(int *)value);
}

static void rest(int way)
{
	for (;;) {
		if (way == 0)
			pause();
		else
			pthread_testcancel();
	}
}

#ifdef FIXED
#define BODY(way)                                                                                  \
	pthread_setspecific(key, &five);                                                           \
	atomic_load(&x);                                                                           \
	window_hold_for(way, 0);                                                                   \
	rest(way)
#else
#define BODY(way)                                                                                  \
	pthread_cleanup_push(put, &five);                                                          \
	atomic_load(&x);                                                                           \
	window_hold(way);                                                                          \
	rest(way);                                                                                 \
	pthread_cleanup_pop(0)
#endif

BLOCK void wait_forever(void)
{
	BODY(0);
}

BLOCK void test_forever(void)
{
	BODY(1);
}

static void *waits(void *arg)
{
	wait_forever();
	return arg;
}

static void *tests(void *arg)
{
	test_forever();
	return arg;
}

int main(void)
{
	void *(*const run[2])(void *) = {waits, tests};
	int canceled = 0;

	pthread_key_create(&key, put);
	for (int i = 0; i < 2; i++) {
		pthread_t t;
		void *result;

		pthread_create(&t, NULL, run[i], NULL);
		window_enter(i);
		atomic_store(&x, 2);
		window_leave(i);
		pthread_cancel(t);
		pthread_join(t, &result);
		canceled += result == PTHREAD_CANCELED;
	}
	printf("%d canceled %d\n", atomic_load(&x), canceled);
}
