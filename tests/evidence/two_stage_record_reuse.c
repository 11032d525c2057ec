/*
 * Two-stage access to a table, named so in Artho's papers on high-level data races and found in the
 * space craft controller that they study. A thread looks up the index of a record under the table's
 * lock and uses the record under the record's own lock. Between the two the record can be removed
 * and given to another key: the money goes to the wrong customer. Lookup and use are meant to be
 * one step.
 *
 * The twin compares the key again after it has locked the record.
 */
// expect: function=book_payment variable=key,records class=two-stage where=thread
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>
#include "prove.h"

#define RECORDS 4

static struct record {
	pthread_mutex_t lock;
	int key; /* 0: free */
	long amount;
} records[RECORDS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

struct payment {
	int key;
	long amount;
	bool booked;
};

static void *book_payment(void *arg)
{
	struct payment *payment = arg;
	int key = payment->key, index;

	pthread_mutex_lock(&table_lock);
	for (index = 0; index < RECORDS; index++)
		if (records[index].key == key)
			break;
	pthread_mutex_unlock(&table_lock);
	if (index == RECORDS)
		return NULL;
	pass_window();

	struct record *r = &records[index];
	pthread_mutex_lock(&r->lock);
#ifdef FIXED
	bool mine = r->key == key;
#else
	bool mine = true;
#endif
	if (mine)
		r->amount += payment->amount;
	payment->booked = mine;
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Customer 7 leaves; customer 9 gets the first free record. */
static void *replace_customer(void *arg)
{
	(void)arg;
	usleep(5000); /* A customer usually stays for a while. */
	pthread_mutex_lock(&table_lock);
	for (int i = 0; i < RECORDS; i++) {
		if (records[i].key != 7)
			continue;
		pthread_mutex_lock(&records[i].lock);
		records[i].key = 9;
		records[i].amount = 0;
		pthread_mutex_unlock(&records[i].lock);
	}
	pthread_mutex_unlock(&table_lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	struct payment payment = {7, 50, false};
	for (int i = 0; i < RECORDS; i++) {
		pthread_mutex_init(&records[i].lock, NULL);
		records[i].key = 6 + i % 2;
	}
	records[3].key = 0;
	pthread_create(&threads[0], NULL, book_payment, &payment);
	pthread_create(&threads[1], NULL, replace_customer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(records[1].key != 9 || records[1].amount == 0);
}
