/*
 * readers TIMES: many threads read the same memory again and again, each in its own blocks. In
 * every round one of them reads a word twice in a block, and another thread writes the word in
 * between; every other time the first thread reads more than its history holds meanwhile. Then that
 * other thread writes a word in a block, two read it, and a third passes on what it read, to that
 * block. Each of the cuts must be counted, and no other block may be blamed. There are at most 42
 * rounds (window.c). Each round has its own words, since memory that is written often is not
 * treated as memory that many threads read.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../programs/window.h"

#define ALONE BLOCK static
enum { READERS = 5, WRITTEN = 100, WORDS = 40000 };

static pthread_barrier_t barrier;
static long word[WORDS], passed[WRITTEN], answer;
static int times;

ALONE long look(int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += word[i];
	return sum;
}

ALONE long twice(int n, int round)
{
	long before = word[round], sum = 0;

	for (int i = WRITTEN; i < n; i++)
		sum += word[i];
	reached(6 * round);
	await(6 * round + 1);
	return word[round] - before + sum;
}

ALONE void put(int round)
{
	word[round] = 1;
}

ALONE long peek(int round)
{
	return passed[round];
}

ALONE void pass_on(int round)
{
	answer = passed[round];
}

ALONE long wide(int round)
{
	passed[round] = round;
	reached(6 * round + 2);
	await(6 * round + 5);
	return answer;
}

static void *reads(void *arg)
{
	int number = *(int *)arg;
	long sum = 0, cuts = 0;

	for (int i = 0; i < times; i++) {
		int n = i % 2 ? WRITTEN : WORDS;

		/* The barrier before the second read makes all of them old. */
		sum += look(n);
		pthread_barrier_wait(&barrier);
		sum += look(n);
		pthread_barrier_wait(&barrier);
		if (number == i % READERS)
			cuts += twice(n, i);
		for (int k = 0; k < 3; k++) {
			if (number != (i + k) % READERS)
				continue;
			await(6 * i + 2 + k);
			if (k < 2)
				sum += peek(i);
			else
				pass_on(i);
			reached(6 * i + 3 + k);
		}
		pthread_barrier_wait(&barrier);
	}
	if (sum < 0)
		abort();
	*(int *)arg = (int)cuts;
	return arg;
}

static void *writes(void *arg)
{
	for (int i = 0; i < times; i++) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		await(6 * i);
		put(i);
		reached(6 * i + 1);
		if (wide(i) != i)
			abort();
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread[READERS + 1];
	int number[READERS], cuts = 0;

	times = argc > 1 ? atoi(argv[1]) : 40;
	pthread_barrier_init(&barrier, NULL, READERS + 1);
	for (int i = 0; i < READERS; i++) {
		number[i] = i;
		pthread_create(&thread[i], NULL, reads, &number[i]);
	}
	pthread_create(&thread[READERS], NULL, writes, NULL);
	for (int i = 0; i <= READERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < READERS; i++)
		cuts += number[i];
	printf("cuts %d\n", cuts);
	return 0;
}
