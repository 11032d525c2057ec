/*
 * Messages between threads of one process: requests to a server that answers, and a pipeline. The
 * totals do not depend on the order.
 */
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 2, REQUESTS = 15 };

static void need(int rc)
{
	if (rc) {
		fprintf(stderr, "%s\n", nng_strerror(rc));
		exit(1);
	}
}

static void *ask(void *arg)
{
	nng_socket s;

	need(nng_req0_open(&s));
	need(nng_dial(s, "inproc://sum", NULL, 0));
	for (int i = 0; i < REQUESTS; i++) {
		int n = i;
		size_t size = sizeof n;

		need(nng_send(s, &n, sizeof n, 0));
		need(nng_recv(s, &n, &size, 0));
	}
	need(nng_close(s));
	return arg;
}

int main(void)
{
	pthread_t t[CLIENTS];
	nng_socket s;
	int sum = 0;

	need(nng_rep0_open(&s));
	need(nng_listen(s, "inproc://sum", NULL, 0));
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&t[i], NULL, ask, NULL);
	for (int i = 0; i < CLIENTS * REQUESTS; i++) {
		int n;
		size_t size = sizeof n;

		need(nng_recv(s, &n, &size, 0));
		sum += n;
		need(nng_send(s, &sum, sizeof sum, 0));
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(t[i], NULL);
	need(nng_close(s));
	printf("%d\n", sum);
	return 0;
}
