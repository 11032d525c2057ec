#include "runtime/shadow/locked.h"

#include "base/banned.h"

/*
 * The part of the access that lies in one line. The cells need not know of it if the thread has the
 * line to itself, or if nothing conflicts and the access need not be in the shadow.
 */
static void access_line_locked(struct rt_thread *t, uintptr_t at, uintptr_t end, uint64_t write,
			       uintptr_t pc, bool locked, bool *fresh, bool *noted)
{
	struct shadow_line *l = shadow_line_make(at);
	uint64_t bits = line_bits(at, end);

	if (!l)
		return;
	if (time_matters(t)) {
		enum line_outcome one = line_note(t, l, bits, write, at, pc);

		*noted |= one == LINE_NOTED;
		if (one != LINE_NEEDS_CELLS)
			return;
	} else {
		t->shadow.outside = true;
		if (line_no_conflict(t, l, bits, write))
			return;
	}
	if (line_open(l, at))
		cell_access(t, at, end, write, locked, fresh, noted);
	else if (time_matters(t) && line_note(t, l, bits, write, at, pc) == LINE_NOTED)
		*noted = true; /* everything in it was dead: it is the thread's own now */
}

void shadow_access_locked(struct rt_thread *t, uintptr_t address, uintptr_t end, uint64_t write,
			  uintptr_t pc, bool locked, bool *fresh, bool *noted)
{
	for (uintptr_t at = address, stop; at < end && rt_checking; at = stop) {
		stop = (at | (LINE_SIZE - 1)) + 1;
		if (stop > end)
			stop = end;
		access_line_locked(t, at, stop, write, pc, locked, fresh, noted);
	}
}
