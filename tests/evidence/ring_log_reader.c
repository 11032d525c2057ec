/*
 * A kernel's message buffer: writers overwrite the oldest record when the ring is full. The reader
 * remembers the number of the next record that it wants. It looks up under the lock which records
 * are still there, releases the lock to make room for the text, and copies the record in a second
 * critical section. By then the record can have been overwritten, and the reader gets a newer one
 * in its place. Linux's printk had to learn to compare record numbers again.
 *
 * Meant to be atomic: finding the record and copying it. The twin compares the numbers again under
 * the second lock.
 */
// expect: function=read_record variable=first_number,records class=ring-buffer where=function
#include <pthread.h>
#include <stdlib.h>
#include "prove.h"

enum { RECORDS = 8, WRITES = 12, READS = 6 };

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int records[RECORDS] = {0, 1, 2, 3, 4, 5, 6, 7};
static int first_number, next_number = RECORDS;
static int wrong_records;

static void write_record(void)
{
	pthread_mutex_lock(&log_lock);
	records[next_number % RECORDS] = next_number;
	next_number++;
	first_number = next_number - RECORDS;
	pthread_mutex_unlock(&log_lock);
}

/* Copies record NUMBER, or the oldest one that is left, to TEXT. Returns its number. */
static int read_record(int number, int *text)
{
	pthread_mutex_lock(&log_lock);
	if (number < first_number)
		number = first_number;
	pthread_mutex_unlock(&log_lock);

	int *room = malloc(sizeof *room);
	if (!room)
		abort();
	pass_window();
	pthread_mutex_lock(&log_lock);
#ifdef FIXED
	if (number < first_number)
		number = first_number;
#endif
	*room = records[number % RECORDS];
	pthread_mutex_unlock(&log_lock);
	*text = *room;
	free(room);
	return number;
}

struct log_operations {
	int (*read)(int number, int *text);
	void (*write)(void);
};

struct log_operations log_operations = {read_record, write_record};

static void *read_log(void *arg)
{
	int number = 0;

	(void)arg;
	for (int i = 0; i < READS; i++) {
		int text;
		number = log_operations.read(number, &text);
		if (text != number)
			wrong_records++;
		number++;
	}
	return NULL;
}

static void *print_messages(void *arg)
{
	(void)arg;
	for (int i = 0; i < WRITES; i++)
		log_operations.write();
	return NULL;
}

int main(void)
{
	pthread_t reader, printer;

	pthread_create(&reader, NULL, read_log, NULL);
	pthread_create(&printer, NULL, print_messages, NULL);
	pthread_join(reader, NULL);
	pthread_join(printer, NULL);
	return print_outcome(wrong_records == 0);
}
