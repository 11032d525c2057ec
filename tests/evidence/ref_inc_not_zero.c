/*
 * Kernel code before it had an increment that fails at zero (sockets, directory entries; several
 * CVEs). An object that may be on its way out is only used if its reference count is not zero. Test
 * and increment were two atomic operations. If the last reference is dropped in between, the count
 * goes from zero to one again, and the object is released twice.
 *
 * The twin increments with a compare-and-swap that fails if the count is zero.
 */
// expect: function=get_entry variable=refs class=refcount where=inlined
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include "prove.h"

#define LOOKUPS 10

struct entry {
	atomic_int refs;
	atomic_int releases;
	char name[16];
};

static struct entry root = {1, 0, "root"};

static bool get_entry(struct entry *entry)
{
#ifdef FIXED
	int refs = atomic_load(&entry->refs);
	do {
		if (refs == 0)
			return false;
	} while (!atomic_compare_exchange_weak(&entry->refs, &refs, refs + 1));
#else
	if (atomic_load(&entry->refs) == 0)
		return false;
	pass_window();
	atomic_fetch_add(&entry->refs, 1);
#endif
	return true;
}

static void put_entry(struct entry *entry)
{
	if (atomic_fetch_sub(&entry->refs, 1) == 1)
		atomic_fetch_add(&entry->releases, 1);
}

static void *walk_path(void *arg)
{
	int *letters = arg;
	for (int i = 0; i < LOOKUPS; i++) {
		if (!get_entry(&root))
			break;
		*letters += root.name[0] != '\0';
		put_entry(&root);
	}
	return NULL;
}

static void *unmount(void *arg)
{
	(void)arg;
	usleep(5000); /* A file system is usually unmounted later. */
	put_entry(&root);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int letters = 0;
	pthread_create(&threads[0], NULL, walk_path, &letters);
	pthread_create(&threads[1], NULL, unmount, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(root.releases == 1);
}
