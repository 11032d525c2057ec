/*
 * What interceptors have in common: each does what the real function does, and
 * notes it if it worked.
 *
 * Included by: intercept/, the runtime's start-up code.
 */
#ifndef ATOMSAN_RUNTIME_INTERCEPT_INTERCEPT_H
#define ATOMSAN_RUNTIME_INTERCEPT_INTERCEPT_H

#include <errno.h>

#include "runtime/hooks/access.h"
#include "runtime/hooks/note.h"
#include "runtime/os/real.h"

/* Where the program called what this function does for it: see std.c. */
#define PROGRAM_CALLER (RT_UNLIKELY(rt_self.callers.std) ? rt_self.callers.std : RT_CALLER)

/* In a forked child, forget what other threads were about to do. Called at start-up. */
void intercept_thread_init(void);

#endif
