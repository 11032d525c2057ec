/*
 * soak SECONDS: a program that does for a long time what others do for a short time: millions of
 * blocks under locks, threads that come and go, memory that comes and goes, conditions, atomics,
 * read-write locks, and now and then a block that is cut. The check must not grow: every so often a
 * line has the seconds, the blocks so far and the resident memory in KiB; the exit status is 1 if
 * the least memory in the second half of the time is a tenth more than in the first half. (The
 * peak is what a report needs while it is made.)
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, ACCOUNTS = 4096, TABLE = 1024, SAMPLES = 20, QUEUE = 64 };

static volatile int stop;
static long blocks; /* begun so far, by the threads that have counted theirs */

/* --- accounts, each with its lock --- */

static struct account {
	pthread_mutex_t lock;
	long balance;
} account[ACCOUNTS];

static __attribute__((noinline)) void transfer(unsigned int from, unsigned int to, long amount)
{
	if (from == to)
		return;
	pthread_mutex_lock(&account[from < to ? from : to].lock);
	pthread_mutex_lock(&account[from < to ? to : from].lock);
	account[from].balance -= amount;
	account[to].balance += amount;
	pthread_mutex_unlock(&account[from].lock);
	pthread_mutex_unlock(&account[to].lock);
}

static __attribute__((noinline)) long balance(unsigned int of)
{
	pthread_mutex_lock(&account[of].lock);
	long b = account[of].balance;
	pthread_mutex_unlock(&account[of].lock);
	return b;
}

/* Not atomic, and sometimes cut. */
static __attribute__((noinline)) void interest(unsigned int of)
{
	long b = balance(of);

	sched_yield();
	pthread_mutex_lock(&account[of].lock);
	account[of].balance = b + b / 100;
	pthread_mutex_unlock(&account[of].lock);
}

/* --- a table of allocated entries, under a read-write lock --- */

static struct entry {
	struct entry *next;
	unsigned int key;
	char text[40];
} * table[TABLE];
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static __attribute__((noinline)) void put(unsigned int key)
{
	struct entry *e = malloc(sizeof *e + key % 200);

	e->key = key;
	snprintf(e->text, sizeof e->text, "%u", key);
	pthread_rwlock_wrlock(&table_lock);
	e->next = table[key % TABLE];
	table[key % TABLE] = e;
	pthread_rwlock_unlock(&table_lock);
}

static __attribute__((noinline)) void drop(unsigned int key)
{
	struct entry *e;

	pthread_rwlock_wrlock(&table_lock);
	e = table[key % TABLE];
	table[key % TABLE] = NULL;
	pthread_rwlock_unlock(&table_lock);
	while (e) {
		struct entry *next = e->next;

		free(e);
		e = next;
	}
}

static __attribute__((noinline)) int has(unsigned int key)
{
	int found = 0;

	pthread_rwlock_rdlock(&table_lock);
	for (struct entry *e = table[key % TABLE]; e && !found; e = e->next)
		found = e->key == key;
	pthread_rwlock_unlock(&table_lock);
	return found;
}

/* --- a queue --- */

static int queue[QUEUE], queued, head;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

static void send(int v)
{
	pthread_mutex_lock(&queue_lock);
	while (queued == QUEUE && !stop)
		pthread_cond_wait(&queue_changed, &queue_lock);
	if (queued < QUEUE)
		queue[(head + queued++) % QUEUE] = v;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
}

static int receive(void)
{
	int v = -1;

	pthread_mutex_lock(&queue_lock);
	while (!queued && !stop)
		pthread_cond_wait(&queue_changed, &queue_lock);
	if (queued) {
		v = queue[head];
		head = (head + 1) % QUEUE;
		queued--;
	}
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
	return v;
}

static void *sender(void *arg)
{
	for (int i = 0; !stop; i++)
		send(i);
	return arg;
}

static void *receiver(void *arg)
{
	while (!stop)
		receive();
	return arg;
}

/* --- small objects that many threads read and write, byte by byte --- */

static struct {
	char byte[8];
	long word;
} shared[256];

static __attribute__((noinline)) long touch(unsigned int i)
{
	shared[i & 255].byte[i >> 8 & 7]++;
	return __atomic_add_fetch(&shared[i & 255].word, 1, __ATOMIC_RELAXED);
}

static __attribute__((noinline)) long look(unsigned int i)
{
	long s = 0;

	for (unsigned int k = 0; k < 8; k++)
		s += shared[(i + k) & 255].byte[k];
	return s;
}

/* --- threads --- */

static void *worker(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;

	while (!stop) {
		for (int i = 0; i < 1000; i++) {
			unsigned int r = (unsigned int)rand_r(&seed);

			transfer(r % ACCOUNTS, r / 7 % ACCOUNTS, 1);
			balance(r / 3 % ACCOUNTS);
			touch(r);
			look(r);
			if (i % 8 == 0)
				put(r % 50000);
			if (i % 8 == 4)
				drop(r % 50000);
			has(r % 50000);
		}
		interest(seed % 64);
		__atomic_fetch_add(&blocks, 6250, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *short_lived(void *arg)
{
	static __thread char own[10000];
	unsigned int seed = (unsigned int)(size_t)arg;

	memset(own, 1, sizeof own);
	for (int i = 0; i < 20; i++)
		transfer((seed + (unsigned int)i * 77) % ACCOUNTS, seed * 13 % ACCOUNTS, own[i]);
	interest(seed % 64);
	return NULL;
}

static void *spawner(void *arg)
{
	for (size_t n = 0; !stop; n++) {
		pthread_t t[3];
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, short_lived, (void *)(n * 3 + (size_t)i));
		for (int i = 0; i < 1 << 20; i += 4096)
			p[i] = 1;
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		munmap(p, 1 << 20);
	}
	return arg;
}

static long resident(void)
{
	char text[100] = "";
	long pages = 0, skip;
	int fd = open("/proc/self/statm", O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		sscanf(text, "%ld %ld", &skip, &pages);
	close(fd);
	return pages * 4;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 20;
	long least[2] = {0, 0};
	pthread_t t[WORKERS + 3];

	for (int i = 0; i < ACCOUNTS; i++) {
		pthread_mutex_init(&account[i].lock, NULL);
		account[i].balance = 1000;
	}
	for (size_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	pthread_create(&t[WORKERS], NULL, sender, NULL);
	pthread_create(&t[WORKERS + 1], NULL, receiver, NULL);
	pthread_create(&t[WORKERS + 2], NULL, spawner, NULL);
	for (int i = 1; i <= SAMPLES; i++) {
		long now;

		usleep((useconds_t)(seconds / SAMPLES * 1e6));
		now = resident();
		/* The first quarter is for warming up. */
		if (i > SAMPLES / 4) {
			long *half = &least[i > SAMPLES * 5 / 8];

			*half = !*half || now < *half ? now : *half;
		}
		printf("%.1f s, %ld blocks, %ld KiB\n", i * seconds / SAMPLES,
		       __atomic_load_n(&blocks, __ATOMIC_RELAXED), now);
		fflush(stdout);
	}
	stop = 1;
	pthread_mutex_lock(&queue_lock);
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
	for (int i = 0; i < WORKERS + 3; i++)
		pthread_join(t[i], NULL);
	printf("least: %ld KiB, then %ld KiB\n", least[0], least[1]);
	return least[1] > least[0] + least[0] / 10;
}
