/*
 * Those of attack.c's programs that are hard for the check's per-thread state: unusual stacks and
 * jumps, unusual ends of threads, memory of all kinds, thousands of threads, slots that are reused,
 * signals during a fork.
 */
#define _GNU_SOURCE
#include "attack.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* --- stacks --- */

static sigjmp_buf out;
static long hits;

static void count(void)
{
	hits++;
	add(1);
}

static void on_segv(int number)
{
	count();
	siglongjmp(out, number);
}

static void touch(long *volatile nowhere)
{
	add(1);
	*nowhere = 1;
}

static void again(void)
{
	if (!sigsetjmp(out, 1))
		touch((long *)16);
}

static void alternate(void)
{
	static char stack[1 << 16];
	stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction a = {.sa_handler = on_segv, .sa_flags = SA_ONSTACK};

	sigaltstack(&s, NULL);
	sigaction(SIGSEGV, &a, NULL);
}

/* A handler on a stack of its own that jumps away, over and over. */
int alt_stack(void)
{
	pthread_t t;

	pthread_create(&t, NULL, busy, NULL);
	alternate();
	for (int i = 0; i < 3000; i++)
		again();
	stop = 1;
	pthread_join(t, NULL);
	printf("%ld\n", hits);
	return 0;
}

static void overflow(volatile char *above)
{
	volatile char here[4096];

	here[0] = above[0];
	overflow(here);
	above[0] = here[1];
}

int overflows(void)
{
	pthread_t t;

	pthread_create(&t, NULL, busy, NULL);
	alternate();
	for (volatile int i = 0; i < 3; i++) {
		char c[1] = {0};

		if (!sigsetjmp(out, 1))
			overflow(c);
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("%ld\n", hits);
	return 0;
}

/* Two coroutines that switch to each other, of which one never finishes. */
static ucontext_t home, one, two;
static long steps;

static void hop(ucontext_t *from, ucontext_t *to)
{
	add(1);
	steps++;
	swapcontext(from, to);
}

static void first(void)
{
	for (int i = 0; i < 1000; i++)
		hop(&one, &two);
	hop(&one, &home);
}

static void second(void)
{
	for (;;)
		hop(&two, &one);
}

static void start(ucontext_t *c, char *stack, size_t size, void (*fn)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = stack;
	c->uc_stack.ss_size = size;
	c->uc_link = &home;
	makecontext(c, fn, 0);
}

int coroutines(void)
{
	static char stack[2][1 << 16];
	pthread_t t;

	pthread_create(&t, NULL, busy, NULL);
	for (int i = 0; i < 20; i++) {
		start(&one, stack[0], sizeof stack[0], first);
		start(&two, stack[1], sizeof stack[1], second);
		hop(&home, &one);
	}
	stop = 1;
	pthread_join(t, NULL);
	printf("%ld\n", steps);
	return 0;
}

/* A finding on a stack that has just enough room for the program's own functions. */
static volatile long shared_word;
static volatile int turn;

__attribute__((noinline)) static void interrupted(void)
{
	long v = shared_word;

	turn = 1;
	while (turn == 1)
		;
	shared_word = v + 1;
}

static void *interrupter(void *arg)
{
	while (turn != 1)
		;
	shared_word = 5;
	turn = 2;
	return arg;
}

static void *interrupted_thread(void *arg)
{
	interrupted();
	return arg;
}

static void interrupted_handler(int number)
{
	(void)number;
	interrupted();
}

static void interrupted_coroutine(void)
{
	interrupted();
}

/* A stack with nothing mapped below it. */
static char *guarded(size_t size)
{
	size_t guard = 1 << 16;
	char *p = mmap(NULL, guard + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED || mprotect(p, guard, PROT_NONE))
		exit(97);
	return p + guard;
}

int small_thread(void)
{
	pthread_attr_t least;
	pthread_t t[2];

	pthread_attr_init(&least);
	pthread_attr_setstacksize(&least, PTHREAD_STACK_MIN);
	if (pthread_create(&t[0], &least, interrupter, NULL) ||
	    pthread_create(&t[1], &least, interrupted_thread, NULL))
		return 97;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", shared_word);
	return 0;
}

int small_handler(void)
{
	enum { SIZE = 1 << 13 };
	stack_t s = {.ss_sp = guarded(SIZE), .ss_size = SIZE};
	struct sigaction a = {.sa_handler = interrupted_handler, .sa_flags = SA_ONSTACK};
	pthread_t t;

	if (sigaltstack(&s, NULL) || sigaction(SIGUSR1, &a, NULL))
		return 97;
	pthread_create(&t, NULL, interrupter, NULL);
	raise(SIGUSR1);
	pthread_join(t, NULL);
	printf("%ld\n", shared_word);
	return 0;
}

int small_coroutine(void)
{
	enum { SIZE = 1 << 12 };
	pthread_t t;

	start(&one, guarded(SIZE), SIZE, interrupted_coroutine);
	pthread_create(&t, NULL, interrupter, NULL);
	swapcontext(&home, &one);
	pthread_join(t, NULL);
	printf("%ld\n", shared_word);
	return 0;
}

static jmp_buf env;
static void leave_by_jump(int depth)
{
	add(1);
	if (depth)
		leave_by_jump(depth - 1);
	longjmp(env, 1);
}

static void *jumper(void *arg)
{
	jmp_buf *mine = arg;

	for (volatile int i = 0; i < 20000; i++)
		if (!setjmp(*mine)) {
			add(1);
			longjmp(*mine, 1);
		}
	return NULL;
}

int jumps(void)
{
	static jmp_buf other;
	pthread_t t;

	pthread_create(&t, NULL, jumper, &other);
	for (volatile int i = 0; i < 20000; i++)
		if (!setjmp(env))
			leave_by_jump(i % 7);
	pthread_join(t, NULL);
	printf("%ld\n", sum);
	return 0;
}

/* --- threads that end in odd ways --- */

static pthread_key_t key;
static void destroy(void *arg)
{
	add((long)arg);
}

static void leave_here(int depth)
{
	add(1);
	if (depth)
		leave_here(depth - 1);
	pthread_exit(NULL);
}

static void *leaver(void *arg)
{
	pthread_setspecific(key, (void *)10);
	leave_here((int)(long)arg);
	return NULL;
}

static void *to_be_cancelled(void *arg)
{
	pthread_setspecific(key, (void *)10);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	add(1);
	for (;;)
		usleep(100000);
	return arg;
}

int odd_ends(void)
{
	pthread_key_create(&key, destroy);
	for (int i = 0; i < 200; i++) {
		pthread_t t;

		run(3, leaver, 5);
		pthread_create(&t, NULL, to_be_cancelled, NULL);
		pthread_cancel(t);
		pthread_join(t, NULL);
	}
	printf("%d\n", sum >= 200 * 3 * 16);
	return 0;
}

static pthread_t main_thread;
static void *after_main(void *arg)
{
	pthread_join(main_thread, NULL);
	run(2, adder, 1000);
	printf("%ld\n", sum);
	return arg;
}

/* main()'s thread ends before the others do. */
int main_leaves(void)
{
	pthread_t t;

	main_thread = pthread_self();
	pthread_create(&t, NULL, after_main, NULL);
	pthread_exit(NULL);
}

static void *detached(void *arg)
{
	pthread_detach(pthread_self());
	add(1);
	return arg;
}

int detach(void)
{
	pthread_t t;

	for (int i = 0; i < 3000; i++) {
		while (pthread_create(&t, NULL, detached, NULL))
			usleep(1000);
		if (i % 8 == 7)
			usleep(200);
	}
	while (add(0), __atomic_load_n(&sum, __ATOMIC_SEQ_CST) < 3000)
		usleep(1000);
	printf("%ld\n", sum);
	return 0;
}

/* --- the program's own allocator, from a pool --- */

static struct piece {
	struct piece *next;
	long v[6];
} pool[1000], *free_pieces;

static struct piece *take(void)
{
	struct piece *p;

	pthread_mutex_lock(&mutex);
	p = free_pieces;
	free_pieces = p->next;
	pthread_mutex_unlock(&mutex);
	return p;
}

static void give(struct piece *p)
{
	pthread_mutex_lock(&mutex);
	p->next = free_pieces;
	free_pieces = p;
	pthread_mutex_unlock(&mutex);
}

static void *user(void *arg)
{
	for (int i = 0; i < 5000; i++) {
		struct piece *p = take();

		for (int k = 0; k < 6; k++)
			p->v[k] = i;
		give(p);
	}
	return arg;
}

int own_allocator(void)
{
	for (int i = 0; i < 1000; i++)
		give(&pool[i]);
	run(4, user, 0);
	puts("done");
	return 0;
}

/* Memory that comes and goes, at addresses all over. */
static void *mapper(void *arg)
{
	for (int i = 0; i < 60; i++) {
		size_t n = (size_t)(1 + i % 30) << 16;
		char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t k = 0; k < n; k += 4096)
			p[k] = 1;
		munmap(p, n);
		free(calloc(1, n / 7));
	}
	return arg;
}

int maps(void)
{
	run(4, mapper, 0);
	puts("done");
	return 0;
}

/* --- threads that wait: for events that the check does not see, and forever --- */

#define UNSEEN __attribute__((noinline, no_sanitize("thread"))) static
static volatile int parked, came;

UNSEEN void park(void)
{
	__sync_fetch_and_add(&parked, 1);
	for (;;)
		sleep(100);
}

UNSEEN void until(volatile int *what, int n)
{
	while (*what < n)
		usleep(500);
}

UNSEEN void come(void)
{
	__sync_fetch_and_add(&came, 1);
}

static void *parks(void *arg)
{
	park();
	return arg;
}

static void park_some(int n)
{
	pthread_attr_t attr;
	pthread_t t;
	int i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	for (i = 0; i < n && !pthread_create(&t, &attr, parks, NULL); i++)
		;
	until(&parked, i);
}

/* --- in a forked child a thread reuses the slot of one that no longer exists --- */

static struct {
	long deep, read, calls;
} __attribute__((aligned(64))) line[2];

__attribute__((noinline)) static void call(void)
{
	line[0].calls++;
}

__attribute__((noinline)) static void go_far(void)
{
	for (int i = 0; i < 60; i++)
		call();
	line[0].deep = 1;
	park();
}

static void *goes_far(void *arg)
{
	go_far();
	return arg;
}

/* Reads only once: no other thread can come in between. */
__attribute__((noinline)) static long read_once(void)
{
	come();
	until(&came, 2);
	return line[1].read;
}

static void *reads_once(void *arg)
{
	(void)arg;
	return (void *)read_once();
}

int forked_slots(void)
{
	void *got = NULL;
	pthread_t t;
	int status;

	park_some(24);
	pthread_create(&t, NULL, goes_far, NULL);
	until(&parked, 25);
	if (!fork()) {
		pthread_create(&t, NULL, reads_once, NULL);
		until(&came, 1);
		line[0].deep = 2;
		line[1].read = 3;
		come();
		pthread_join(t, &got);
		exit((int)(long)got);
	}
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	fflush(stdout);
	_exit(0);
}

/* --- more threads than are checked: one of these reads what others have read --- */

__attribute__((noinline)) static long read_and_wait(void)
{
	long value = line[1].read;

	come();
	until(&came, 4);
	return value;
}

static void *reads_and_waits(void *arg)
{
	(void)arg;
	return (void *)read_and_wait();
}

__attribute__((noinline)) static long read_twice(void)
{
	return line[1].read + line[1].read;
}

static void *reads_twice(void *arg)
{
	(void)arg;
	return (void *)read_twice();
}

int crowd(void)
{
	void *got = NULL;
	pthread_t t;

	for (int i = 1; i <= 2; i++) {
		pthread_create(&t, NULL, reads_and_waits, NULL);
		until(&came, i);
	}
	park_some(4100);
	if (!pthread_create(&t, NULL, reads_twice, NULL))
		pthread_join(t, &got);
	printf("read %ld\n", (long)got);
	fflush(stdout);
	_exit(0);
}

/* --- a signal arrives while the process forks, and its handler is checked code --- */

static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t forking_thread;
static int signals_over;
static long signalled[64];

__attribute__((noinline)) static void is_signalled(int i)
{
	pthread_mutex_lock(&signal_lock);
	signalled[i]++;
	pthread_mutex_unlock(&signal_lock);
}

static void on_fork_signal(int number)
{
	(void)number;
	is_signalled(3);
}

static void *is_at_work(void *arg)
{
	while (!__atomic_load_n(&signals_over, __ATOMIC_RELAXED))
		is_signalled(1);
	return arg;
}

static void *sends_signals(void *arg)
{
	while (!__atomic_load_n(&signals_over, __ATOMIC_RELAXED)) {
		pthread_kill(forking_thread, SIGUSR1);
		usleep(300);
	}
	return arg;
}

int fork_signals(void)
{
	pthread_t t[2];

	forking_thread = pthread_self();
	signal(SIGUSR1, on_fork_signal);
	pthread_create(&t[0], NULL, is_at_work, NULL);
	pthread_create(&t[1], NULL, sends_signals, NULL);
	for (int i = 0; i < 200; i++) {
		pid_t c = fork();

		if (!c)
			_exit(0);
		while (waitpid(c, NULL, 0) < 0 && errno == EINTR)
			;
	}
	__atomic_store_n(&signals_over, 1, __ATOMIC_RELAXED);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	printf("handled: %s\n", signalled[3] ? "yes" : "no");
	return 0;
}
