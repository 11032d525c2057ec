/*
 * One variable under very many locks, a different one each time: no two of its accesses exclude
 * each other. With -DFIXED there is one more lock around all of them, and they do. Comparing
 * each with each would take minutes.
 */
#include <pthread.h>
#include <stdio.h>

enum { LOCKS = 50000 };
static pthread_mutex_t lock[LOCKS], all = PTHREAD_MUTEX_INITIALIZER;
static long count;

static __attribute__((noinline)) void add(int i)
{
#ifdef FIXED
	pthread_mutex_lock(&all);
#endif
	pthread_mutex_lock(&lock[i]);
	count++;
	pthread_mutex_unlock(&lock[i]);
#ifdef FIXED
	pthread_mutex_unlock(&all);
#endif
}

static void *work(void *unused)
{
	for (int i = 0; i < LOCKS; i++)
		add(i);
	return unused;
}

int main(void)
{
	pthread_t t[2];

	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&lock[i], NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	(void)all;
	puts("done");
	return 0;
}
