/*
 * The state of a thread of the checked program, and the gate through which it
 * enters and leaves the runtime.
 *
 * The state consists of named parts. Each part says which module writes it; the
 * others only read it. The first fields are known to the check that clang inlines
 * (inline/hooks.c), so their order matters.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_THREAD_STATE_H
#define ATOMSAN_RUNTIME_THREAD_STATE_H

#include "runtime/os/os.h"

/*
 * Time, written by shadow/time.h only. Each field except `clock` has the form of a word of the
 * shadow (shadow/shadow.h): this thread's slot and a time, and zero below.
 */
struct thread_time {
	uint64_t limit;   /* words at or after this were made by the innermost open function */
	uint64_t self;    /* the slot alone, with time 0 */
	uint64_t now;     /* the current time */
	uint64_t dead;    /* steps before this can never be on a cycle */
	uint64_t raised;  /* the time when the clock last went up */
	uint64_t clock;   /* Lamport clock */
	uint64_t stretch; /* the beginning of the stretch */
	uint64_t calm;    /* the beginning of the current run of calls without synchronisation */
};

/* Why a thread notes nothing; 0: it notes. */
enum rt_quiet {
	RT_UNBORN = 1,     /* it has not called its first hook yet */
	RT_IN_RUNTIME = 2, /* it is between rt_enter() and rt_leave() */
	RT_GONE = 4,       /* it has ended, or checking and recording have */
};

/* The gate, written by this header and signals.c. */
struct thread_gate {
	volatile uint32_t quiet;   /* enum rt_quiet */
	volatile uint32_t pending; /* number of signals delayed until rt_leave() */
	struct rt_signal *signals; /* those signals; NULL: none so far */
	uintptr_t handler_sp;      /* if a signal handler runs: its frames are below this address */
};

/* An access that the thread repeated, or that only the thread itself remembers: shadow/cell.h. */
struct rt_repeat {
	uint64_t word;         /* the access as a word */
	uintptr_t address, pc; /* the memory; the instruction */
	uint64_t in_cell; /* the word that the cell still holds instead; 0: the cell holds `word` */
};
enum { RT_REPEATS = 1 << 13 };

/* What the thread has read of a read-shared line: shadow/owned_line.h. */
struct rt_read {
	uint64_t shared_head; /* the line's head; 0: no entry */
	uint64_t head;        /* time of the reads, and RT_READ_OLD */
	uint64_t r;           /* the bytes read */
	uint64_t renewed;     /* which cells were read again later, and when */
} __attribute__((aligned(32)));
/*
 * Reads of the same line in an earlier stretch that are not dead yet. They have a table of their
 * own, so that the first table, which is searched all the time, stays small.
 */
struct rt_read_old {
	uint64_t head, r;
};
enum { RT_READS = 1 << 14, RT_READ_OLD = 1 };

/* The thread's view of the shadow and of the order, written by shadow/ and the checking tools. */
struct thread_shadow {
	struct rt_read *reads;    /* RT_READS by address, followed by as many rt_read_old */
	struct rt_repeat *repeat; /* RT_REPEATS by address */
	const int64_t *seen;      /* by slot: the latest time from which this thread took an edge */
	/* Number of open transactions of other threads that reach this one. */
	const uint32_t *others;
	bool outside;     /* outside transactions, and not reached: its accesses need no words */
	bool closed;      /* an access closed a cycle that is not reported yet */
	uint32_t tries;   /* how often the thread could have had a line to itself */
	uintptr_t loaded; /* address of its last atomic operation if that was a load, else 0 */
	uintptr_t at;     /* the memory whose edges are being taken; 0: a lock or a thread */
	uint32_t *atomic_lock; /* the stripe that an atomic operation holds right now */
};

/* Is a function the body of an OpenMP region, or of a task? Or the compiler's part of one? */
enum rt_body { RT_BODY_NONE, RT_BODY_REGION, RT_BODY_TASK, RT_BODY_PART };

/* A function that was entered. */
struct rt_frame {
	uintptr_t sp;       /* stack pointer; shows which functions were left without notice */
	uintptr_t function; /* an address in the function */
	uintptr_t caller;
	uint64_t limit; /* the caller's limit */
	uint64_t begin; /* the time of the call */
	uint64_t *unit; /* the unit after its call in the history */
	uint8_t kind;   /* enum raw_call */
	bool starts;    /* the thread began with it */
	uint8_t body;   /* enum rt_body */
	bool hands_on;  /* it is a start function that only calls the real one */
};

/* The stack of calls, written by blocks/calls.h. */
struct thread_calls {
	struct rt_frame *frame;
	size_t depth, cap;
	uintptr_t start_caller; /* the caller of our own function that called the start function */
	/*
	 * If the thread is in the OpenMP library: 1 + depth, so that a function called from there
	 * is a body; 0 otherwise. And the place in the program that the body belongs to.
	 */
	size_t body_at;
	uintptr_t body_caller;
	enum rt_body body;
};

/* A marked block that is open. */
struct rt_mark {
	size_t depth; /* number of open calls at the mark */
	uint32_t label;
	uintptr_t pc;
};
enum { RT_MARKS = 32 };

/* Blocks, written by blocks/; thread/mode.c writes `active`. */
struct thread_blocks {
	size_t txn; /* 1 + depth of the frame that the transaction began in; 0: none is open */
	uint32_t txn_mark;     /* 1 + index of the mark that it began with; 0: with the function */
	uint32_t nmarks;       /* number of open marks; only the first RT_MARKS are in `mark` */
	size_t cut;            /* frames with a lower index are no longer blocks */
	bool followed;         /* the tool wants this thread's calls and blocks */
	bool started;          /* the thread has called its start function */
	bool active;           /* counted in mode_nactive */
	uint32_t nreports;     /* findings of this transaction that are held back until its end */
	uint64_t transactions; /* number of transactions so far */
	uint64_t txn_clock;    /* the clock when the transaction began */
	uint64_t txn_begin;    /* the time when the transaction began */
	struct rt_mark mark[RT_MARKS];
};

/* A lock that the thread holds. */
struct rt_held {
	uintptr_t address;
	uintptr_t pc;   /* where it was acquired */
	uint32_t times; /* how often it was acquired and not released yet */
	uint8_t kind;   /* enum raw_lock */
	bool shared;
};

/*
 * The objects of a parallel region: addresses in some memory that exists as long as the region.
 * intercept/openmp.h says what they are.
 */
enum rt_team { TEAM_BARRIER, TEAM_MADE, TEAM_DONE, TEAM_TURNS, TEAM_ORDERED, TEAM_BYTES };

/* Held locks, written by history/held_locks.c. */
struct thread_locks {
	struct rt_held *held;
	size_t n, cap;
	bool strange; /* the thread has just released a lock that it did not hold */
};

/* A writer of units (trace/raw_format.h). */
struct rt_log {
	uint64_t *next, *end;   /* where the next unit goes; the end of the chunk */
	uint64_t base, pc_high; /* the values that units count from */
	uint64_t clock;         /* used by the history */
};

/*
 * doublechecker: an edge that came in. While both threads are in the same transactions as then, the
 * same edge is not needed again.
 */
struct rt_came {
	uint64_t since, own; /* the other thread's icd_public.since, and this one's */
	uint32_t slot;       /* the other thread's */
};
enum { RT_CAME = 8 };

/* What doublechecker has to do at an access of the thread; 0: nothing. */
enum { ICD_STATES = 1, ICD_LOG = 2, ICD_SLOW = 4 };

/* doublechecker's part: doublechecker/icd.h. The first three are for its fast path. */
struct thread_icd {
	uint32_t owner, mask, shared;
	uint32_t todo;                /* ICD_STATES | ... */
	uint32_t wrex, rdex;          /* the thread's own states */
	uint32_t seen;                /* the newest count of shared states that the thread knows */
	uint32_t left;                /* how often it could have made memory shared and did not */
	struct rt_came came[RT_CAME]; /* by slot */
	struct icd_logged *logged;
	uint64_t nlogged;
	const uint64_t *ended_at; /* the end of its history when its last transaction ended */
};

/* The recorder's part. */
struct thread_record {
	struct rt_log log;
	void *chunk;
	size_t chunk_bytes;
	uint32_t nchunks;
};

struct rt_thread {
	struct thread_time time;
	struct thread_gate gate;
	uint32_t ignoring; /* open requests of the program to ignore its accesses */
	uint32_t slot;     /* 0: this thread is not checked */
	struct rt_log hist;
	struct thread_shadow shadow;
	struct thread_icd icd;
	struct history *history;
	struct thread_blocks blocks;
	struct thread_calls calls;
	struct thread_locks locks;
	struct thread_record rec;
	uint32_t id;
	struct {
		uintptr_t low, high;
	} stack;
	/* Where the program called a library function that calls one of our interceptors. */
	struct {
		uintptr_t alloc; /* operator new() */
		uintptr_t std;   /* std::thread and std::condition_variable */
	} callers;
	struct outside_thread *outside; /* checker/outside.c */
	/* Written by intercept/openmp.c and openmp_tool.c. */
	struct {
		/* Objects of the innermost parallel region (enum rt_team); 0: outside of any. */
		uintptr_t team;
		uint32_t reducing; /* open reductions that hold their lock */
	} openmp;
	uint32_t at_lock; /* open calls that work on the program's own locks: hooks/annotate_tsan.c
			   */
} __attribute__((aligned(64)));

extern __thread struct rt_thread rt_self __attribute__((tls_model("initial-exec")));

extern int rt_process; /* the process id */

/* Is this stack pointer on the thread's own stack? */
static inline bool rt_on_stack(const struct rt_thread *t, uintptr_t sp)
{
	return sp - t->stack.low < t->stack.high - t->stack.low;
}

/*
 * Was the function with this stack pointer called by a signal handler? If a handler was left by a
 * jump, the stack pointer is above its frames, or on another stack.
 */
static inline bool rt_in_handler(const struct rt_thread *t, uintptr_t sp)
{
	return t->gate.handler_sp && sp < t->gate.handler_sp &&
	       rt_on_stack(t, sp) == rt_on_stack(t, t->gate.handler_sp);
}

/* --- the gate --- */

/*
 * The thread called its first hook and no interceptor saw its creation: begin it, with a new
 * number. Returns false if the thread notes nothing.
 */
bool rt_thread_born(struct rt_thread *t);
/* Call the program's handlers of the delayed signals. */
void rt_signals_deliver(struct rt_thread *t);

/* Is the thread between rt_enter() and rt_leave()? */
static inline bool rt_is_inside(const struct rt_thread *t)
{
	return t->gate.quiet & RT_IN_RUNTIME;
}

/* The parts of rt_enter() and rt_leave() that call no other function. */
static inline void rt_begin(struct rt_thread *t)
{
	RT_ASSERT(!rt_is_inside(t));
	t->gate.quiet = RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
}

/* Returns true if the caller has to call rt_signals_deliver(). */
static inline bool rt_end(struct rt_thread *t)
{
	RT_ASSERT(rt_is_inside(t));
	RT_COMPILER_BARRIER();
	t->gate.quiet &= ~(uint32_t)RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
	return RT_UNLIKELY(t->gate.pending);
}

/* Enter the runtime. If this returns false, note nothing and do not call rt_leave(). */
static inline bool rt_enter(struct rt_thread *t)
{
	if (RT_UNLIKELY(t->gate.quiet) && (t->gate.quiet != RT_UNBORN || !rt_thread_born(t)))
		return false;
	rt_begin(t);
	return true;
}

static inline void rt_leave(struct rt_thread *t)
{
	if (rt_end(t))
		rt_signals_deliver(t);
}

/*
 * Enter the runtime whatever the thread's state is: it may be inside already, unborn or gone.
 * Returns whether it was inside; rt_leave_nested() needs that.
 */
static inline bool rt_enter_nested(struct rt_thread *t)
{
	bool inside = rt_is_inside(t);

	t->gate.quiet |= RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
	return inside;
}

static inline void rt_leave_nested(struct rt_thread *t, bool inside)
{
	if (!inside)
		rt_leave(t);
}

#endif
