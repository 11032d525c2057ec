/*
 * Appending to a file in a file system: the writer reads the file's size under the inode's lock,
 * releases the lock while it prepares the page, and then writes at the old size under the lock. Two
 * appends that overlap write to the same position and one is lost. Linux file systems have had this
 * bug with direct I/O and with network file systems.
 *
 * Meant to be atomic: reading the size, writing there, and storing the new size. The twin prepares
 * the page first and reads the size in the critical section that uses it.
 */
// expect: function=append variable=size class=stale-reuse where=loop
#include <pthread.h>
#include <string.h>
#include "prove.h"

enum { WRITERS = 2, APPENDS = 10, RECORD = 4 };

static struct {
	pthread_mutex_t lock;
	size_t size;
	char data[WRITERS * APPENDS * RECORD];
} inode = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *append(void *arg)
{
	char page[RECORD];

	for (int i = 0; i < APPENDS; i++) {
#ifdef FIXED
		memset(page, *(char *)arg, RECORD);
		pthread_mutex_lock(&inode.lock);
		size_t at = inode.size;
#else
		pthread_mutex_lock(&inode.lock);
		size_t at = inode.size;
		pthread_mutex_unlock(&inode.lock);
		pass_window();
		memset(page, *(char *)arg, RECORD);
		pthread_mutex_lock(&inode.lock);
#endif
		memcpy(inode.data + at, page, RECORD);
		inode.size = at + RECORD;
		pthread_mutex_unlock(&inode.lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t writers[WRITERS];
	char names[WRITERS] = {'a', 'b'};

	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, append, &names[i]);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	return print_outcome(inode.size == sizeof inode.data);
}
