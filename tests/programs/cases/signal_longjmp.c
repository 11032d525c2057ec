/*
 * A block causes a signal; a jump out of the signal's handler ends the block.
 *
 * silent prints: 1 faults, x 7
 */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "window.h"

static atomic_int x;
static sigjmp_buf out;
static volatile char *forbidden;
static int faults;

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(out, 1);
}

BLOCK void probe(void)
{
	atomic_load(&x);
	window_hold(1);
	*forbidden = 1;
}

BLOCK void store(void)
{
	atomic_store(&x, 7);
}

static void *first(void *arg)
{
	if (sigsetjmp(out, 1) == 0)
		probe();
	else
		faults++;
	store();
	return arg;
}

static void *second(void *arg)
{
	window_enter(1);
	atomic_store(&x, 2);
	window_leave(1);
	return arg;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_fault};

	forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	run_two(first, second);
	printf("%d faults, x %d\n", faults, atomic_load(&x));
}
