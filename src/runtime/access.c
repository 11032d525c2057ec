#include "runtime/access.h"

void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uint64_t time;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	check_access(t, op, address, size, pc, &time);
	if (RT_UNLIKELY(record_on)) {
		if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
			record_sized(t, op, address, size, time, pc);
		else
			record_at(t, op, address, (uint32_t)size, time, pc);
	}
	rt_leave(t);
}
