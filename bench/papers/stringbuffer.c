#include "stringbuffer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

enum { NOTHING = -1 };

/* Plain loops instead of System.arraycopy, because each access counts. */
static void copy(char *to, const char *from, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = from[i];
}

void stringbuffer_new(struct stringbuffer *s, const char *text)
{
	monitor_init(&s->monitor);
	s->count = (int)strlen(text);
	s->capacity = s->count + 16;
	s->value = calloc((size_t)s->capacity + 1, 1);
	copy(s->value, text, s->count);
}

void stringbuffer_delete_all(struct stringbuffer *s)
{
	free(s->value);
	pthread_mutex_destroy(&s->monitor);
}

static void ensure(struct stringbuffer *s, int min)
{
	char *old = s->value, *new;

	if (min <= s->capacity)
		return;
	s->capacity = 2 * s->capacity + 2 > min ? 2 * s->capacity + 2 : min;
	new = calloc((size_t)s->capacity + 1, 1);
	copy(new, old, s->count);
	s->value = new;
	free(old);
}

int stringbuffer_length(struct stringbuffer *s)
{
	SYNCHRONIZED(s);
	return s->count;
}

int stringbuffer_capacity(struct stringbuffer *s)
{
	SYNCHRONIZED(s);
	return s->capacity;
}

void stringbuffer_ensure_capacity(struct stringbuffer *s, int min)
{
	SYNCHRONIZED(s);
	ensure(s, min);
}

void stringbuffer_set_length(struct stringbuffer *s, int length)
{
	SYNCHRONIZED(s);
	ensure(s, length);
	for (; s->count < length; s->count++)
		s->value[s->count] = '\0';
	s->count = length;
}

int stringbuffer_char_at(struct stringbuffer *s, int index)
{
	SYNCHRONIZED(s);
	return index < s->count ? s->value[index] : NOTHING;
}

void stringbuffer_get_chars(struct stringbuffer *s, int from, int to, char *dst)
{
	SYNCHRONIZED(s);
	if (from < 0 || to > s->count || from > to)
		return; /* Java throws an exception */
	copy(dst, s->value + from, to - from);
}

void stringbuffer_set_char_at(struct stringbuffer *s, int index, char c)
{
	SYNCHRONIZED(s);
	if (index < s->count)
		s->value[index] = c;
}

void stringbuffer_append_text(struct stringbuffer *s, const char *text)
{
	SYNCHRONIZED(s);
	int n = (int)strlen(text);

	ensure(s, s->count + n);
	copy(s->value + s->count, text, n);
	s->count += n;
}

void stringbuffer_append(struct stringbuffer *s, struct stringbuffer *other)
{
	SYNCHRONIZED(s);
	int n = stringbuffer_length(other);

	ensure(s, s->count + n);
	stringbuffer_get_chars(other, 0, n, s->value + s->count);
	s->count += n;
}

void stringbuffer_append_char(struct stringbuffer *s, char c)
{
	SYNCHRONIZED(s);
	ensure(s, s->count + 1);
	s->value[s->count++] = c;
}

/* Calls the method for text, which is the first to take the lock. */
void stringbuffer_append_int(struct stringbuffer *s, int i)
{
	char text[16];

	snprintf(text, sizeof text, "%d", i);
	stringbuffer_append_text(s, text);
}

void stringbuffer_delete(struct stringbuffer *s, int from, int to)
{
	SYNCHRONIZED(s);
	if (to > s->count)
		to = s->count;
	if (from >= to)
		return;
	copy(s->value + from, s->value + to, s->count - to);
	s->count -= to - from;
}

void stringbuffer_delete_char_at(struct stringbuffer *s, int index)
{
	SYNCHRONIZED(s);
	if (index >= s->count)
		return;
	copy(s->value + index, s->value + index + 1, s->count - index - 1);
	s->count--;
}

static void open_gap(struct stringbuffer *s, int at, int gap)
{
	ensure(s, s->count + gap);
	for (int i = s->count; i-- > at;)
		s->value[i + gap] = s->value[i];
	s->count += gap;
}

void stringbuffer_replace(struct stringbuffer *s, int from, int to, const char *text)
{
	SYNCHRONIZED(s);
	int n = (int)strlen(text);

	if (to > s->count)
		to = s->count;
	if (from > to)
		return;
	if (n > to - from)
		open_gap(s, to, n - (to - from));
	else
		copy(s->value + from + n, s->value + to, s->count - to);
	if (n < to - from)
		s->count -= to - from - n;
	copy(s->value + from, text, n);
}

void stringbuffer_substring(struct stringbuffer *s, int from, int to, char *dst)
{
	SYNCHRONIZED(s);
	if (from <= to && to <= s->count)
		copy(dst, s->value + from, to - from);
}

void stringbuffer_insert(struct stringbuffer *s, int at, const char *text)
{
	SYNCHRONIZED(s);
	if (at > s->count)
		return;
	open_gap(s, at, (int)strlen(text));
	copy(s->value + at, text, (int)strlen(text));
}

static bool stands_at(const struct stringbuffer *s, const char *text, int i)
{
	for (; *text; text++, i++)
		if (i >= s->count || s->value[i] != *text)
			return false;
	return true;
}

int stringbuffer_index_of(struct stringbuffer *s, const char *text, int from)
{
	SYNCHRONIZED(s);
	for (int i = from; i < s->count; i++)
		if (stands_at(s, text, i))
			return i;
	return NOTHING;
}

int stringbuffer_last_index_of(struct stringbuffer *s, const char *text)
{
	SYNCHRONIZED(s);
	for (int i = s->count; i-- > 0;)
		if (stands_at(s, text, i))
			return i;
	return NOTHING;
}

void stringbuffer_reverse(struct stringbuffer *s)
{
	SYNCHRONIZED(s);
	for (int i = 0, k = s->count - 1; i < k; i++, k--) {
		char c = s->value[i];

		s->value[i] = s->value[k];
		s->value[k] = c;
	}
}

int stringbuffer_to_string(struct stringbuffer *s, char *dst)
{
	SYNCHRONIZED(s);
	copy(dst, s->value, s->count);
	return s->count;
}
