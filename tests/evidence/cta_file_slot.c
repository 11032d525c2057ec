/*
 * Slots of open files, as in kernels (the allocation of descriptors) and in Apache's scoreboard. A
 * thread looks for a free slot under the table's lock, opens the file without the lock, since that
 * can block, and marks the slot under the lock. Search and mark are meant to be one step: two
 * threads can find the same slot free, and both use it.
 *
 * The twin marks the slot as reserved before it releases the lock, as the kernel does.
 */
// expect: function=copy_file variable=slots,state class=check-then-act where=thread
#include <pthread.h>
#include "prove.h"

#define SLOTS 4

enum { FREE, RESERVED, OPEN };

static struct {
	int state;
	int inode;
} slots[SLOTS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

struct job {
	const char *name;
	int inode; /* as found in the slot after the copy */
};

/* Stands for reading an inode from a disk. */
static int read_inode(const char *name)
{
	int inode = 0;
	while (*name)
		inode = inode * 31 + *name++;
	pass_window();
	return inode;
}

static void *copy_file(void *arg)
{
	struct job *job = arg;
	int slot;

	pthread_mutex_lock(&table_lock);
	for (slot = 0; slot < SLOTS; slot++)
		if (slots[slot].state == FREE)
			break;
#ifdef FIXED
	if (slot < SLOTS)
		slots[slot].state = RESERVED;
#endif
	pthread_mutex_unlock(&table_lock);
	if (slot == SLOTS)
		return NULL;

	int inode = read_inode(job->name);

	pthread_mutex_lock(&table_lock);
	slots[slot].inode = inode;
	slots[slot].state = OPEN;
	pthread_mutex_unlock(&table_lock);

	pass_window(); /* the copy */

	pthread_mutex_lock(&table_lock);
	job->inode = slots[slot].inode;
	slots[slot].state = FREE;
	pthread_mutex_unlock(&table_lock);
	return NULL;
}

int main(void)
{
	struct job jobs[3] = {{"passwd", 0}, {"hosts", 0}, {"motd", 0}};
	pthread_t threads[3];
	int right = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, copy_file, &jobs[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 3; i++)
		right += jobs[i].inode == read_inode(jobs[i].name);
	return print_outcome(right == 3);
}
