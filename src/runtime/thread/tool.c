#include "runtime/tool.h"

#include "runtime/thread/state.h"

#include "base/banned.h"

/* --- callbacks that do nothing, one for each signature --- */

static enum rt_mode wants_nothing(void)
{
	return RT_NOTHING;
}

static void ignore_begin(struct rt_thread *t, struct rt_point birth)
{
	(void)t;
	(void)birth;
}

static struct rt_point ignore_end(struct rt_thread *t)
{
	(void)t;
	return (struct rt_point){0};
}

static struct rt_point ignore_create(struct rt_thread *t, uint32_t id, uint64_t time, uintptr_t pc)
{
	(void)t;
	(void)id;
	(void)time;
	(void)pc;
	return (struct rt_point){0};
}

static void ignore_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
			uintptr_t pc)
{
	(void)t;
	(void)id;
	(void)last;
	(void)time;
	(void)pc;
}

static void ignore_thread(struct rt_thread *t)
{
	(void)t;
}

static void ignore_text(struct rt_thread *t, const char *text, size_t n)
{
	(void)t;
	(void)text;
	(void)n;
}

static void ignore_numbered_text(struct rt_thread *t, uint32_t number, const char *text, size_t n)
{
	(void)t;
	(void)number;
	(void)text;
	(void)n;
}

static void ignore_module(struct rt_thread *t, uint64_t bias, const char *text, size_t n)
{
	(void)t;
	(void)bias;
	(void)text;
	(void)n;
}

static void ignore_frame(struct rt_thread *t, struct rt_frame *f)
{
	(void)t;
	(void)f;
}

static void ignore_mark(struct rt_thread *t, uint32_t label, uintptr_t pc)
{
	(void)t;
	(void)label;
	(void)pc;
}

static void ignore_place(struct rt_thread *t, uintptr_t pc)
{
	(void)t;
	(void)pc;
}

static void ignore_flag_place(struct rt_thread *t, bool flag, uintptr_t pc)
{
	(void)t;
	(void)flag;
	(void)pc;
}

static void ignore_flag(struct rt_thread *t, bool flag)
{
	(void)t;
	(void)flag;
}

static void ignore_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	(void)op;
	(void)address;
	(void)size;
	(void)pc;
}

static void ignore_accessed(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
			    uint64_t time, uintptr_t pc)
{
	(void)t;
	(void)op;
	(void)address;
	(void)size;
	(void)time;
	(void)pc;
}

static void ignore_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
			  uintptr_t pc)
{
	(void)t;
	(void)op;
	(void)address;
	(void)size;
	(void)pc;
}

static void ignore_atomic_done(struct rt_thread *t, enum raw_op op, uintptr_t address,
			       uint32_t size, uint8_t value, uint64_t time, uintptr_t pc)
{
	(void)t;
	(void)value;
	(void)op;
	(void)address;
	(void)size;
	(void)time;
	(void)pc;
}

static void ignore_memory(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	(void)t;
	(void)address;
	(void)size;
	(void)pc;
}

static void ignore_sync(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			uint64_t *time, uintptr_t pc)
{
	(void)t;
	(void)op;
	(void)object;
	(void)aux;
	(void)time;
	(void)pc;
}

static void ignore_process(void)
{
}

static bool ignore_child(struct rt_thread *t)
{
	(void)t;
	return false;
}

static uint64_t finds_nothing(void)
{
	return 0;
}

static const struct rt_tool no_tool = {
	.wants = wants_nothing,
	.thread_begin = ignore_begin,
	.thread_end = ignore_end,
	.thread_gone = ignore_thread,
	.create = ignore_create,
	.join = ignore_join,
	.name = ignore_text,
	.call = ignore_frame,
	.ret = ignore_frame,
	.mark = ignore_mark,
	.unmark = ignore_place,
	.not_atomic = ignore_flag_place,
	.block_begin = ignore_thread,
	.block_inner = ignore_thread,
	.block_end = ignore_thread,
	.settle = ignore_flag,
	.label = ignore_numbered_text,
	.access = ignore_access,
	.accessed = ignore_accessed,
	.atomic = ignore_atomic,
	.atomic_done = ignore_atomic_done,
	.alloc = ignore_memory,
	.free = ignore_memory,
	.forget = ignore_memory,
	.sync = ignore_sync,
	.releasing = ignore_sync,
	.released = ignore_sync,
	.module = ignore_module,
	.fork_prepare = ignore_process,
	.fork_parent = ignore_process,
	.fork_child = ignore_child,
	.finish = finds_nothing,
};

const struct rt_tool *rt_tool = &no_tool, *rt_recorder = &no_tool;
bool rt_checking, rt_recording, rt_timed;

/* All members of the table except the last, `reports_at_end`, are pointers to functions. */
_Static_assert(offsetof(struct rt_tool, reports_at_end) % sizeof(void *) == 0 &&
		       sizeof(struct rt_tool) - offsetof(struct rt_tool, reports_at_end) <=
			       sizeof(void *),
	       "a table of pointers and one flag");

/* Fill in the callbacks that the tool leaves out. */
static const struct rt_tool *fill_in_callbacks(struct rt_tool *tool)
{
	const void *const *from = (const void *const *)&no_tool;
	const void **to = (const void **)tool;

	for (size_t i = 0; i < offsetof(struct rt_tool, reports_at_end) / sizeof *to; i++)
		if (!to[i])
			to[i] = from[i];
	return tool;
}

void tool_use(struct rt_tool *tool)
{
	rt_tool = fill_in_callbacks(tool);
	rt_checking = true;
}

void tool_use_recorder(struct rt_tool *recorder)
{
	rt_recorder = fill_in_callbacks(recorder);
	rt_recording = true;
}
