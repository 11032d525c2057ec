/*
 * Apache's buffered access log (a report that most studies cite). Each request's line is copied to
 * the end of a buffer that all threads share, and the end is moved, without a lock. Two threads
 * that read the same end overwrite each other's lines, and the log is damaged. Copying the line and
 * moving the end are meant to be one step.
 *
 * The twin holds a lock for the buffer.
 */
// expect: function=buffered_log_writer variable=outcnt,outbuf class=log-truncation where=inlined
#include <pthread.h>
#include <string.h>
#include "prove.h"

#define BUFFER_SIZE 128
#define REQUESTS    10

static struct buffered_log {
	pthread_mutex_t lock;
	int outcnt;
	char outbuf[2 * BUFFER_SIZE];
	int lines; /* whole lines that were written to the file */
} access_log = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Stands for write(): counts the lines. */
static void flush_log(struct buffered_log *log)
{
	for (int i = 0; i < log->outcnt; i++)
		log->lines += log->outbuf[i] == '\n';
	log->outcnt = 0;
}

static void buffered_log_writer(struct buffered_log *log, const char *line)
{
	int length = (int)strlen(line);
#ifdef FIXED
	pthread_mutex_lock(&log->lock);
#endif
	if (length + log->outcnt > BUFFER_SIZE)
		flush_log(log);
	int end = log->outcnt;
	memcpy(&log->outbuf[end], line, (size_t)length);
	pass_window();
	log->outcnt = end + length;
#ifdef FIXED
	pthread_mutex_unlock(&log->lock);
#endif
}

static void *handle_requests(void *arg)
{
	for (int i = 0; i < REQUESTS; i++)
		buffered_log_writer(&access_log, arg);
	return NULL;
}

int main(void)
{
	static char lines[2][32] = {"GET /index.html 200\n", "GET /logo.png 304\n"};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, handle_requests, lines[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	flush_log(&access_log);
	return print_outcome(access_log.lines == 2 * REQUESTS);
}
