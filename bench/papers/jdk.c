/*
 * jdk CLASS: call each pair of the class's methods from two threads, on new objects each time: once
 * both on the same object, and once the second on the object that is the first call's argument.
 *
 * The two calls do not overlap, so they can neither deadlock nor disturb each other. But no tool
 * sees what keeps them apart, so a tool must assume that they are concurrent. The two threads call
 * the methods directly, so each method is a transaction.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hashtable.h"
#include "stringbuffer.h"
#include "vector.h"

/* Not instrumented: a tool sees neither a block nor an order here. */
#define UNSEEN __attribute__((no_sanitize_thread, noinline))

enum { ROOM = 4096 };

/* The objects that a call may use, and its own scratch space for results. */
union object {
	struct vector vector;
	struct hashtable hashtable;
	struct stringbuffer stringbuffer;
};

struct call {
	union object *on, *with;
	union object result; /* the object that the call constructs */
	long *array;
	char text[ROOM];
	int n;
	struct enumerator e;
};

struct method {
	const char *name;
	void (*call)(struct call *c);
};

#define V (&c->on->vector)
#define W (&c->with->vector)
#define METHOD(name, body)                                                                         \
	static UNSEEN void call_##name(struct call *c)                                             \
	{                                                                                          \
		body;                                                                              \
	}
#define VECTOR_METHODS(X)                                                                          \
	X(vector_new_copy, vector_new_copy(&c->result.vector, V))                                  \
	X(vector_copy_into, vector_copy_into(V, c->array))                                         \
	X(vector_trim_to_size, vector_trim_to_size(V))                                             \
	X(vector_ensure_capacity, vector_ensure_capacity(V, 20))                                   \
	X(vector_set_size, vector_set_size(V, 2))                                                  \
	X(vector_capacity, vector_capacity(V))                                                     \
	X(vector_size, vector_size(V))                                                             \
	X(vector_is_empty, vector_is_empty(V))                                                     \
	X(vector_contains, vector_contains(V, 2))                                                  \
	X(vector_index_of, vector_index_of(V, 2))                                                  \
	X(vector_index_of_from, vector_index_of_from(V, 2, 0))                                     \
	X(vector_last_index_of, vector_last_index_of(V, 2))                                        \
	X(vector_last_index_of_from, vector_last_index_of_from(V, 2, 1))                           \
	X(vector_element_at, vector_element_at(V, 1))                                              \
	X(vector_first_element, vector_first_element(V))                                           \
	X(vector_last_element, vector_last_element(V))                                             \
	X(vector_set_element_at, vector_set_element_at(V, 7, 1))                                   \
	X(vector_remove_element_at, vector_remove_element_at(V, 1))                                \
	X(vector_insert_element_at, vector_insert_element_at(V, 7, 1))                             \
	X(vector_add_element, vector_add_element(V, 7))                                            \
	X(vector_remove_element, vector_remove_element(V, 2))                                      \
	X(vector_remove_all_elements, vector_remove_all_elements(V))                               \
	X(vector_clone, vector_clone(V, &c->result.vector))                                        \
	X(vector_to_array, free(vector_to_array(V, &c->n)))                                        \
	X(vector_to_array_in, vector_to_array_in(V, c->array, 8))                                  \
	X(vector_get, vector_get(V, 1))                                                            \
	X(vector_set, vector_set(V, 1, 7))                                                         \
	X(vector_add, vector_add(V, 7))                                                            \
	X(vector_remove, vector_remove(V, 2))                                                      \
	X(vector_add_at, vector_add_at(V, 1, 7))                                                   \
	X(vector_remove_at, vector_remove_at(V, 1))                                                \
	X(vector_clear, vector_clear(V))                                                           \
	X(vector_contains_all, vector_contains_all(V, W))                                          \
	X(vector_add_all, vector_add_all(V, W))                                                    \
	X(vector_remove_all, vector_remove_all(V, W))                                              \
	X(vector_retain_all, vector_retain_all(V, W))                                              \
	X(vector_add_all_at, vector_add_all_at(V, 1, W))                                           \
	X(vector_equals, vector_equals(V, W))                                                      \
	X(vector_hash_code, vector_hash_code(V))                                                   \
	X(vector_to_string, vector_to_string(V, c->text, ROOM))                                    \
	X(vector_remove_range, vector_remove_range(V, 0, 2))
#define STACK_METHODS(X)                                                                           \
	X(stack_push, stack_push(V, 7))                                                            \
	X(stack_pop, stack_pop(V))                                                                 \
	X(stack_peek, stack_peek(V))                                                               \
	X(stack_empty, stack_empty(V))                                                             \
	X(stack_search, stack_search(V, 2))

#define H (&c->on->hashtable)
#define I (&c->with->hashtable)
#define HASHTABLE_METHODS(X)                                                                       \
	X(hashtable_new_copy, hashtable_new_copy(&c->result.hashtable, H))                         \
	X(hashtable_size, hashtable_size(H))                                                       \
	X(hashtable_is_empty, hashtable_is_empty(H))                                               \
	X(hashtable_contains, hashtable_contains(H, 20))                                           \
	X(hashtable_contains_value, hashtable_contains_value(H, 20))                               \
	X(hashtable_contains_key, hashtable_contains_key(H, 2))                                    \
	X(hashtable_get, hashtable_get(H, 2))                                                      \
	X(hashtable_put, hashtable_put(H, 7, 70))                                                  \
	X(hashtable_remove, hashtable_remove(H, 2))                                                \
	X(hashtable_put_all, hashtable_put_all(H, I))                                              \
	X(hashtable_clear, hashtable_clear(H))                                                     \
	X(hashtable_clone, hashtable_clone(H, &c->result.hashtable))                               \
	X(hashtable_to_string, hashtable_to_string(H, c->text, ROOM))                              \
	X(hashtable_equals, hashtable_equals(H, I))                                                \
	X(hashtable_hash_code, hashtable_hash_code(H))                                             \
	X(hashtable_enumerate, hashtable_enumerate(H, &c->e, false))

#define S (&c->on->stringbuffer)
#define O (&c->with->stringbuffer)
#define STRINGBUFFER_METHODS(X)                                                                    \
	X(stringbuffer_length, stringbuffer_length(S))                                             \
	X(stringbuffer_capacity, stringbuffer_capacity(S))                                         \
	X(stringbuffer_ensure_capacity, stringbuffer_ensure_capacity(S, 40))                       \
	X(stringbuffer_set_length, stringbuffer_set_length(S, 3))                                  \
	X(stringbuffer_char_at, stringbuffer_char_at(S, 1))                                        \
	X(stringbuffer_get_chars, stringbuffer_get_chars(S, 0, 3, c->text))                        \
	X(stringbuffer_set_char_at, stringbuffer_set_char_at(S, 1, 'x'))                           \
	X(stringbuffer_append_text, stringbuffer_append_text(S, "text"))                           \
	X(stringbuffer_append, stringbuffer_append(S, O))                                          \
	X(stringbuffer_append_char, stringbuffer_append_char(S, 'x'))                              \
	X(stringbuffer_append_int, stringbuffer_append_int(S, 17))                                 \
	X(stringbuffer_delete, stringbuffer_delete(S, 0, 2))                                       \
	X(stringbuffer_delete_char_at, stringbuffer_delete_char_at(S, 1))                          \
	X(stringbuffer_replace, stringbuffer_replace(S, 0, 2, "text"))                             \
	X(stringbuffer_substring, stringbuffer_substring(S, 0, 2, c->text))                        \
	X(stringbuffer_insert, stringbuffer_insert(S, 1, "text"))                                  \
	X(stringbuffer_index_of, stringbuffer_index_of(S, "c", 0))                                 \
	X(stringbuffer_last_index_of, stringbuffer_last_index_of(S, "c"))                          \
	X(stringbuffer_reverse, stringbuffer_reverse(S))                                           \
	X(stringbuffer_to_string, stringbuffer_to_string(S, c->text))

VECTOR_METHODS(METHOD)
STACK_METHODS(METHOD)
HASHTABLE_METHODS(METHOD)
STRINGBUFFER_METHODS(METHOD)

#define ROW(name, body) {#name, call_##name},
static const struct method vector_methods[] = {VECTOR_METHODS(ROW){0}};
static const struct method stack_methods[] = {STACK_METHODS(ROW) VECTOR_METHODS(ROW){0}};
static const struct method hashtable_methods[] = {HASHTABLE_METHODS(ROW){0}};
static const struct method stringbuffer_methods[] = {STRINGBUFFER_METHODS(ROW){0}};

static UNSEEN void make_vector(union object *o, int from)
{
	vector_new(&o->vector, 10);
	for (int i = from; i < from + 3; i++)
		vector_add(&o->vector, i);
}

static UNSEEN void make_hashtable(union object *o, int from)
{
	hashtable_new(&o->hashtable, 11);
	for (int i = from; i < from + 3; i++)
		hashtable_put(&o->hashtable, i, 10 * i);
}

static UNSEEN void make_stringbuffer(union object *o, int from)
{
	stringbuffer_new(&o->stringbuffer, from > 1 ? "abcde" : "cdefg");
}

static const struct class
{
	const char *name;
	const struct method *methods;
	void (*make)(union object *o, int from);
} classes[] = {
	{"Vector", vector_methods, make_vector},
	{"Stack", stack_methods, make_vector},
	{"Hashtable", hashtable_methods, make_hashtable},
	{"StringBuffer", stringbuffer_methods, make_stringbuffer},
};

/* The second thread waits here until the first has finished. */
static volatile int turn;

struct job {
	const struct method *method;
	struct call *call;
	int turn;
};

static UNSEEN void wait_for(int mine)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
		sched_yield();
}

static UNSEEN void done(int mine)
{
	__atomic_store_n(&turn, mine + 1, __ATOMIC_RELEASE);
}

/* Instrumented: a thread's first function is not a transaction, the functions that it calls are. */
static void *work(void *arg)
{
	struct job *job = arg;

	wait_for(job->turn);
	job->method->call(job->call);
	done(job->turn);
	return NULL;
}

static UNSEEN void run_pair(const struct class *class, const struct method *a,
			    const struct method *b, bool on_argument)
{
	/* Not freed: addresses are never reused, so that no pair affects the next one. */
	union object *one = calloc(1, sizeof *one), *two = calloc(1, sizeof *two);
	struct call *calls = calloc(2, sizeof *calls);
	struct job jobs[2] = {{a, &calls[0], 0}, {b, &calls[1], 1}};
	pthread_t thread[2];

	class->make(one, 1);
	class->make(two, 2);
	for (int i = 0; i < 2; i++) {
		bool swap = i == 1 && on_argument;

		calls[i].on = swap ? two : one;
		calls[i].with = swap ? one : two;
		calls[i].array = calloc(64, sizeof(long));
	}
	turn = 0;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, work, &jobs[i]))
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	const struct class *class = NULL;

	for (size_t i = 0; argc == 2 && i < sizeof classes / sizeof *classes; i++)
		if (!strcmp(classes[i].name, argv[1]))
			class = &classes[i];
	if (!class) {
		fputs("usage: jdk Vector|Stack|Hashtable|StringBuffer\n", stderr);
		return 2;
	}
	for (const struct method *a = class->methods; a->name; a++)
		for (const struct method *b = class->methods; b->name; b++) {
			run_pair(class, a, b, false);
			run_pair(class, a, b, true);
		}
	return 0;
}
