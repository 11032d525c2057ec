/*
 * Apache bug 25520: buffered access logs. Each request copies its line to the end of a shared
 * buffer and then adds the line's length to the count of bytes, without a lock. Two requests that
 * overlap write to the same place, or one addition is lost, and the log has broken lines. The count
 * was also seen beyond the end of the buffer.
 *
 * Meant to be atomic: reading the count, copying, and storing the count. This is also a data race.
 * The twin takes a lock, as Apache does now.
 */
// expect: function=write_log variable=used,text class=log-truncation where=inlined
#include <pthread.h>
#include <string.h>
#include "prove.h"

enum { WORKERS = 2, REQUESTS = 5, LINE = 8 };

static struct {
	size_t used;
	char text[512];
} log_buffer;
#ifdef FIXED
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void write_log(const char *line, size_t length)
{
#ifdef FIXED
	pthread_mutex_lock(&log_lock);
#endif
	if (log_buffer.used + length > sizeof log_buffer.text)
		log_buffer.used = 0;
	size_t at = log_buffer.used;
	pass_window();
	memcpy(log_buffer.text + at, line, length);
	log_buffer.used = at + length;
#ifdef FIXED
	pthread_mutex_unlock(&log_lock);
#endif
}

static void *serve(void *arg)
{
	char line[LINE + 1] = "GET /?\r\n";

	line[5] = *(char *)arg;
	for (int i = 0; i < REQUESTS; i++)
		write_log(line, LINE);
	return NULL;
}

int main(void)
{
	pthread_t workers[WORKERS];
	char names[WORKERS] = {'a', 'b'};

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, serve, &names[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return print_outcome(log_buffer.used == WORKERS * REQUESTS * LINE);
}
