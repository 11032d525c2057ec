#include "base/map.h"

#include <assert.h>

#include "base/mem.h"

#include "base/banned.h"

enum { FIRST_SLOTS = 64 };

static void map_grow(struct map *m, size_t keys)
{
	struct map old = *m;
	size_t slots = old.mask ? 2 * (old.mask + 1) : FIRST_SLOTS, at = 0;
	struct map_entry e;

	*m = (struct map){mem_zalloc(slots * (keys + 1) * sizeof *m->slot), slots - 1, old.n, keys};
	while (map_next(&old, &at, &e)) {
		uint64_t *s = map_slot(m, keys, e.a, e.b);

		s[0] = (uint64_t)e.value + 1;
		s[1] = e.a;
		if (keys == 2)
			s[2] = e.b;
	}
	mem_free(old.slot);
}

/* Returns the slot of a key, and adds the key if it is new. */
static uint64_t *map_add(struct map *m, size_t keys, uint64_t a, uint64_t b)
{
	uint64_t *s;

	assert(!m->keys || m->keys == keys);
	if (2 * m->n >= m->mask)
		map_grow(m, keys);
	s = map_slot(m, keys, a, b);
	m->n += !s[0];
	s[1] = a;
	return s;
}

void map_set(struct map *m, uint64_t key, uint32_t value)
{
	*map_add(m, 1, key, 0) = (uint64_t)value + 1;
}

void map_set2(struct map *m, uint64_t a, uint64_t b, uint32_t value)
{
	uint64_t *s = map_add(m, 2, a, b);

	s[0] = (uint64_t)value + 1;
	s[2] = b;
}

bool map_next(const struct map *m, size_t *at, struct map_entry *e)
{
	for (; m->mask && *at <= m->mask; ++*at) {
		const uint64_t *s = m->slot + *at * (m->keys + 1);

		if (s[0]) {
			*e = (struct map_entry){s[1], m->keys == 2 ? s[2] : 0, (uint32_t)s[0] - 1};
			++*at;
			return true;
		}
	}
	return false;
}

void map_free(struct map *m)
{
	mem_free(m->slot);
	*m = (struct map){0};
}
