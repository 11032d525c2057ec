/*
 * The stack of calls of a thread, from the hooks at the beginning and the end of
 * each instrumented function.
 *
 * A function may be left without a call of the hook: by longjmp, an exception, the
 * end or the cancellation of the thread. Stack pointers show that. Stacks grow
 * downwards, so a function that is still running has its frame at a higher address
 * than the functions that it called. A frame at a lower address was left.
 *
 * Included by: blocks/, hooks/, intercept/.
 */
#ifndef ATOMSAN_RUNTIME_BLOCKS_CALLS_H
#define ATOMSAN_RUNTIME_BLOCKS_CALLS_H

#include "runtime/blocks/blocks.h"
#include "runtime/thread/mode.h"

/* The thread leaves its start function: remove all frames. */
void calls_leave_all(struct rt_thread *t);

/* The addresses of our own functions that call a thread's start function. Set at start-up. */
extern uintptr_t calls_starters[2];

/* --- for the hooks --- */

/* Make room for more frames. Returns false if there is no memory; then the thread is unchecked. */
bool calls_grow(struct rt_thread *t);
/* Returns the kind of the first function on the stack of calls: enum raw_call. */
uint8_t calls_first_kind(const struct rt_thread *t, const struct rt_frame *f);
/*
 * Find a function that ended with a jump to the hook __tsan_func_exit() (a tail call). It has given
 * up its frame already, so it looks like one that was left, and the hook returns to `pc` in the
 * function's caller. Returns 1 + the index of its frame, or 0 if there is no such function.
 */
size_t calls_find_jumped(const struct rt_thread *t, uintptr_t sp, uintptr_t pc);

/* --- the OpenMP library --- */

/* Where the thread was before it entered the OpenMP library. */
struct calls_place {
	size_t body_at;
	uintptr_t body_caller;
	enum rt_body body;
};

/*
 * The thread enters the OpenMP library: what is called from there is the body of a parallel region,
 * or of a task, which belongs to this place of the program. Returns what calls_leave_openmp()
 * needs.
 */
static inline struct calls_place calls_enter_openmp(struct rt_thread *t, enum rt_body body,
						    uintptr_t caller)
{
	struct calls_place before = {t->calls.body_at, t->calls.body_caller, t->calls.body};

	t->calls.body_at = t->calls.depth + 1;
	t->calls.body_caller = caller;
	t->calls.body = body;
	return before;
}

static inline void calls_leave_openmp(struct rt_thread *t, struct calls_place before)
{
	t->calls.body_at = before.body_at;
	t->calls.body_caller = before.body_caller;
	t->calls.body = before.body;
}

/* --- for the hooks, inline --- */

/* Remove the last frame. */
static inline void calls_leave_one(struct rt_thread *t)
{
	struct rt_frame *f;

	RT_ASSERT(t->calls.depth);
	f = &t->calls.frame[--t->calls.depth];
	if (rt_unjoined_threads)
		blocks_return(t, f);
	else if (t->blocks.cut > t->calls.depth)
		t->blocks.cut = t->calls.depth;
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->ret(t, f);
}

/*
 * Remove the frames below this stack pointer: their functions were left. If the pointer is on
 * another stack (a signal handler's, a coroutine's), it says nothing about the frames. But a thread
 * that is back on its own stack has left the functions on the other one, for good or for a while.
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

/* Is this address in one of the calls_starters? They are short. */
static inline bool calls_is_starter(uintptr_t pc)
{
	return pc - calls_starters[0] < 256 || pc - calls_starters[1] < 256;
}

/*
 * A function was entered; `sp` is the hook's stack pointer. The frame is written field by field: to
 * build a whole frame and copy it would make the processor wait.
 */
static inline void calls_enter(struct rt_thread *t, uintptr_t sp, uintptr_t function,
			       uintptr_t caller)
{
	struct rt_frame *f;

	RT_ASSERT(rt_is_inside(t));
	/* Reports should not show our own function below a start function. */
	if (RT_UNLIKELY(!t->calls.depth) && calls_is_starter(caller))
		caller = t->calls.start_caller;
	/* A function with the same stack pointer has returned, too: the new one took its place. */
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
	f->body = RT_BODY_NONE;
	if (RT_UNLIKELY(t->calls.body_at == t->calls.depth + 1) && !t->gate.handler_sp) {
		f->kind = RAW_CALL_BODY;
		f->body = (uint8_t)t->calls.body;
		f->caller = t->calls.body_caller;
	}
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->call(t, f);
	t->calls.depth++;
	if (RT_LIKELY(rt_unjoined_threads))
		blocks_call(t, f);
}

/* A function is about to return; the hook was called with stack pointer `sp` and returns to `pc`.
 */
static inline void calls_leave(struct rt_thread *t, uintptr_t sp, uintptr_t pc)
{
	size_t depth = t->calls.depth, jumped = 0;

	RT_ASSERT(rt_is_inside(t));
	if (RT_UNLIKELY(depth && t->calls.frame[depth - 1].sp < sp))
		jumped = calls_find_jumped(t, sp, pc);
	if (RT_UNLIKELY(jumped)) {
		while (t->calls.depth >= jumped)
			calls_leave_one(t);
		return;
	}
	calls_leave_stale(t, sp);
	/* calls_leave_stale() may have removed the frame of a coroutine's function earlier. */
	if (RT_LIKELY(t->calls.depth && (rt_on_stack(t, sp) ||
					 !rt_on_stack(t, t->calls.frame[t->calls.depth - 1].sp))))
		calls_leave_one(t);
}

#endif
