/*
 * The textbook case of two fields with one meaning: the position of a mouse cursor. The input
 * thread moves the cursor along a diagonal, both coordinates in one critical section. The thread
 * that draws reads the coordinates one at a time, each under the lock, and can draw the cursor at a
 * position where it never was.
 *
 * Meant to be atomic: reading x and y. The twin reads both before it releases the lock.
 */
// expect: function=draw_cursor variable=x,y class=torn-pair where=loop
#include <pthread.h>
#include "prove.h"

enum { MOVES = 30, FRAMES = 30 };

static struct {
	pthread_mutex_t lock;
	int x, y;
} cursor = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static int off_the_line;

static void *move_cursor(void *arg)
{
	(void)arg;
	for (int i = 1; i <= MOVES; i++) {
		pthread_mutex_lock(&cursor.lock);
		cursor.x = 2 * i;
		cursor.y = 3 * i;
		pthread_mutex_unlock(&cursor.lock);
	}
	return NULL;
}

static void *draw_cursor(void *arg)
{
	(void)arg;
	for (int frame = 0; frame < FRAMES; frame++) {
		pthread_mutex_lock(&cursor.lock);
		int x = cursor.x;
#ifndef FIXED
		pthread_mutex_unlock(&cursor.lock);
		pass_window();
		pthread_mutex_lock(&cursor.lock);
#endif
		int y = cursor.y;
		pthread_mutex_unlock(&cursor.lock);
		if (3 * x != 2 * y)
			off_the_line++;
	}
	return NULL;
}

int main(void)
{
	pthread_t input, painter;

	pthread_create(&painter, NULL, draw_cursor, NULL);
	pthread_create(&input, NULL, move_cursor, NULL);
	pthread_join(painter, NULL);
	pthread_join(input, NULL);
	return print_outcome(off_the_line == 0);
}
