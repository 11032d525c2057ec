/*
 * Vector and Stack of JDK 1.4.2 in C: the same locks around the same accesses. The names of Java's
 * overloads have an additional number or word here. Elements are integers.
 *
 * A method that Java inherits from AbstractCollection or AbstractList, and locks as a whole, is
 * written out, with the calls that it makes on the other collection.
 *
 * Included by: bench/papers.
 */
#ifndef ATOMSAN_BENCH_PAPERS_VECTOR_H
#define ATOMSAN_BENCH_PAPERS_VECTOR_H

#include <pthread.h>
#include <stdbool.h>

struct vector {
	pthread_mutex_t monitor;
	long *element_data;
	int capacity;
	int element_count;
	int mod_count;
};

void vector_new(struct vector *v, int capacity);
void vector_new_copy(struct vector *v, struct vector *c); /* Vector(Collection) */
void vector_delete(struct vector *v);

void vector_copy_into(struct vector *v, long *to);
void vector_trim_to_size(struct vector *v);
void vector_ensure_capacity(struct vector *v, int min);
void vector_set_size(struct vector *v, int size);
int vector_capacity(struct vector *v);
int vector_size(struct vector *v);
bool vector_is_empty(struct vector *v);
bool vector_contains(struct vector *v, long e);
int vector_index_of(struct vector *v, long e);
int vector_index_of_from(struct vector *v, long e, int index);
int vector_last_index_of(struct vector *v, long e);
int vector_last_index_of_from(struct vector *v, long e, int index);
long vector_element_at(struct vector *v, int index);
long vector_first_element(struct vector *v);
long vector_last_element(struct vector *v);
void vector_set_element_at(struct vector *v, long e, int index);
void vector_remove_element_at(struct vector *v, int index);
void vector_insert_element_at(struct vector *v, long e, int index);
void vector_add_element(struct vector *v, long e);
bool vector_remove_element(struct vector *v, long e);
void vector_remove_all_elements(struct vector *v);
void vector_clone(struct vector *v, struct vector *copy);
long *vector_to_array(struct vector *v, int *n);
int vector_to_array_in(struct vector *v, long *a, int length);
long vector_get(struct vector *v, int index);
long vector_set(struct vector *v, int index, long e);
bool vector_add(struct vector *v, long e);
bool vector_remove(struct vector *v, long e);
void vector_add_at(struct vector *v, int index, long e);
long vector_remove_at(struct vector *v, int index);
void vector_clear(struct vector *v);
bool vector_contains_all(struct vector *v, struct vector *c);
bool vector_add_all(struct vector *v, struct vector *c);
bool vector_remove_all(struct vector *v, struct vector *c);
bool vector_retain_all(struct vector *v, struct vector *c);
bool vector_add_all_at(struct vector *v, int index, struct vector *c);
bool vector_equals(struct vector *v, struct vector *o);
int vector_hash_code(struct vector *v);
int vector_to_string(struct vector *v, char *to, int length);
void vector_remove_range(struct vector *v, int from, int to);

/* Stack: a Vector. */
long stack_push(struct vector *v, long e);
long stack_pop(struct vector *v);
long stack_peek(struct vector *v);
bool stack_empty(struct vector *v);
int stack_search(struct vector *v, long e);

#endif
