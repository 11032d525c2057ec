/*
 * memcached issue 127: the command "incr" looks up the item and its number in one critical section
 * and stores the new number in another. Two clients that increment the same key at the same time
 * both read the same number, and one increment is lost.
 *
 * Meant to be atomic: reading the number and storing the new one. Both are under the cache lock.
 * The twin holds the lock over both.
 */
// expect: function=add_delta variable=items,number class=lost-update where=inlined
#include <pthread.h>
#include "prove.h"

enum { KEYS = 4, CLIENTS = 2, INCREMENTS = 10 };

struct item {
	int key;
	long number;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item items[KEYS] = {{10, 0}, {11, 0}, {12, 0}, {13, 0}};

/* The caller holds the lock. */
static struct item *find_item(int key)
{
	for (int i = 0; i < KEYS; i++)
		if (items[i].key == key)
			return &items[i];
	return NULL;
}

#ifndef FIXED
static long get_number(int key)
{
	pthread_mutex_lock(&cache_lock);
	struct item *item = find_item(key);
	long number = item ? item->number : 0;
	pthread_mutex_unlock(&cache_lock);
	return number;
}

static void set_number(int key, long number)
{
	pthread_mutex_lock(&cache_lock);
	struct item *item = find_item(key);
	if (item)
		item->number = number;
	pthread_mutex_unlock(&cache_lock);
}
#endif

static void add_delta(int key, long delta)
{
#ifdef FIXED
	pthread_mutex_lock(&cache_lock);
	struct item *item = find_item(key);
	if (item)
		item->number += delta;
	pthread_mutex_unlock(&cache_lock);
#else
	long number = get_number(key);

	pass_window();
	set_number(key, number + delta);
#endif
}

static void *run_client(void *arg)
{
	(void)arg;
	for (int i = 0; i < INCREMENTS; i++)
		add_delta(12, 1);
	return NULL;
}

int main(void)
{
	pthread_t clients[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, run_client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	return print_outcome(items[2].number == CLIENTS * INCREMENTS);
}
