/*
 * A tool: what is done with the events of a running program.
 *
 * At start-up one tool is chosen (`frontier` or `doublechecker`), and beside it or
 * instead of it the recorder may run, which is a tool, too. Hooks and interceptors
 * translate a call of the program into one event, and the event goes to both: to the
 * tool first, except that the recorder hears of a call first. No code outside a tool's
 * folder asks which tool is at work; it may ask for the mode.
 *
 * Dispatch is not on the hot path. The fast paths of frontier and doublechecker are
 * part of the hooks (hooks/access.h), and the mode (thread/mode.h) chooses one. In the
 * mode RT_CHECKING the hooks call frontier_access() directly. Every other event costs
 * one indirect call.
 *
 * Unless a comment says otherwise, a callback runs between rt_enter() and
 * rt_leave(), in the thread that it is about, and holds no lock. `time` is what the
 * machine's clock (os/clock.h) showed when the event happened, or 0 if no tool wants
 * that (rt_timed). It is not the time of a slot. If a tool leaves a callback out of its
 * table, the callback does nothing.
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
	RT_CHECKING, /* frontier's fast path: only accesses that the shadow lacks go to the tool */
	RT_ALL,      /* each access goes to the tools */
	RT_OWNING,   /* doublechecker's: only accesses that change a state or are logged do */
	RT_DRIVEN,   /* each access goes to the scheduler, and then as rt_tools_mode says */
};
extern volatile uint32_t rt_mode;
/* The same without the scheduler: what the tools want. */
extern volatile uint32_t rt_tools_mode;

/*
 * A point in the life of one thread; an event of another thread comes after it (its first event, or
 * a join). If `step` is 0, that event needs no edge. `clock` is the Lamport clock.
 */
struct rt_point {
	uint64_t step, clock;
};

struct rt_tool {
	/*
	 * Returns the mode that the tool needs while several threads exist. Called with the mode's
	 * lock held, inside or outside rt_enter().
	 */
	enum rt_mode (*wants)(void);

	/* --- threads --- */

	/* The thread's first event. It comes after `birth`, the point of the thread's creation. */
	void (*thread_begin)(struct rt_thread *t, struct rt_point birth);
	/* The thread's last event. Returns the point that a join of the thread comes after. */
	struct rt_point (*thread_end)(struct rt_thread *t);
	/* The thread has ended: free its memory. Only for the recorder; outside rt_enter(). */
	void (*thread_gone)(struct rt_thread *t);
	/* `t` is about to create thread `id`. Returns the point that the new thread comes after. */
	struct rt_point (*create)(struct rt_thread *t, uint32_t id, uint64_t time, uintptr_t pc);
	/* `t` has joined thread `id`, whose thread_end() returned `last`. */
	void (*join)(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
		     uintptr_t pc);
	/* The thread has got a name. Only for the recorder. */
	void (*name)(struct rt_thread *t, const char *name, size_t n);

	/* --- calls and blocks: blocks/blocks.h decides what a block is --- */

	/*
	 * A function was entered, and `f` is its frame. The tool finds `f` on the stack of calls;
	 * the recorder is called just before `f` gets there. If a block begins with the function,
	 * block_begin() came before. The tool is called only while other threads exist.
	 */
	void (*call)(struct rt_thread *t, struct rt_frame *f);
	/*
	 * The function returns; `f`, its frame, has just been removed from the stack of calls. If a
	 * block ends with the function, block_end() comes next.
	 */
	void (*ret)(struct rt_thread *t, struct rt_frame *f);
	/* A marked block begins or ends, whether or not it is a transaction. */
	void (*mark)(struct rt_thread *t, uint32_t label, uintptr_t pc);
	void (*unmark)(struct rt_thread *t, uintptr_t pc);
	/*
	 * The source says that the innermost function is not atomic. `applies`: that is new, and
	 * the function was a block until now. The recorder always gets false.
	 */
	void (*not_atomic)(struct rt_thread *t, bool applies, uintptr_t pc);
	/* A transaction begins, and t->blocks describes it. Not for the recorder. */
	void (*block_begin)(struct rt_thread *t);
	/* An inner block may begin. Not for the recorder. */
	void (*block_inner)(struct rt_thread *t);
	/* The transaction has ended. Not for the recorder. */
	void (*block_end)(struct rt_thread *t);
	/*
	 * After block_end(), and at each cut: the transaction's findings can be shown. `cut`: a
	 * cut ended the transaction, or the source says that it is not atomic, so its function is
	 * not a block. Not for the recorder.
	 */
	void (*settle)(struct rt_thread *t, bool cut);
	/* A label has got its number. Called with the labels' lock held. */
	void (*label)(struct rt_thread *t, uint32_t number, const char *text, size_t n);

	/* --- memory --- */

	/*
	 * A plain access, in a mode other than RT_CHECKING and RT_NOTHING. Called outside
	 * rt_enter() and rt_leave(). If shadow_serial is set, the tool passes the access on to
	 * rt_recorder->accessed(); otherwise the caller does.
	 */
	void (*access)(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
	/* An access happened at `time`. Only for the recorder. */
	void (*accessed)(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
			 uint64_t time, uintptr_t pc);
	/* An atomic operation has just happened. Called with its stripe's lock held. */
	void (*atomic)(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
		       uintptr_t pc);
	/*
	 * The same operation, after the stripe's lock was released. `value` is that of the memory
	 * after the operation (trace/event.h), VALUE_UNKNOWN without a recorder.
	 */
	void (*atomic_done)(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
			    uint8_t value, uint64_t time, uintptr_t pc);
	/*
	 * Memory was allocated; is about to be freed (the recorder gets size 0); is about to be
	 * used for something else.
	 */
	void (*alloc)(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
	void (*free)(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
	void (*forget)(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);

	/* --- synchronisation --- */

	/*
	 * An operation on a lock, semaphore, condition variable or barrier has happened. If
	 * shadow_serial is set, the tool sets *time to the time at which it took the edges.
	 */
	void (*sync)(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
		     uint64_t *time, uintptr_t pc);
	/*
	 * A release that can fail comes in two callbacks instead. The tool gets releasing() before
	 * the release happens, because the lock's next owner must find it noted. The tool and the
	 * recorder get released() after the release has succeeded, but only if rt_timed is set.
	 */
	void (*releasing)(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			  uint64_t *time, uintptr_t pc);
	void (*released)(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			 uint64_t *time, uintptr_t pc);

	/* --- the process --- */

	/*
	 * A module was loaded: its load bias and the text of RAW_MODULE. Called with the modules'
	 * lock held, only for the recorder.
	 */
	void (*module)(struct rt_thread *t, uint64_t bias, const char *text, size_t n);
	/* Before fork(), and after it in the parent. */
	void (*fork_prepare)(void);
	void (*fork_parent)(void);
	/*
	 * After fork() in the child, where the calling thread is the only one. Returns true if the
	 * thread continues as it is, false if it has to begin again with thread_begin(). Outside
	 * rt_enter().
	 */
	bool (*fork_child)(struct rt_thread *t);
	/*
	 * The program ends. Returns the number of findings that still stand. The recorder's is
	 * called outside rt_enter(), and may be called again; the tool's is called once.
	 */
	uint64_t (*finish)(void);

	/* Does finish() find something? Then it is called even if the program aborts. Only for the
	 * recorder. */
	bool reports_at_end;
};

extern const struct rt_tool *rt_tool;     /* never NULL */
extern const struct rt_tool *rt_recorder; /* never NULL */
/* Is there a recorder? The cheap test in front of its callbacks. */
extern bool rt_recording;
/* Does a tool need the time of events? */
extern bool rt_timed;

/* Is the tool at work? False before it begins, after it ran out of something, and at the end. */
extern bool rt_checking;

/* Make this the tool, or the recorder, and fill in the callbacks that it leaves out. */
void tool_use(struct rt_tool *tool);
void tool_use_recorder(struct rt_tool *recorder);
/* Is any tool at work? */
static inline bool tool_any(void)
{
	return rt_recording || rt_checking;
}

#endif
