/*
 * Fences between relaxed accesses, and between a thread and its own signal handler.
 *
 * silent prints: 42
 * silent tsan: race
 */
#include <stdatomic.h>

#include "window.h"

static int data;
static atomic_int flag;

BLOCK void publish(void)
{
	data = 42;
	atomic_signal_fence(memory_order_seq_cst);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&flag, 1, memory_order_relaxed);
}

BLOCK int consume(void)
{
	atomic_thread_fence(memory_order_acquire);
	return data;
}

static int seen;

static void *writer(void *arg)
{
	publish();
	return arg;
}

static void *reader(void *arg)
{
	while (!atomic_load_explicit(&flag, memory_order_relaxed))
		;
	seen = consume();
	return arg;
}

int main(void)
{
	run_two(writer, reader);
	printf("%d\n", seen);
}
