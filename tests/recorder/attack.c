/*
 * Programs that are hard to record; the first argument selects one. Their output and
 * exit code must be the same with and without the recorder.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static long hits;
static char *self;

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

static void run(int threads, long each)
{
	pthread_t t[8];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, adder, (void *)each);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static int work(void)
{
	run(2, 1000);
	printf("%ld\n", sum);
	return 3;
}

/* Runs until it is killed. */
static int forever(void)
{
	puts("ready");
	fflush(stdout);
	run(2, 1L << 60);
	return 0;
}

/* Makes a recording of about ten megabytes. */
static int much(void)
{
	run(2, 60000);
	printf("%ld\n", sum);
	return 0;
}

/* Forks while another thread works; the child creates threads of its own. */
static int do_fork(void)
{
	pthread_t t;
	int status;
	pid_t pid;

	pthread_create(&t, NULL, adder, (void *)20000L);
	pid = fork();
	if (!pid) {
		/* The lock may be held by a thread that does not exist in the child. */
		pthread_mutex_init(&mutex, NULL);
		sum = 0;
		run(2, 500);
		__atomic_fetch_add(&hits, sum, __ATOMIC_SEQ_CST);
		_exit(hits == 1000 ? 7 : 8);
	}
	waitpid(pid, &status, 0);
	pthread_join(t, NULL);
	printf("%d %ld\n", WEXITSTATUS(status), sum);
	return 0;
}

/* Replaces the process by the same program. */
static int do_exec(void)
{
	run(2, 100);
	execl(self, self, "work", NULL);
	return 9;
}

/* Starts the same program as a child while another thread works. */
static int spawn(void)
{
	char command[4096];
	pthread_t t;
	int rc;

	pthread_create(&t, NULL, adder, (void *)50000L);
	snprintf(command, sizeof command, "'%s' work", self);
	rc = system(command);
	pthread_join(t, NULL);
	printf("%d %ld\n", WEXITSTATUS(rc), sum);
	return 0;
}

/* Closes the recorder's file too, so that the program reuses its descriptor. */
static int close_all(void)
{
	static int fds[600];
	struct stat st;
	int n = 0, wrong = 0;

	run(2, 10);
	for (int i = 3; i < 2000; i++)
		close(i);
	while (n < 600 && (fds[n] = open("/tmp", O_TMPFILE | O_RDWR, 0600)) >= 0)
		n++;
	run(2, 20000);
	for (int i = 0; i < n; i++)
		wrong += fstat(fds[i], &st) || st.st_size;
	printf("%ld, %d wrong\n", sum, wrong);
	return 0;
}

static void on_timer(int number)
{
	(void)number;
	__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
}

static void each_millisecond(void (*handler)(int))
{
	struct sigaction a = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct itimerval t = {{0, 1000}, {0, 1000}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void no_timer(void)
{
	struct itimerval t = {{0, 0}, {0, 0}};

	setitimer(ITIMER_REAL, &t, NULL);
}

static int timer(void)
{
	long rounds = 0;

	each_millisecond(on_timer);
	while (__atomic_load_n(&hits, __ATOMIC_SEQ_CST) < 100) {
		run(2, 200);
		rounds++;
	}
	no_timer();
	printf("%d\n", sum == 400 * rounds);
	return 0;
}

static sigjmp_buf out;
static volatile sig_atomic_t may_jump;

static void jump(int number)
{
	__atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST);
	if (may_jump) {
		may_jump = 0;
		siglongjmp(out, number);
	}
}

static long spin_word;
static void spin(int depth)
{
	if (depth) {
		spin(depth - 1);
		return;
	}
	for (;;) {
		spin_word++;
		__atomic_fetch_add(&spin_word, 1, __ATOMIC_SEQ_CST);
	}
}

/* A signal handler jumps out of functions and atomic operations. */
static int timer_jumps(void)
{
	volatile int jumps = 0;
	pthread_t t;
	sigset_t block, before;

	/* Without a second thread, nothing is recorded. */
	sigfillset(&block);
	pthread_sigmask(SIG_SETMASK, &block, &before);
	pthread_create(&t, NULL, adder, (void *)1000L);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	each_millisecond(jump);
	while (jumps < 50) {
		if (!sigsetjmp(out, 1)) {
			may_jump = 1;
			spin(jumps % 5);
		}
		jumps++;
	}
	no_timer();
	pthread_join(t, NULL);
	printf("%d %ld\n", jumps, sum);
	return 0;
}

static void bad(int number)
{
	siglongjmp(out, number);
}

static void *atomics(void *arg)
{
	for (int i = 0; i < 1000; i++)
		__atomic_fetch_add((long *)arg, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Plain accesses, atomic operations and library calls fault, and the handler jumps out of them. */
static int segv(void)
{
	struct sigaction a = {.sa_handler = bad};
	volatile int caught = 0;
	long *volatile nowhere = (long *)16;
	pthread_t t;

	sigaction(SIGSEGV, &a, NULL);
	pthread_create(&t, NULL, atomics, &hits);
	for (volatile int i = 0; i < 3000; i++) {
		if (sigsetjmp(out, 1)) {
			caught++;
			continue;
		}
		switch (i % 3) {
		case 0:
			*nowhere = 1;
			break;
		case 1:
			__atomic_fetch_add(nowhere, 1, __ATOMIC_SEQ_CST);
			break;
		default:
			memset(nowhere, 1, 100);
		}
	}
	pthread_join(t, NULL);
	pthread_create(&t, NULL, atomics, &hits);
	pthread_join(t, NULL);
	printf("%d %ld\n", caught, hits);
	return 0;
}

enum { ALIVE = 1000 };
static pthread_barrier_t barrier;
static void *stay(void *arg)
{
	add(1);
	pthread_barrier_wait(&barrier);
	add(1);
	return arg;
}

/* A thousand threads alive at once. */
static int alive(void)
{
	static pthread_t t[ALIVE];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 16);
	pthread_barrier_init(&barrier, NULL, ALIVE);
	for (int i = 0; i < ALIVE; i++)
		if (pthread_create(&t[i], &attr, stay, NULL))
			return 1;
	for (int i = 0; i < ALIVE; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", sum);
	return 0;
}

/* Twenty thousand threads, four at a time. */
static int many(void)
{
	for (int i = 0; i < 5000; i++)
		run(4, 1);
	printf("%ld\n", sum);
	return 0;
}

static long down(long n)
{
	long below = n ? down(n - 1) : 0;

	sum++;
	return below + 1;
}

static void *dive(void *arg)
{
	return (void *)down((long)arg);
}

/* A recursion of 200,000 calls. */
static int deep(void)
{
	pthread_attr_t attr;
	pthread_t t;
	void *r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 20);
	pthread_create(&t, &attr, dive, (void *)200000L);
	pthread_join(t, &r);
	add(1);
	printf("%ld %ld\n", (long)r, sum);
	return 0;
}

/* A robust mutex whose owner has died and was joined. */
static void *die(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

static int robust(void)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	pthread_t t;
	int rc;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &attr);
	pthread_create(&t, NULL, die, &m);
	pthread_join(t, NULL);
	rc = pthread_mutex_lock(&m);
	pthread_mutex_consistent(&m);
	pthread_mutex_unlock(&m);
	printf("%s\n", rc == EOWNERDEAD ? "dead" : "?");
	return 0;
}

/* Threads that cannot be created. */
static int refused(void)
{
	pthread_attr_t attr;
	pthread_t t;
	int failed = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 46);
	for (int i = 0; i < 10000; i++)
		failed += pthread_create(&t, &attr, adder, NULL) != 0;
	run(2, 100);
	printf("%d %ld\n", failed, sum);
	return 0;
}

/*
 * Threads that are cancelled at any moment: in functions that access shared memory, in a loop with
 * nothing but an access, in a loop without instrumented code, and as soon as they allow it.
 */
enum { WAYS = 4 };
static volatile int shared[1000];
static volatile int spinning, ready, allowed;
static int undone;

__attribute__((noinline)) static void step(int i)
{
	shared[i % 1000]++;
}

static void undo(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&undone, 1, __ATOMIC_RELAXED);
}

static void go_on(long way)
{
	for (int i = 0; way == 0; i++)
		step(i);
	while (way == 1)
		spinning++;
	while (way == 2)
		__asm__ volatile("" ::: "memory");
	while (!allowed)
		step(1);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static void *cancelled(void *way)
{
	int before = -1, now = -1;

	if ((long)way == 3)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &now);
	pthread_cleanup_push(undo, NULL);
	if (before == PTHREAD_CANCEL_DEFERRED && now == PTHREAD_CANCEL_ASYNCHRONOUS)
		__atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
	go_on((long)way);
	pthread_cleanup_pop(0);
	return NULL;
}

static int cancel(void)
{
	long ended[WAYS] = {0};

	for (int i = 0; i < 200; i++) {
		long way = i % WAYS;
		pthread_t t[2];
		void *r;

		ready = allowed = 0;
		for (int k = 0; k < 2; k++)
			pthread_create(&t[k], NULL, cancelled, (void *)way);
		while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < 2)
			usleep(10);
		usleep(i);
		for (int k = 0; k < 2; k++)
			pthread_cancel(t[k]);
		allowed = 1;
		for (int k = 0; k < 2; k++) {
			pthread_join(t[k], &r);
			ended[way] += r == PTHREAD_CANCELED;
		}
	}
	run(2, 100);
	printf("%ld %ld %ld %ld, %d undone, %ld\n", ended[0], ended[1], ended[2], ended[3], undone,
	       sum);
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(void);
} attacks[] = {
	{"work", work},         {"forever", forever}, {"much", much},           {"fork", do_fork},
	{"exec", do_exec},      {"spawn", spawn},     {"close-all", close_all}, {"timer", timer},
	{"jumps", timer_jumps}, {"segv", segv},       {"alive", alive},         {"many", many},
	{"deep", deep},         {"robust", robust},   {"refused", refused},     {"cancel", cancel},
};

int main(int argc, char **argv)
{
	static char path[4096];

	if (!realpath("/proc/self/exe", path))
		return 99;
	self = path;
	for (size_t i = 0; argc > 1 && i < sizeof attacks / sizeof *attacks; i++)
		if (!strcmp(argv[1], attacks[i].name))
			return attacks[i].fn();
	return 98;
}
