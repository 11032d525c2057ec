/*
 * A file server (the published case is a kernel SMB server) keeps the session of a connection
 * behind a lock. One thread checks that there is a session, releases the lock, and uses the session
 * in a second critical section. The thread that handles the log-off frees the session in between.
 *
 * Meant to be atomic: the check and the use. The twin holds the lock from the check to the end of
 * the use.
 */
// expect: function=handle_request variable=session,user,requests class=use-after-free where=thread
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "prove.h"

struct session {
	long user;
	int requests;
};

static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *session;
static int freed_user;

static void *handle_request(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&session_lock);
	struct session *s = session;
#ifndef FIXED
	pthread_mutex_unlock(&session_lock);
	pass_window();
	pthread_mutex_lock(&session_lock);
#endif
	if (s) {
		s->requests++;
		freed_user = s->user != 1000;
	}
	pthread_mutex_unlock(&session_lock);
	return NULL;
}

static void *handle_logoff(void *arg)
{
	(void)arg;
	usleep(1000); /* The client usually waits for its answer before it logs off. */
	pthread_mutex_lock(&session_lock);
	session->user = -1;
	free(session);
	session = NULL;
	pthread_mutex_unlock(&session_lock);
	return NULL;
}

int main(void)
{
	pthread_t worker, logoff;

	session = calloc(1, sizeof *session);
	if (!session)
		return 1;
	session->user = 1000;
	pthread_create(&worker, NULL, handle_request, NULL);
	pthread_create(&logoff, NULL, handle_logoff, NULL);
	pthread_join(worker, NULL);
	pthread_join(logoff, NULL);
	return print_outcome(!freed_user);
}
