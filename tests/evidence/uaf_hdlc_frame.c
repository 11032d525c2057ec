/*
 * CVE-2017-2636, the HDLC line discipline of Linux. A frame that could not be sent because the
 * device was busy is remembered in one field, to be sent first the next time. Sending and flushing
 * both return that frame to the list of free frames. The list has a lock; the field has none, so
 * both can return the same frame, and it is freed twice.
 *
 * Meant to be atomic: reading the field, returning the frame, and clearing the field. This is also
 * a data race. The twin has a lock for the field. The functions are called through a table of
 * operations, as in the kernel.
 */
// expect: function=send_frame,flush_frames variable=pending class=use-after-free where=function
#include <pthread.h>
#include "prove.h"

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static int free_frames[8] = {2, 3, 4};
static int free_count = 3;
static int pending = 1; /* the number of a frame; 0: none */
#ifdef FIXED
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void return_frame(int frame)
{
	pthread_mutex_lock(&free_lock);
	free_frames[free_count++] = frame;
	pthread_mutex_unlock(&free_lock);
}

static int take_frame(void)
{
	pthread_mutex_lock(&free_lock);
	int frame = free_frames[--free_count];
	pthread_mutex_unlock(&free_lock);
	return frame;
}

static void send_frame(bool busy)
{
#ifdef FIXED
	pthread_mutex_lock(&pending_lock);
#endif
	int frame = pending ? pending : take_frame();
	if (busy) {
		pending = frame;
	} else {
		pass_window();
		return_frame(frame);
		pending = 0;
	}
#ifdef FIXED
	pthread_mutex_unlock(&pending_lock);
#endif
}

static void flush_frames(void)
{
#ifdef FIXED
	pthread_mutex_lock(&pending_lock);
#endif
	if (pending) {
		return_frame(pending);
		pending = 0;
	}
#ifdef FIXED
	pthread_mutex_unlock(&pending_lock);
#endif
}

struct {
	void (*send)(bool busy);
	void (*flush)(void);
} line = {send_frame, flush_frames};

static void *write_line(void *arg)
{
	(void)arg;
	line.send(false);
	line.send(true);
	return NULL;
}

static void *hang_up(void *arg)
{
	(void)arg;
	line.flush();
	return NULL;
}

int main(void)
{
	pthread_t writer, closer;

	pthread_create(&writer, NULL, write_line, NULL);
	pthread_create(&closer, NULL, hang_up, NULL);
	pthread_join(writer, NULL);
	pthread_join(closer, NULL);
	return print_outcome(free_count + (pending != 0) == 4);
}
