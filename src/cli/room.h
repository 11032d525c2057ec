/*
 * The room in which processes meet the reporter: a socket to which an instrumented program and its
 * children connect, and the connections.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_ROOM_H
#define ATOMSAN_CLI_ROOM_H

#include <poll.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "reporter/reporter.h"
#include "trace/live_format.h"

struct room {
	struct reporter *session; /* the caller's */
	int listening;
	struct reporter_process **v;
	struct pollfd *poll; /* the socket, the program's end, then a connection each */
	size_t n, cap, poll_cap;
	char token[LIVE_TOKEN + 1]; /* for the session: proof that a process belongs to this run */
};

/*
 * Listens on an abstract socket with a unique name, and makes a token. Both are added to `name`:
 * the value of the runtime's option `reporter`. Returns 0, or -1 with a sentence.
 */
int room_open(struct room *r, struct str *name, struct err *err);
/*
 * Serves what comes within so many milliseconds; -1: without limit. `program` is a descriptor that
 * shows when the program ends, or -1. Returns false if nothing happened.
 */
bool room_serve(struct room *r, int program, int timeout);
/* Did room_serve() see that the program has ended? */
bool room_program_ended(const struct room *r);
/* Ends all connections. What was found before counts. */
void room_close(struct room *r);

#endif
