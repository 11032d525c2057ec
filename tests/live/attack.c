/*
 * Programs that are hard to check as they run; the first argument selects one. What each prints and
 * returns is always the same, with and without the check. attack_threads.c has some of them, and
 * tests/recorder/attack.c has more.
 */
#define _GNU_SOURCE
#include "attack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
long sum;

void add(long n)
{
	pthread_mutex_lock(&mutex);
	sum += n;
	pthread_mutex_unlock(&mutex);
}

void *adder(void *n)
{
	for (long i = 0; i < (long)n; i++)
		add(1);
	return NULL;
}

volatile int stop;

void *busy(void *arg)
{
	while (!stop)
		add(1);
	return arg;
}

void run(int threads, void *(*fn)(void *), long arg)
{
	pthread_t t[8];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, fn, (void *)arg);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

/* --- a lost update in every run: the second thread runs while the first is in its block --- */

static int turn;
static long balance;

static void wait_turn(int n)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) < n)
		sched_yield();
}

static long get(void)
{
	pthread_mutex_lock(&mutex);
	long b = balance;
	pthread_mutex_unlock(&mutex);
	return b;
}

static void set(long b)
{
	pthread_mutex_lock(&mutex);
	balance = b;
	pthread_mutex_unlock(&mutex);
}

static void (*in_block)(void); /* called when the cycle is closed and the block is still open */

static __attribute__((noinline)) void deposit(int first)
{
	if (!first)
		wait_turn(1);
	long b = get();
	if (first) {
		__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
		wait_turn(2);
	}
	set(b + 100);
	if (first && in_block)
		in_block();
	if (!first)
		__atomic_store_n(&turn, 2, __ATOMIC_RELEASE);
}

static void *customer(void *first)
{
	deposit(first != NULL);
	return NULL;
}

static void lose(void)
{
	pthread_t t[2];

	turn = 0;
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, customer, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static int lost(void)
{
	lose();
	printf("balance %ld\n", balance);
	return 0;
}

static int own_status(void)
{
	lose();
	return 7;
}

/* --- all ways to end a process; the last three in the middle of the block that was cut --- */

static int by_exit_in_thread(void)
{
	lose();
	printf("exit\n");
	exit(0);
}

static void quick(void)
{
	add(1);
	if (write(1, "handler\n", 8) != 8)
		_exit(9);
}

static int by_quick_exit(void)
{
	at_quick_exit(quick);
	lose();
	quick_exit(5);
}

static int by_underscore_exit(void)
{
	lose();
	_exit(4);
}

static void in_block_exit(void)
{
	_exit(0);
}

static int exit_in_block(void)
{
	in_block = in_block_exit;
	lose();
	return 1;
}

static int abort_in_block(void)
{
	in_block = abort;
	lose();
	return 1;
}

static void crash(void)
{
	*(volatile int *)8 = 1;
}

static int crash_in_block(void)
{
	in_block = crash;
	lose();
	return 1;
}

static void be_killed(void)
{
	kill(getpid(), SIGKILL);
}

static int killed(void)
{
	lose();
	be_killed();
	return 1;
}

static int crash_later(void)
{
	lose();
	crash();
	return 1;
}

/* --- the reporter must not disturb the program: its children, pipes and descriptors --- */

static volatile sig_atomic_t children;

static void on_child(int number)
{
	(void)number;
	children++;
}

static int no_child(void)
{
	signal(SIGCHLD, on_child);
	lose();
	if (wait(NULL) != -1 || errno != ECHILD || waitpid(-1, NULL, WNOHANG) != -1)
		puts("there is a child");
	printf("%d signals\n", (int)children);
	return 0;
}

/* Descriptor 9 is the only write end of a pipe that the test reads. */
static int hold_pipe(void)
{
	lose();
	close(1);
	close(9);
	pause();
	return 0;
}

static int no_descriptor(void)
{
	int a, b;

	a = open("/dev/null", O_RDONLY);
	lose();
	b = open("/dev/null", O_RDONLY);
	printf("%d\n", b - a);
	return 0;
}

/* Closes all descriptors and reuses their numbers for sockets: no message may arrive there. */
enum { PAIRS = 400 };
static int close_from(void)
{
	static int pair[PAIRS][2];
	char byte;
	int strange = 0, n = 0;
	struct rlimit limit = {2000, 2000};

	setrlimit(RLIMIT_NOFILE, &limit);
	lose();
	closefrom(3);
	while (n < PAIRS && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair[n]))
		n++;
	in_block = NULL;
	for (int i = 0; i < 3; i++)
		run(2, adder, 1000);
	balance = 0;
	lose();
	for (int i = 0; i < n; i++)
		for (int k = 0; k < 2; k++)
			strange += recv(pair[i][k], &byte, 1, MSG_DONTWAIT) > 0;
	printf("%ld, %d strange of %d\n", balance, strange, n);
	return 0;
}

static int daemon_(void)
{
	int status;
	pid_t pid;
	int out[2];
	char line[100] = "";
	ssize_t n;

	if (pipe(out))
		return 9;
	run(2, adder, 100);
	pid = fork();
	if (!pid) {
		setsid();
		if (fork())
			_exit(0);
		dup2(out[1], 3);
		closefrom(4);
		for (int i = 0; i < 3; i++) {
			close(i);
			if (open("/dev/null", O_RDWR) != i)
				_exit(8);
		}
		if (chdir("/"))
			_exit(8);
		lose();
		run(3, adder, 100);
		dprintf(3, "daemon %ld %ld\n", balance, sum);
		_exit(0);
	}
	close(out[1]);
	waitpid(pid, &status, 0);
	while ((n = read(out[0], line + strlen(line), sizeof line - 1 - strlen(line))) > 0)
		;
	printf("%s", line);
	return 0;
}

/* --- fork while others run; checked code in the child, and its child --- */

static int forks(void)
{
	pthread_t t[2];
	int good = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, busy, NULL);
	for (int i = 0; i < 20; i++) {
		int status = 0;
		pid_t pid = fork();

		if (!pid) {
			pthread_mutex_init(&mutex, NULL);
			sum = 0;
			if (i % 2) {
				lose();
				_exit(0); /* 66 if it is checked */
			}
			run(4, adder, 200);
			exit(sum == 800 ? 7 : 8);
		}
		waitpid(pid, &status, 0);
		good += WIFEXITED(status) && WEXITSTATUS(status) == (i % 2 ? 0 : 7);
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", good);
	return 0;
}

/* --- a thread that never ends --- */
static void *sleeper(void *arg)
{
	add(1);
	pause();
	return arg;
}

static int asleep(void)
{
	pthread_t t;

	for (int i = 0; i < 10; i++)
		pthread_create(&t, NULL, sleeper, NULL);
	lose();
	printf("%ld\n", balance);
	return 0;
}

/* --- signals while findings are reported --- */

static long hits;

static void tick(int number)
{
	(void)number;
	hits++;
	balance ^= 0;
}

static int ticks(void)
{
	struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 200}, {0, 200}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	for (int i = 0; i < 20; i++) {
		lose();
		run(2, adder, 500);
	}
	t = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &t, NULL);
	printf("%ld %d\n", sum, hits > 0);
	return 0;
}

/* Also while threads are created and end. */
static int births(void)
{
	struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 50}, {0, 50}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	for (int i = 0; i < 1000; i++)
		run(2, adder, 1);
	t = (struct itimerval){{0, 0}, {0, 0}};
	setitimer(ITIMER_REAL, &t, NULL);
	printf("%ld %d\n", sum, hits > 0);
	return 0;
}

/* --- libraries that come and go --- */

static int plugins(void)
{
	for (int i = 0; i < 60; i++) {
		void *lib = dlopen(i % 2 ? "./plug1.so" : "./plug2.so", RTLD_NOW);
		void *(*fn)(void *) = lib ? (void *(*)(void *))dlsym(lib, "plug") : NULL;

		if (!fn) {
			puts(dlerror());
			return 1;
		}
		run(3, fn, (long)&sum);
		dlclose(lib);
	}
	printf("%ld\n", sum);
	return 0;
}

/* --- the program gives up privileges, changes its root and lowers its limits while it runs --- */

static int privileges(void)
{
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return 3;
	lose();
	printf("balance %ld\n", balance);
	return 0;
}

static int prison(void)
{
	if (mkdir("prison", 0755) && errno != EEXIST)
		return 3;
	if (chroot("prison") || chdir("/"))
		return 3;
	lose();
	printf("balance %ld\n", balance);
	return 0;
}

static int no_files(void)
{
	struct rlimit limit = {3, 3};

	setrlimit(RLIMIT_NOFILE, &limit);
	lose();
	printf("balance %ld\n", balance);
	return 0;
}

/* --- the loader's error message: the program reads and frees it --- */

static void *asks_for_names(void *arg)
{
	long found = 0;

	for (int i = 0; i < 3; i++)
		found += dlsym(RTLD_DEFAULT, "no_such_name") || dlsym(RTLD_DEFAULT, "nor_this");
	return found ? NULL : arg;
}

static int no_names(void)
{
	pthread_t t;
	void *got = NULL;

	pthread_create(&t, NULL, asks_for_names, &got);
	pthread_join(t, &got);
	printf("none: %s\n", got && asks_for_names(&got) ? "yes" : "no");
	return 0;
}

/* Interceptors that are called for the first time in between must not disturb it. */
static int loader_error(void)
{
	const char *path = "/no/such/library.so", *error;
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	int had = 0;

	for (int i = 0; i < 4; i++) {
		if (dlopen(path, RTLD_NOW))
			return 1;
		if (i == 0)
			had += strrchr(path, '/') != NULL;
		if (i == 1)
			had += !pthread_rwlock_rdlock(&lock) && !pthread_rwlock_unlock(&lock);
		if (i == 2)
			had += strpbrk(path, "y") != NULL;
		if (i == 3)
			had += aligned_alloc(64, 64) != NULL;
		error = dlerror();
		puts(error ? error : "nothing");
	}
	error = dlerror();
	printf("%d, then %s\n", had, error ? error : "nothing");
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(void);
} attacks[] = {
	{"lost", lost},
	{"own-status", own_status},
	{"exit", by_exit_in_thread},
	{"quick-exit", by_quick_exit},
	{"_exit", by_underscore_exit},
	{"exit-in-block", exit_in_block},
	{"abort-in-block", abort_in_block},
	{"crash-in-block", crash_in_block},
	{"killed", killed},
	{"crash-later", crash_later},
	{"no-child", no_child},
	{"no-descriptor", no_descriptor},
	{"hold-pipe", hold_pipe},
	{"close-from", close_from},
	{"daemon", daemon_},
	{"forks", forks},
	{"alt-stack", alt_stack},
	{"overflows", overflows},
	{"coroutines", coroutines},
	{"small-thread", small_thread},
	{"small-handler", small_handler},
	{"small-coroutine", small_coroutine},
	{"jumps", jumps},
	{"odd-ends", odd_ends},
	{"main-leaves", main_leaves},
	{"detach", detach},
	{"asleep", asleep},
	{"ticks", ticks},
	{"births", births},
	{"plugins", plugins},
	{"privileges", privileges},
	{"prison", prison},
	{"no-files", no_files},
	{"own-allocator", own_allocator},
	{"maps", maps},
	{"forked-slots", forked_slots},
	{"crowd", crowd},
	{"fork-signals", fork_signals},
	{"no-names", no_names},
	{"loader-error", loader_error},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof *attacks; i++)
		if (!strcmp(argv[1], attacks[i].name))
			return attacks[i].fn();
	return 98;
}
