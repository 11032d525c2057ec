/*
 * Every construct of OpenMP that AtomSan knows, used correctly: nothing may be found, in any mode.
 * Each result depends on mutual exclusion, so a broken runtime would show.
 */
#include <omp.h>
#include <stdio.h>

enum { THREADS = 3, ROUNDS = 60 };
static int balance, deposits, audits, updates, sequence[ROUNDS], filled, made, done, lists[4];
static int private_count, copied;
#pragma omp threadprivate(private_count)
static omp_lock_t lock;
static omp_nest_lock_t nest;

/* Two accesses each: not atomic without the construct. */
static void deposit(int n)
{
#pragma omp critical
	{
		balance += n;
		deposits++;
	}
}

static void audit(void)
{
#pragma omp critical(audit)
	audits = audits + 1;
}

static void update(void)
{
#pragma omp atomic
	updates++;
}

static void append(int i)
{
	omp_set_lock(&lock);
	lists[0]++;
	lists[1] += i;
	omp_unset_lock(&lock);
}

static void append_twice(int i)
{
	omp_set_nest_lock(&nest);
	lists[2] += i;
	omp_set_nest_lock(&nest);
	lists[3]++;
	omp_unset_nest_lock(&nest);
	omp_unset_nest_lock(&nest);
}

static int fib(int n)
{
	int a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a)
	a = fib(n - 1);
#pragma omp task shared(b)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

static void fill(int i)
{
	sequence[filled++] = i;
}

int main(void)
{
	int sum = 0, big = 0, result = 0, value = 0, last = 0;

	omp_set_dynamic(0);
	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel for num_threads(THREADS)
	for (int i = 0; i < ROUNDS; i++) {
		deposit(i);
		audit();
		update();
		append(i);
		append_twice(i);
		if (omp_test_lock(&lock)) {
			lists[1]++;
			lists[1]--;
			omp_unset_lock(&lock);
		}
	}
	/* The program alone: no lock is needed. */
	balance++;
	deposits++;
	lists[0]--;
#pragma omp parallel num_threads(THREADS) firstprivate(value)
	{
		deposit(1);
#pragma omp for schedule(dynamic, 4) reduction(+ : sum) reduction(max : big)
		for (int i = 0; i < ROUNDS; i++) {
			sum += i;
			big = i > big ? i : big;
		}
#pragma omp for ordered schedule(static, 1)
		for (int i = 0; i < ROUNDS; i++) {
#pragma omp ordered
			fill(i);
		}
#pragma omp single
		{
			made = balance;
			done = deposits;
		}
		private_count += made;
#pragma omp barrier
#pragma omp master
		{
			made++;
			made--;
		}
#pragma omp barrier
#pragma omp single copyprivate(value)
		value = 5;
#pragma omp atomic
		copied += value;
#pragma omp sections
		{
#pragma omp section
			last += 1;
#pragma omp section
			done += 1;
		}
#pragma omp single
		result = fib(7);
#pragma omp single
		{
#pragma omp taskgroup
			{
				for (int i = 0; i < 8; i++)
#pragma omp task firstprivate(i)
					deposit(i);
			}
			balance++;
		}
#pragma omp single
#pragma omp taskloop
		for (int i = 0; i < 16; i++)
			audit();
	}
#pragma omp parallel sections num_threads(2)
	{
#pragma omp section
		deposit(1);
#pragma omp section
		deposit(2);
	}
#pragma omp parallel for num_threads(2) schedule(guided)
	for (int i = 0; i < 8; i++) {
#pragma omp parallel num_threads(2) if (i == 3)
		update();
	}
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest);
	printf("%d %d %d %d\n", balance, deposits, audits, updates);
	printf("%d %d %d %d\n", lists[0], lists[1], lists[2], lists[3]);
	printf("%d %d %d %d %d %d %d\n", sum, big, result, copied, last, done, filled);
	for (int i = 0; i < ROUNDS; i++)
		if (sequence[i] != i)
			printf("sequence[%d] is %d\n", i, sequence[i]);
	return 0;
}
