/*
 * For tests/schedule/confirm. The reader's two reads are under the lock, and the lock is released in between. In the
 * build with ORDERED the writer starts only after the second read. So what is predicted for the other build cannot
 * happen in this one.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int value = 1, other = 2;
static sem_t done;

static int read_locked(const int *p)
{
	pthread_mutex_lock(&m);
	int v = *p;
	pthread_mutex_unlock(&m);
	return v;
}

static int check_twice(void)
{
	int first = read_locked(&value);

	return read_locked(&value) - first;
}

static void *reader(void *arg)
{
	(void)arg;
	if (check_twice())
		abort();
	sem_post(&done);
	return NULL;
}

static void change(void)
{
	pthread_mutex_lock(&m);
	value = other;
	pthread_mutex_unlock(&m);
}

static void *writer(void *arg)
{
	(void)arg;
#ifdef ORDERED
	sem_wait(&done);
#endif
	change();
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	sem_init(&done, 0, 0);
	pthread_create(&t1, NULL, reader, NULL);
	pthread_create(&t2, NULL, writer, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	puts("unchanged");
	return 0;
}
