/* A marked block that loses updates, and more labels before it than the runtime keeps texts of. */
#include <atomsan/atomsan.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *work(void *arg)
{
	for (int i = 0; i < 3; i++) {
		int seen;

		ATOMSAN_BEGIN("late");
		pthread_mutex_lock(&m);
		seen = sum;
		pthread_mutex_unlock(&m);
		usleep(20000);
		pthread_mutex_lock(&m);
		sum = seen + 1;
		pthread_mutex_unlock(&m);
		ATOMSAN_END();
	}
	return arg;
}

int main(void)
{
	static char label[1100][16];
	pthread_t t[2];

	for (int i = 0; i < 1100; i++) {
		snprintf(label[i], sizeof label[i], "label %d", i);
		atomsan_begin(label[i]);
		atomsan_end();
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
