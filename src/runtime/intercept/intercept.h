/*
 * What interceptors have in common. An interceptor calls the real function, and notes the
 * operation after it has succeeded. A release is noted before it happens (hooks/note.h).
 *
 * Included by: intercept/, start.c.
 */
#ifndef ATOMSAN_RUNTIME_INTERCEPT_INTERCEPT_H
#define ATOMSAN_RUNTIME_INTERCEPT_INTERCEPT_H

#include <errno.h>

#include "runtime/hooks/access.h"
#include "runtime/hooks/note.h"
#include "runtime/os/real.h"

/* The place at which the program called this function, directly or through the C++ library. */
#define PROGRAM_CALLER (RT_UNLIKELY(rt_self.callers.std) ? rt_self.callers.std : RT_CALLER)

/* Register what to do at a fork(), and the addresses of our own start functions. At start-up. */
void intercept_thread_init(void);

#endif
