/*
 * A pool of database connections. A client looks for an idle connection under the lock and marks it
 * as busy in a second function that takes the lock again. Two clients can find the same connection;
 * their requests are then mixed on it. Connection pools of web frameworks and the keep-alive caches
 * of HTTP clients have had this bug.
 *
 * Meant to be atomic: finding an idle connection and marking it. The twin marks it in the critical
 * section that found it.
 */
// expect: function=get_connection variable=pool,busy class=check-then-act where=inlined
#include <pthread.h>
#include "prove.h"

enum { CONNECTIONS = 4, CLIENTS = 2, QUERIES = 3 };

struct connection {
	bool busy;
	int users;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection pool[CONNECTIONS];
static int mixed;

/* Returns an idle connection or NULL. The caller holds the lock. */
static struct connection *find_idle(void)
{
	for (int i = 0; i < CONNECTIONS; i++)
		if (!pool[i].busy)
			return &pool[i];
	return NULL;
}

static struct connection *get_connection(void)
{
	pthread_mutex_lock(&pool_lock);
	struct connection *c = find_idle();
#ifndef FIXED
	pthread_mutex_unlock(&pool_lock);
	pass_window();
	pthread_mutex_lock(&pool_lock);
#endif
	if (c) {
		c->busy = true;
		if (++c->users > 1)
			mixed++;
	}
	pthread_mutex_unlock(&pool_lock);
	return c;
}

static void put_connection(struct connection *c)
{
	pthread_mutex_lock(&pool_lock);
	c->users--;
	c->busy = false;
	pthread_mutex_unlock(&pool_lock);
}

static void *serve_client(void *arg)
{
	(void)arg;
	for (int i = 0; i < QUERIES; i++) {
		struct connection *c = get_connection();
		pass_window();
		if (c)
			put_connection(c);
	}
	return NULL;
}

int main(void)
{
	pthread_t clients[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, serve_client, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	return print_outcome(mixed == 0);
}
