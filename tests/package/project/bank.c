/* A lost update in a block that the source marks; -DFIXED keeps the lock. */
#include <atomsan/atomsan.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;

static void *customer(void *arg)
{
	ATOMSAN_ATOMIC("deposit");
	pthread_mutex_lock(&m);
	int b = balance;
#ifndef FIXED
	pthread_mutex_unlock(&m);
	pthread_mutex_lock(&m);
#endif
	balance = b + 1;
	pthread_mutex_unlock(&m);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	/* The arguments arrive as they were given. */
	if (argc != 2 || strcmp(argv[1], "a word"))
		return 3;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, customer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
