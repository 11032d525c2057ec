/*
 * A process's table of open files, as the Linux kernel had it before the table and its size became
 * one structure: the size and the pointer to the array are two words, and growing the table
 * replaces both. A reader that fetches the array first and the size afterwards can check its index
 * against the size of the new array and then look into the old, shorter one.
 *
 * Meant to be atomic: fetching the array together with its size. Both words are atomic variables;
 * there is no data race. The twin keeps the size beside the entries and publishes one pointer, as
 * the kernel does today.
 */
// expect: function=find_file variable=table,table_size class=torn-pair where=inlined
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

enum { SMALL = 4, LARGE = 8, LOOKUPS = 20 };

struct files {
	int size;
	int entries[LARGE];
};

static struct files small_table = {SMALL, {10, 11, 12, 13, -1, -1, -1, -1}};
static struct files large_table = {LARGE, {10, 11, 12, 13, 14, 15, 16, 17}};
static _Atomic(struct files *) table = &small_table;
static int beyond_the_end;

#ifdef FIXED
static void grow_table(void)
{
	atomic_store(&table, &large_table);
}

static int find_file(int number)
{
	struct files *t = atomic_load(&table);

	return number < t->size ? t->entries[number] : 0;
}
#else
static _Atomic int table_size = SMALL;

static void grow_table(void)
{
	atomic_store(&table, &large_table);
	atomic_store(&table_size, LARGE);
}

/* Returns the file, 0 if there is none, and -1 for an entry beyond the end of the table. */
static int find_file(int number)
{
	struct files *t = atomic_load(&table);
	pass_window();
	int size = atomic_load(&table_size);

	return number < size ? t->entries[number] : 0;
}
#endif

static void *read_files(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOOKUPS; i++)
		if (find_file(LARGE - 1 - i % LARGE) < 0)
			beyond_the_end++;
	return NULL;
}

static void *open_files(void *arg)
{
	(void)arg;
	grow_table();
	return NULL;
}

int main(void)
{
	pthread_t reader, opener;

	pthread_create(&reader, NULL, read_files, NULL);
	pthread_create(&opener, NULL, open_files, NULL);
	pthread_join(reader, NULL);
	pthread_join(opener, NULL);
	return print_outcome(beyond_the_end == 0);
}
