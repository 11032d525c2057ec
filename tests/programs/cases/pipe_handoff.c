/*
 * Data that is handed over through a pipe, with a block on each side.
 *
 * silent prints: sum 5050
 */
#include <stdlib.h>
#include <unistd.h>

#include "window.h"

static int fd[2];
static int sum;

BLOCK void send(int i)
{
	int *p = malloc(sizeof *p);

	*p = i;
	if (write(fd[1], &p, sizeof p) != sizeof p)
		abort();
}

BLOCK int receive(void)
{
	int *p, v;

	if (read(fd[0], &p, sizeof p) != sizeof p)
		abort();
	v = *p;
	free(p);
	return v;
}

static void *sender(void *arg)
{
	for (int i = 1; i <= 100; i++)
		send(i);
	return arg;
}

static void *receiver(void *arg)
{
	for (int i = 1; i <= 100; i++)
		sum += receive();
	return arg;
}

int main(void)
{
	if (pipe(fd))
		return 1;
	run_two(sender, receiver);
	printf("sum %d\n", sum);
}
