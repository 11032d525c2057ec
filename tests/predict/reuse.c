/*
 * reuse ROUNDS [WIDE]: a block of memory is allocated, updated and freed again and again, at the
 * same address. Only in the last round does another thread write to it, too, and in an ordinary run
 * after the update. With WIDE, the program accesses WIDE other words before.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

static sem_t filled, done;
static long *shared;

static __attribute__((noinline)) void update(long *p)
{
	long v = *p;

	*p = v + 1;
}

static void *first(void *arg)
{
	static const struct timespec while_the_other_updates = {0, 50000000};

	(void)arg;
	sem_wait(&filled);
	nanosleep(&while_the_other_updates, NULL);
	*shared = 1;
	sem_post(&done);
	return NULL;
}

static void *second(void *arg)
{
	const int *n = arg;
	long *wide = calloc((size_t)n[1] + 1, sizeof *wide);

	for (int i = 0; i < n[1]; i++)
		wide[i]++;
	for (int i = 0; i < n[0]; i++) {
		long *p = malloc(sizeof *p * 16);

		*p = 0;
		if (i + 1 == n[0]) {
			shared = p;
			sem_post(&filled);
		}
		update(p);
		if (i + 1 == n[0])
			sem_wait(&done);
		free(p);
	}
	free(wide);
	return NULL;
}

int main(int argc, char **argv)
{
	int n[2] = {argc > 1 ? atoi(argv[1]) : 1, argc > 2 ? atoi(argv[2]) : 0};
	pthread_t t[2];

	sem_init(&filled, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&t[0], NULL, first, NULL);
	pthread_create(&t[1], NULL, second, n);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
