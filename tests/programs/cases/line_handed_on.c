/*
 * A block writes a variable and stays open. A second thread reads the variable, fills 64 bytes, and
 * passes them on under a lock to a third thread, which reads them and writes other bytes of the
 * same 64. The blocks of both threads have ended when the first block reads what the second thread
 * wrote: that cuts it. If it reads bytes of the same 64 that no thread wrote, it is not cut.
 *
 * buggy blame: whole
 * buggy variable: s.x
 * buggy rests: data
 * buggy step: w fill
 * buggy step: r look
 * buggy tsan: race
 * buggy prints: 1 2
 * fixed prints: 0 2
 */
#include "window.h"

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int started, filled, seen;
struct {
	int x, z, y, idle;
} s __attribute__((aligned(64)));

BLOCK void whole(void)
{
	pthread_mutex_lock(&a);
	started = 1;
	pthread_mutex_unlock(&a);
	window_hold(1);
#ifdef FIXED
	seen = s.idle;
#else
	seen = s.x; /* step: look */
#endif
}

BLOCK void fill(void)
{
	pthread_mutex_lock(&a);
	s.x = started; /* step: fill */
	pthread_mutex_unlock(&a);
	s.z = 1;
	pthread_mutex_lock(&b);
	filled = 1;
	pthread_mutex_unlock(&b);
}

BLOCK void use(void)
{
	pthread_mutex_lock(&b);
	filled++;
	pthread_mutex_unlock(&b);
	s.y = s.x + s.z;
}

static void *first(void *arg)
{
	whole();
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	fill();
	reached(2);
	return arg;
}

static void *third(void *arg)
{
	await(2);
	use();
	window_leave(1);
	return arg;
}

int main(void)
{
	pthread_t t[3];

	pthread_create(&t[0], NULL, first, NULL);
	pthread_create(&t[1], NULL, second, NULL);
	pthread_create(&t[2], NULL, third, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	printf("%d %d\n", seen, s.y);
}
