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

/* A table without a lock: several threads may change an entry at the same time. */
enum { SHORTCUTS = 1 << 12, SHORTCUT_PROBES = 8 };
static struct shortcut {
	uint64_t key;   /* 0: empty; once set, it stays */
	uint64_t kind;  /* the key of the kind that was found last; 0: none yet */
	uint64_t again; /* cycles that were counted here, and not yet in that kind */
	uint32_t sure;  /* number of searches, up to SHORTCUT_SURE */
	uint32_t gap;   /* how many cycles are counted between two searches, */
	uint32_t left;  /* and how many of them are left */
} shortcuts[SHORTCUTS];

/*
 * Limits. To send a kind, all threads are copied while the program may hold its locks, and a block
 * may have hundreds of kinds. So only so many kinds of each block are sent. Each block has its own
 * limit: the findings of one block take nothing from another, even if they are not shown.
 *
 * The reporter examines about 40 MB a second. So after SENT_SURE kinds, a block whose findings are
 * large has its last turn when they have SENT_BYTES together.
 *
 * If the blamed block is not the one that closed the cycle, only a place in it is known. Then each
 * place has a limit as well, so that many places have their turn.
 */
enum { SENT_BLAMED = 16, SENT_OF_OTHERS = 64, SENT_OF_PLACE = 16, BLOCKS = 1 << 12 };
enum { SENT_SURE = 4, SENT_BYTES = 1 << 20 };
static struct block {
	uint64_t key; /* 0: empty */
	uint64_t bytes;
	uint32_t sent;
} blocks[BLOCKS];
static uint32_t nblocks;

/* Find the entry of a block or place, or make one. Returns NULL if there is no room. */
static struct block *find_block(uint64_t key)
{
	size_t i = key >> 52;

	while (blocks[i].key && blocks[i].key != key)
		i = (i + 1) & (BLOCKS - 1);
	if (!blocks[i].key) {
		if (nblocks == BLOCKS - 1)
			return NULL;
		nblocks++;
		blocks[i].key = key;
	}
	return &blocks[i];
}

/* Take one of the `limit` kinds of a block or place. False: all are taken. */
static bool take_turn(uint64_t key, uint32_t limit)
{
	struct block *b = find_block(key);

	if (!b)
		return true;
	RT_ASSERT(b->sent <= limit);
	if (b->sent == limit || (b->sent >= SENT_SURE && b->bytes >= SENT_BYTES))
		return false;
	b->sent++;
	return true;
}

/* Returns the key of a finding's block; 0 if it has none. */
static uint64_t hash_block(const struct live_finding *head)
{
	return head->block ? kinds_hash(kinds_hash(2 + head->marked, head->block), head->blamed) | 1
			   : 0;
}

void kinds_add_bytes(const struct live_finding *head, size_t bytes)
{
	uint64_t key = hash_block(head);
	struct block *b;

	rt_lock(&lock);
	b = key ? find_block(key) : NULL;
	if (b)
		b->bytes += bytes;
	rt_unlock(&lock);
}

/* May a new kind be sent? */
static bool may_send(const struct live_finding *head, uint64_t place)
{
	uint64_t key = hash_block(head);

	/*
	 * There is no limit if the program halts at the first finding that counts, since no other
	 * follows it. There is none either if findings may be hidden: it is not known here which
	 * ones are, and the next one may be the one that counts.
	 */
	if (!key || rt_options.halt_on_error || rt_options.hides || *rt_options.suppressions)
		return true;
	if (head->blamed)
		return take_turn(key, SENT_BLAMED);
	return take_turn(kinds_hash(key, place) | 1, SENT_OF_PLACE) &&
	       take_turn(key, SENT_OF_OTHERS);
}

/* Find the entry of a shortcut, or make one. Returns NULL if there is no room near its place. */
static struct shortcut *find_shortcut(uint64_t key)
{
	for (size_t i = 0; i < SHORTCUT_PROBES; i++) {
		struct shortcut *s = &shortcuts[((key >> 52) + i) & (SHORTCUTS - 1)];
		uint64_t here = __atomic_load_n(&s->key, __ATOMIC_ACQUIRE);

		if (!here && __atomic_compare_exchange_n(&s->key, &here, key, false,
							 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return s;
		if (here == key)
			return s;
	}
	return NULL;
}

bool kinds_count_known(uint64_t shortcut)
{
	struct shortcut *s = rt_options.all ? NULL : find_shortcut(shortcut);
	uint32_t left;

	RT_ASSERT(shortcut);
	if (!s || __atomic_load_n(&s->sure, __ATOMIC_RELAXED) < SHORTCUT_SURE)
		return false;
	left = __atomic_load_n(&s->left, __ATOMIC_RELAXED);
	if (!left)
		return false;
	/* Another thread may have done the same: then the next search comes a little later. */
	__atomic_store_n(&s->left, left - 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->again, 1, __ATOMIC_RELAXED);
	return true;
}

/* Find the entry of a kind, or the empty one where it belongs. Under the lock. */
static struct kind *find_kind(uint64_t key)
{
	size_t i = key >> 52;

	while (kinds[i].key && kinds[i].key != key)
		i = (i + 1) & (KINDS - 1);
	return &kinds[i];
}

/* Add the cycles that were counted in a shortcut to the kind that was found last. Under the lock.
 */
static void empty_shortcut(struct shortcut *s)
{
	struct kind *k = s->kind ? find_kind(s->kind) : NULL;

	if (k && k->key)
		k->again += __atomic_exchange_n(&s->again, 0, __ATOMIC_RELAXED);
}

/* A search has found the kind `key`, which is `fresh`. Under the lock. */
static void note_search(struct shortcut *s, uint64_t key, bool fresh)
{
	if (s->sure < SHORTCUT_SURE) {
		__atomic_store_n(&s->sure, s->sure + 1, __ATOMIC_RELAXED);
	} else {
		s->gap = fresh ? s->gap / 4 : s->gap * 2 + 1;
		if (s->gap >= SHORTCUT_GAP)
			s->gap = SHORTCUT_GAP - 1;
		__atomic_store_n(&s->left, s->gap, __ATOMIC_RELAXED);
	}
	if (s->kind != key)
		empty_shortcut(s);
	s->kind = key;
}

bool kinds_add(const struct live_finding *head, uint64_t place, uint64_t shortcut)
{
	uint64_t key = head->key;
	struct shortcut *s = shortcut && !rt_options.all ? find_shortcut(shortcut) : NULL;
	struct kind *k;
	bool fresh;

	RT_ASSERT(key);
	rt_lock(&lock);
	k = find_kind(key);
	fresh = !k->key && nkinds < KINDS - 1;
	if (s)
		note_search(s, key, fresh);
	if (rt_options.all) {
		fresh = true;
		nkinds = 1;
	} else if (fresh) {
		k->key = key;
		nkinds++;
		fresh = may_send(head, place);
		k->counted = !fresh;
	} else if (k->key) {
		k->again++;
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
	for (size_t i = 0; i < SHORTCUTS; i++)
		empty_shortcut(&shortcuts[i]);
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
	memset(shortcuts, 0, sizeof shortcuts);
	memset(blocks, 0, sizeof blocks);
	nkinds = nblocks = 0;
}
