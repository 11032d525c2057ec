/*
 * A cache in the manner of memcached: items come from a fixed slab and are reused. A request looks
 * up its item under the lock and keeps the pointer; after the lock is released, another request can
 * evict the item and use it for another key. The first request then answers with the value of the
 * other key. Caches count references to items because of this bug.
 *
 * Meant to be atomic: looking up an item and reading its value. The second access takes the lock
 * again, so there is no data race. The twin copies the value before it releases the lock.
 */
// expect: function=get_value variable=items,key,value class=stale-reuse where=inlined
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

enum { ITEMS = 4, REQUESTS = 6 };

struct item {
	int key;
	int value;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item items[ITEMS] = {{1, 100}, {2, 200}, {3, 300}, {4, 400}};
static int wrong_answers;

/* Returns the item with this key, or NULL. The caller holds the lock. */
static struct item *find_item(int key)
{
	for (int i = 0; i < ITEMS; i++)
		if (items[i].key == key)
			return &items[i];
	return NULL;
}

/* Returns the value for the key, or -1. */
static int get_value(int key)
{
	int value = -1;

	pthread_mutex_lock(&cache_lock);
	struct item *item = find_item(key);
#ifndef FIXED
	pthread_mutex_unlock(&cache_lock);
	pass_window();
	pthread_mutex_lock(&cache_lock);
#endif
	if (item)
		value = item->value;
	pthread_mutex_unlock(&cache_lock);
	return value;
}

static void replace_item(struct item *item, int key)
{
	pthread_mutex_lock(&cache_lock);
	item->key = key;
	item->value = 100 * key;
	pthread_mutex_unlock(&cache_lock);
}

static void *serve_gets(void *arg)
{
	(void)arg;
	for (int i = 0; i < REQUESTS; i++) {
		int key = i % ITEMS + 1, value = get_value(key);
		if (value >= 0 && value != 100 * key)
			wrong_answers++;
	}
	return NULL;
}

static void *serve_sets(void *arg)
{
	(void)arg;
	usleep(1000); /* Items usually stay for a while. */
	for (int i = 0; i < ITEMS; i++)
		replace_item(&items[i], i + 11);
	return NULL;
}

int main(void)
{
	pthread_t reader, writer;

	pthread_create(&reader, NULL, serve_gets, NULL);
	pthread_create(&writer, NULL, serve_sets, NULL);
	pthread_join(reader, NULL);
	pthread_join(writer, NULL);
	return print_outcome(wrong_answers == 0);
}
