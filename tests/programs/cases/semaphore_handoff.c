/*
 * Semaphores that one thread posts and another waits for, with counts above
 * one: no thread holds them like a lock.
 *
 * silent prints: sum 210
 */
#include <semaphore.h>

#include "window.h"

enum { ITEMS = 20, ROOM = 3 };

static sem_t filled, room;
static int ring[ROOM];
static int sum;

BLOCK void put(int i)
{
	ring[i % ROOM] = i;
}

BLOCK int take(int i)
{
	return ring[i % ROOM];
}

static void *produce(void *arg)
{
	for (int i = 1; i <= ITEMS; i++) {
		while (sem_wait(&room))
			;
		put(i);
		sem_post(&filled);
	}
	return arg;
}

static void *consume(void *arg)
{
	for (int i = 1; i <= ITEMS; i++) {
		while (sem_wait(&filled))
			;
		sum += take(i);
		sem_post(&room);
	}
	return arg;
}

int main(void)
{
	sem_init(&filled, 0, 0);
	sem_init(&room, 0, ROOM);
	run_two(produce, consume);
	printf("sum %d\n", sum);
	sem_destroy(&filled);
	sem_destroy(&room);
}
