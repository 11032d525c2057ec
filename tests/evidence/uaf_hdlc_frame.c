/*
 * CVE-2017-2636, the HDLC line discipline of Linux. A frame that could not be sent is remembered in
 * one field so that it is sent first the next time. Sending and flushing both return that frame to
 * the list of free frames. The list has a lock; the field has none, so both can return the same
 * frame, and it is freed twice.
 *
 * Meant to be atomic: reading the field, returning the frame, and clearing the field. The field is
 * an atomic variable here. The twin takes the frame out of the field with one exchange. The
 * functions are called through a table of operations, as in the kernel.
 */
// expect: function=send_frames,flush_frames variable=pending class=use-after-free where=function
#include <pthread.h>
#include <stdatomic.h>
#include "prove.h"

enum { FRAMES = 4 };

struct frame {
	int bytes;
};

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static struct frame frames[FRAMES];
static struct frame *_Atomic pending = &frames[0];
static int free_frames = FRAMES - 1;

static void return_frame(struct frame *f)
{
	pthread_mutex_lock(&free_lock);
	f->bytes = 0;
	free_frames++;
	pthread_mutex_unlock(&free_lock);
}

static int send_frames(int bytes)
{
#ifdef FIXED
	struct frame *f = atomic_exchange(&pending, NULL);
#else
	struct frame *f = atomic_load(&pending);
#endif
	if (!f)
		return 0;
	f->bytes -= bytes;
	pass_window();
	return_frame(f);
#ifndef FIXED
	atomic_store(&pending, NULL);
#endif
	return bytes;
}

static void flush_frames(void)
{
#ifdef FIXED
	struct frame *f = atomic_exchange(&pending, NULL);

	if (f)
		return_frame(f);
#else
	struct frame *f = atomic_load(&pending);

	if (f) {
		return_frame(f);
		atomic_store(&pending, NULL);
	}
#endif
}

struct operations {
	int (*write)(int bytes);
	void (*flush)(void);
};

struct operations line_operations = {send_frames, flush_frames};

static void *write_line(void *arg)
{
	(void)arg;
	line_operations.write(100);
	return NULL;
}

static void *hang_up(void *arg)
{
	(void)arg;
	line_operations.flush();
	return NULL;
}

int main(void)
{
	pthread_t writer, closer;

	pthread_create(&writer, NULL, write_line, NULL);
	pthread_create(&closer, NULL, hang_up, NULL);
	pthread_join(writer, NULL);
	pthread_join(closer, NULL);
	return print_outcome(free_frames == FRAMES);
}
