/*
 * multiset: a set of integers that can be in it several times, in slots with a lock each. An
 * operation goes through the slots and has the lock of one at a time, or of the two that a pair
 * goes into.
 *
 * This is the data structure of the literature on refinement checking. Its operations are not
 * atomic as sequences of accesses. Most are as seen from outside; see the table of regions.
 */
#include "paper.h"

enum { SLOTS = 48, KEYS = 24 };

enum state { FREE, TAKEN, VALID };

static struct slot {
	pthread_mutex_t lock;
	enum state state;
	int key;
} slots[SLOTS];

static struct {
	pthread_mutex_t lock;
	long inserted, deleted;
} totals = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

/* Takes a free slot for the key. It does not count until the slot is valid. Returns -1 if full. */
static int find_slot(int key)
{
	int found = -1;

	for (int i = 0; i < SLOTS && found < 0; i++) {
		LOCK(&slots[i].lock, find_slot);
		if (slots[i].state == FREE) {
			slots[i].state = TAKEN;
			slots[i].key = key;
			found = i;
		}
		UNLOCK(&slots[i].lock, find_slot);
	}
	return found;
}

static void free_slot(int i)
{
	LOCK(&slots[i].lock, free_slot);
	slots[i].state = FREE;
	UNLOCK(&slots[i].lock, free_slot);
}

static void validate(int i)
{
	LOCK(&slots[i].lock, validate);
	slots[i].state = VALID;
	UNLOCK(&slots[i].lock, validate);
}

static void note_total(int inserted, int deleted)
{
	LOCK(&totals.lock, note_total);
	totals.inserted += inserted;
	totals.deleted += deleted;
	UNLOCK(&totals.lock, note_total);
}

static int insert(int key)
{
	int i = find_slot(key);

	if (i < 0)
		return 0;
	validate(i);
	note_total(1, 0);
	return 1;
}

/* Inserts both keys or neither. */
static int insert_pair(int key, int other)
{
	int i = find_slot(key), j = find_slot(other);

	if (i < 0 || j < 0) {
		if (i >= 0)
			free_slot(i);
		if (j >= 0)
			free_slot(j);
		return 0;
	}
	int low = i < j ? i : j, high = i < j ? j : i;

	LOCK(&slots[low].lock, pair_low);
	LOCK(&slots[high].lock, pair_high);
	slots[i].state = VALID;
	slots[j].state = VALID;
	UNLOCK(&slots[high].lock, pair_high);
	UNLOCK(&slots[low].lock, pair_low);
	note_total(2, 0);
	return 1;
}

static int delete (int key)
{
	int deleted = 0;

	for (int i = 0; i < SLOTS && !deleted; i++) {
		LOCK(&slots[i].lock, delete);
		if (slots[i].state == VALID && slots[i].key == key) {
			slots[i].state = FREE;
			deleted = 1;
		}
		UNLOCK(&slots[i].lock, delete);
	}
	note_total(0, deleted);
	return deleted;
}

static int look_up(int key)
{
	int found = 0;

	for (int i = 0; i < SLOTS && !found; i++) {
		LOCK(&slots[i].lock, look_up);
		found = slots[i].state == VALID && slots[i].key == key;
		UNLOCK(&slots[i].lock, look_up);
	}
	return found;
}

/* How often the key is in the set. The bug: it may have been in the set that often at no time. */
static int count(int key)
{
	int n = 0;

	for (int i = 0; i < SLOTS; i++) {
		LOCK(&slots[i].lock, count);
		if (slots[i].state == VALID && slots[i].key == key)
			n++;
		UNLOCK(&slots[i].lock, count);
		if (i == SLOTS / 2)
			cut_point(1);
	}
	return n;
}

static void *run_client(void *arg)
{
	int id = (int)(intptr_t)arg;
	uint64_t random = 271828 + (uint64_t)id * 65521;
	int sum = 0;

	if (id == 0 && paper.is_small) {
		sum += count(3);
	} else if (id == 1) { /* key 3 moves from the first slot to one in the second half */
		cut_enter(1);
		delete (3);
		insert(12);
		insert(3);
		cut_leave(1);
	} else {
		cut_after(1);
	}
	for (int i = 0; i < paper.size; i++) {
		int key = (int)(paper_random(&random) % KEYS);

		switch (paper_random(&random) % 8) {
		case 0:
		case 1:
			insert(key);
			break;
		case 2:
			insert_pair(key, (key + 1) % KEYS);
			break;
		case 3:
		case 4:
			delete (key);
			break;
		case 5:
			sum += count(key);
			break;
		default:
			sum += look_up(key);
		}
	}
	return (void *)(intptr_t)(sum < 0);
}

int main(int argc, char **argv)
{
	long valid = 0;

	paper_start(argc, argv, "multiset", 15, 400, 250000, 4);
	for (int i = 0; i < SLOTS; i++)
		pthread_mutex_init(&slots[i].lock, NULL);
	for (int i = 0; i < SLOTS * 3 / 4; i++)
		insert(i == 0 ? 3 : 4 + i % 8);
	paper_run_threads(run_client);
	for (int i = 0; i < SLOTS; i++) {
		paper_verify(slots[i].state != TAKEN, "a slot was forgotten");
		valid += slots[i].state == VALID;
	}
	paper_verify(totals.inserted - totals.deleted == valid, "the totals are wrong");
	printf("multiset: %d operations\n", paper.size * paper.threads);
	paper_print_places();
	return 0;
}
