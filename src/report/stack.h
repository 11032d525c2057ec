/*
 * Stacks of recorded runs, for people.
 *
 *	    #0 deposit bank.c:14:17 (bank+0x1234)
 *	       14 | account->balance = b + amount;
 *	          |                  ^
 *	    #1 worker bank.c:33:5 (bank+0x1300)
 *
 * What lies below main(), or is the standard library's way from a new thread
 * to the function that it is to run, is left out unless -v asks for all. Files
 * below the current directory are named from there.
 *
 * Who may include this: report writers.
 */
#ifndef ATOMSAN_REPORT_STACK_H
#define ATOMSAN_REPORT_STACK_H

#include <stddef.h>
#include <stdio.h>

#include "base/str.h"
#include "engine/finding.h"
#include "report/report.h"

/*
 * The innermost frame in the program's own source: not in a header of the
 * system, such as the inside of std::atomic. NULL where no frame has a line.
 */
const struct finding_frame *stack_own_frame(const struct finding_stack *stack);
/*
 * Where a step is: its stack's own frame. An operation on a lock is where somebody wanted it, and
 * not in the program's own "Mutex::Lock()" or "sched_unlock()".
 */
const struct finding_frame *stack_step_frame(const struct finding_step *s);

/* "bank.c:14:17", not made safe yet. With the file's folders, or without. */
void stack_add_line(struct str *b, const struct finding_frame *frame, bool folders);

/* How many frames are to be shown. */
size_t stack_depth(const struct report *rep, const struct finding_stack *stack);

/* How many frames at the end of what is to be shown are the same. */
size_t stack_shared(const struct report *rep, const struct finding_stack *a,
		    const struct finding_stack *b);

/* The first n frames; with the source's line below one of them, or NULL. */
void stack_write(const struct report *rep, const struct finding_stack *stack, size_t n,
		 const struct finding_frame *quote, FILE *out);

#endif
