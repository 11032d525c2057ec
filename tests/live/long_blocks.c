/*
 * long_blocks LOCK WORK: a block that another thread cuts. After their operations on the lock, both
 * threads work on their own memory for longer than their histories reach back: the check knows
 * only what it kept separately about these operations. Before all of them there are operations on
 * another lock. Without a lock, the accesses are what is kept.
 *
 * LOCK is mutex, rwlock, semaphore or none. WORK is calls or loop: the first keeps calling functions; the
 * second does not, so that the thread's clock does not advance.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "../programs/window.h"

enum { WORDS = 1 << 17, BEFORE = 3000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t semaphore;
static char kind;
static int calls;
static long balance, own[2][WORDS];

static void lock(int shared)
{
	if (kind == 'n')
		return;
	if (kind == 'm')
		pthread_mutex_lock(&mutex);
	else if (kind == 's')
		sem_wait(&semaphore);
	else if (shared)
		pthread_rwlock_rdlock(&rwlock);
	else
		pthread_rwlock_wrlock(&rwlock);
}

static void unlock(void)
{
	if (kind == 'n')
		return;
	if (kind == 'm')
		pthread_mutex_unlock(&mutex);
	else if (kind == 's')
		sem_post(&semaphore);
	else
		pthread_rwlock_unlock(&rwlock);
}

BLOCK static long get(void)
{
	long b;

	lock(1);
	b = balance;
	unlock();
	return b;
}

BLOCK static void set(long b)
{
	lock(0);
	balance = b;
	unlock();
}

BLOCK static void touch(long *word)
{
	++*word;
}

BLOCK static void work(long *words)
{
	for (int i = 0; i < WORDS; i++)
		if (calls)
			touch(&words[i]);
		else
			words[i]++;
}

BLOCK static void once(void)
{
	pthread_mutex_lock(&other);
	pthread_mutex_unlock(&other);
}

BLOCK static void before(void)
{
	for (int i = 0; i < BEFORE; i++)
		once();
}

BLOCK static void update(void)
{
	long b;

	before();
	b = get();
	work(own[0]);
	window_hold(1);
	set(b + 1);
}

static void cut(void)
{
	set(10);
	work(own[1]);
}

TWO_THREADS(update(), cut())

int main(int argc, char **argv)
{
	kind = argc > 1 ? *argv[1] : 'm';
	calls = argc > 2 && !strcmp(argv[2], "calls");
	sem_init(&semaphore, 0, 1);
	run_two(first, second);
	printf("balance %ld\n", balance);
	return 0;
}
