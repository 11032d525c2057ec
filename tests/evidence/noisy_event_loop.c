/*
 * Correct: an event loop with a queue, a mutex and a condition variable. The loop takes one event
 * at a time and handles it without the lock; handlers post new events. Between two events the queue
 * is changed by others, which is its purpose. The last event stops the loop.
 */
#include <pthread.h>
#include <stdlib.h>
#include "prove.h"

#define POSTERS 2
#define EVENTS  12

enum { NOTHING, CLICK, REDRAW, QUIT };

struct event {
	struct event *next;
	int type, value;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct event *first, **end;
	int length;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first, 0};

static int clicks, redraws, sum; /* of the loop's thread */

static void post_event(int type, int value)
{
	struct event *event = malloc(sizeof *event);
	event->type = type;
	event->value = value;
	event->next = NULL;
	pthread_mutex_lock(&queue.lock);
	*queue.end = event;
	queue.end = &event->next;
	queue.length++;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static struct event *next_event(void)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.length == 0)
		pthread_cond_wait(&queue.filled, &queue.lock);
	struct event *event = queue.first;
	queue.first = event->next;
	if (!queue.first)
		queue.end = &queue.first;
	queue.length--;
	pthread_mutex_unlock(&queue.lock);
	return event;
}

static void *run_loop(void *arg)
{
	int type = NOTHING;
	(void)arg;
	while (type != QUIT) {
		struct event *event = next_event();
		type = event->type;
		if (type == CLICK) {
			clicks++;
			sum += event->value;
			post_event(REDRAW, event->value);
		} else if (type == REDRAW) {
			redraws++;
		}
		free(event);
	}
	return NULL;
}

static void *poster(void *arg)
{
	for (int i = 0; i < EVENTS; i++)
		post_event(CLICK, *(const int *)arg);
	return NULL;
}

int main(void)
{
	pthread_t loop, posters[POSTERS];
	int value[POSTERS] = {1, 100};
	pthread_create(&loop, NULL, run_loop, NULL);
	for (int i = 0; i < POSTERS; i++)
		pthread_create(&posters[i], NULL, poster, &value[i]);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(posters[i], NULL);
	post_event(QUIT, 0);
	pthread_join(loop, NULL);
	while (queue.length > 0) /* what was posted after the end */
		free(next_event());
	return print_outcome(clicks == POSTERS * EVENTS && sum == 101 * EVENTS);
}
