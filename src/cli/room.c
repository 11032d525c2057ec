#include "cli/room.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

#include "base/banned.h"

enum {
	BACKLOG = 64,
	CONNECTIONS_MAX = 512, /* with them, no process of another user is let in */
};

/* Makes a token of random digits. */
static void make_token(char token[LIVE_TOKEN + 1])
{
	uint8_t random[LIVE_TOKEN / 2];

	token[0] = 0; /* without random numbers there is no token, and none is accepted */
	if (getrandom(random, sizeof random, 0) != sizeof random)
		return;
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
}

int room_open(struct room *r, struct str *name, struct err *err)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint64_t random = 0;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = (uint64_t)(uintptr_t)name;
	str_fmt(name, "@atomsan-%d-%016llx", (int)getpid(), (unsigned long long)random);
	memcpy(a.sun_path + 1, name->s + 1, name->n - 1); /* the @ is a NUL there */
	if (fd >= 0 &&
	    !bind(fd, (struct sockaddr *)&a,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + name->n)) &&
	    !listen(fd, BACKLOG)) {
		make_token(r->token);
		str_fmt(name, "#%s", r->token);
		r->listening = fd;
		return 0;
	}
	err_sys(err, "cannot make a socket for the program");
	if (fd >= 0)
		close(fd);
	r->listening = -1;
	return -1;
}

enum { LISTENING, PROGRAM, CONNECTIONS };

static void let_in(struct room *r)
{
	int fd = accept4(r->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred who = {0};
	socklen_t size = sizeof who;

	bool ours;

	if (fd < 0)
		return;
	/*
	 * Other users can see the name of the socket, and the program may have become another user.
	 * So a process of another user is distrusted until it has shown the token; since it may
	 * never do that, only a few of them are let in.
	 */
	ours = !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) && who.uid == getuid();
	if (!ours && r->n >= CONNECTIONS_MAX) {
		close(fd);
		return;
	}
	MEM_GROW(r->v, r->cap, r->n + 1);
	r->v[r->n] = reporter_connect(r->session, fd, who.pid);
	if (!ours)
		reporter_distrust(r->v[r->n]);
	r->n++;
}

bool room_serve(struct room *r, int program, int timeout)
{
	size_t n = CONNECTIONS, served = r->n, kept = 0;
	bool holds = false;
	int ready;

	MEM_GROW(r->poll, r->poll_cap, CONNECTIONS + r->n);
	r->poll[LISTENING] = (struct pollfd){.fd = r->listening, .events = POLLIN};
	r->poll[PROGRAM] = (struct pollfd){.fd = program, .events = POLLIN};
	for (size_t i = 0; i < r->n; i++) {
		r->poll[n++] =
			(struct pollfd){.fd = reporter_descriptor(r->v[i]), .events = POLLIN};
		holds |= reporter_holds_text(r->v[i]);
	}
	ready = poll(r->poll, n, holds ? REPORTER_HOLD_MS : timeout);
	for (size_t i = 0; i < r->n && holds && !ready; i++)
		reporter_print_held(r->v[i]);
	if (ready <= 0)
		return ready ? errno == EINTR : holds;
	if (r->poll[LISTENING].revents)
		let_in(r);
	for (size_t i = 0; i < served; i++) {
		if (r->poll[CONNECTIONS + i].revents && !reporter_serve(r->v[i]))
			reporter_disconnect(r->v[i]);
		else
			r->v[kept++] = r->v[i];
	}
	/* The connections that were accepted just now. */
	while (served < r->n)
		r->v[kept++] = r->v[served++];
	r->n = kept;
	return true;
}

bool room_program_ended(const struct room *r)
{
	return r->poll && r->poll[PROGRAM].revents;
}

void room_close(struct room *r)
{
	while (r->n)
		reporter_disconnect(r->v[--r->n]);
	mem_free(r->v);
	mem_free(r->poll);
	if (r->listening >= 0)
		close(r->listening);
	*r = (struct room){.session = r->session, .listening = -1};
}
