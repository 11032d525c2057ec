/*
 * A write under a lock for readers. Lookups hold a read-write lock in shared mode, which is right
 * for the data, but each one also counts the entry's hits for the replacement policy. Databases'
 * and proxies' caches had this bug. Two readers hold the lock together and lose hits, so a popular
 * entry is evicted.
 *
 * The twin counts with an atomic addition.
 */
// expect: function=look_up variable=hits class=wrong-lock where=loop
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

#define ENTRIES 4
#define LOOKUPS 20

static struct entry {
	int key, value;
#ifdef FIXED
	atomic_int hits;
#else
	int hits;
#endif
} entries[ENTRIES] = {{1, 10, 0}, {2, 20, 0}, {3, 30, 0}, {4, 40, 0}};
static pthread_rwlock_t entries_lock = PTHREAD_RWLOCK_INITIALIZER;

static void *look_up(void *arg)
{
	int *sum = arg;
	for (int i = 0; i < LOOKUPS; i++) {
		pthread_rwlock_rdlock(&entries_lock);
		struct entry *entry = &entries[i % 2];
		*sum += entry->value;
#if defined PROVE && !defined FIXED
		int before = entry->hits;
		pass_window();
		entry->hits = before + 1;
#else
		entry->hits++;
#endif
		pthread_rwlock_unlock(&entries_lock);
	}
	return NULL;
}

static void *change_values(void *arg)
{
	(void)arg;
	pthread_rwlock_wrlock(&entries_lock);
	for (int i = 0; i < ENTRIES; i++)
		entries[i].value++;
	pthread_rwlock_unlock(&entries_lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	int sums[2] = {0, 0};
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, look_up, &sums[i]);
	pthread_create(&threads[2], NULL, change_values, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(entries[0].hits == LOOKUPS && entries[1].hits == LOOKUPS);
}
