/*
 * The ring buffer of a sound driver. A writer asks how much space there is and then writes that
 * much; each function takes the lock by itself. With two writers both can find the same space, and
 * the second one overwrites samples that were not played yet. Drivers and audio servers have had
 * this bug when a ring for one writer got a second one.
 *
 * Meant to be atomic: the check for space and the write. The twin checks in the critical section
 * that writes.
 */
// expect: function=play_sound variable=used,samples class=ring-buffer where=inlined
#include <pthread.h>
#include <unistd.h>
#include "prove.h"

enum { SIZE = 16, SOUND = 8 };

static struct {
	pthread_mutex_t lock;
	unsigned write_at, used;
	int samples[SIZE];
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER, .used = 4};

static int overruns;

#ifndef FIXED
static unsigned ring_space(void)
{
	pthread_mutex_lock(&ring.lock);
	unsigned space = SIZE - ring.used;
	pthread_mutex_unlock(&ring.lock);
	return space;
}
#endif

/* The caller holds the lock. */
static void copy_samples(int voice)
{
	for (int i = 0; i < SOUND; i++)
		ring.samples[ring.write_at++ % SIZE] = voice;
	ring.used += SOUND;
	if (ring.used > SIZE)
		overruns++;
}

static void play_sound(int voice)
{
#ifdef FIXED
	pthread_mutex_lock(&ring.lock);
	if (SIZE - ring.used >= SOUND)
		copy_samples(voice);
	pthread_mutex_unlock(&ring.lock);
#else
	if (ring_space() < SOUND)
		return;
	pass_window();
	pthread_mutex_lock(&ring.lock);
	copy_samples(voice);
	pthread_mutex_unlock(&ring.lock);
#endif
}

static void *run_device(void *arg)
{
	(void)arg;
	usleep(1000); /* A period of the device is longer than a write. */
	pthread_mutex_lock(&ring.lock);
	if (ring.used >= SOUND)
		ring.used -= SOUND;
	pthread_mutex_unlock(&ring.lock);
	return NULL;
}

static void *run_music(void *arg)
{
	(void)arg;
	play_sound(1);
	return NULL;
}

static void *run_alarm(void *arg)
{
	(void)arg;
	usleep(2000); /* An alarm is rare. */
	play_sound(2);
	return NULL;
}

int main(void)
{
	pthread_t music, alarm_thread, device;

	pthread_create(&music, NULL, run_music, NULL);
	pthread_create(&device, NULL, run_device, NULL);
	pthread_create(&alarm_thread, NULL, run_alarm, NULL);
	pthread_join(music, NULL);
	pthread_join(device, NULL);
	pthread_join(alarm_thread, NULL);
	return print_outcome(overruns == 0);
}
