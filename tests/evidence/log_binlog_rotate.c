/*
 * MySQL's binary log, the best-known bug of the studies. To begin a new log file, the server closed
 * the old one in one critical section and opened the new one in another. A statement that another
 * thread finishes in between finds the log closed and is not logged: the replica never executes it.
 * Closing and opening are meant to be one step.
 *
 * The twin keeps the lock from the close to the open.
 */
// expect: function=new_file variable=is_open class=log-truncation where=function
#include <pthread.h>
#include <stdbool.h>
#include "prove.h"

#define STATEMENTS 20
#define ROTATIONS  4

static struct binlog {
	pthread_mutex_t lock;
	bool is_open;
	int file_number, position;
	int written;
} binlog = {PTHREAD_MUTEX_INITIALIZER, true, 1, 0, 0};

static void close_log(struct binlog *log)
{
	log->is_open = false;
}

static void open_log(struct binlog *log, int number)
{
	log->file_number = number;
	log->position = 4;
	log->is_open = true;
}

static void new_file(struct binlog *log)
{
	pthread_mutex_lock(&log->lock);
	int number = log->file_number;
	close_log(log);
#ifndef FIXED
	pthread_mutex_unlock(&log->lock);
	pass_window();
	pthread_mutex_lock(&log->lock);
#endif
	open_log(log, number + 1);
	pthread_mutex_unlock(&log->lock);
}

static void write_statement(struct binlog *log, int length)
{
	pthread_mutex_lock(&log->lock);
	if (log->is_open) {
		log->position += length;
		log->written++;
	}
	pthread_mutex_unlock(&log->lock);
}

static void *run_statements(void *arg)
{
	for (int i = 0; i < STATEMENTS; i++) {
		write_statement(arg, 100 + i);
#ifdef PROVE
		usleep(3000);
#endif
	}
	return NULL;
}

static void *rotate(void *arg)
{
	for (int i = 0; i < ROTATIONS; i++)
		new_file(arg);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, run_statements, &binlog);
	pthread_create(&threads[1], NULL, rotate, &binlog);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(binlog.written == STATEMENTS);
}
