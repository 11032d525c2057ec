#include "hashtable.h"

#include <stdio.h>
#include <stdlib.h>

#include "monitor.h"

enum { NOTHING = -1 };

void hashtable_new(struct hashtable *t, int capacity)
{
	monitor_init(&t->monitor);
	t->length = capacity;
	t->table = calloc((size_t)capacity, sizeof(*t->table));
	t->threshold = capacity * 3 / 4;
	t->count = 0;
	t->mod_count = 0;
}

void hashtable_new_copy(struct hashtable *t, struct hashtable *from)
{
	int twice = 2 * hashtable_size(from);

	hashtable_new(t, twice > 11 ? twice : 11);
	hashtable_put_all(t, from);
}

/* Frees what a garbage collector would: nothing refers to it any more. */
void hashtable_delete(struct hashtable *t)
{
	for (int i = 0; i < t->length; i++)
		while (t->table[i]) {
			struct entry *e = t->table[i];

			t->table[i] = e->next;
			free(e);
		}
	free(t->table);
	pthread_mutex_destroy(&t->monitor);
}

static int slot_of(const struct hashtable *t, long key)
{
	return (int)((unsigned long)key % (unsigned)t->length);
}

int hashtable_size(struct hashtable *t)
{
	SYNCHRONIZED(t);
	return t->count;
}

bool hashtable_is_empty(struct hashtable *t)
{
	SYNCHRONIZED(t);
	return t->count == 0;
}

bool hashtable_contains(struct hashtable *t, long value)
{
	SYNCHRONIZED(t);
	for (int i = t->length; i-- > 0;)
		for (struct entry *e = t->table[i]; e; e = e->next)
			if (e->value == value)
				return true;
	return false;
}

bool hashtable_contains_value(struct hashtable *t, long value)
{
	return hashtable_contains(t, value);
}

bool hashtable_contains_key(struct hashtable *t, long key)
{
	SYNCHRONIZED(t);
	for (struct entry *e = t->table[slot_of(t, key)]; e; e = e->next)
		if (e->key == key)
			return true;
	return false;
}

long hashtable_get(struct hashtable *t, long key)
{
	SYNCHRONIZED(t);
	for (struct entry *e = t->table[slot_of(t, key)]; e; e = e->next)
		if (e->key == key)
			return e->value;
	return NOTHING;
}

static void rehash(struct hashtable *t)
{
	int old = t->length;
	struct entry **from = t->table;
	struct entry **table = calloc((size_t)(2 * old + 1), sizeof(*table));

	t->mod_count++;
	t->length = 2 * old + 1;
	t->threshold = t->length * 3 / 4;
	t->table = table;
	for (int i = old; i-- > 0;) {
		struct entry *next;

		for (struct entry *e = from[i]; e; e = next) {
			int to = slot_of(t, e->key);

			next = e->next;
			e->next = table[to];
			table[to] = e;
		}
	}
	free(from);
}

long hashtable_put(struct hashtable *t, long key, long value)
{
	SYNCHRONIZED(t);
	struct entry *e;
	int i = slot_of(t, key);

	for (e = t->table[i]; e; e = e->next)
		if (e->key == key) {
			long old = e->value;

			e->value = value;
			return old;
		}
	t->mod_count++;
	if (t->count >= t->threshold) {
		rehash(t);
		i = slot_of(t, key);
	}
	e = malloc(sizeof *e);
	*e = (struct entry){key, value, t->table[i]};
	t->table[i] = e;
	t->count++;
	return NOTHING;
}

long hashtable_remove(struct hashtable *t, long key)
{
	SYNCHRONIZED(t);
	struct entry **at = &t->table[slot_of(t, key)];

	for (; *at; at = &(*at)->next)
		if ((*at)->key == key) {
			struct entry *e = *at;
			long old = e->value;

			t->mod_count++;
			*at = e->next;
			t->count--;
			e->value = 0; /* not freed: an enumerator may still refer to it */
			return old;
		}
	return NOTHING;
}

void hashtable_put_all(struct hashtable *t, struct hashtable *from)
{
	SYNCHRONIZED(t);
	struct enumerator e;
	struct entry *entry;

	hashtable_enumerate(from, &e, true);
	while (enumerator_has_next(&e) && (entry = enumerator_next(&e)))
		hashtable_put(t, entry->key, entry->value);
}

void hashtable_clear(struct hashtable *t)
{
	SYNCHRONIZED(t);
	t->mod_count++;
	for (int i = t->length; i-- > 0;)
		t->table[i] = NULL;
	t->count = 0;
}

void hashtable_clone(struct hashtable *t, struct hashtable *copy)
{
	SYNCHRONIZED(t);
	hashtable_new(copy, t->length);
	for (int i = t->length; i-- > 0;)
		for (struct entry *e = t->table[i]; e; e = e->next) {
			struct entry *new = malloc(sizeof *new);

			*new = (struct entry){e->key, e->value, copy->table[i]};
			copy->table[i] = new;
		}
	copy->count = t->count;
}

int hashtable_to_string(struct hashtable *t, char *to, int length)
{
	SYNCHRONIZED(t);
	struct enumerator e;
	int max = hashtable_size(t) - 1, n = 0;

	hashtable_enumerate(t, &e, true);
	for (int i = 0; i <= max && n < length; i++) {
		struct entry *entry = enumerator_next(&e);

		if (!entry)
			break;
		n += snprintf(to + n, (size_t)(length - n), "%ld=%ld ", entry->key, entry->value);
	}
	return n;
}

bool hashtable_equals(struct hashtable *t, struct hashtable *o)
{
	SYNCHRONIZED(t);
	struct enumerator e;
	struct entry *entry;

	if (hashtable_size(o) != hashtable_size(t))
		return false;
	hashtable_enumerate(t, &e, true);
	while (enumerator_has_next(&e) && (entry = enumerator_next(&e)))
		if (hashtable_get(o, entry->key) != entry->value)
			return false;
	return true;
}

int hashtable_hash_code(struct hashtable *t)
{
	SYNCHRONIZED(t);
	long h = 0;

	for (int i = 0; i < t->length; i++)
		for (struct entry *e = t->table[i]; e; e = e->next)
			h += e->key ^ e->value;
	return (int)h;
}

/* Enumerators read the table that they began with, without a lock. */
void hashtable_enumerate(struct hashtable *t, struct enumerator *e, bool iterator)
{
	*e = (struct enumerator){t, t->table, NULL, t->length, t->mod_count, iterator};
}

bool enumerator_has_next(struct enumerator *e)
{
	while (!e->entry && e->index > 0)
		e->entry = e->table[--e->index];
	return e->entry != NULL;
}

struct entry *enumerator_next(struct enumerator *e)
{
	struct entry *now;

	if (e->iterator && e->of->mod_count != e->expected)
		return NULL;
	if (!enumerator_has_next(e))
		return NULL;
	now = e->entry;
	e->entry = now->next;
	return now;
}
