/*
 * A music player looks up a song's position in the playlist under the lock, releases the lock, and
 * then uses the position under the lock again. If another thread removes an earlier song in
 * between, the songs have moved up and the position stands for a different song. Bug trackers of
 * players and download managers have many reports of this form.
 *
 * Meant to be atomic: finding the song and counting that it was played. Every access is under the
 * lock. The twin holds the lock from the search to the update.
 */
// expect: function=play variable=songs,id,plays,count class=stale-reuse where=thread
#include <pthread.h>
#include <string.h>
#include "prove.h"

enum { SONGS = 8 };

struct song {
	int id;
	int plays;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct song songs[SONGS];
static int count;

static void *play(void *arg)
{
	int wanted = 5, at;

	(void)arg;
	pthread_mutex_lock(&list_lock);
	for (at = 0; at < count; at++)
		if (songs[at].id == wanted)
			break;
#ifndef FIXED
	pthread_mutex_unlock(&list_lock);
	pass_window();
	pthread_mutex_lock(&list_lock);
#endif
	if (at < count)
		songs[at].plays++;
	pthread_mutex_unlock(&list_lock);
	return NULL;
}

static void *remove_first(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&list_lock);
	count--;
	memmove(&songs[0], &songs[1], count * sizeof songs[0]);
	pthread_mutex_unlock(&list_lock);
	return NULL;
}

int main(void)
{
	pthread_t player, editor;
	int wrong = 0;

	for (count = 0; count < SONGS; count++)
		songs[count] = (struct song){count, 0};
	pthread_create(&player, NULL, play, NULL);
	pthread_create(&editor, NULL, remove_first, NULL);
	pthread_join(player, NULL);
	pthread_join(editor, NULL);
	for (int i = 0; i < count; i++)
		wrong += songs[i].plays != (songs[i].id == 5);
	return print_outcome(wrong == 0);
}
