/*
 * Coroutines: a coroutine that switches to another one is cut as if it waited, because what the
 * thread does next belongs to the other coroutine. Programs switch by the C library's functions, or
 * announce their own switches.
 */
#include <ucontext.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

RT_INTERCEPT int swapcontext(ucontext_t *restrict from, const ucontext_t *restrict to)
{
	note(RAW_WAIT, to, RAW_CONDITION, RT_CALLER);
	return REAL(swapcontext)(from, to);
}

RT_INTERCEPT int setcontext(const ucontext_t *to)
{
	note(RAW_WAIT, to, RAW_CONDITION, RT_CALLER);
	return REAL(setcontext)(to);
}

RT_EXPORT void __tsan_switch_to_fiber(void *fiber, unsigned int flags);
void __tsan_switch_to_fiber(void *fiber, unsigned int flags)
{
	(void)flags;
	note(RAW_WAIT, fiber, RAW_CONDITION, RT_CALLER);
}
