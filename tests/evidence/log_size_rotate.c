/*
 * Log files that are renamed when they are too long, as in log4j and in Python's logging; trackers
 * of both have reports like this. A thread asks for the file's size under the lock and rotates the
 * file under the lock again. Two threads that ask at the same time both rotate: the second one
 * moves the new, nearly empty file over the full one that the first has just kept, and its lines
 * are gone. Question and rotation are meant to be one step.
 *
 * The twin asks, rotates and writes in one critical section.
 */
// expect: function=write_line variable=lines class=log-truncation where=inlined
#include <pthread.h>
#include <stdbool.h>
#include "prove.h"

#define MOST   5
#define WRITES 8

static struct {
	pthread_mutex_t lock;
	int lines; /* in the current file */
	int kept;  /* in the old file */
} log_file = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Keeps the current file as the old one and begins a new file. */
static void rotate_file(void)
{
	log_file.kept = log_file.lines;
	log_file.lines = 0;
}

#ifndef FIXED
static bool is_full(void)
{
	pthread_mutex_lock(&log_file.lock);
	bool full = log_file.lines >= MOST;
	pthread_mutex_unlock(&log_file.lock);
	return full;
}
#endif

static void write_line(void)
{
#ifdef FIXED
	pthread_mutex_lock(&log_file.lock);
	if (log_file.lines >= MOST)
		rotate_file();
#else
	if (is_full()) {
		pass_window();
		pthread_mutex_lock(&log_file.lock);
		rotate_file();
		pthread_mutex_unlock(&log_file.lock);
	}
	pthread_mutex_lock(&log_file.lock);
#endif
	log_file.lines++;
	pthread_mutex_unlock(&log_file.lock);
}

static void *work(void *arg)
{
	for (int i = 0; i < WRITES; i++)
		write_line();
	return arg;
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(log_file.kept == MOST);
}
