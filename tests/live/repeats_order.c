/* See repeats_order.h. */
#include "repeats_order.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static int turn, arrived, dismissed;

static void wait_until(int *at, int value)
{
	int now;

	while ((now = __atomic_load_n(at, __ATOMIC_ACQUIRE)) != value)
		syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

static void set(int *at, int value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

void order_pass(int thread)
{
	set(&turn, !thread);
}

void order_wait(int thread)
{
	wait_until(&turn, thread);
}

void order_arrive(void)
{
	__atomic_add_fetch(&arrived, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &arrived, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
	wait_until(&dismissed, 1);
}

void order_await_arrivals(int n)
{
	wait_until(&arrived, n);
}

void order_dismiss(void)
{
	set(&dismissed, 1);
}
