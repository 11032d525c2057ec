/*
 * CVE-2016-8655, Linux packet sockets. Setting the socket's protocol version is allowed only while
 * the socket has no ring, but the check and the assignment are not one step. If another thread sets
 * up the ring in between, the ring's timer is started for the old version; closing the socket then
 * looks at the new version, does not stop the timer, and frees the memory that the timer uses.
 *
 * Meant to be atomic: the check for a ring and the change of the version. Every access is under the
 * socket's lock. The twin holds the lock over both, as the kernel's correction does.
 */
// expect: function=set_version variable=ring,version class=use-after-free where=inlined
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include "prove.h"

enum { V1 = 1, V3 = 3 };

static struct {
	pthread_mutex_t lock;
	int version;
	int *ring;
	bool timer;
} sock = {PTHREAD_MUTEX_INITIALIZER, V3, NULL, false};

static bool set_version(int version)
{
	pthread_mutex_lock(&sock.lock);
	bool busy = sock.ring != NULL;
#ifndef FIXED
	pthread_mutex_unlock(&sock.lock);
	pass_window();
	pthread_mutex_lock(&sock.lock);
#endif
	if (!busy)
		sock.version = version;
	pthread_mutex_unlock(&sock.lock);
	return !busy;
}

static void set_ring(void)
{
	pthread_mutex_lock(&sock.lock);
	sock.ring = calloc(16, sizeof *sock.ring);
	if (sock.version == V3)
		sock.timer = true;
	pthread_mutex_unlock(&sock.lock);
}

/* Returns whether the timer would go on with freed memory. */
static bool close_socket(void)
{
	pthread_mutex_lock(&sock.lock);
	if (sock.version == V3)
		sock.timer = false;
	free(sock.ring);
	sock.ring = NULL;
	pthread_mutex_unlock(&sock.lock);
	return sock.timer;
}

static void *choose_version(void *arg)
{
	(void)arg;
	set_version(V1);
	return NULL;
}

static void *map_ring(void *arg)
{
	(void)arg;
	usleep(1000); /* The version is usually chosen first. */
	set_ring();
	return NULL;
}

int main(void)
{
	pthread_t chooser, mapper;

	pthread_create(&chooser, NULL, choose_version, NULL);
	pthread_create(&mapper, NULL, map_ring, NULL);
	pthread_join(chooser, NULL);
	pthread_join(mapper, NULL);
	return print_outcome(!close_socket());
}
