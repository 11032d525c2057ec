/*
 * The connection to the reporter (trace/live_format.h). It is made when the first
 * message is sent: to the socket that the option `reporter` names, or else to a
 * reporter process that is started here. Without a reporter, each finding is
 * printed as one line with addresses (report/).
 *
 * One message is sent at a time. The caller holds no lock of the runtime. If the
 * reporter dies or is stopped (socket.h), no call waits for it from then on, and no other reporter
 * is started.
 *
 * Included by: link/, blocks/, report/, checker/, record/, start.c.
 */
#ifndef ATOMSAN_RUNTIME_LINK_REPORTER_LINK_H
#define ATOMSAN_RUNTIME_LINK_REPORTER_LINK_H

#include "runtime/os/os.h"
#include "trace/live_format.h"

/* A piece of a message. */
struct link_part {
	const void *data;
	size_t bytes;
};

/*
 * Send a message that consists of `n` parts; connect first if necessary. If `answer` is not NULL,
 * wait for the answer and store it there. Returns false if there is no reporter, or if it has gone.
 */
bool link_send(enum live_type type, const struct link_part *parts, size_t n, void *answer,
	       size_t answer_bytes);

/*
 * Send a message without a body, together with an open file. Returns false if there is no reporter,
 * or if the descriptor is not open.
 */
bool link_send_file(enum live_type type, int descriptor);

/*
 * Is this function a block? `call`: where it was called; `kind`: enum block_kind; `start`: it was
 * called as a start function. Returns flags of trace/block_policy.h; without a reporter, the
 * default. If `hands_on_here` is not NULL, *hands_on_here becomes true if the call is the one by
 * which a start function of the C++ library hands on to the program's.
 */
uint32_t link_ask_function(uintptr_t function, uintptr_t call, char kind, bool start,
			   bool *hands_on_here);
/* The same for a block that is marked, at `call`, with this label; `n`: the length of its text. */
uint32_t link_ask_label(uint32_t number, const char *text, size_t n, uintptr_t call);

/*
 * Which functions does no rule say anything about? Returns an array of *n entries, in the order of
 * addresses, which is never freed; NULL if there is none.
 */
const struct live_unruled *link_ask_unruled(size_t *n);

/* Does the reporter have a specification, even if the option `spec` is empty? */
bool link_has_rules(void);

/*
 * At the start of the program: if a supervisor has started it, connect, because the program may
 * give up its rights, or use up its descriptors, before it has something to say.
 */
void link_begin(void);
/* At the end: if the check is incomplete, make sure that the supervisor knows. */
void link_end(void);

/* Is there a connection now? Does not make one. */
bool link_is_up(void);
/* Did the reporter end or stop before the program did? */
bool link_was_cut(void);
/* Returns why there is no connection, in a few words. */
const char *link_why_none(void);
/* Has the program closed a connection? A new reporter does not know what the old one was sent. */
bool link_was_lost(void);

/* A module was loaded: send it if there is a connection. A new connection sends all modules. */
void link_module(uint64_t bias, const char *text, size_t n);

/* In a forked child: close the parent's connection; the child makes its own. */
void link_child(void);

#endif
