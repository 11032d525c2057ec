/*
 * queue [THREADS [THOUSANDS]]: half of the threads make that many thousand packets and put them
 * into a bounded queue; the other threads take them out and check them. The queue has a mutex and
 * two condition variables.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 128, PAYLOAD = 96 };

struct packet {
	int number;
	short from;
	short length;
	unsigned sum;
	unsigned char payload[PAYLOAD];
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t not_empty, not_full;
	struct packet ring[ROOM];
	int first, used;
	int producers; /* that have not finished */
	int longest;
};

struct worker {
	pthread_t thread;
	int number;
	int packets; /* to make, or taken out */
	int bad;
	unsigned long sum;
};

static struct queue queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.not_empty = PTHREAD_COND_INITIALIZER,
	.not_full = PTHREAD_COND_INITIALIZER,
};

static void put(const struct packet *p)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.used == ROOM)
		pthread_cond_wait(&queue.not_full, &queue.lock);
	queue.ring[(queue.first + queue.used) % ROOM] = *p;
	if (++queue.used > queue.longest)
		queue.longest = queue.used;
	pthread_cond_signal(&queue.not_empty);
	pthread_mutex_unlock(&queue.lock);
}

/* Returns 0 if the queue is empty and all producers have finished. */
static int take(struct packet *p)
{
	int got = 0;

	pthread_mutex_lock(&queue.lock);
	while (queue.used == 0 && queue.producers > 0)
		pthread_cond_wait(&queue.not_empty, &queue.lock);
	if (queue.used > 0) {
		*p = queue.ring[queue.first];
		queue.first = (queue.first + 1) % ROOM;
		queue.used--;
		got = 1;
		pthread_cond_signal(&queue.not_full);
	}
	pthread_mutex_unlock(&queue.lock);
	return got;
}

static void leave(void)
{
	pthread_mutex_lock(&queue.lock);
	if (--queue.producers == 0)
		pthread_cond_broadcast(&queue.not_empty);
	pthread_mutex_unlock(&queue.lock);
}

static unsigned checksum(const struct packet *p)
{
	unsigned a = 1, b = 0;

	for (int i = 0; i < p->length; i++) {
		a = (a + p->payload[i]) % 65521;
		b = (b + a) % 65521;
	}
	return b << 16 | a;
}

static void fill(struct packet *p, int from, int number)
{
	unsigned x = (unsigned)(from * 7919 + number) * 2654435761U;

	p->from = (short)from;
	p->number = number;
	p->length = (short)(PAYLOAD / 2 + (int)(x >> 16) % (PAYLOAD / 2));
	for (int i = 0; i < p->length; i++) {
		x = x * 1664525U + 1013904223U;
		p->payload[i] = (unsigned char)(x >> 24);
	}
	p->sum = checksum(p);
}

static void *produce(void *arg)
{
	struct worker *w = arg;
	struct packet p;

	memset(&p, 0, sizeof p);
	for (int i = 0; i < w->packets; i++) {
		fill(&p, w->number, i);
		w->sum += p.sum;
		put(&p);
	}
	leave();
	return NULL;
}

static void *consume(void *arg)
{
	struct worker *w = arg;
	struct packet p;

	while (take(&p)) {
		unsigned sum = checksum(&p);

		w->bad += sum != p.sum;
		w->sum -= sum;
		w->packets++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2, thousands = argc > 2 ? atoi(argv[2]) : 600;
	int producers = threads / 2, made = 0, taken = 0, bad = 0;
	struct worker *workers;
	unsigned long sum = 0;

	if (threads < 2 || thousands < 1 || thousands > 1000000) {
		fprintf(stderr, "usage: queue [THREADS [THOUSANDS]], two threads or more\n");
		return 2;
	}
	workers = calloc((size_t)threads, sizeof *workers);
	queue.producers = producers;
	for (int i = 0; i < threads; i++) {
		int is_producer = i < producers;

		workers[i].number = i;
		workers[i].packets = is_producer ? thousands * 1000 / producers : 0;
		made += workers[i].packets;
		pthread_create(&workers[i].thread, NULL, is_producer ? produce : consume,
			       &workers[i]);
	}
	for (int i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		taken += i < producers ? 0 : workers[i].packets;
		bad += workers[i].bad;
		sum += workers[i].sum;
	}
	if (taken != made || bad || sum) {
		printf("queue: WRONG: %d made, %d taken, %d bad\n", made, taken, bad);
		return 1;
	}
	printf("queue: ok, %d packets\n", made);
	return 0;
}
