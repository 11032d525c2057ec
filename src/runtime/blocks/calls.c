#include "runtime/blocks/calls.h"

#include "base/banned.h"

uintptr_t calls_starters[2];

/* Is this address in main()? Its hook is called near the beginning. */
static bool is_main(uintptr_t pc)
{
	extern RT_EXPORT __attribute__((weak)) int main(int, char **);

	return pc - (uintptr_t)&main < 128;
}

uint8_t calls_first_kind(const struct rt_thread *t, const struct rt_frame *f)
{
	if (rt_in_handler(t, f->sp))
		return RAW_CALL_HANDLER;
	return !t->id && is_main(f->function) ? RAW_CALL_MAIN : RAW_CALL_PLAIN;
}

bool calls_grow(struct rt_thread *t)
{
	struct thread_calls *c = &t->calls;
	size_t cap = c->cap ? 4 * c->cap : RAW_PAGE / sizeof *c->frame;
	struct rt_frame *grown = rt_pages(cap * sizeof *grown);

	if (!grown) {
		rt_note_incomplete("no memory for the calls of thread %u", t->id);
		rt_say("no memory for the calls of thread %u: it is no longer checked", t->id);
		t->gate.quiet |= RT_GONE;
		return false;
	}
	for (size_t i = 0; i < c->depth; i++)
		grown[i] = c->frame[i];
	rt_pages_free(c->frame, c->cap * sizeof *grown);
	c->frame = grown;
	c->cap = cap;
	return true;
}

size_t calls_find_jumped(const struct rt_thread *t, uintptr_t sp, uintptr_t pc)
{
	const struct rt_frame *frame = t->calls.frame;
	bool here = rt_on_stack(t, sp);
	size_t body = 0, k;

	for (k = t->calls.depth; k && frame[k - 1].sp < sp; k--) {
		if (rt_on_stack(t, frame[k - 1].sp) != here)
			continue;
		if (frame[k - 1].caller == pc)
			return k;
		if (!body && frame[k - 1].kind == RAW_CALL_BODY)
			body = k;
	}
	/* The caller of a body is not known; but an ordinary exit has the frame's stack pointer. */
	return k && frame[k - 1].sp == sp ? 0 : body;
}

void calls_leave_all(struct rt_thread *t)
{
	if (!t->calls.depth || !rt_enter(t))
		return;
	while (t->calls.depth)
		calls_leave_one(t);
	rt_leave(t);
}
