/*
 * A lost update: every access of `balance` holds the lock, so there is no data
 * race, and yet a deposit can be lost. The lock is released between the read and
 * the write; what the other thread adds in between is overwritten.
 */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static int get(void)
{
	pthread_mutex_lock(&m);
	int b = balance;
	pthread_mutex_unlock(&m);
	return b;
}

static void set(int b)
{
	pthread_mutex_lock(&m);
	balance = b;
	pthread_mutex_unlock(&m);
}

/* Meant to be atomic. */
static void deposit(int amount)
{
	int b = get();
	set(b + amount);
}

static void *customer(void *arg)
{
	(void)arg;
	deposit(100);
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, customer, NULL);
	pthread_create(&t2, NULL, customer, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	printf("balance: %d\n", balance);
	return 0;
}
