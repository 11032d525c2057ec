/*
 * A tool: what is done with the events of a running program.
 *
 * At start-up one tool is chosen (`frontier`, `doublechecker` or `predict`), and
 * beside it the recorder may run. Hooks and interceptors translate a call of the
 * program into one event, and the event goes to the tool and then to the recorder.
 * No other code asks which tool is at work.
 *
 * Dispatch is not on the hot path: frontier's fast path is part of the hooks and
 * is chosen by the mode (thread/mode.h); everything else costs one indirect call.
 *
 * Unless a comment says otherwise, a callback runs between rt_enter() and
 * rt_leave(), in the thread that it is about, and holds no lock. `time` is the
 * machine's clock when the event happened (os/clock.h), 0 if no tool wants it. A
 * tool that leaves a callback out of its table gets one that does nothing.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_TOOL_H
#define ATOMSAN_RUNTIME_TOOL_H

#include "runtime/os/os.h"
#include "trace/raw_format.h"

struct rt_thread;
struct rt_frame;

/* What the hooks do with plain accesses of memory right now; thread/mode.h chooses. */
enum rt_mode {
	RT_NOTHING,  /* no other thread exists, or no tool wants accesses: a hook returns at once */
	RT_CHECKING, /* frontier's fast path: accesses that the shadow does not know are looked at
		      */
	RT_ALL,      /* each access goes to the tools */
	RT_OWNING, /* doublechecker's fast path: accesses whose state is not right are looked at */
};
extern volatile uint32_t rt_mode;

/* A point in a thread's life, for another thread that comes after it; step 0: no edge is needed. */
struct rt_point {
	uint64_t step, clock;
};

struct rt_tool {
	/* The mode that it needs while several threads exist. Under the mode's lock, anywhere. */
	enum rt_mode (*wants)(void);

	/* --- threads --- */

	/* The thread's first event, after the point of its creation. */
	void (*thread_begin)(struct rt_thread *t, struct rt_point birth);
	/* Its last event; returns the point that a join comes after. */
	struct rt_point (*thread_end)(struct rt_thread *t);
	/* It has ended, and its memory can be given back. Outside rt_enter(). */
	void (*thread_gone)(struct rt_thread *t);
	/* Thread `id` is about to be created; returns the point that it comes after. */
	struct rt_point (*create)(struct rt_thread *t, uint32_t id, uint64_t time, uintptr_t pc);
	/* Thread `id` was joined. */
	void (*join)(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
		     uintptr_t pc);
	/* The thread has got a name. */
	void (*name)(struct rt_thread *t, const char *name, size_t n);

	/* --- calls and blocks: blocks/blocks.h decides what a block is --- */

	/*
	 * A function was entered, and is on the stack of calls. If a block begins with it,
	 * block_begin() came before. Called for the tool only while other threads exist.
	 */
	void (*call)(struct rt_thread *t, struct rt_frame *f);
	/* It returns. If its block ends with it, block_end() comes next. */
	void (*ret)(struct rt_thread *t, struct rt_frame *f);
	/* A marked block begins or ends, whether or not it is a transaction. */
	void (*mark)(struct rt_thread *t, uint32_t label, uintptr_t pc);
	void (*unmark)(struct rt_thread *t, uintptr_t pc);
	/* The source says that the innermost function is not atomic; `applies`: for the first time.
	 */
	void (*not_atomic)(struct rt_thread *t, bool applies, uintptr_t pc);
	/* A transaction begins, and t->blocks describes it. Not for the recorder. */
	void (*block_begin)(struct rt_thread *t);
	/* An inner block may begin. Not for the recorder. */
	void (*block_inner)(struct rt_thread *t);
	/* The transaction has ended. Not for the recorder. */
	void (*block_end)(struct rt_thread *t);
	/*
	 * After block_end(), and at each cut: findings of the transaction can be shown. `cut`: it
	 * ended because its function turned out to be no block. Not for the recorder.
	 */
	void (*settle)(struct rt_thread *t, bool cut);
	/* A label has got its number. With the labels' lock held. */
	void (*label)(struct rt_thread *t, uint32_t number, const char *text, size_t n);

	/* --- memory --- */

	/*
	 * A plain access, in a mode other than RT_CHECKING and RT_NOTHING. Called outside
	 * rt_enter() and rt_leave(). In serial mode (frontier_access_serial()) the tool passes the
	 * access on to rt_recorder->accessed(); otherwise the caller does.
	 */
	void (*access)(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
	/* The recorder's: an access that happened at `time`. */
	void (*accessed)(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
			 uint64_t time, uintptr_t pc);
	/* An atomic operation has just happened. With its stripe's lock held. */
	void (*atomic)(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
		       uintptr_t pc);
	/* The same operation, after the lock was released. */
	void (*atomic_done)(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
			    uint64_t time, uintptr_t pc);
	/* Memory was allocated; is about to be freed; is about to be used for something else. */
	void (*alloc)(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
	void (*free)(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
	void (*forget)(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);

	/* --- synchronisation --- */

	/*
	 * An operation on a lock, semaphore, condition variable or barrier has happened. In serial
	 * mode `*time` becomes the time of the edges that it brought or left.
	 */
	void (*sync)(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
		     uint64_t *time, uintptr_t pc);
	/*
	 * A release that can fail comes in two parts instead: before it happens, since the next
	 * owner of the lock must find it noted; and after it has happened.
	 */
	void (*releasing)(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			  uint64_t *time, uintptr_t pc);
	void (*released)(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			 uint64_t *time, uintptr_t pc);

	/* --- the process --- */

	/* A module was loaded: its load bias and the text of RAW_MODULE. With the modules' lock
	 * held. */
	void (*module)(struct rt_thread *t, uint64_t bias, const char *text, size_t n);
	/* Before fork(), and after it in the parent. */
	void (*fork_prepare)(void);
	void (*fork_parent)(void);
	/*
	 * In the child, where the calling thread is the only one. True: the thread goes on as it
	 * is; false: it has to begin again.
	 */
	bool (*fork_child)(struct rt_thread *t);
	/* The program ends. Returns the number of findings that stand. Outside rt_enter(). */
	uint64_t (*finish)(void);

	/* All of its findings come from finish(): call that if the program aborts, too. */
	bool reports_at_end;
};

extern const struct rt_tool *rt_tool;     /* never NULL */
extern const struct rt_tool *rt_recorder; /* never NULL */
/* Is there a recorder? The cheap test in front of its callbacks. */
extern bool rt_recording;
/* Does a tool want to know when things happen? */
extern bool rt_timed;

/* The tool is at work: false before it begins, after it ran out of something, and at the end. */
extern bool rt_checking;

/* Use this tool; its missing callbacks are filled in. */
void tool_use(struct rt_tool *tool);
void tool_use_recorder(struct rt_tool *recorder);
/* Is any tool at work? */
static inline bool tool_any(void)
{
	return rt_recording || rt_checking;
}

#endif
