/*
 * A deposit that reads and writes the balance under the lock, but not in one piece; with FIXED, in
 * one piece. Exits with 1 if a deposit is lost.
 */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

#ifdef FIXED
static void deposit(int amount)
{
	pthread_mutex_lock(&m);
	balance += amount;
	pthread_mutex_unlock(&m);
}
#else
static int get(void)
{
	int b;

	pthread_mutex_lock(&m);
	b = balance;
	pthread_mutex_unlock(&m);
	return b;
}

static void set(int b)
{
	pthread_mutex_lock(&m);
	balance = b;
	pthread_mutex_unlock(&m);
}

static void deposit(int amount)
{
	int b = get();

	set(b + amount);
}
#endif

static void *run(void *arg)
{
	deposit(100);
	return arg;
}

int main(void)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("the balance is %d\n", balance);
	return balance != 200;
}
