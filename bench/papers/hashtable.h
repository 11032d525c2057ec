/*
 * Hashtable of JDK 1.4.2 in C: the same locks around the same accesses. Keys and
 * values are integers.
 *
 * Included by: bench/papers.
 */
#ifndef ATOMSAN_BENCH_PAPERS_HASHTABLE_H
#define ATOMSAN_BENCH_PAPERS_HASHTABLE_H

#include <pthread.h>
#include <stdbool.h>

struct entry {
	long key, value;
	struct entry *next;
};

struct hashtable {
	pthread_mutex_t monitor;
	struct entry **table;
	int length;
	int count;
	int threshold;
	int mod_count;
};

void hashtable_new(struct hashtable *t, int capacity);
void hashtable_new_copy(struct hashtable *t, struct hashtable *from); /* Hashtable(Map) */
void hashtable_delete(struct hashtable *t);

int hashtable_size(struct hashtable *t);
bool hashtable_is_empty(struct hashtable *t);
bool hashtable_contains(struct hashtable *t, long value);
bool hashtable_contains_value(struct hashtable *t, long value);
bool hashtable_contains_key(struct hashtable *t, long key);
long hashtable_get(struct hashtable *t, long key);
long hashtable_put(struct hashtable *t, long key, long value);
long hashtable_remove(struct hashtable *t, long key);
void hashtable_put_all(struct hashtable *t, struct hashtable *from);
void hashtable_clear(struct hashtable *t);
void hashtable_clone(struct hashtable *t, struct hashtable *copy);
int hashtable_to_string(struct hashtable *t, char *to, int length);
bool hashtable_equals(struct hashtable *t, struct hashtable *o);
int hashtable_hash_code(struct hashtable *t);

/* keys(), elements(), and the iterators of keySet(), values() and entrySet(). */
struct enumerator {
	struct hashtable *of;
	struct entry **table;
	struct entry *entry;
	int index, expected;
	bool iterator; /* it notices modifications */
};
void hashtable_enumerate(struct hashtable *t, struct enumerator *e, bool iterator);
bool enumerator_has_next(struct enumerator *e);
struct entry *enumerator_next(struct enumerator *e);

#endif
