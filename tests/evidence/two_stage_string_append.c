/*
 * Java's StringBuffer, the example of the first papers on atomicity. append() asks the other buffer
 * for its length and then copies that many characters; each of the two calls locks the other
 * buffer, but between them another thread can shorten it, and the copy reads characters that are no
 * longer there. Both calls are meant to see the same text.
 *
 * The twin holds the other buffer's lock during both.
 */
// expect: function=buffer_append variable=length,text class=two-stage where=inlined
#include <pthread.h>
#include <string.h>
#include "prove.h"

#define ROUNDS 10

struct buffer {
	pthread_mutex_t lock;
	int length;
	char text[64];
};

static struct buffer shared = {PTHREAD_MUTEX_INITIALIZER, 10, "abcdefghij"};
static int damaged;

#ifndef FIXED
static int buffer_length(struct buffer *b)
{
	pthread_mutex_lock(&b->lock);
	int length = b->length;
	pthread_mutex_unlock(&b->lock);
	return length;
}

static void buffer_get(struct buffer *b, int length, char *to)
{
	pthread_mutex_lock(&b->lock);
	memcpy(to, b->text, (size_t)length);
	pthread_mutex_unlock(&b->lock);
}
#endif

static void buffer_set(struct buffer *b, const char *text)
{
	pthread_mutex_lock(&b->lock);
	b->length = (int)strlen(text);
	memset(b->text, 0, sizeof b->text);
	memcpy(b->text, text, (size_t)b->length);
	pthread_mutex_unlock(&b->lock);
}

/* Appends the shared buffer FROM to TO, which belongs to the caller. */
static void buffer_append(struct buffer *to, struct buffer *from)
{
#ifdef FIXED
	pthread_mutex_lock(&from->lock);
	int length = from->length;
	memcpy(to->text + to->length, from->text, (size_t)length);
	pthread_mutex_unlock(&from->lock);
#else
	int length = buffer_length(from);
	pass_window();
	buffer_get(from, length, to->text + to->length);
#endif
	to->length += length;
}

static void *appender(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		struct buffer mine = {.length = 0};
		buffer_append(&mine, &shared);
		damaged += (int)strlen(mine.text) != mine.length;
	}
	return NULL;
}

static void *editor(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		buffer_set(&shared, "abc");
		pass_window();
		buffer_set(&shared, "abcdefghij");
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, appender, NULL);
	pthread_create(&threads[1], NULL, editor, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(damaged == 0);
}
