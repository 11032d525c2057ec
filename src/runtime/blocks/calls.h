/*
 * The stack of calls of a thread, from the hooks at the beginning and the end of
 * each instrumented function.
 *
 * Functions may be left without notice: by longjmp, an exception, the end or the
 * cancellation of the thread. Stack pointers show that: stacks grow downwards, so a
 * function that is still running has its frame above that of the function that it
 * called. A frame that is not is one that was left.
 *
 * Included by: hooks/, intercept/.
 */
#ifndef ATOMSAN_RUNTIME_BLOCKS_CALLS_H
#define ATOMSAN_RUNTIME_BLOCKS_CALLS_H

#include "runtime/blocks/blocks.h"
#include "runtime/thread/mode.h"

/* The start function of the thread is left, and with it all others, with notice or without. */
void calls_leave_all(struct rt_thread *t);

/* Our own functions that call a thread's start function; they are short. Set at start-up. */
extern uintptr_t calls_starters[2];

/* --- for the hooks --- */

/* Make room for one more frame. False: no memory, and the thread is no longer checked. */
bool calls_grow(struct rt_thread *t);
/* What a function is that no other called: enum raw_call. */
uint8_t calls_first_kind(const struct rt_thread *t, const struct rt_frame *f);
/*
 * A function that ends by a jump to the hook has given up its frame by then: it looks like one that
 * was left without notice, and the hook returns to the function's caller. Returns 1 + its index, or
 * 0 if no such function is on the stack.
 */
size_t calls_find_jumped(const struct rt_thread *t, uintptr_t sp, uintptr_t pc);

static inline void calls_leave_one(struct rt_thread *t)
{
	struct rt_frame *f = &t->calls.frame[--t->calls.depth];

	if (rt_threads_out || blocks_follow_alone)
		blocks_return(t, f);
	else if (t->blocks.cut > t->calls.depth)
		t->blocks.cut = t->calls.depth;
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->ret(t, f);
}

/*
 * Leave the functions whose frames are below this stack pointer. On another stack (a signal
 * handler's, a coroutine's) the pointer shows nothing; but a thread that is back on its own stack
 * has left what was on the other one, for good or for a while.
 */
static inline void calls_leave_stale(struct rt_thread *t, uintptr_t sp)
{
	const struct thread_calls *c = &t->calls;

	if (RT_UNLIKELY(!rt_on_stack(t, sp)))
		return;
	while (c->depth &&
	       (c->frame[c->depth - 1].sp < sp || !rt_on_stack(t, c->frame[c->depth - 1].sp)))
		calls_leave_one(t);
}

static inline bool calls_is_starter(uintptr_t pc)
{
	return pc - calls_starters[0] < 256 || pc - calls_starters[1] < 256;
}

/*
 * A function was entered. Its frame is written field by field: a whole frame that is written and
 * then copied makes the processor wait.
 */
static inline void calls_enter(struct rt_thread *t, uintptr_t sp, uintptr_t function,
			       uintptr_t caller)
{
	struct rt_frame *f;

	/* Reports should not show our own function below a start function. */
	if (RT_UNLIKELY(!t->calls.depth) && calls_is_starter(caller))
		caller = t->calls.start_caller;
	/* A function with the very same stack pointer has returned, too: this one has its frame. */
	calls_leave_stale(t, sp + 1);
	if (RT_UNLIKELY(t->calls.depth == t->calls.cap) && !calls_grow(t))
		return;
	f = &t->calls.frame[t->calls.depth];
	f->sp = sp;
	f->function = function;
	f->caller = caller;
	f->limit = 0;
	f->unit = NULL;
	f->kind = RT_LIKELY(t->calls.depth) ? 0 : calls_first_kind(t, f);
	f->starts = f->hands_on = false;
	f->node = 0;
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->call(t, f);
	t->calls.depth++;
	if (RT_LIKELY(rt_threads_out))
		blocks_call(t, f);
}

/* A function is about to return. */
static inline void calls_leave(struct rt_thread *t, uintptr_t sp, uintptr_t pc)
{
	size_t depth = t->calls.depth, jumped = 0;

	if (RT_UNLIKELY(depth && t->calls.frame[depth - 1].sp < sp))
		jumped = calls_find_jumped(t, sp, pc);
	if (RT_UNLIKELY(jumped)) {
		while (t->calls.depth >= jumped)
			calls_leave_one(t);
		return;
	}
	calls_leave_stale(t, sp);
	/* The frame of a coroutine's function may have been taken for one that was left. */
	if (RT_LIKELY(t->calls.depth && (rt_on_stack(t, sp) ||
					 !rt_on_stack(t, t->calls.frame[t->calls.depth - 1].sp))))
		calls_leave_one(t);
}

#endif
