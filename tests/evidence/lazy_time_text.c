/*
 * Web servers format the current time once a second and keep the text (Apache's log module,
 * thttpd). The text is made again if the second has changed. Test, text and second are meant to
 * change together; here they have no lock, and two threads that log in different seconds leave the
 * text of one second beside the number of another, so that a wrong time is logged for a whole
 * second.
 *
 * The twin formats under a lock and copies the text under it.
 */
// expect: function=log_request variable=cached_second,cached_text class=lazy-init where=thread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "prove.h"

static long cached_second = -1;
static char cached_text[16];
#ifdef FIXED
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

struct request {
	long second;
	char line[32];
};

static void *log_request(void *arg)
{
	struct request *request = arg;
#ifdef FIXED
	pthread_mutex_lock(&cache_lock);
#endif
	if (cached_second != request->second) {
		char digits[16];
		int n = 0;
		for (long rest = request->second; rest > 0; rest /= 10)
			digits[n++] = (char)('0' + rest % 10);
		for (int i = 0; i < n; i++)
			cached_text[i] = digits[n - 1 - i];
		cached_text[n] = '\0';
		pass_window();
		cached_second = request->second;
	}
	strcpy(request->line, cached_text);
#ifdef FIXED
	pthread_mutex_unlock(&cache_lock);
#endif
	return NULL;
}

int main(void)
{
	struct request requests[2] = {{1700000000, ""}, {1700000001, ""}};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, log_request, &requests[i]);
#ifdef PROVE
		usleep(5000);
#endif
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return print_outcome(atol(requests[0].line) == 1700000000 &&
			     atol(requests[1].line) == 1700000001);
}
