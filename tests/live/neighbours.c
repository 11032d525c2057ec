/*
 * neighbours SECONDS: threads that share little more than lines of memory. Each has its own words,
 * side by side with those of the others; they add to a shared word under a lock, and hand on small
 * heap blocks, which the last receiver frees. Every atomic block takes one lock, once, so it is
 * always atomic. There are more threads than most machines have processors, so that they are
 * interrupted anywhere.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BLOCK __attribute__((noinline)) static
enum { THREADS = 6, LINES = 24 };

/* One line of memory each. */
static struct {
	long own[THREADS], shared;
} __attribute__((aligned(64))) line[LINES];
static pthread_mutex_t lock[LINES];

struct note {
	struct note *next;
	int from, value;
};
static struct box {
	pthread_mutex_t lock;
	struct note *notes;
	int n;
} box[THREADS];

static time_t end;

/* Repeats at different depths: three ages of a line. */
BLOCK long touch(int me, int i, int depth)
{
	long was = line[i].own[me];

	if (depth)
		was += touch(me, i, depth - 1);
	line[i].own[me] = was + 1;
	return line[(i + 1) % LINES].own[me] & 1;
}

/* Its own word, the shared one, and its own once more. */
BLOCK void add(int me, int i)
{
	touch(me, i, 2);
	pthread_mutex_lock(&lock[i]);
	line[i].shared++;
	pthread_mutex_unlock(&lock[i]);
	touch(me, i, 1);
}

BLOCK void give(int me, int to, int value)
{
	struct note *note = malloc(sizeof *note);

	if (!note)
		exit(1);
	note->from = me;
	note->value = value;
	pthread_mutex_lock(&box[to].lock);
	note->next = box[to].notes;
	box[to].notes = note;
	box[to].n++;
	pthread_mutex_unlock(&box[to].lock);
}

BLOCK long empty(int me)
{
	struct note *note;
	long sum = 0;

	pthread_mutex_lock(&box[me].lock);
	note = box[me].notes;
	box[me].notes = NULL;
	box[me].n = 0;
	pthread_mutex_unlock(&box[me].lock);
	while (note) {
		struct note *next = note->next;

		sum += note->value - note->from;
		free(note);
		note = next;
	}
	return sum;
}

/* Its own heap blocks, freed at once: their neighbours belong to other threads. */
BLOCK long hold(int n)
{
	long *mine[8], sum = 0;

	for (int i = 0; i < 8; i++) {
		mine[i] = malloc(sizeof(long) * (size_t)(1 + (n + i) % 5));
		if (!mine[i])
			exit(1);
		*mine[i] = n;
	}
	for (int i = 0; i < 8; i++) {
		sum += *mine[i];
		free(mine[i]);
	}
	return sum;
}

static void *work(void *arg)
{
	int me = (int)(long)arg;
	unsigned random = (unsigned)me + 1;
	long sum = 0;

	while (time(NULL) < end) {
		for (int i = 0; i < 100; i++) {
			random = random * 1664525U + 1013904223U;
			add(me, (int)(random >> 8) % LINES);
			give(me, (int)(random >> 16) % THREADS, (int)(random >> 24));
			sum += hold(i);
		}
		sum += empty(me);
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];

	end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);
	for (int i = 0; i < LINES; i++)
		pthread_mutex_init(&lock[i], NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_mutex_init(&box[i].lock, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("done\n");
	return 0;
}
