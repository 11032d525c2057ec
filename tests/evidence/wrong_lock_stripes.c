/*
 * A hash table with a lock for each stripe of buckets, and one count of its entries that every
 * insertion increments under the lock of its own stripe (reported for several caches and for early
 * concurrent hash maps). Two insertions into different stripes hold different locks, so the count
 * loses increments, and the table is not enlarged when it should be.
 *
 * The twin gives the count a lock of its own.
 */
// expect: function=fill_table variable=used class=wrong-lock where=loop
#include <pthread.h>
#include "prove.h"

#define STRIPES 2
#define BUCKETS 64
#define KEYS    24

static struct {
	pthread_mutex_t locks[STRIPES];
	int keys[BUCKETS];
	int used;
} table = {.locks = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};
#ifdef FIXED
static pthread_mutex_t used_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void *fill_table(void *arg)
{
	int key = *(const int *)arg;
	for (int i = 0; i < KEYS; i++, key += 2) {
		pthread_mutex_t *lock = &table.locks[key % STRIPES];
		int bucket = key % BUCKETS;
		pthread_mutex_lock(lock);
		if (table.keys[bucket] == 0) {
			table.keys[bucket] = key;
#ifdef FIXED
			pthread_mutex_lock(&used_lock);
			table.used++;
			pthread_mutex_unlock(&used_lock);
#elif defined PROVE
			int before = table.used;
			pass_window();
			table.used = before + 1;
#else
			table.used++;
#endif
		}
		pthread_mutex_unlock(lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int first[2] = {1, 2}; /* odd and even keys */
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, fill_table, &first[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(table.used == 2 * KEYS);
}
