/*
 * StringBuffer of JDK 1.4.2 in C: the same locks around the same accesses.
 *
 * Included by: bench/papers.
 */
#ifndef ATOMSAN_BENCH_PAPERS_STRINGBUFFER_H
#define ATOMSAN_BENCH_PAPERS_STRINGBUFFER_H

#include <pthread.h>

struct stringbuffer {
	pthread_mutex_t monitor;
	char *value;
	int capacity;
	int count;
};

void stringbuffer_new(struct stringbuffer *s, const char *text);
void stringbuffer_delete_all(struct stringbuffer *s);

int stringbuffer_length(struct stringbuffer *s);
int stringbuffer_capacity(struct stringbuffer *s);
void stringbuffer_ensure_capacity(struct stringbuffer *s, int min);
void stringbuffer_set_length(struct stringbuffer *s, int length);
int stringbuffer_char_at(struct stringbuffer *s, int index);
void stringbuffer_get_chars(struct stringbuffer *s, int from, int to, char *dst);
void stringbuffer_set_char_at(struct stringbuffer *s, int index, char c);
void stringbuffer_append_text(struct stringbuffer *s, const char *text);
void stringbuffer_append(struct stringbuffer *s,
			 struct stringbuffer *other); /* append(StringBuffer) */
void stringbuffer_append_char(struct stringbuffer *s, char c);
void stringbuffer_append_int(struct stringbuffer *s, int i);
void stringbuffer_delete(struct stringbuffer *s, int from, int to);
void stringbuffer_delete_char_at(struct stringbuffer *s, int index);
void stringbuffer_replace(struct stringbuffer *s, int from, int to, const char *text);
void stringbuffer_substring(struct stringbuffer *s, int from, int to, char *dst);
void stringbuffer_insert(struct stringbuffer *s, int at, const char *text);
int stringbuffer_index_of(struct stringbuffer *s, const char *text, int from);
int stringbuffer_last_index_of(struct stringbuffer *s, const char *text);
void stringbuffer_reverse(struct stringbuffer *s);
int stringbuffer_to_string(struct stringbuffer *s, char *dst);

#endif
