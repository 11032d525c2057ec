/*
 * pipe_lock [THREADS [ROUNDS]]: threads make and drop event loops that share a list of signal
 * handlers. The list is protected by a byte in a pipe: a thread that has read the byte owns the
 * list until it writes the byte back, as in libuv. A checker does not see that this is a lock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HANDLES = 16 };

struct handle {
	struct handle *next, *prev;
	int signum, caught, dispatched;
};

struct loop {
	struct handle handle[HANDLES];
	int handles, caught;
};

static int lock_pipe[2];
static struct handle registered = {&registered, &registered, 0, 0, 0};
static int nregistered, rounds;

static void lock(void)
{
	char byte;

	while (read(lock_pipe[0], &byte, 1) != 1)
		;
}

static void unlock(void)
{
	char byte = 42;

	while (write(lock_pipe[1], &byte, 1) != 1)
		;
}

/* Keep the list sorted by signal. */
static void handle_start(struct handle *h, int signum)
{
	struct handle *at;

	lock();
	h->signum = signum;
	for (at = registered.next; at != &registered && at->signum < signum; at = at->next)
		;
	h->next = at;
	h->prev = at->prev;
	h->prev->next = h;
	at->prev = h;
	nregistered++;
	unlock();
}

static void handle_stop(struct handle *h)
{
	lock();
	h->prev->next = h->next;
	h->next->prev = h->prev;
	nregistered--;
	unlock();
}

/* Deliver a signal to each handle that waits for it. */
static int dispatch(int signum)
{
	int n = 0;

	lock();
	for (struct handle *h = registered.next; h != &registered; h = h->next)
		if (h->signum == signum) {
			h->caught++;
			n++;
		}
	unlock();
	return n;
}

static void loop_run(struct loop *loop, int round)
{
	for (int i = 0; i < HANDLES; i++)
		handle_start(&loop->handle[i], (round + i) % 8);
	loop->handles += HANDLES;
	for (int i = 0; i < 8; i++)
		loop->caught += dispatch(i);
	for (int i = 0; i < HANDLES; i++)
		handle_stop(&loop->handle[i]);
}

static void *work(void *arg)
{
	struct loop *loop = arg;

	for (int i = 0; i < rounds; i++)
		loop_run(loop, i);
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 25, bad = 0;
	struct loop *loops;
	pthread_t *thread;

	rounds = argc > 2 ? atoi(argv[2]) : 40;
	if (n < 1 || rounds < 1 || pipe(lock_pipe)) {
		fprintf(stderr, "usage: pipe_lock [THREADS [ROUNDS]]\n");
		return 2;
	}
	unlock();
	thread = calloc((size_t)n, sizeof *thread);
	loops = calloc((size_t)n, sizeof *loops);
	for (int i = 0; i < n; i++)
		pthread_create(&thread[i], NULL, work, &loops[i]);
	for (int i = 0; i < n; i++) {
		pthread_join(thread[i], NULL);
		bad += loops[i].handles != rounds * HANDLES;
		bad += loops[i].caught < rounds * HANDLES;
	}
	if (bad || nregistered || registered.next != &registered) {
		printf("pipe_lock: WRONG: %d handles are left\n", nregistered);
		return 1;
	}
	printf("pipe_lock: ok\n");
	return 0;
}
