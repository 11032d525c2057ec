/*
 * The statistics of a network device: packets and bytes. The receiving thread adds to both with
 * atomic additions, one after the other. A thread that reads both in between reports a packet
 * without its bytes, and the mean packet size is wrong. Kernels have sequence counters for such
 * statistics because of bugs of this form.
 *
 * Meant to be atomic: adding to both counters. The twin changes and reads the pair under a lock.
 */
// expect: function=receive variable=packets,bytes class=torn-pair where=loop
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

enum { PACKETS = 20, PACKET_SIZE = 64, LOOKS = 10 };

static atomic_long packets, bytes;
static int wrong_means;
#ifdef FIXED
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void *receive(void *arg)
{
	(void)arg;
	for (int i = 0; i < PACKETS; i++) {
#ifdef FIXED
		pthread_mutex_lock(&stats_lock);
#endif
		atomic_fetch_add(&packets, 1);
		pass_window();
		atomic_fetch_add(&bytes, PACKET_SIZE);
#ifdef FIXED
		pthread_mutex_unlock(&stats_lock);
#endif
	}
	return NULL;
}

static void *show_stats(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOOKS; i++) {
#ifdef FIXED
		pthread_mutex_lock(&stats_lock);
#endif
		long p = atomic_load(&packets);
		long b = atomic_load(&bytes);
#ifdef FIXED
		pthread_mutex_unlock(&stats_lock);
#endif
		if (b != p * PACKET_SIZE)
			wrong_means++;
	}
	return NULL;
}

int main(void)
{
	pthread_t network, viewer;

	pthread_create(&network, NULL, receive, NULL);
	pthread_create(&viewer, NULL, show_stats, NULL);
	pthread_join(network, NULL);
	pthread_join(viewer, NULL);
	return print_outcome(wrong_means == 0);
}
