/* A library that attack.c loads and unloads. */
#include <pthread.h>

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local long own;
static long calls;

static void more(long *n)
{
	pthread_mutex_lock(&mine);
	*n += 1;
	calls++;
	pthread_mutex_unlock(&mine);
}

void *plug(void *sum);
void *plug(void *sum)
{
	for (int i = 0; i < 100 + PADDING; i++) {
		own++;
		more(sum);
	}
	return NULL;
}
