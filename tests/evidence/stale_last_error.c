/*
 * A library in the style of the old C interfaces: a call that fails stores its reason in a global,
 * and the caller asks for it with a second call. The library has one lock and takes it in both
 * calls. If another thread's call fails in between, the caller reports a reason that belongs to the
 * other thread. This is why errno became local to a thread; database and graphics libraries have
 * repeated the mistake since.
 *
 * Meant to be atomic: the failing call and the question for its reason. The twin returns the reason
 * from the call.
 */
// expect: function=open_missing variable=last_error class=stale-reuse where=thread
#include <pthread.h>
#include "prove.h"

enum { NOT_FOUND = 2, NO_MEMORY = 12 };

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static int last_error, calls;
static int wrong_reasons[2];

/* Fails with REASON. In the twin the reason is also the result. */
static int fail_call(int reason)
{
	pthread_mutex_lock(&library_lock);
	calls++;
	last_error = reason;
	pthread_mutex_unlock(&library_lock);
#ifdef FIXED
	return reason;
#else
	return -1;
#endif
}

#ifndef FIXED
static int get_last_error(void)
{
	pthread_mutex_lock(&library_lock);
	int reason = last_error;
	pthread_mutex_unlock(&library_lock);
	return reason;
}
#endif

static void *open_missing(void *arg)
{
	(void)arg;
#ifdef FIXED
	int reason = fail_call(NOT_FOUND);
#else
	fail_call(NOT_FOUND);
	pass_window();
	int reason = get_last_error();
#endif
	wrong_reasons[0] = reason != NOT_FOUND;
	return NULL;
}

static void *sort_much(void *arg)
{
	(void)arg;
#ifdef FIXED
	int reason = fail_call(NO_MEMORY);
#else
	fail_call(NO_MEMORY);
	int reason = get_last_error();
#endif
	wrong_reasons[1] = reason != NO_MEMORY;
	return NULL;
}

int main(void)
{
	pthread_t opener, sorter;

	pthread_create(&opener, NULL, open_missing, NULL);
	pthread_create(&sorter, NULL, sort_much, NULL);
	pthread_join(opener, NULL);
	pthread_join(sorter, NULL);
	return print_outcome(!wrong_reasons[0] && !wrong_reasons[1]);
}
