#include "runtime/thread/registry.h"

#include "runtime/os/lock.h"
#include "runtime/thread/state.h"

#include "base/banned.h"

static uint32_t next_id;

/*
 * From handles to numbers: a table with open addressing, protected by its lock and at most half
 * full. When an entry is removed, later entries move into the gap.
 */
struct entry {
	pthread_t handle; /* 0: empty */
	uint32_t id;
	struct rt_point last; /* the thread's last point, if it has ended */
};
static struct entry *entries;
static size_t nentries, entries_cap;
static uint32_t entries_lock;

/* Returns the index at which a search for the handle begins. */
static size_t hash_handle(pthread_t handle)
{
	return ((uintptr_t)handle * 0x9e3779b97f4a7c15ull) >> 32 & (entries_cap - 1);
}

static struct entry *find_entry(pthread_t handle)
{
	if (!entries_cap)
		return NULL;
	for (size_t i = hash_handle(handle);; i = (i + 1) & (entries_cap - 1)) {
		if (entries[i].handle == handle)
			return &entries[i];
		if (!entries[i].handle)
			return NULL;
	}
}

static void insert_entry(struct entry e)
{
	size_t i = hash_handle(e.handle);

	RT_ASSERT(2 * (nentries + 1) <= entries_cap);
	while (entries[i].handle)
		i = (i + 1) & (entries_cap - 1);
	entries[i] = e;
	nentries++;
}

static void remove_entry(struct entry *gone)
{
	size_t hole = (size_t)(gone - entries), i = hole;

	entries[hole].handle = 0;
	nentries--;
	for (;;) {
		size_t want;

		i = (i + 1) & (entries_cap - 1);
		if (!entries[i].handle)
			return;
		want = hash_handle(entries[i].handle);
		if (((i - want) & (entries_cap - 1)) >= ((i - hole) & (entries_cap - 1))) {
			entries[hole] = entries[i];
			entries[i].handle = 0;
			hole = i;
		}
	}
}

/* Make room for one more entry. Returns false if there is no memory. */
static bool make_room(void)
{
	struct entry *old = entries;
	size_t old_cap = entries_cap;

	if (2 * (nentries + 1) <= entries_cap)
		return true;
	entries = rt_pages((old_cap ? 2 * old_cap : 256) * sizeof *entries);
	if (!entries) {
		entries = old;
		return false;
	}
	entries_cap = old_cap ? 2 * old_cap : 256;
	nentries = 0;
	for (size_t i = 0; i < old_cap; i++)
		if (old[i].handle)
			insert_entry(old[i]);
	rt_pages_free(old, old_cap * sizeof *old);
	return true;
}

/*
 * Take the table's lock. The thread is in the runtime meanwhile, so that no signal handler runs
 * while the lock is held. Returns what table_leave() needs.
 */
static struct rt_thread *table_enter(void)
{
	struct rt_thread *t = rt_enter(&rt_self) ? &rt_self : NULL;

	rt_lock(&entries_lock);
	return t;
}

static void table_leave(struct rt_thread *t)
{
	rt_unlock(&entries_lock);
	if (t)
		rt_leave(t);
}

void registry_add(pthread_t handle, uint32_t id)
{
	struct rt_thread *t = table_enter();
	struct entry *e = find_entry(handle);

	/* A smaller number: an older thread with this handle, which was never joined. */
	if (e && e->id < id)
		e->id = id;
	else if (!e && make_room())
		insert_entry((struct entry){handle, id, {0}});
	table_leave(t);
}

uint32_t registry_find(pthread_t handle)
{
	struct rt_thread *t = table_enter();
	struct entry *e = find_entry(handle);
	uint32_t id = e ? e->id : REGISTRY_UNKNOWN;

	table_leave(t);
	return id;
}

struct rt_point registry_remove(pthread_t handle, uint32_t id)
{
	struct rt_thread *t = table_enter();
	struct entry *e = find_entry(handle);
	struct rt_point last = {0};

	if (e && e->id == id) {
		last = e->last;
		remove_entry(e);
	}
	table_leave(t);
	return last;
}

void registry_set_last(uint32_t id, struct rt_point last)
{
	struct entry *e;

	RT_ASSERT(rt_is_inside(&rt_self));
	rt_lock(&entries_lock);
	e = find_entry(pthread_self());
	if (e && e->id == id)
		e->last = last;
	rt_unlock(&entries_lock);
}

uint32_t registry_new_number(void)
{
	return __atomic_fetch_add(&next_id, 1, __ATOMIC_RELAXED);
}

uint32_t registry_count(void)
{
	return __atomic_load_n(&next_id, __ATOMIC_RELAXED);
}

/*
 * A thread of the parent may have been changing the table at the moment of the fork. So a new one
 * is begun, and the memory of the old one is not used again.
 */
void registry_child(void)
{
	struct entry *own = find_entry(pthread_self()), copy = {0};

	if (own)
		copy = *own;
	entries = NULL;
	nentries = entries_cap = 0;
	entries_lock = 0;
	if (copy.handle && make_room())
		insert_entry(copy);
}

void registry_child_restart(void)
{
	struct entry *own = find_entry(pthread_self());

	if (own)
		own->id = 0;
	next_id = 1;
}
