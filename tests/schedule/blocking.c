/*
 * blocking HOW: two or more threads that wait for each other by one kind of blocking operation.
 * Whatever the schedule, the program ends with status 0, unless it says otherwise here:
 *  deadlock: may end in a real one
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int done, fds[2];
static atomic_int ready;

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s: %s failed: %s\n", __func__, #x, strerror(errno));     \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Runs `other` in another thread beside `mine`. */
static void beside(void *(*other)(void *), void (*mine)(void))
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, other, NULL));
	mine();
	CHECK(!pthread_join(t, NULL));
}

#define ROW(name)                                                                                  \
	static void *name##_other(void *arg);                                                      \
	static void name##_mine(void);                                                             \
	static void name(void)                                                                     \
	{                                                                                          \
		beside(name##_other, name##_mine);                                                 \
	}
#define OTHER(name) static void *name##_other(void *arg)
#define MINE(name)  static void name##_mine(void)

/* --- locks --- */

static void add_ten(pthread_mutex_t *lock)
{
	for (int i = 0; i < 10; i++) {
		CHECK(!pthread_mutex_lock(lock));
		done++;
		CHECK(!pthread_mutex_unlock(lock));
	}
}

static pthread_mutex_t special;

static void *special_other(void *arg)
{
	add_ten(&special);
	return arg;
}

static void special_mine(void)
{
	add_ten(&special);
}

static void with_attributes(int type, int protocol, int robust, int shared)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	CHECK(!pthread_mutexattr_settype(&a, type));
	CHECK(!pthread_mutexattr_setprotocol(&a, protocol));
	CHECK(!pthread_mutexattr_setrobust(&a, robust));
	CHECK(!pthread_mutexattr_setpshared(&a, shared));
	CHECK(!pthread_mutex_init(&special, &a));
	beside(special_other, special_mine);
	CHECK(done == 20);
}

static void mutex(void)
{
	with_attributes(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
}

static void inheriting(void)
{
	with_attributes(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 0);
}

static void shared_mutex(void)
{
	with_attributes(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED,
			PTHREAD_PROCESS_SHARED);
}

static void recursive(void)
{
	with_attributes(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
	CHECK(!pthread_mutex_lock(&special) && !pthread_mutex_lock(&special));
	CHECK(!pthread_mutex_unlock(&special) && !pthread_mutex_unlock(&special));
}

static void errorcheck(void)
{
	with_attributes(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
	CHECK(!pthread_mutex_lock(&special));
	CHECK(pthread_mutex_lock(&special) == EDEADLK);
	CHECK(!pthread_mutex_unlock(&special));
	CHECK(pthread_mutex_unlock(&special) == EPERM);
}

/* The owner dies with the lock held. */
static void *robust_other(void *arg)
{
	CHECK(!pthread_mutex_lock(&special));
	ready = 1;
	return arg;
}

static void robust_mine(void)
{
	while (!ready)
		;
	CHECK(pthread_mutex_lock(&special) == EOWNERDEAD);
	CHECK(!pthread_mutex_consistent(&special));
	CHECK(!pthread_mutex_unlock(&special));
}

static void robust(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	CHECK(!pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK(!pthread_mutex_init(&special, &a));
	beside(robust_other, robust_mine);
}

ROW(trylock)
OTHER(trylock)
{
	CHECK(!pthread_mutex_lock(&m));
	ready = 1;
	while (ready != 2)
		sched_yield();
	CHECK(!pthread_mutex_unlock(&m));
	return arg;
}
MINE(trylock)
{
	while (!ready)
		sched_yield();
	CHECK(pthread_mutex_trylock(&m) == EBUSY);
	ready = 2;
	while (pthread_mutex_trylock(&m))
		;
	CHECK(!pthread_mutex_unlock(&m));
}

ROW(timedlock)
OTHER(timedlock)
{
	CHECK(!pthread_mutex_lock(&m));
	ready = 1;
	while (ready != 2)
		sched_yield();
	CHECK(!pthread_mutex_unlock(&m));
	return arg;
}
MINE(timedlock)
{
	struct timespec until;

	while (!ready)
		sched_yield();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	CHECK(pthread_mutex_timedlock(&m, &until) == ETIMEDOUT);
	ready = 2;
}

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
ROW(rwlock)
OTHER(rwlock)
{
	for (int i = 0; i < 5; i++) {
		CHECK(!pthread_rwlock_rdlock(&rw));
		CHECK(done % 2 == 0);
		CHECK(!pthread_rwlock_unlock(&rw));
	}
	return arg;
}
MINE(rwlock)
{
	for (int i = 0; i < 5; i++) {
		CHECK(!pthread_rwlock_wrlock(&rw));
		done++;
		done++;
		CHECK(!pthread_rwlock_unlock(&rw));
	}
}

static pthread_spinlock_t spin;
ROW(spinlock)
OTHER(spinlock)
{
	for (int i = 0; i < 5; i++) {
		CHECK(!pthread_spin_lock(&spin));
		done++;
		CHECK(!pthread_spin_unlock(&spin));
	}
	return arg;
}
MINE(spinlock)
{
	spinlock_other(NULL);
}

static mtx_t c11;
ROW(c11_mutex)
OTHER(c11_mutex)
{
	for (int i = 0; i < 5; i++) {
		CHECK(mtx_lock(&c11) == thrd_success);
		done++;
		CHECK(mtx_unlock(&c11) == thrd_success);
	}
	return arg;
}
MINE(c11_mutex)
{
	c11_mutex_other(NULL);
}

/* --- conditions, semaphores, barriers, once --- */

ROW(condition)
OTHER(condition)
{
	pthread_mutex_lock(&m);
	done = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
	return arg;
}
MINE(condition)
{
	pthread_mutex_lock(&m);
	while (!done)
		CHECK(!pthread_cond_wait(&c, &m));
	pthread_mutex_unlock(&m);
}

/* No thread signals: the time limit ends it. */
ROW(condition_time)
OTHER(condition_time)
{
	return arg;
}
MINE(condition_time)
{
	struct timespec until;
	int rc;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 3600;
	pthread_mutex_lock(&m);
	do
		rc = pthread_cond_timedwait(&c, &m, &until);
	while (!rc);
	CHECK(rc == ETIMEDOUT);
	pthread_mutex_unlock(&m);
}

static sem_t sem;
ROW(semaphore)
OTHER(semaphore)
{
	for (int i = 0; i < 5; i++)
		CHECK(!sem_post(&sem));
	return arg;
}
MINE(semaphore)
{
	for (int i = 0; i < 5; i++)
		CHECK(!sem_wait(&sem));
}

static pthread_barrier_t barrier;
ROW(barrier_row)
OTHER(barrier_row)
{
	for (int i = 0; i < 5; i++)
		pthread_barrier_wait(&barrier);
	return arg;
}
MINE(barrier_row)
{
	barrier_row_other(NULL);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void initialise(void)
{
	add_ten(&m);
}
ROW(once_row)
OTHER(once_row)
{
	pthread_once(&once, initialise);
	CHECK(done == 10);
	return arg;
}
MINE(once_row)
{
	once_row_other(NULL);
}

/* --- spinning --- */

ROW(spin_atomic)
OTHER(spin_atomic)
{
	ready = 1;
	return arg;
}
MINE(spin_atomic)
{
	while (!ready)
		;
}

static volatile int flag;
ROW(spin_volatile)
OTHER(spin_volatile)
{
	flag = 1;
	return arg;
}
MINE(spin_volatile)
{
	while (!flag)
		;
}

ROW(spin_assembler)
OTHER(spin_assembler)
{
	flag = 1;
	return arg;
}
MINE(spin_assembler)
{
	__asm__ volatile("1: pause; cmpl $0, %0; je 1b" : : "m"(flag) : "cc", "memory");
}

ROW(spin_time)
OTHER(spin_time)
{
	return arg;
}
MINE(spin_time)
{
	struct timespec since, now;

	clock_gettime(CLOCK_MONOTONIC, &since);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec - since.tv_sec < 1);
}

ROW(sleeping)
OTHER(sleeping)
{
	struct timespec hour = {3600, 0};

	nanosleep(&hour, NULL);
	ready = 1;
	return arg;
}
MINE(sleeping)
{
	while (!ready)
		sleep(600);
}

/* --- files --- */

ROW(pipe_row)
OTHER(pipe_row)
{
	CHECK(write(fds[1], "x", 1) == 1);
	return arg;
}
MINE(pipe_row)
{
	char x;

	CHECK(read(fds[0], &x, 1) == 1);
}

static void socket_pair(void)
{
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	beside(pipe_row_other, pipe_row_mine);
}

ROW(stdio)
OTHER(stdio)
{
	CHECK(write(fds[1], "x\n", 2) == 2);
	return arg;
}
MINE(stdio)
{
	FILE *in = fdopen(fds[0], "r");

	CHECK(in && fgetc(in) == 'x');
}

ROW(polling)
OTHER(polling)
{
	CHECK(write(fds[1], "x", 1) == 1);
	return arg;
}
MINE(polling)
{
	struct pollfd p = {.fd = fds[0], .events = POLLIN};

	CHECK(poll(&p, 1, -1) == 1);
	CHECK(poll(&p, 1, 1000) == 1);
	p.fd = fds[1];
	CHECK(poll(&p, 1, 3600000) == 0 || p.revents != POLLIN);
}

static int event_fd;
ROW(event)
OTHER(event)
{
	uint64_t one = 1;

	CHECK(write(event_fd, &one, 8) == 8);
	return arg;
}
MINE(event)
{
	uint64_t got;

	CHECK(read(event_fd, &got, 8) == 8 && got == 1);
}

ROW(locked_file)
OTHER(locked_file)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	CHECK(fd >= 0 && !flock(fd, LOCK_EX));
	done++;
	CHECK(!flock(fd, LOCK_UN));
	return arg;
}
MINE(locked_file)
{
	locked_file_other(NULL);
}

static int sysv;
ROW(sysv_semaphore)
OTHER(sysv_semaphore)
{
	struct sembuf up = {0, 1, 0};

	CHECK(!semop(sysv, &up, 1));
	return arg;
}
MINE(sysv_semaphore)
{
	struct sembuf down = {0, -1, 0};

	CHECK(!semop(sysv, &down, 1));
}

/* --- processes and signals --- */

ROW(child)
OTHER(child)
{
	return arg;
}
MINE(child)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		usleep(10000);
		_exit(7);
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
}

ROW(shell)
OTHER(shell)
{
	add_ten(&m);
	return arg;
}
MINE(shell)
{
	CHECK(!system("exit 0"));
}

static pthread_t main_thread;
ROW(signal_wait)
OTHER(signal_wait)
{
	CHECK(!pthread_kill(main_thread, SIGUSR1));
	return arg;
}
MINE(signal_wait)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!sigwait(&set, &got) && got == SIGUSR1);
}

static void on_signal(int number)
{
	(void)number;
	sem_post(&sem);
}
ROW(timer)
OTHER(timer)
{
	return arg;
}
MINE(timer)
{
	struct itimerval soon = {.it_value = {0, 20000}};

	signal(SIGALRM, on_signal);
	CHECK(!setitimer(ITIMER_REAL, &soon, NULL));
	while (sem_wait(&sem))
		CHECK(errno == EINTR);
}

static uint32_t word;
ROW(futex)
OTHER(futex)
{
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0);
	return arg;
}
MINE(futex)
{
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

/* --- threads --- */

static void *wait_forever(void *arg)
{
	pthread_mutex_lock(&m);
	ready = 1;
	pthread_cleanup_push((void (*)(void *))pthread_mutex_unlock, &m);
	for (;;)
		pthread_cond_wait(&c, &m);
	pthread_cleanup_pop(1);
	return arg;
}

static void cancelled(void)
{
	pthread_t t;
	void *result;

	CHECK(!pthread_create(&t, NULL, wait_forever, NULL));
	while (!ready)
		sched_yield();
	CHECK(!pthread_cancel(t));
	CHECK(!pthread_join(t, &result) && result == PTHREAD_CANCELED);
	CHECK(!pthread_mutex_trylock(&m));
}

static pthread_key_t key;
static void end_key(void *arg)
{
	(void)arg;
	add_ten(&m);
}
ROW(destructor)
OTHER(destructor)
{
	pthread_setspecific(key, &key);
	return arg;
}
MINE(destructor)
{
	add_ten(&m);
}

static int compare(const void *a, const void *b)
{
	add_ten(&m);
	return *(const int *)a - *(const int *)b;
}
ROW(callback)
OTHER(callback)
{
	add_ten(&m);
	return arg;
}
MINE(callback)
{
	int v[4] = {3, 1, 2, 0};

	qsort(v, 4, sizeof *v, compare);
	CHECK(v[0] == 0 && v[3] == 3);
}

static void *add_one(void *arg)
{
	pthread_mutex_lock(&m);
	done++;
	pthread_mutex_unlock(&m);
	return arg;
}
static void thousand(void)
{
	static pthread_t t[1000];
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	for (int i = 0; i < 1000; i++)
		CHECK(!pthread_create(&t[i], &a, add_one, NULL));
	for (int i = 0; i < 1000; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(done == 1000);
}

static void detached(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, spin_atomic_other, NULL));
	CHECK(!pthread_detach(t));
	while (!ready)
		;
}

static void main_leaves(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, add_one, NULL));
	pthread_detach(t);
	pthread_exit(NULL);
}

ROW(forking)
OTHER(forking)
{
	add_ten(&m);
	return arg;
}
MINE(forking)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			beside(condition_other, condition_mine);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && !status);
	}
}

/* The second thread takes the locks in the other order. */
ROW(deadlock)
OTHER(deadlock)
{
	pthread_mutex_lock(&m2);
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	pthread_mutex_unlock(&m2);
	return arg;
}
MINE(deadlock)
{
	pthread_mutex_lock(&m);
	pthread_mutex_lock(&m2);
	pthread_mutex_unlock(&m2);
	pthread_mutex_unlock(&m);
}

static const struct row {
	const char *name;
	void (*run)(void);
} rows[] = {
	{"mutex", mutex},
	{"inheriting", inheriting},
	{"shared_mutex", shared_mutex},
	{"recursive", recursive},
	{"errorcheck", errorcheck},
	{"robust", robust},
	{"trylock", trylock},
	{"timedlock", timedlock},
	{"rwlock", rwlock},
	{"spinlock", spinlock},
	{"c11_mutex", c11_mutex},
	{"condition", condition},
	{"condition_time", condition_time},
	{"semaphore", semaphore},
	{"barrier", barrier_row},
	{"once", once_row},
	{"spin_atomic", spin_atomic},
	{"spin_volatile", spin_volatile},
	{"spin_assembler", spin_assembler},
	{"spin_time", spin_time},
	{"sleeping", sleeping},
	{"pipe", pipe_row},
	{"socket_pair", socket_pair},
	{"stdio", stdio},
	{"polling", polling},
	{"event", event},
	{"locked_file", locked_file},
	{"sysv_semaphore", sysv_semaphore},
	{"child", child},
	{"shell", shell},
	{"signal_wait", signal_wait},
	{"timer", timer},
	{"futex", futex},
	{"cancelled", cancelled},
	{"destructor", destructor},
	{"callback", callback},
	{"thousand", thousand},
	{"detached", detached},
	{"main_leaves", main_leaves},
	{"forking", forking},
	{"deadlock", deadlock},
};

int main(int argc, char **argv)
{
	sigset_t set;

	if (argc < 2) {
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			puts(rows[i].name);
		return 0;
	}
	main_thread = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_spin_init(&spin, 0);
	mtx_init(&c11, mtx_plain);
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_key_create(&key, end_key);
	CHECK(!pipe(fds));
	event_fd = eventfd(0, 0);
	sysv = semget(IPC_PRIVATE, 1, 0600);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(argv[1], rows[i].name)) {
			rows[i].run();
			semctl(sysv, 0, IPC_RMID);
			return 0;
		}
	fprintf(stderr, "no row %s\n", argv[1]);
	return 2;
}
