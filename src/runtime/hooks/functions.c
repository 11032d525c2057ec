/* The hooks at the beginning and the end of each function. */
#include "runtime/blocks/calls.h"

#include "base/banned.h"

/*
 * `caller` is the function's return address. The function itself is known by the hook's return
 * address, so the hook must not be inlined.
 */
RT_EXPORT __attribute__((noinline)) void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	calls_enter(t, (uintptr_t)__builtin_frame_address(0), RT_CALLER, (uintptr_t)caller);
	rt_leave(t);
}

RT_EXPORT void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	calls_leave(t, (uintptr_t)__builtin_frame_address(0), RT_CALLER);
	rt_leave(t);
}
