/*
 * Sessions that are created when they are first needed, as in web servers and in Mozilla's caches
 * of host names. The server looks the user up in a list under the lock; if there is no session, it
 * makes one without the lock, because that is slow, and enters it under the lock. Lookup and entry
 * are meant to be one step: two threads that serve the same user both find nothing, and the user
 * has two sessions.
 *
 * The twin looks again before it enters the session, and drops its own if it came second.
 */
// expect: function=get_session variable=sessions class=check-then-act where=inlined
#include <pthread.h>
#include <stdlib.h>
#include "prove.h"

#define REQUESTS 3

struct session {
	struct session *next;
	int user, hits;
};

static struct session *sessions;
static pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;

static struct session *find_session(int user)
{
	struct session *s = sessions;
	while (s && s->user != user)
		s = s->next;
	return s;
}

static struct session *make_session(int user)
{
	struct session *s = calloc(1, sizeof *s);
	s->user = user;
	pass_window();
	return s;
}

static struct session *get_session(int user)
{
	pthread_mutex_lock(&sessions_lock);
	struct session *s = find_session(user);
	pthread_mutex_unlock(&sessions_lock);
	if (s)
		return s;

	struct session *fresh = make_session(user);
	pthread_mutex_lock(&sessions_lock);
#ifdef FIXED
	s = find_session(user);
#endif
	if (!s) {
		fresh->next = sessions;
		sessions = s = fresh;
		fresh = NULL;
	}
	pthread_mutex_unlock(&sessions_lock);
	free(fresh);
	return s;
}

static void *serve(void *arg)
{
	const int *users = arg;
	for (int i = 0; i < REQUESTS; i++) {
		struct session *s = get_session(users[i]);
		pthread_mutex_lock(&sessions_lock);
		s->hits++;
		pthread_mutex_unlock(&sessions_lock);
	}
	return NULL;
}

int main(void)
{
	static int users[2][REQUESTS] = {{1, 2, 3}, {4, 2, 3}};
	pthread_t threads[2];
	int count = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, serve, users[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (struct session *s = sessions, *next; s; s = next, count++) {
		next = s->next;
		free(s);
	}
	return print_outcome(count == 4);
}
