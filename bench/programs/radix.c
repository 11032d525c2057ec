/*
 * radix [THREADS [THOUSANDS]]: sort that many thousand numbers of 32 bits, eight bits at a time.
 * Each thread counts the digits of its part; thread 0 turns the counts into places; each thread
 * moves its part to these places. Barriers separate the steps.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BITS = 8, DIGITS = 1 << BITS, ROUNDS = 32 / BITS };

struct worker {
	pthread_t thread;
	int first, end;
	int place[DIGITS]; /* the count of each digit, then the place of the next number with it */
	uint64_t sum;
};

static struct worker *workers;
static int threads, n;
static uint32_t *keys, *other;
static uint64_t sum_before;
static pthread_barrier_t barrier;

static void *need(size_t count, size_t size)
{
	void *p = calloc(count, size);

	if (!p) {
		fprintf(stderr, "radix: no memory\n");
		exit(1);
	}
	return p;
}

static uint32_t scramble(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352dU;
	x ^= x >> 15;
	x *= 0x846ca68bU;
	return x ^ x >> 16;
}

static int digit(uint32_t key, int round)
{
	return (int)(key >> (round * BITS) & (DIGITS - 1));
}

static void fill(struct worker *w)
{
	for (int i = w->first; i < w->end; i++) {
		keys[i] = scramble((uint32_t)i);
		w->sum += keys[i];
	}
}

static void count(struct worker *w, const uint32_t *from, int round)
{
	for (int d = 0; d < DIGITS; d++)
		w->place[d] = 0;
	for (int i = w->first; i < w->end; i++)
		w->place[digit(from[i], round)]++;
}

static void counts_to_places(void)
{
	int next = 0;

	for (int d = 0; d < DIGITS; d++) {
		for (int t = 0; t < threads; t++) {
			int there = workers[t].place[d];

			workers[t].place[d] = next;
			next += there;
		}
	}
}

static void move(struct worker *w, const uint32_t *from, uint32_t *to, int round)
{
	for (int i = w->first; i < w->end; i++) {
		int d = digit(from[i], round);

		to[w->place[d]++] = from[i];
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	fill(w);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t *from = round % 2 ? other : keys, *to = round % 2 ? keys : other;

		pthread_barrier_wait(&barrier);
		count(w, from, round);
		pthread_barrier_wait(&barrier);
		if (w == workers)
			counts_to_places();
		pthread_barrier_wait(&barrier);
		move(w, from, to, round);
	}
	return NULL;
}

/* The number of rounds is even, so that the result is in keys again. */
static int is_sorted(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++) {
		sum += keys[i];
		if (i > 0 && keys[i - 1] > keys[i])
			return 0;
	}
	return sum == sum_before;
}

int main(int argc, char **argv)
{
	int thousands = argc > 2 ? atoi(argv[2]) : 16000;

	threads = argc > 1 ? atoi(argv[1]) : 2;
	if (threads < 1 || thousands < 1 || thousands > 1000000) {
		fprintf(stderr, "usage: radix [THREADS [THOUSANDS]]\n");
		return 2;
	}
	n = thousands * 1000;
	keys = need((size_t)n, sizeof *keys);
	other = need((size_t)n, sizeof *other);
	workers = need((size_t)threads, sizeof *workers);
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		workers[i].first = (int)((long)n * i / threads);
		workers[i].end = (int)((long)n * (i + 1) / threads);
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum_before += workers[i].sum;
	}
	if (!is_sorted()) {
		printf("radix: WRONG\n");
		return 1;
	}
	printf("radix: ok, sum %llu\n", (unsigned long long)sum_before);
	return 0;
}
