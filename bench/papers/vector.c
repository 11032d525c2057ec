#include "vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

/* Returned when Java would throw an exception; the accesses before that are the same. */
enum { NOTHING = -1 };

void vector_new(struct vector *v, int capacity)
{
	monitor_init(&v->monitor);
	v->capacity = capacity;
	v->element_data = calloc((size_t)capacity + 1, sizeof *v->element_data);
	v->element_count = 0;
	v->mod_count = 0;
}

void vector_new_copy(struct vector *v, struct vector *c)
{
	monitor_init(&v->monitor);
	v->mod_count = 0;
	v->element_count = vector_size(c);
	v->capacity = v->element_count * 110 / 100;
	v->element_data = calloc((size_t)v->capacity + 1, sizeof *v->element_data);
	vector_to_array_in(c, v->element_data, v->capacity);
}

void vector_delete(struct vector *v)
{
	free(v->element_data);
	pthread_mutex_destroy(&v->monitor);
}

void vector_copy_into(struct vector *v, long *to)
{
	SYNCHRONIZED(v);
	for (int i = v->element_count; i-- > 0;)
		to[i] = v->element_data[i];
}

static void resize(struct vector *v, int capacity)
{
	long *old = v->element_data;
	long *new = calloc((size_t)capacity + 1, sizeof *new);

	for (int i = 0; i < v->element_count && i < capacity; i++)
		new[i] = old[i];
	v->element_data = new;
	v->capacity = capacity;
	free(old);
}

void vector_trim_to_size(struct vector *v)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	if (v->element_count < v->capacity)
		resize(v, v->element_count);
}

static void ensure(struct vector *v, int min)
{
	if (min > v->capacity)
		resize(v, 2 * v->capacity < min ? min : 2 * v->capacity);
}

void vector_ensure_capacity(struct vector *v, int min)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	ensure(v, min);
}

void vector_set_size(struct vector *v, int size)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	if (size > v->element_count)
		ensure(v, size);
	else
		for (int i = size; i < v->element_count; i++)
			v->element_data[i] = 0;
	v->element_count = size;
}

int vector_capacity(struct vector *v)
{
	SYNCHRONIZED(v);
	return v->capacity;
}

int vector_size(struct vector *v)
{
	SYNCHRONIZED(v);
	return v->element_count;
}

bool vector_is_empty(struct vector *v)
{
	SYNCHRONIZED(v);
	return v->element_count == 0;
}

bool vector_contains(struct vector *v, long e)
{
	return vector_index_of_from(v, e, 0) >= 0;
}

int vector_index_of(struct vector *v, long e)
{
	return vector_index_of_from(v, e, 0);
}

int vector_index_of_from(struct vector *v, long e, int index)
{
	SYNCHRONIZED(v);
	for (int i = index; i < v->element_count; i++)
		if (v->element_data[i] == e)
			return i;
	return NOTHING;
}

int vector_last_index_of(struct vector *v, long e)
{
	SYNCHRONIZED(v);
	return vector_last_index_of_from(v, e, v->element_count - 1);
}

int vector_last_index_of_from(struct vector *v, long e, int index)
{
	SYNCHRONIZED(v);
	if (index >= v->element_count)
		return NOTHING;
	for (int i = index; i >= 0; i--)
		if (v->element_data[i] == e)
			return i;
	return NOTHING;
}

long vector_element_at(struct vector *v, int index)
{
	SYNCHRONIZED(v);
	return index < v->element_count ? v->element_data[index] : NOTHING;
}

long vector_first_element(struct vector *v)
{
	SYNCHRONIZED(v);
	return v->element_count ? v->element_data[0] : NOTHING;
}

long vector_last_element(struct vector *v)
{
	SYNCHRONIZED(v);
	return v->element_count ? v->element_data[v->element_count - 1] : NOTHING;
}

void vector_set_element_at(struct vector *v, long e, int index)
{
	SYNCHRONIZED(v);
	if (index < v->element_count)
		v->element_data[index] = e;
}

void vector_remove_element_at(struct vector *v, int index)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	if (index < 0 || index >= v->element_count)
		return;
	for (int i = index; i + 1 < v->element_count; i++)
		v->element_data[i] = v->element_data[i + 1];
	v->element_count--;
	v->element_data[v->element_count] = 0;
}

void vector_insert_element_at(struct vector *v, long e, int index)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	if (index > v->element_count)
		return;
	ensure(v, v->element_count + 1);
	for (int i = v->element_count; i > index; i--)
		v->element_data[i] = v->element_data[i - 1];
	v->element_data[index] = e;
	v->element_count++;
}

void vector_add_element(struct vector *v, long e)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	ensure(v, v->element_count + 1);
	v->element_data[v->element_count++] = e;
}

bool vector_remove_element(struct vector *v, long e)
{
	SYNCHRONIZED(v);
	int i;

	v->mod_count++;
	i = vector_index_of(v, e);
	if (i < 0)
		return false;
	vector_remove_element_at(v, i);
	return true;
}

void vector_remove_all_elements(struct vector *v)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	for (int i = 0; i < v->element_count; i++)
		v->element_data[i] = 0;
	v->element_count = 0;
}

void vector_clone(struct vector *v, struct vector *copy)
{
	SYNCHRONIZED(v);
	vector_new(copy, v->element_count);
	for (int i = 0; i < v->element_count; i++)
		copy->element_data[i] = v->element_data[i];
	copy->element_count = v->element_count;
}

long *vector_to_array(struct vector *v, int *n)
{
	SYNCHRONIZED(v);
	long *a = calloc((size_t)v->element_count + 1, sizeof *a);

	for (int i = 0; i < v->element_count; i++)
		a[i] = v->element_data[i];
	*n = v->element_count;
	return a;
}

int vector_to_array_in(struct vector *v, long *a, int length)
{
	SYNCHRONIZED(v);
	if (length < v->element_count)
		return v->element_count; /* Java returns a new array and does not change this one */
	for (int i = 0; i < v->element_count; i++)
		a[i] = v->element_data[i];
	if (length > v->element_count)
		a[v->element_count] = 0;
	return v->element_count;
}

long vector_get(struct vector *v, int index)
{
	SYNCHRONIZED(v);
	return index < v->element_count ? v->element_data[index] : NOTHING;
}

long vector_set(struct vector *v, int index, long e)
{
	SYNCHRONIZED(v);
	long old;

	if (index >= v->element_count)
		return NOTHING;
	old = v->element_data[index];
	v->element_data[index] = e;
	return old;
}

bool vector_add(struct vector *v, long e)
{
	SYNCHRONIZED(v);
	v->mod_count++;
	ensure(v, v->element_count + 1);
	v->element_data[v->element_count++] = e;
	return true;
}

bool vector_remove(struct vector *v, long e)
{
	return vector_remove_element(v, e);
}

void vector_add_at(struct vector *v, int index, long e)
{
	vector_insert_element_at(v, e, index);
}

long vector_remove_at(struct vector *v, int index)
{
	SYNCHRONIZED(v);
	long old;

	v->mod_count++;
	if (index >= v->element_count)
		return NOTHING;
	old = v->element_data[index];
	for (int i = index; i + 1 < v->element_count; i++)
		v->element_data[i] = v->element_data[i + 1];
	v->element_data[--v->element_count] = 0;
	return old;
}

void vector_clear(struct vector *v)
{
	vector_remove_all_elements(v);
}

/* Iterators check that the vector was not modified: they read its counter without the lock. */
static bool modified(const struct vector *v, int expected)
{
	return v->mod_count != expected;
}

bool vector_contains_all(struct vector *v, struct vector *c)
{
	SYNCHRONIZED(v);
	int expected = c->mod_count;

	for (int i = 0; i != vector_size(c) && !modified(c, expected); i++)
		if (!vector_contains(v, vector_get(c, i)))
			return false;
	return true;
}

bool vector_add_all(struct vector *v, struct vector *c)
{
	SYNCHRONIZED(v);
	long *a;
	int n;

	v->mod_count++;
	a = vector_to_array(c, &n);
	ensure(v, v->element_count + n);
	for (int i = 0; i < n; i++)
		v->element_data[v->element_count + i] = a[i];
	v->element_count += n;
	free(a);
	return n != 0;
}

static bool drop(struct vector *v, struct vector *c, bool those_in)
{
	bool changed = false;

	for (int i = 0; i < vector_size(v);) {
		if (vector_contains(c, vector_get(v, i)) == those_in) {
			vector_remove_at(v, i);
			changed = true;
		} else {
			i++;
		}
	}
	return changed;
}

bool vector_remove_all(struct vector *v, struct vector *c)
{
	SYNCHRONIZED(v);
	return drop(v, c, true);
}

bool vector_retain_all(struct vector *v, struct vector *c)
{
	SYNCHRONIZED(v);
	return drop(v, c, false);
}

bool vector_add_all_at(struct vector *v, int index, struct vector *c)
{
	SYNCHRONIZED(v);
	long *a;
	int n;

	v->mod_count++;
	if (index < 0 || index > v->element_count)
		return false;
	a = vector_to_array(c, &n);
	ensure(v, v->element_count + n);
	for (int i = v->element_count; i-- > index;)
		v->element_data[i + n] = v->element_data[i];
	for (int i = 0; i < n; i++)
		v->element_data[index + i] = a[i];
	v->element_count += n;
	free(a);
	return n != 0;
}

bool vector_equals(struct vector *v, struct vector *o)
{
	SYNCHRONIZED(v);
	int expected = o->mod_count, i;

	for (i = 0; i < v->element_count; i++) {
		if (i == vector_size(o) || modified(o, expected))
			return false;
		if (v->element_data[i] != vector_get(o, i))
			return false;
	}
	return i == vector_size(o);
}

int vector_hash_code(struct vector *v)
{
	SYNCHRONIZED(v);
	unsigned h = 1;

	for (int i = 0; i < v->element_count; i++)
		h = 31 * h + (unsigned)v->element_data[i];
	return (int)h;
}

int vector_to_string(struct vector *v, char *to, int length)
{
	SYNCHRONIZED(v);
	int n = 0;

	for (int i = 0; i < v->element_count && n < length; i++)
		n += snprintf(to + n, (size_t)(length - n), "%ld ", v->element_data[i]);
	return n;
}

void vector_remove_range(struct vector *v, int from, int to)
{
	SYNCHRONIZED(v);
	int gone;

	v->mod_count++;
	if (to > v->element_count)
		to = v->element_count;
	gone = to > from ? to - from : 0;
	for (int i = from + gone; i < v->element_count; i++)
		v->element_data[i - gone] = v->element_data[i];
	while (gone-- > 0)
		v->element_data[--v->element_count] = 0;
}

long stack_push(struct vector *v, long e)
{
	vector_add_element(v, e);
	return e;
}

long stack_pop(struct vector *v)
{
	SYNCHRONIZED(v);
	int n = vector_size(v);
	long e = stack_peek(v);

	vector_remove_element_at(v, n - 1);
	return e;
}

long stack_peek(struct vector *v)
{
	SYNCHRONIZED(v);
	int n = vector_size(v);

	return n ? vector_element_at(v, n - 1) : NOTHING;
}

bool stack_empty(struct vector *v)
{
	return vector_size(v) == 0;
}

int stack_search(struct vector *v, long e)
{
	SYNCHRONIZED(v);
	int i = vector_last_index_of(v, e);

	return i >= 0 ? vector_size(v) - i : NOTHING;
}
