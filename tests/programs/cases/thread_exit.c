/*
 * pthread_exit() deep in blocks ends them. The destructors of the thread's keys
 * run afterwards; a cleanup handler runs inside its block.
 *
 * buggy blame: work
 * buggy refuted: work
 * buggy variable: x
 * buggy prints: 5
 * fixed prints: 5
 */
#include <stdatomic.h>

#include "window.h"

static pthread_key_t key;
static atomic_int x;

BLOCK void put(void *value)
{
	atomic_store(&x, *(int *)value);
}

BLOCK void give_up(void)
{
	pthread_exit(NULL);
}

BLOCK void work(void)
{
	static int five = 5;

#ifdef FIXED
	pthread_setspecific(key, &five);
	atomic_load(&x);
	window_hold_for(1, 0);
	give_up();
#else
	pthread_cleanup_push(put, &five);
	atomic_load(&x);
	window_hold(1);
	give_up();
	pthread_cleanup_pop(0);
#endif
}

static void *second(void *arg)
{
	window_enter(1);
	atomic_store(&x, 2);
	window_leave(1);
	return arg;
}

static void *first(void *arg)
{
	work();
	return arg;
}

int main(void)
{
	pthread_key_create(&key, put);
	run_two(first, second);
	printf("%d\n", atomic_load(&x));
}
