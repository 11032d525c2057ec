/*
 * A journal that is emptied after a checkpoint, as in databases and in the kernel's "read and
 * clear" of its messages. The checkpoint copies the journal under the lock, applies the records
 * without it, and sets the length to zero under it. Records that are appended while the others are
 * applied are thrown away. Copying and emptying the journal are meant to be one step.
 *
 * The twin empties the journal in the critical section that copies it.
 */
// expect: function=checkpoint variable=length class=log-truncation where=function
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "prove.h"

#define ROOM        64
#define APPENDS     12
#define CHECKPOINTS 3

static struct journal {
	pthread_mutex_t lock;
	int length;
	int records[ROOM];
} journal = {.lock = PTHREAD_MUTEX_INITIALIZER};
static long database; /* of the thread that makes checkpoints */

static void append(struct journal *j, int record)
{
	pthread_mutex_lock(&j->lock);
	j->records[j->length++] = record;
	pthread_mutex_unlock(&j->lock);
}

static void checkpoint(struct journal *j)
{
	int copy[ROOM];

	pthread_mutex_lock(&j->lock);
	int length = j->length;
	memcpy(copy, j->records, (size_t)length * sizeof *copy);
#ifdef FIXED
	j->length = 0;
#endif
	pthread_mutex_unlock(&j->lock);

	for (int i = 0; i < length; i++)
		database += copy[i];
	pass_window();

#ifndef FIXED
	pthread_mutex_lock(&j->lock);
	j->length = 0;
	pthread_mutex_unlock(&j->lock);
#endif
}

static void *write_records(void *arg)
{
	for (int i = 1; i <= APPENDS; i++) {
		append(arg, i);
#ifdef PROVE
		usleep(3000);
#endif
	}
	return NULL;
}

static void *make_checkpoints(void *arg)
{
	for (int i = 0; i < CHECKPOINTS; i++) {
		usleep(1000); /* A checkpoint is usually rare. */
		checkpoint(arg);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, write_records, &journal);
	pthread_create(&threads[1], NULL, make_checkpoints, &journal);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	checkpoint(&journal);
	return print_outcome(database == APPENDS * (APPENDS + 1) / 2);
}
