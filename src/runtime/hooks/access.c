#include "runtime/hooks/access.h"

#include "runtime/frontier/frontier.h"
#include "runtime/schedule/schedule.h"

#include "base/banned.h"

#define BY_SIZE(bytes)                                                                             \
	void access_read##bytes(const void *address, uintptr_t pc)                                 \
	{                                                                                          \
		if (!access_note_simple(RAW_READ, (uintptr_t)address, bytes, pc))                  \
			access_slow(RAW_READ, (uintptr_t)address, bytes, pc);                      \
	}                                                                                          \
	void access_write##bytes(const void *address, uintptr_t pc)                                \
	{                                                                                          \
		if (!access_note_simple(RAW_WRITE, (uintptr_t)address, bytes, pc))                 \
			access_slow(RAW_WRITE, (uintptr_t)address, bytes, pc);                     \
	}
BY_SIZE(1)
BY_SIZE(2)
BY_SIZE(4)
BY_SIZE(8)
BY_SIZE(16)

/* The recorder needs a time for the access, and the tool gives it none: read the machine's clock.
 */
__attribute__((noinline)) static void access_recorded(enum raw_op op, uintptr_t address,
						      size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	rt_tool->access(op, address, size, pc);
	if (t->ignoring || !rt_enter(t))
		return;
	rt_recorder->accessed(t, op, address, size, machine_clock(), pc);
	rt_leave(t);
}

/*
 * Usually only jumps to another function, which saves registers itself; so the rare cases are in
 * functions of their own.
 */
void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	uint32_t mode = rt_mode;

	/* Signals that came during access_note_simple() are still to be delivered. */
	if (RT_UNLIKELY(rt_self.gate.pending) && !rt_self.gate.quiet)
		rt_signals_deliver(&rt_self);
	if (RT_UNLIKELY(mode == RT_DRIVEN)) {
		schedule_access(op != RAW_READ && op != RAW_READ_RANGE, address, size, pc);
		mode = rt_tools_mode;
	}
	if (RT_LIKELY(mode == RT_CHECKING))
		frontier_access(op, address, size, pc);
	else if (mode == RT_NOTHING)
		return;
	else if (RT_UNLIKELY(rt_recording) && !shadow_serial)
		access_recorded(op, address, size, pc);
	else
		rt_tool->access(op, address, size, pc);
}
