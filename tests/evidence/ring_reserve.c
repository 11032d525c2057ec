/*
 * A ring buffer for log records, used by several threads. A producer looks up the next free slot
 * under the lock, releases the lock to fill the slot, and then advances the head under the lock.
 * Two producers that overlap fill the same slot: one record is lost and one slot holds an old
 * record.
 *
 * Meant to be atomic: choosing the slot and advancing the head. The twin advances the head when it
 * chooses the slot and fills the slot in the same critical section.
 */
// expect: function=produce variable=head,slots class=ring-buffer where=loop
#include <pthread.h>
#include "prove.h"

enum { SLOTS = 64, PRODUCERS = 2, RECORDS = 10 };

static pthread_mutex_t ring_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned head;
static int slots[SLOTS];

static void *produce(void *arg)
{
	int first = *(int *)arg;

	for (int i = 0; i < RECORDS; i++) {
#ifdef FIXED
		pthread_mutex_lock(&ring_lock);
		slots[head % SLOTS] = first + i;
		head++;
		pthread_mutex_unlock(&ring_lock);
#else
		pthread_mutex_lock(&ring_lock);
		unsigned at = head;
		pthread_mutex_unlock(&ring_lock);
		pass_window();
		pthread_mutex_lock(&ring_lock);
		slots[at % SLOTS] = first + i;
		head++;
		pthread_mutex_unlock(&ring_lock);
#endif
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[PRODUCERS];
	int first[PRODUCERS] = {100, 200}, sum = 0;

	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&threads[i], NULL, produce, &first[i]);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SLOTS; i++)
		sum += slots[i];
	return print_outcome(sum == 300 * RECORDS + 2 * (RECORDS * (RECORDS - 1) / 2));
}
