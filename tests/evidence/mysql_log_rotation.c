/*
 * MySQL bug 791: while the server starts a new binary log, the log is closed for a moment and then
 * opened again. Each step takes the log's lock. A statement that is executed in between finds the
 * log closed, takes this for "logging is switched off", and is missing in the log: the replica
 * never gets it.
 *
 * Meant to be atomic: closing the old log and opening the new one. The twin holds the lock over
 * both.
 */
// expect: function=rotate_log variable=open,file class=two-stage where=function
#include <pthread.h>
#include "prove.h"

enum { STATEMENTS = 8 };

struct binary_log {
	pthread_mutex_t lock;
	bool open;
	int file, entries, rotations;
};

static struct binary_log binary_log = {PTHREAD_MUTEX_INITIALIZER, true, 1, 0, 0};

/* The caller holds the lock. */
static void close_log(struct binary_log *log)
{
	log->open = false;
}

/* The caller holds the lock. */
static void open_log(struct binary_log *log)
{
	log->file++;
	log->open = true;
	log->rotations++;
}

static void rotate_log(struct binary_log *log)
{
	pthread_mutex_lock(&log->lock);
	close_log(log);
#ifndef FIXED
	pthread_mutex_unlock(&log->lock);
	pass_window();
	pthread_mutex_lock(&log->lock);
#endif
	open_log(log);
	pthread_mutex_unlock(&log->lock);
}

static void log_statement(struct binary_log *log)
{
	pthread_mutex_lock(&log->lock);
	if (log->open)
		log->entries++;
	pthread_mutex_unlock(&log->lock);
}

struct log_operations {
	void (*rotate)(struct binary_log *log);
	void (*log)(struct binary_log *log);
};

struct log_operations log_operations = {rotate_log, log_statement};

static void *flush_logs(void *arg)
{
	(void)arg;
	log_operations.rotate(&binary_log);
	return NULL;
}

static void *run_client(void *arg)
{
	(void)arg;
	for (int i = 0; i < STATEMENTS; i++)
		log_operations.log(&binary_log);
	return NULL;
}

int main(void)
{
	pthread_t admin, client;

	pthread_create(&admin, NULL, flush_logs, NULL);
	pthread_create(&client, NULL, run_client, NULL);
	pthread_join(admin, NULL);
	pthread_join(client, NULL);
	return print_outcome(binary_log.entries == STATEMENTS && binary_log.rotations == 1);
}
