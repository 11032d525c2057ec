/*
 * memcached, "incr" command. Two clients increment the same item. The command fetched the item
 * under the cache's lock, computed the new value, and stored it under the lock again, so that an
 * increment between the two was lost. Fetching, adding and storing are meant to be one step.
 *
 * The twin does all of it in one critical section, as later versions of memcached do.
 */
// expect: function=add_delta variable=value class=lost-update where=inlined
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "prove.h"

#define REQUESTS 20

struct item {
	char key[16];
	unsigned long value;
	unsigned long cas;
};

static struct item *cache[4];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned hash_key(const char *key)
{
	unsigned h = 5381;
	while (*key)
		h = h * 33 + (unsigned char)*key++;
	return h % 4;
}

static struct item *item_get(const char *key)
{
	struct item *it = cache[hash_key(key)];
	return it && strcmp(it->key, key) == 0 ? it : NULL;
}

/* Answers the command "incr KEY DELTA". */
static unsigned long add_delta(const char *key, unsigned long delta)
{
	unsigned long value;

	pthread_mutex_lock(&cache_lock);
	struct item *it = item_get(key);
	value = it->value + delta;
#ifndef FIXED
	pthread_mutex_unlock(&cache_lock);
	pass_window();
	pthread_mutex_lock(&cache_lock);
#endif
	it->value = value;
	pthread_mutex_unlock(&cache_lock);
	return value;
}

static void *client(void *arg)
{
	unsigned long *last = arg;
	for (int i = 0; i < REQUESTS; i++)
		*last = add_delta("visits", 1);
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	unsigned long last[2];
	struct item *it = calloc(1, sizeof *it);

	strcpy(it->key, "visits");
	cache[hash_key(it->key)] = it;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, client, &last[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	int status = print_outcome(it->value == 2 * REQUESTS);
	free(it);
	return status;
}
