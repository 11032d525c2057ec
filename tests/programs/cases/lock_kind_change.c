/*
 * A mutex in memory that was a read-write lock before. Three threads have used the read-write lock,
 * in blocks that are still open, when the main thread uses the mutex, twice.
 *
 * silent prints: done
 * silent tsan: race
 */
#include "window.h"

enum { READERS = 3, DONE = READERS };

static union {
	pthread_rwlock_t rw;
	pthread_mutex_t mutex;
} lock = {.rw = PTHREAD_RWLOCK_INITIALIZER};

BLOCK void read_lock(int number)
{
	pthread_rwlock_rdlock(&lock.rw);
	pthread_rwlock_unlock(&lock.rw);
	reached(number);
	await(DONE);
}

static void *reader(void *number)
{
	read_lock((int)(long)number);
	return NULL;
}

BLOCK void use_mutex(void)
{
	pthread_mutex_lock(&lock.mutex);
	pthread_mutex_unlock(&lock.mutex);
}

int main(void)
{
	pthread_t t[READERS];

	for (long i = 0; i < READERS; i++)
		pthread_create(&t[i], NULL, reader, (void *)i);
	for (int i = 0; i < READERS; i++)
		await(i);
	lock.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	use_mutex();
	use_mutex();
	reached(DONE);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	puts("done");
}
