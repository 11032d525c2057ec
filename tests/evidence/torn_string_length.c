/*
 * Mozilla's JavaScript engine keeps a string as a pointer to its characters and a length. A
 * published study of Mozilla's bugs describes a thread that fetches the two with two separate calls
 * while another thread replaces the string: the pointer of one string is then used with the length
 * of the other.
 *
 * Meant to be atomic: fetching the pointer together with the length. Each getter takes the lock, so
 * there is no data race. The twin fetches both in one critical section.
 */
// expect: function=measure_text variable=chars,length class=torn-pair where=inlined
#include <pthread.h>
#include <string.h>
#include "prove.h"

struct text {
	pthread_mutex_t lock;
	const char *chars;
	size_t length;
};

static const char *const titles[] = {"Start", "A page with a rather long title"};
static struct text title = {PTHREAD_MUTEX_INITIALIZER, "Start", 5};
static int mismatches;

static void set_text(struct text *t, const char *chars)
{
	pthread_mutex_lock(&t->lock);
	t->chars = chars;
	t->length = strlen(chars);
	pthread_mutex_unlock(&t->lock);
}

#ifndef FIXED
static size_t text_length(struct text *t)
{
	pthread_mutex_lock(&t->lock);
	size_t length = t->length;
	pthread_mutex_unlock(&t->lock);
	return length;
}

static const char *text_chars(struct text *t)
{
	pthread_mutex_lock(&t->lock);
	const char *chars = t->chars;
	pthread_mutex_unlock(&t->lock);
	return chars;
}
#endif

/* Returns how many characters the text lacks, or has beyond its length. */
static size_t measure_text(struct text *t)
{
#ifdef FIXED
	pthread_mutex_lock(&t->lock);
	size_t length = t->length;
	const char *chars = t->chars;
	pthread_mutex_unlock(&t->lock);
#else
	size_t length = text_length(t);
	pass_window();
	const char *chars = text_chars(t);
#endif
	return strlen(chars) - length;
}

static void *load_pages(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		set_text(&title, titles[i % 2]);
	return NULL;
}

static void *draw_title(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		if (measure_text(&title) != 0)
			mismatches++;
	return NULL;
}

int main(void)
{
	pthread_t loader, painter;

	pthread_create(&painter, NULL, draw_title, NULL);
	pthread_create(&loader, NULL, load_pages, NULL);
	pthread_join(painter, NULL);
	pthread_join(loader, NULL);
	return print_outcome(mismatches == 0);
}
