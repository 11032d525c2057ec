/*
 * own_lock add|twice|read|hide [told|...]: a spin lock that the program implements itself. In a
 * block, a thread tries to take it while another thread has it; or takes it twice, with another
 * thread in between; or does so to read, and declares it shared; or writes without it, and asks
 * the check to ignore that. "told": the program declares the lock to ThreadSanitizer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int times);
int __tsan_mutex_pre_unlock(void *lock, unsigned flags);
void __tsan_mutex_post_unlock(void *lock, unsigned flags);
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

#define UNSEEN __attribute__((noinline, no_sanitize("thread"))) static
static char taken;
static int told, shares, value;
static volatile int turn; /* used only in functions that are not instrumented */

UNSEEN void come_to(int n)
{
	turn = n;
}

UNSEEN void wait_for(int n)
{
	while (turn < n)
		sched_yield();
}

static void lock(int turn_if_taken)
{
	if (told)
		__tsan_mutex_pre_lock(&taken, 0);
	while (__atomic_test_and_set(&taken, __ATOMIC_ACQUIRE))
		if (turn_if_taken)
			come_to(turn_if_taken);
	if (told)
		__tsan_mutex_post_lock(&taken, shares ? 1 << 3 : 0, 0);
}

static void unlock(void)
{
	if (told)
		__tsan_mutex_pre_unlock(&taken, 0);
	__atomic_clear(&taken, __ATOMIC_RELEASE);
	if (told)
		__tsan_mutex_post_unlock(&taken, 0);
}

__attribute__((noinline)) static void add(int turn_if_taken)
{
	lock(turn_if_taken);
	value++;
	unlock();
}

__attribute__((noinline)) static void twice(void)
{
	add(0);
	come_to(1);
	wait_for(2);
	add(0);
}

__attribute__((noinline)) static int get(void)
{
	lock(0);
	int v = value;
	unlock();
	return v;
}

__attribute__((noinline)) static int get_twice(void)
{
	int v = get();

	come_to(1);
	wait_for(2);
	return get() - v;
}

__attribute__((noinline)) static void hide(void)
{
	if (told)
		__tsan_ignore_thread_begin();
	value++;
	if (told)
		__tsan_ignore_thread_end();
}

__attribute__((noinline)) static void hide_twice(void)
{
	hide();
	come_to(1);
	wait_for(2);
	hide();
}

static void *other(void *how)
{
	if (!strcmp(how, "read") || !strcmp(how, "hide")) {
		wait_for(1);
		*(char *)how == 'r' ? (void)get() : hide();
		come_to(2);
		return NULL;
	}
	if (!strcmp(how, "add")) {
		wait_for(1);
		add(2); /* and does not get it at once */
	} else {
		wait_for(1);
		add(0);
		come_to(2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	told = argc > 2;
	shares = told && !strcmp(argv[1], "read") && !strcmp(argv[2], "told");
	pthread_create(&t, NULL, other, argv[1]);
	if (!strcmp(argv[1], "add")) {
		lock(0);
		come_to(1);
		wait_for(2);
		value++;
		unlock();
	} else if (!strcmp(argv[1], "read")) {
		get_twice();
	} else if (!strcmp(argv[1], "hide")) {
		hide_twice();
	} else {
		twice();
	}
	pthread_join(t, NULL);
	printf("%d\n", value);
	return 0;
}
