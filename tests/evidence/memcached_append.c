/*
 * A client library for memcached offers "append" by fetching the value, adding the text, and
 * storing the result; the cache locks each of the two commands. Two clients that append to the same
 * key both fetch the same value, and the text of one is lost. memcached got an append command of
 * its own, and a compare-and-set, for this.
 *
 * Meant to be atomic: fetching the value and storing the longer one. The twin appends under the
 * cache's lock.
 */
// expect: function=append_value variable=data,length class=lost-update where=inlined
#include <pthread.h>
#include <string.h>
#include "prove.h"

enum { CLIENTS = 2, APPENDS = 8, ROOM = 64 };

static struct {
	pthread_mutex_t lock;
	size_t length;
	char data[ROOM];
} item = {.lock = PTHREAD_MUTEX_INITIALIZER};

#ifndef FIXED
static size_t fetch_value(char *data)
{
	pthread_mutex_lock(&item.lock);
	size_t length = item.length;
	memcpy(data, item.data, length);
	pthread_mutex_unlock(&item.lock);
	return length;
}

static void store_value(const char *data, size_t length)
{
	pthread_mutex_lock(&item.lock);
	memcpy(item.data, data, length);
	item.length = length;
	pthread_mutex_unlock(&item.lock);
}
#endif

static void append_value(char letter)
{
#ifdef FIXED
	pthread_mutex_lock(&item.lock);
	item.data[item.length++] = letter;
	pthread_mutex_unlock(&item.lock);
#else
	char data[ROOM];
	size_t length = fetch_value(data);

	pass_window();
	data[length++] = letter;
	store_value(data, length);
#endif
}

static void *run_client(void *arg)
{
	for (int i = 0; i < APPENDS; i++)
		append_value(*(char *)arg);
	return NULL;
}

int main(void)
{
	pthread_t clients[CLIENTS];
	char letters[CLIENTS] = {'a', 'b'};

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, run_client, &letters[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	return print_outcome(item.length == CLIENTS * APPENDS);
}
