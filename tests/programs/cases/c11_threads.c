/*
 * Threads of C11: create, join, condition variables, call_once, thread-specific
 * storage. The bug is a lost update.
 *
 * buggy blame: deposit
 * buggy variable: balance
 * buggy prints: balance 10, made 1, stored 2, status 7
 * fixed prints: balance 30, made 1, stored 2, status 7
 */
#include <stdlib.h>
#include <threads.h>

#include "window.h"

static mtx_t m;
static cnd_t cond;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t storage;
static int balance, made, stored, done;

static void make(void)
{
	made++;
}

static void on_exit_of_thread(void *p)
{
	mtx_lock(&m);
	stored += *(int *)p;
	mtx_unlock(&m);
	free(p);
}

BLOCK void deposit(int amount)
{
	mtx_lock(&m);
	int b = balance;
#ifndef FIXED
	mtx_unlock(&m);
#endif
	window_hold(1);
#ifndef FIXED
	mtx_lock(&m);
#endif
	balance = b + amount;
	mtx_unlock(&m);
}

static void finish(void)
{
	int *p = malloc(sizeof *p);

	*p = 1;
	tss_set(storage, p);
	mtx_lock(&m);
	done++;
	cnd_broadcast(&cond);
	mtx_unlock(&m);
}

static int first(void *arg)
{
	(void)arg;
	call_once(&flag, make);
	deposit(10);
	finish();
	thrd_exit(3);
}

static int second(void *arg)
{
	(void)arg;
	window_enter(1);
	call_once(&flag, make);
	deposit(20);
	window_leave(1);
	finish();
	return 4;
}

int main(void)
{
	thrd_t t1, t2;
	int s1, s2;

	mtx_init(&m, mtx_plain);
	cnd_init(&cond);
	tss_create(&storage, on_exit_of_thread);
	thrd_create(&t1, first, NULL);
	thrd_create(&t2, second, NULL);
	mtx_lock(&m);
	while (done < 2)
		cnd_wait(&cond, &m);
	mtx_unlock(&m);
	thrd_join(t1, &s1);
	thrd_join(t2, &s2);
	printf("balance %d, made %d, stored %d, status %d\n", balance, made, stored, s1 + s2);
	tss_delete(storage);
	cnd_destroy(&cond);
	mtx_destroy(&m);
}
