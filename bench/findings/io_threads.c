/*
 * io_threads [THREADS [ROUNDS]]: the main thread hands requests to I/O threads, works on a share of
 * its own, and spins until the others have finished, as redis does. A thread that has nothing to do
 * spins on its count of pending requests.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, CLIENTS = 64, BYTES = 256 };

struct client {
	char query[BYTES], reply[BYTES];
	int nquery, nreply;
	unsigned long sum;
};

struct share {
	_Atomic unsigned long pending;
	struct client *client[CLIENTS];
	int n;
	char pad[64];
};

static struct client client[CLIENTS];
static struct share share[THREADS];
static _Atomic int stop;
static int nthreads;
static unsigned long served;

static void read_query(struct client *c)
{
	c->sum = 0;
	for (int i = 0; i < c->nquery; i++)
		c->sum = c->sum * 31 + (unsigned char)c->query[i];
}

static void write_reply(struct client *c)
{
	c->nreply = snprintf(c->reply, BYTES, "+%lu", c->sum);
	served++; /* the defect: all threads write it */
}

static unsigned long pending_of(int i)
{
	return atomic_load(&share[i].pending);
}

static void serve_share(struct share *s)
{
	for (int i = 0; i < s->n; i++) {
		read_query(s->client[i]);
		write_reply(s->client[i]);
	}
	s->n = 0;
}

static void *work(void *arg)
{
	struct share *s = arg;

	while (!atomic_load(&stop)) {
		for (int i = 0; i < 1000 && !pending_of((int)(s - share)); i++)
			;
		if (!pending_of((int)(s - share))) {
			sched_yield();
			continue;
		}
		serve_share(s);
		atomic_store(&s->pending, 0);
	}
	return NULL;
}

static void hand_out(int round)
{
	for (int i = 0; i < CLIENTS; i++) {
		struct share *s = &share[i % nthreads];

		client[i].nquery = snprintf(client[i].query, BYTES, "GET key:%d:%d", round, i);
		s->client[s->n++] = &client[i];
	}
	for (int i = 1; i < nthreads; i++)
		atomic_store(&share[i].pending, (unsigned long)share[i].n);
}

static void wait_for_all(void)
{
	for (;;) {
		unsigned long pending = 0;

		for (int i = 1; i < nthreads; i++)
			pending += pending_of(i);
		if (!pending)
			return;
		sched_yield();
	}
}

static void serve_round(int round)
{
	hand_out(round);
	serve_share(&share[0]);
	wait_for_all();
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 3000, bad = 0;
	pthread_t thread[THREADS];

	nthreads = argc > 1 ? atoi(argv[1]) : 4;
	if (nthreads < 1 || nthreads > THREADS || rounds < 1) {
		fprintf(stderr, "usage: io_threads [THREADS [ROUNDS]], 16 threads at most\n");
		return 2;
	}
	for (int i = 1; i < nthreads; i++)
		pthread_create(&thread[i], NULL, work, &share[i]);
	for (int i = 0; i < rounds; i++)
		serve_round(i);
	atomic_store(&stop, 1);
	for (int i = 1; i < nthreads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < CLIENTS; i++) {
		char expected[BYTES];

		read_query(&client[i]);
		snprintf(expected, BYTES, "+%lu", client[i].sum);
		bad += strcmp(expected, client[i].reply) != 0;
	}
	if (bad || !served) {
		printf("io_threads: WRONG: %d replies\n", bad);
		return 1;
	}
	printf("io_threads: ok\n");
	return 0;
}
