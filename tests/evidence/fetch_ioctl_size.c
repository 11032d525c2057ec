/*
 * A double fetch, of which a study found dozens in kernels and drivers (the kernel's CVE-2016-6516
 * and CVE-2016-5728 are such). A system call reads the length of a request from the user's memory,
 * checks it, and reads it again to copy the data. Another thread of the user's program can change
 * it in between, and the copy overruns the kernel's buffer. Both reads are meant to see one value.
 *
 * The twin reads the length once.
 */
// expect: function=handle_ioctl variable=size class=double-fetch where=function
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "prove.h"

#define MOST  16
#define CALLS 10

/* The user's memory, which the user's threads can change at any time. */
static struct {
	atomic_uint size;
	char data[64];
} request = {8, "data of the user"};

struct kernel_buffer {
	char data[MOST];
	char next[48]; /* the memory after it, which must not change */
};

static int handle_ioctl(struct kernel_buffer *buffer)
{
	unsigned size = atomic_load_explicit(&request.size, memory_order_relaxed);
	if (size > MOST)
		return -1;
	memset(buffer, 0, sizeof *buffer);
	pass_window();
#ifndef FIXED
	size = atomic_load_explicit(&request.size, memory_order_relaxed);
#endif
	char *to = (char *)buffer;
	for (unsigned i = 0; i < size; i++)
		to[i] = 'u';
	return 0;
}

static void *caller(void *arg)
{
	int *overruns = arg;
	for (int i = 0; i < CALLS; i++) {
		struct kernel_buffer buffer;
		if (handle_ioctl(&buffer) == 0)
			*overruns += buffer.next[0] == 'u';
	}
	return NULL;
}

static void *attacker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2 * CALLS; i++) {
		atomic_store_explicit(&request.size, i % 2 ? 8 : 40, memory_order_relaxed);
		pass_window();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int overruns = 0;
	pthread_create(&threads[0], NULL, caller, &overruns);
	pthread_create(&threads[1], NULL, attacker, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(overruns == 0);
}
