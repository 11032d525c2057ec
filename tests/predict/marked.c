/*
 * A lost update in a marked block. If a specification excludes the label, get() and set() are the
 * transactions, and both are atomic.
 */
#include <atomsan/atomsan.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static __attribute__((noinline)) int get(void)
{
	pthread_mutex_lock(&m);
	int b = balance;

	pthread_mutex_unlock(&m);
	return b;
}

static __attribute__((noinline)) void set(int b)
{
	pthread_mutex_lock(&m);
	balance = b;
	pthread_mutex_unlock(&m);
}

static void *customer(void *arg)
{
	(void)arg;
	ATOMSAN_ATOMIC("round");

	set(get() + 1);
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, customer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", balance);
	return 0;
}
