/*
 * The connection to the reporter (trace/live_format.h). It is made when there
 * is something to say or to ask: to the socket that the option `reporter`
 * names, or to a reporter that is started here. Where there is none, findings
 * are told in one line each, with addresses.
 *
 * One message at a time; nothing here is called with a lock of the check held.
 * A reporter that dies is not waited for.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_LINK_REPORTER_LINK_H
#define ATOMSAN_RUNTIME_LINK_REPORTER_LINK_H

#include "runtime/os/os.h"
#include "trace/live_format.h"

struct link_part {
	const void *data;
	size_t bytes;
};

/*
 * Say something, made of parts. With `answer`, wait for a message of the type
 * that belongs to it. False: there is nobody.
 */
bool link_send(enum live_type type, const struct link_part *parts, size_t n, void *answer,
	       size_t answer_bytes);

/* Is this function a block: a set of blocks.h's answers; the standard one where nobody knows. */
uint32_t link_ask_function(uintptr_t function, uintptr_t call, char kind, bool start,
			   bool *hands_on_here);
/* The same of a block that is marked with the label of this number. */
uint32_t link_ask_label(uint32_t number, const char *text, size_t n, uintptr_t call);

/* Does somebody else have a specification, though no option of ours says so? */
bool link_has_rules(void);

/* Is there a connection? Nothing is made. */
bool link_is_up(void);
/* Was there one, and its other end has gone? */
bool link_is_gone(void);
/* Has the program closed one? What was said there is not known to the next. */
bool link_was_lost(void);

/* A module was loaded: told now, or when the connection is made. */
void link_module(uint64_t bias, const char *text, size_t n);

void link_child(void);

#endif
