/*
 * Aget, a download program with several connections. Each connection's thread adds the bytes that
 * it has received to one counter, without a lock; the progress bar and the file for resuming a
 * download are made from that counter. Adding is meant to be one step: an addition of another
 * thread between the read and the write is lost, and a resumed download is wrong.
 *
 * The twin adds under the mutex that the program already has for its progress.
 */
// expect: function=http_get variable=bwritten class=lost-update where=loop
#include <pthread.h>
#include <stdlib.h>
#include "prove.h"

#define CONNECTIONS 3
#define CHUNK       512
#define PART        (CHUNK * 20)

static long bwritten;
static char file[CONNECTIONS * PART];
#ifdef FIXED
static pthread_mutex_t bwritten_mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

struct part {
	long from, to, offset;
	pthread_t thread;
};

/* Stands for recv() and pwrite(): returns the number of bytes received. */
static long receive(struct part *part)
{
	long n = part->to - part->offset < CHUNK ? part->to - part->offset : CHUNK;
	for (long i = 0; i < n; i++)
		file[part->offset + i] = (char)(part->offset + i);
	return n;
}

static void *http_get(void *arg)
{
	struct part *part = arg;
	while (part->offset < part->to) {
		long n = receive(part);
		part->offset += n;
#ifdef FIXED
		pthread_mutex_lock(&bwritten_mutex);
		bwritten += n;
		pthread_mutex_unlock(&bwritten_mutex);
#elif defined PROVE
		long before = bwritten;
		pass_window();
		bwritten = before + n;
#else
		bwritten += n;
#endif
	}
	return NULL;
}

int main(void)
{
	struct part parts[CONNECTIONS];
	for (int i = 0; i < CONNECTIONS; i++) {
		parts[i].from = parts[i].offset = (long)i * PART;
		parts[i].to = parts[i].from + PART;
		pthread_create(&parts[i].thread, NULL, http_get, &parts[i]);
	}
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(parts[i].thread, NULL);
	return print_outcome(bwritten == (long)sizeof file);
}
