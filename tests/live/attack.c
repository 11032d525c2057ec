/*
 * Programs that make life hard for the check inside them; the first argument says which. What
 * each prints and returns depends on nothing but itself. tests/recorder/attack.c has more.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void add(long n)
{
	pthread_mutex_lock(&mutex);
	sum += n;
	pthread_mutex_unlock(&mutex);
}

static void *adder(void *n)
{
	for (long i = 0; i < (long)n; i++)
		add(1);
	return NULL;
}

static void run(int threads, void *(*fn)(void *), long arg)
{
	pthread_t t[8];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, fn, (void *)arg);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

/* --- a lost update that happens: the other comes when the first is in the middle --- */

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

static void (*in_block)(void); /* called when the cycle is closed, and the block is not left */

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

/* --- ends of all kinds, the last three in the middle of the block that was cut --- */

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

/* --- the program knows nothing of a reporter --- */

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
		puts("somebody is there");
	printf("%d signals\n", (int)children);
	return 0;
}

/* Descriptor 9 is the only one of a pipe that somebody reads. */
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

/* All descriptors closed, and their numbers given to sockets: nothing of ours may arrive there. */
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

static volatile int stop;
static void *busy(void *arg)
{
	while (!stop)
		add(1);
	return arg;
}

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
				_exit(0); /* 66 where it is checked */
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
static int alt_stack(void)
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

static int overflows(void)
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

/* Two coroutines that hand over to each other, and one that is never finished. */
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

static int coroutines(void)
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

static int jumps(void)
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

static int odd_ends(void)
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

/* main's thread ends before the others do. */
static int main_leaves(void)
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

static int detach(void)
{
	pthread_t t;

	for (int i = 0; i < 3000; i++) {
		while (pthread_create(&t, NULL, detached, NULL))
			usleep(1000);
		if (i % 8 == 7)
			usleep(200);
	}
	while (get(), __atomic_load_n(&sum, __ATOMIC_SEQ_CST) < 3000)
		usleep(1000);
	printf("%ld\n", sum);
	return 0;
}

/* A thread that never ends. */
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

/* --- signals while it is busy finding things --- */

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

/* Where threads are created and end, too. */
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

/* --- its world gets smaller --- */

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

/* --- an allocator of its own, from a pool --- */

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

static int own_allocator(void)
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

static int maps(void)
{
	run(4, mapper, 0);
	puts("done");
	return 0;
}

/* --- threads that wait: for nothing that the check sees, and for good --- */

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

/* --- in a forked child a thread takes the place of one that is not there any more --- */

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

/* All that it does is to read, once: nobody can come in between. */
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

static int forked_slots(void)
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

static int crowd(void)
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

/* --- a signal comes while the process forks, and its handler wants to be checked --- */

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

static int fork_signals(void)
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
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof *attacks; i++)
		if (!strcmp(argv[1], attacks[i].name))
			return attacks[i].fn();
	return 98;
}
