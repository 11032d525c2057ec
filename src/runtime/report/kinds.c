#include "runtime/report/kinds.h"

#include <string.h>

#include "runtime/link/reporter_link.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"

#include "base/banned.h"

/* All tables are under this lock. */
static uint32_t lock;

enum { KINDS = 1 << 12 };
static struct kind {
	uint64_t key; /* 0: empty */
	uint64_t again;
	bool counted; /* it was only counted, and not sent */
} kinds[KINDS];
static uint32_t nkinds;

/*
 * Limits. To send a kind, all threads are copied while the program may hold its locks, and a block
 * may have hundreds of kinds. So only so many kinds of each block are sent. Each block has its own
 * limit: the findings of one block take nothing from another, even if they are not shown.
 *
 * If the blamed block is not the one that closed the cycle, only a place in it is known. Then each
 * place has a limit as well, so that many places have their turn.
 */
enum { SENT_BLAMED = 16, SENT_OF_OTHERS = 64, SENT_OF_PLACE = 16, BLOCKS = 1 << 12 };
static struct block {
	uint64_t key; /* 0: empty */
	uint32_t sent;
} blocks[BLOCKS];
static uint32_t nblocks;

/* Take one of the `limit` kinds of a block or place. False: all are taken. */
static bool take_turn(uint64_t key, uint32_t limit)
{
	size_t i = key >> 52;

	while (blocks[i].key && blocks[i].key != key)
		i = (i + 1) & (BLOCKS - 1);
	if (!blocks[i].key) {
		if (nblocks == BLOCKS - 1)
			return true;
		nblocks++;
		blocks[i].key = key;
	}
	RT_ASSERT(blocks[i].sent <= limit);
	if (blocks[i].sent == limit)
		return false;
	blocks[i].sent++;
	return true;
}

/* May a new kind be sent? */
static bool may_send(const struct live_finding *head, uint64_t place)
{
	uint64_t key = kinds_hash(kinds_hash(2 + head->marked, head->block), head->blamed);

	/*
	 * There is no limit if the program halts at the first finding that counts, since no other
	 * follows it. There is none either if findings may be hidden: it is not known here which
	 * ones are, and the next one may be the one that counts.
	 */
	if (!head->block || rt_options.halt_on_error || rt_options.hides ||
	    *rt_options.suppressions)
		return true;
	if (head->blamed)
		return take_turn(key | 1, SENT_BLAMED);
	return take_turn(kinds_hash(key, place) | 1, SENT_OF_PLACE) &&
	       take_turn(key | 1, SENT_OF_OTHERS);
}

bool kinds_add(const struct live_finding *head, uint64_t place)
{
	uint64_t key = head->key;
	size_t i = key >> 52;
	bool fresh;

	RT_ASSERT(key);
	rt_lock(&lock);
	while (kinds[i].key && kinds[i].key != key)
		i = (i + 1) & (KINDS - 1);
	fresh = !kinds[i].key && nkinds < KINDS - 1;
	if (rt_options.all) {
		fresh = true;
		nkinds = 1;
	} else if (fresh) {
		kinds[i].key = key;
		nkinds++;
		fresh = may_send(head, place);
		kinds[i].counted = !fresh;
	} else if (kinds[i].key) {
		kinds[i].again++;
	}
	rt_unlock(&lock);
	return fresh;
}

uint32_t kinds_count(void)
{
	return nkinds;
}

void kinds_send_counts(struct live_end *end)
{
	for (size_t i = 0; i < KINDS; i++) {
		struct live_again a = {kinds[i].key, kinds[i].again};

		if (kinds[i].counted) {
			end->kinds_counted++;
			end->times_counted += 1 + a.times;
		} else if (a.key && a.times) {
			link_send(LIVE_AGAIN, &(struct link_part){&a, sizeof a}, 1, NULL, 0);
		}
	}
}

void kinds_child(void)
{
	lock = 0;
	memset(kinds, 0, sizeof kinds);
	memset(blocks, 0, sizeof blocks);
	nkinds = nblocks = 0;
}
