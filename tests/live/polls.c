/*
 * polls FUNCTION wait|look: a block that asks another thread for something and waits for the answer
 * with FUNCTION; or only looks, over and over, whether the answer is there. Each time the other
 * thread writes between two reads of the block.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ask[2], answer[2], epoll;
static int value;

static int get(void)
{
	pthread_mutex_lock(&mutex);
	int v = value;
	pthread_mutex_unlock(&mutex);
	return v;
}

static void *other(void *arg)
{
	char byte;

	if (read(ask[0], &byte, 1) == 1) {
		pthread_mutex_lock(&mutex);
		value++;
		pthread_mutex_unlock(&mutex);
		if (write(answer[1], &byte, 1) != 1)
			return arg;
	}
	return NULL;
}

/* Is the answer there? */
static int comes(const char *how, int wait)
{
	struct pollfd fds = {.fd = answer[0], .events = POLLIN};
	struct timespec no_time = {0}, *limit = wait ? NULL : &no_time;
	struct timeval none = {0};
	struct epoll_event event;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(answer[0], &set);
	if (!strcmp(how, "poll"))
		return poll(&fds, 1, wait ? -1 : 0);
	if (!strcmp(how, "ppoll"))
		return ppoll(&fds, 1, limit, NULL);
	if (!strcmp(how, "select"))
		return select(answer[0] + 1, &set, NULL, NULL, wait ? NULL : &none);
	if (!strcmp(how, "pselect"))
		return pselect(answer[0] + 1, &set, NULL, NULL, limit, NULL);
	if (!strcmp(how, "epoll_wait"))
		return epoll_wait(epoll, &event, 1, wait ? -1 : 0);
	return epoll_pwait(epoll, &event, 1, wait ? -1 : 0, NULL);
}

__attribute__((noinline)) static int request(const char *how, int wait)
{
	int before = get();

	if (write(ask[1], "x", 1) != 1)
		return -1;
	while (comes(how, wait) != 1)
		usleep(100);
	return get() - before;
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t t;
	int got;

	if (argc != 3 || pipe(ask) || pipe(answer))
		return 2;
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, answer[0], &event);
	pthread_create(&t, NULL, other, NULL);
	got = request(argv[1], !strcmp(argv[2], "wait"));
	pthread_join(t, NULL);
	printf("%d\n", got);
	return 0;
}
