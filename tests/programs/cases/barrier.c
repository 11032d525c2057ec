/*
 * Phases that are separated by barriers. round_trip() passes barriers, so it is no
 * block by default, and neither are its parts between the barriers.
 *
 * silent prints: 40
 */
#include "window.h"

enum { THREADS = 4, ROUNDS = 10 };

static pthread_barrier_t barrier;
static int slot[2][THREADS];

BLOCK void send(int from, int phase, int value)
{
	slot[phase][(from + 1) % THREADS] = value + 1;
}

BLOCK int receive(int to, int phase)
{
	return slot[phase][to];
}

BLOCK void round_trip(int me)
{
	int value = slot[0][me];

	for (int i = 0; i < ROUNDS; i++) {
		int phase = i % 2;

		pthread_barrier_wait(&barrier);
		send(me, phase, value);
		pthread_barrier_wait(&barrier);
		value = receive(me, phase);
	}
	pthread_barrier_wait(&barrier);
	slot[0][me] = value;
}

static void *run(void *arg)
{
	round_trip(*(int *)arg);
	return NULL;
}

int main(void)
{
	static int id[THREADS];
	pthread_t t[THREADS];
	int sum = 0;

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		id[i] = i;
		pthread_create(&t[i], NULL, run, &id[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += slot[0][i];
	}
	printf("%d\n", sum);
	pthread_barrier_destroy(&barrier);
}
