/*
 * Prints the stacks of recorded runs for people.
 *
 *	    #0 deposit bank.c:14:17 (bank+0x1234)
 *	       14 | account->balance = b + amount;
 *	          |                  ^
 *	    #1 worker bank.c:33:5 (bank+0x1300)
 *
 * Unless -v asks for everything, frames below main() are left out, and so are the
 * C++ library's frames between a new thread and its start function. Files below
 * the current directory are printed relative to it.
 *
 * Included by: report writers, tests.
 */
#ifndef ATOMSAN_REPORT_STACK_H
#define ATOMSAN_REPORT_STACK_H

#include <stddef.h>
#include <stdio.h>

#include "base/str.h"
#include "engine/finding.h"
#include "report/report.h"

/* Is it a system header or part of a system library? */
bool stack_is_system(const char *file);
/* Does the name suggest that the function only acquires or releases a lock? */
bool stack_is_lock_function(const char *function);

/*
 * The innermost frame in the program's own source, that is, not in a system header
 * (such as the inside of std::atomic). If there is none, the innermost frame that
 * has a line; NULL if no frame has one.
 */
const struct finding_frame *stack_own_frame(const struct finding_stack *stack);
/*
 * The frame that says where a step is: usually stack_own_frame(). For a lock operation it is the
 * caller that wanted the lock, not the program's own wrapper "Mutex::Lock()" or "sched_unlock()".
 */
const struct finding_frame *stack_step_frame(const struct finding_step *s);

/* Add "bank.c:14:17", with or without the file's folders. The text is not made safe. */
void stack_add_line(struct str *b, const struct finding_frame *frame, bool folders);

/* The number of frames to show. */
size_t stack_depth(const struct report *rep, const struct finding_stack *stack);

/* The number of equal frames at the outer end of what both stacks show. */
size_t stack_shared(const struct report *rep, const struct finding_stack *a,
		    const struct finding_stack *b);

/* Write the first n frames. Below the frame `quote`, which may be NULL, quote its source line. */
void stack_write(const struct report *rep, const struct finding_stack *stack, size_t n,
		 const struct finding_frame *quote, FILE *out);

#endif
