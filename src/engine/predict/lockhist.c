/*
 * The encoding of a history: for each lock held, in the order of their numbers, the words
 *
 *	lock << 1 | exclusive, n, the n locks acquired since, in the order of their numbers
 *
 * each of which is again lock << 1 | exclusive.
 */
#include "engine/predict/lockhist.h"

#include <string.h>
#include <xxhash.h>

#include "base/banned.h"

/*
 * Returns the number of the history in `scratch`, or `otherwise` if it would be new and there are
 * too many. If its hash is in use, the next one is tried.
 */
static uint32_t intern_history(struct lockhist *h, uint32_t n, uint32_t otherwise)
{
	uint64_t key = XXH3_64bits(h->scratch, n * sizeof *h->scratch);
	uint32_t id, *copy;

	for (;; key++) {
		id = map_get(&h->by_words, key);
		if (id == MAP_NONE)
			break;
		if (h->v[id].n == n && !memcmp(h->v[id].word, h->scratch, n * sizeof *copy))
			return id;
	}
	if (h->words + n > LOCKHIST_WORDS) {
		h->left_out++;
		return otherwise;
	}
	h->words += n;
	copy = arena_alloc(&h->arena, (n + 1) * sizeof *copy);
	memcpy(copy, h->scratch, n * sizeof *copy);
	MEM_GROW(h->v, h->cap, h->n + 1);
	h->v[h->n] = (struct lockhist_one){copy, n};
	map_set(&h->by_words, key, h->n);
	return h->n++;
}

void lockhist_init(struct lockhist *h)
{
	*h = (struct lockhist){0};
	MEM_GROW(h->scratch, h->scratch_cap, 1);
	intern_history(h, 0, LOCKHIST_EMPTY);
}

void lockhist_free(struct lockhist *h)
{
	mem_free(h->answers);
	mem_free(h->v);
	mem_free(h->scratch);
	map_free(&h->by_words);
	map_free(&h->steps);
	map_free(&h->unnested);
	arena_free(&h->arena);
}

/*
 * Copy `n` sorted locks to `to`, and insert `lock`, exclusive if one of the two is, unless there
 * are LOCKHIST_SINCE.
 */
static uint32_t copy_with(uint32_t *to, const uint32_t *from, uint32_t n, uint32_t lock)
{
	uint32_t out = 0, i = 0;

	while (i < n && from[i] >> 1 < lock >> 1)
		to[out++] = from[i++];
	if (n == LOCKHIST_SINCE && (i == n || from[i] >> 1 != lock >> 1)) {
		memcpy(to + out, from + i, (n - i) * sizeof *to);
		return n;
	}
	if (i < n && from[i] >> 1 == lock >> 1)
		lock |= from[i++];
	to[out++] = lock;
	while (i < n)
		to[out++] = from[i++];
	return out;
}

static bool is_full(const struct lockhist_one *one)
{
	uint32_t held = 0;

	for (const uint32_t *w = one->word; w < one->word + one->n; w += 2 + w[1])
		held++;
	return held >= LOCKHIST_HELD;
}

static uint32_t add_acquire(struct lockhist *h, uint32_t from, uint32_t lock)
{
	const uint32_t *w = h->v[from].word, *end = w + h->v[from].n;
	uint32_t *to, n = 0;
	bool placed = false;

	if (is_full(&h->v[from])) {
		h->left_out++;
		return from;
	}
	/* Each held lock gets one more word at most. */
	MEM_GROW(h->scratch, h->scratch_cap, 2 * (size_t)h->v[from].n + 2);
	to = h->scratch;
	for (; w < end; w += 2 + w[1]) {
		if (!placed && w[0] >> 1 > lock >> 1) {
			to[n++] = lock;
			to[n++] = 0;
			placed = true;
		}
		to[n] = w[0];
		to[n + 1] = copy_with(to + n + 2, w + 2, w[1], lock);
		n += 2 + to[n + 1];
	}
	if (!placed) {
		to[n++] = lock;
		to[n++] = 0;
	}
	return intern_history(h, n, from);
}

/* Returns the entry of a held lock, or NULL. */
static const uint32_t *find_held(const struct lockhist_one *one, uint32_t lock)
{
	for (const uint32_t *w = one->word; w < one->word + one->n; w += 2 + w[1])
		if (w[0] >> 1 == lock >> 1)
			return w;
	return NULL;
}

static uint32_t add_release(struct lockhist *h, uint32_t from, uint32_t lock, bool *unnested)
{
	const struct lockhist_one *one = &h->v[from];
	const uint32_t *mine = find_held(one, lock);
	size_t before, after;

	if (!mine) /* its acquire changed nothing */
		return from;
	for (uint32_t i = 0; i < mine[1]; i++)
		*unnested |= find_held(one, mine[2 + i]) != NULL;
	before = (size_t)(mine - one->word);
	after = one->n - before - 2 - mine[1];
	MEM_GROW(h->scratch, h->scratch_cap, before + after + 1);
	memcpy(h->scratch, one->word, before * sizeof *mine);
	memcpy(h->scratch + before, mine + 2 + mine[1], after * sizeof *mine);
	return intern_history(h, (uint32_t)(before + after), LOCKHIST_EMPTY);
}

uint32_t lockhist_step(struct lockhist *h, uint32_t from, enum op op, uint32_t lock, bool *unnested)
{
	uint32_t word = lock << 1 | (op == OP_ACQUIRE || op == OP_RELEASE);
	bool is_release = op == OP_RELEASE || op == OP_RELEASE_SHARED, bad = false;
	/* The history shows whether this is an acquire or a release: is the lock held? */
	uint64_t key = (uint64_t)from << 32 | word;
	uint32_t to = map_get(&h->steps, key);

	if (to == MAP_NONE) {
		to = is_release ? add_release(h, from, word, &bad) : add_acquire(h, from, word);
		map_set(&h->steps, key, to);
		if (bad)
			map_set(&h->unnested, key, 1);
	} else if (is_release && h->unnested.n) {
		bad = map_get(&h->unnested, key) != MAP_NONE;
	}
	*unnested |= bad;
	return to;
}

uint32_t lockhist_add(struct lockhist *h, uint32_t set, enum op acquire, uint32_t lock)
{
	const uint32_t *w = h->v[set].word, *end = w + h->v[set].n;
	uint32_t word = lock << 1 | (acquire == OP_ACQUIRE), n = 0;

	if (is_full(&h->v[set])) {
		h->left_out++;
		return set;
	}
	MEM_GROW(h->scratch, h->scratch_cap, (size_t)h->v[set].n + 2);
	for (; w < end && w[0] >> 1 < lock; w += 2) {
		h->scratch[n++] = w[0];
		h->scratch[n++] = 0;
	}
	if (w < end && w[0] >> 1 == lock) {
		word |= w[0];
		w += 2;
	}
	h->scratch[n++] = word;
	h->scratch[n++] = 0;
	for (; w < end; w++)
		h->scratch[n++] = *w;
	return intern_history(h, n, set);
}

uint32_t lockhist_both(struct lockhist *h, uint32_t a, uint32_t b)
{
	const uint32_t *x = h->v[a].word, *xend = x + h->v[a].n;
	const uint32_t *y = h->v[b].word, *yend = y + h->v[b].n;
	uint32_t n = 0;

	MEM_GROW(h->scratch, h->scratch_cap, (size_t)h->v[a].n + 1);
	while (x < xend && y < yend) {
		if (x[0] >> 1 == y[0] >> 1) {
			h->scratch[n++] = x[0] & y[0];
			h->scratch[n++] = 0;
		}
		if (x[0] >> 1 <= y[0] >> 1)
			x += 2 + x[1];
		else
			y += 2 + y[1];
	}
	return intern_history(h, n, LOCKHIST_EMPTY);
}

/* Returns 2 if `lock` is among the sorted locks exclusively, 1 if shared, 0 if not. */
static uint32_t find_lock(const uint32_t *w, uint32_t n, uint32_t lock)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (w[mid] >> 1 < lock >> 1)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && w[low] >> 1 == lock >> 1 ? 1 + (w[low] & 1) : 0;
}

static bool are_compatible(const struct lockhist_one *a, const struct lockhist_one *b)
{
	for (const uint32_t *x = a->word; x < a->word + a->n; x += 2 + x[1]) {
		for (const uint32_t *y = b->word; y < b->word + b->n; y += 2 + y[1]) {
			uint32_t a_took, b_took;

			if (x[0] >> 1 == y[0] >> 1) {
				if ((x[0] | y[0]) & 1)
					return false;
				continue;
			}
			a_took = find_lock(x + 2, x[1], y[0]);
			b_took = find_lock(y + 2, y[1], x[0]);
			if (a_took && b_took && (a_took == 2 || y[0] & 1) &&
			    (b_took == 2 || x[0] & 1))
				return false;
		}
	}
	return true;
}

bool lockhist_compatible(struct lockhist *h, uint32_t a, uint32_t b)
{
	uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
	uint64_t *known;

	if (!(key >> 32))
		return true; /* a thread that holds no lock excludes no other */
	if (!h->answers)
		h->answers = mem_zalloc(LOCKHIST_ANSWERS * sizeof *h->answers);
	known = &h->answers[map_mix(key) % LOCKHIST_ANSWERS];
	if (*known >> 1 != key)
		*known = key << 1 | are_compatible(&h->v[a], &h->v[b]);
	return *known & 1;
}
