/*
 * come_and_go: many threads at once, and then many after each other, each of which reads some of
 * the memory that all read, and ends. What the check keeps for ended threads is freed and does not
 * add up: a line has the memory in KiB with many threads, then after some that came after each
 * other, then after more of these. The exit status is 1 if the second figure is not below half of
 * the first, or the third is a tenth above the second.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { AT_ONCE = 200, AT_A_TIME = 6, SOME = 4000, MORE = 16000, LINES = 1 << 14, LOOKS = 400 };

static struct {
	long word[8];
} line[LINES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static long sum, known;
static int tell[2], tell_first[2];

/* Reads everything, and is still running when others have ended. */
static __attribute__((noinline)) long watch(void)
{
	long s = 0;
	char c;

	for (int i = 0; i < LINES; i++)
		s += line[i].word[i % 8];
	while (read(tell[0], &c, 1) == 1)
		s++;
	return s;
}

static void *watches(void *arg)
{
	return watch() ? arg : NULL;
}

/* Begins before most of the first threads' work, and ends after them. */
static __attribute__((noinline)) long precede(void)
{
	long s = 0;
	char c;

	__atomic_store_n(&known, 1, __ATOMIC_RELAXED);
	while (read(tell_first[0], &c, 1) == 1)
		s++;
	return s;
}

static void *precedes(void *arg)
{
	return precede() ? arg : NULL;
}

static __attribute__((noinline)) long look(unsigned int seed)
{
	long s = 0;

	for (int i = 0; i < LOOKS; i++)
		s += line[(unsigned int)rand_r(&seed) % LINES].word[i % 8];
	return s;
}

static void *comes_and_goes(void *arg)
{
	long s = look((unsigned int)(size_t)arg);

	pthread_mutex_lock(&lock);
	sum += s;
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *one_of_many(void *arg)
{
	if ((size_t)arg >= AT_ONCE / 10) {
		while (!__atomic_load_n(&known, __ATOMIC_RELAXED))
			sched_yield();
		comes_and_goes(arg);
	} else {
		look((unsigned int)(size_t)arg);
	}
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
	return NULL;
}

static long resident(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (f && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * 4;
}

static long at_once(void)
{
	pthread_t t[AT_ONCE], first;
	long now;

	pthread_create(&first, NULL, precedes, NULL);
	pthread_barrier_init(&all, NULL, AT_ONCE + 1);
	for (size_t i = 0; i < AT_ONCE; i++)
		pthread_create(&t[i], NULL, one_of_many, (void *)i);
	pthread_barrier_wait(&all);
	now = resident();
	pthread_barrier_wait(&all);
	for (size_t i = 0; i < AT_ONCE; i++)
		pthread_join(t[i], NULL);
	close(tell_first[1]);
	pthread_join(first, NULL);
	return now;
}

static long after_each_other(size_t n)
{
	for (; n >= AT_A_TIME; n -= AT_A_TIME) {
		pthread_t t[AT_A_TIME];

		for (size_t i = 0; i < AT_A_TIME; i++)
			pthread_create(&t[i], NULL, comes_and_goes, (void *)(n + i));
		for (size_t i = 0; i < AT_A_TIME; i++)
			pthread_join(t[i], NULL);
	}
	return resident();
}

int main(void)
{
	long many, few, more;
	pthread_t other;

	for (int i = 0; i < LINES; i++)
		line[i].word[i % 8] = i;
	if (pipe(tell) || pipe(tell_first))
		return 2;
	pthread_create(&other, NULL, watches, NULL);
	many = at_once();
	few = after_each_other(SOME);
	more = after_each_other(MORE);
	close(tell[1]);
	pthread_join(other, NULL);
	printf("%ld KiB, then %ld KiB, then %ld KiB\n", many, few, more);
	return few > many / 2 || more > few + few / 10;
}
