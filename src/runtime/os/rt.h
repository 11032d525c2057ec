/*
 * The ground floor of the library inside the checked program: what every hook
 * and interceptor stands on.
 *
 * The rules in this folder, because the code runs inside somebody else's
 * program, at any moment of it:
 *
 *  - It takes no lock that the program could be holding, and calls nothing of
 *    the C library that does: no malloc, no stdio. Memory comes from mmap.
 *  - What the program may interpose or we do, is called through REAL(name).
 *  - Between rt_enter() and rt_leave() a thread is in the runtime: hooks that it
 *    meets there (in a function that a signal handler calls, in a library
 *    function that we call) do their work and note nothing; signals wait until
 *    rt_leave() (signals.c). These stretches are short and never block on the
 *    program.
 *  - errno is the program's: whatever may change it saves it first.
 *  - When something runs out, one message, and the program goes on unchecked.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_RT_H
#define ATOMSAN_RUNTIME_OS_RT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RT_EXPORT      __attribute__((visibility("default")))
/* A program that brings its own (an allocator, say) is not in our way. */
#define RT_INTERCEPT __attribute__((weak, visibility("default")))
/* Where the function that is running will return to. */
#define RT_CALLER ((uintptr_t)__builtin_return_address(0))
/* Stores before this in the program are before it in memory, to this thread and to a reader of what
 * it left behind. */
#define RT_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* A function that was entered. */
struct rt_frame {
	uintptr_t sp;       /* tells which ones were left without notice */
	uintptr_t function; /* an address in it */
	uintptr_t caller;
	uint64_t limit; /* the check's, of its caller */
	uint64_t begin; /* the check's time when it was called */
	uint64_t *unit; /* its call in the history */
	uint8_t kind;   /* see RAW_CALL's aux */
	bool starts;    /* the thread began with it */
	bool hands_on;  /* as blocks.h has it */
};

/* A block marked in the source that is open. */
struct rt_mark {
	size_t depth; /* of the function it stands in */
	uint32_t label;
	uintptr_t pc;
};
enum { RT_MARKS = 32 };

/*
 * A word of the shadow was made young, here: access.c. Where others have to do with the
 * memory, too, the word that is in the shadow is still the old one, or the one that stands for all
 * readers: `kept`.
 */
struct rt_repeat {
	uint64_t word;
	uintptr_t address, pc;
	uint64_t kept;
};
enum { RT_REPEATS = 1 << 13 };

/*
 * What the thread has read of a line that several read: see line.h. `kept` is the line's head.
 * Where RT_READ_OLD is in `head` it did something earlier that is still of interest: that stands
 * elsewhere (struct rt_read_old), with the time of the first, and out of the way of what is
 * asked for all the time.
 */
struct rt_read {
	uint64_t kept, head, r, young;
} __attribute__((aligned(32)));
struct rt_read_old {
	uint64_t head, r;
};
enum { RT_READS = 1 << 14, RT_READ_OLD = 1 };

/* An edge that came in, for the imprecise check: from whom, and since when both did what they did.
 */
struct rt_came {
	uint64_t since, own;
	uint32_t slot;
};
enum { RT_CAME = 8 };

/* A lock that the thread holds. */
struct rt_held {
	uintptr_t address;
	uint32_t times;
	uint8_t kind; /* enum raw_lock */
	bool shared;
};

/* Units of trace/raw_format.h: where the next one goes, and what it counts from. */
struct rt_log {
	uint64_t *next, *end;
	uint64_t base, pc_high;
	uint64_t clock; /* of the history */
};

/* Why a thread notes nothing; 0: it does. */
enum rt_quiet {
	RT_UNBORN = 1,     /* its first hook is still to come */
	RT_IN_RUNTIME = 2, /* between rt_enter() and rt_leave() */
	RT_GONE = 4,       /* it has ended, or recording has */
};

struct rt_thread {
	/* The check's: see check.h. First what the fast path needs. */
	uint64_t limit, self;
	struct rt_read *reads;      /* RT_READS, by address; behind them as many rt_read_old */
	volatile uint32_t quiet;    /* enum rt_quiet */
	volatile uint32_t pending;  /* signals that wait for rt_leave() */
	uint32_t ignoring;          /* so often did the program ask to look away: annotate_tsan.c */
	uint32_t slot;              /* 0: this thread is not checked */
	uint64_t now, dead, raised; /* `raised` is `now`, when the clock went up last */
	struct rt_log hist;
	uint64_t clock;
	bool outside; /* of transactions, and nobody reaches it: nothing that it does matters */
	/* The imprecise check's: see icd_known(). */
	uint32_t icd_owner, icd_mask, icd_shared;
	uint64_t txn_limit;
	uint64_t calm; /* `now`, when the stretch began or functions had to be told apart again */
	uintptr_t loaded; /* by its last atomic operation; 0: that was no load */
	/* The imprecise check's: see icd.h. */
	uint32_t icd_do;
	uint32_t icd_wrex, icd_rdex, icd_seen; /* states of its own; the count it has seen */
	uint32_t icd_left;                     /* so often */
	struct rt_came icd_came[RT_CAME];      /* by slot */
	struct icd_logged *icd_logged;
	uint64_t icd_nlogged;
	const uint64_t *icd_mark; /* where its history was when its last transaction ended */
	uintptr_t at; /* the memory whose edges are being taken; 0: a lock's, or a thread's */
	const int64_t *seen;
	const uint32_t *others; /* how many open transactions of others reach this thread */
	struct history *history;
	uint32_t nmarks;
	size_t txn;        /* 1 + depth of the frame that the transaction began with; 0: none */
	uint32_t txn_mark; /* 1 + index of the mark, where it is not the function itself */
	bool started;      /* it has called its first function */
	bool closed;       /* a cycle, which is still to be reported */
	bool active;       /* counted in check_active */
	size_t cut;        /* frames below this are no blocks any more */
	uint32_t asked;    /* how often it could have had a line to itself: closes() in access.c */
	uint64_t transactions;
	uint64_t txn_clock; /* `clock`, when the transaction began */
	uint64_t txn_begin; /* `now`, then */
	uint32_t nreports;  /* of this transaction: see report.h */
	struct rt_mark mark[RT_MARKS];
	struct rt_repeat *repeat; /* the last ones, by address: RT_REPEATS */
	struct rt_held *held;
	size_t nheld, held_cap;

	/* The prediction's: see predict.h. */
	struct plog *plog; /* NULL: nothing is predicted from this thread */
	struct predict_thread *predicted;

	struct rt_log rec; /* the recorder's */
	uint32_t id;
	uint32_t nchunks;
	void *chunk;
	size_t chunk_bytes;

	struct rt_frame *frame;
	size_t depth, frame_cap;
	uintptr_t stack_low, stack_high;
	uintptr_t start_caller; /* who called our function that started the thread's */

	uintptr_t alloc_caller; /* operator new() was called here: malloc() inside it is too */
	uintptr_t std_caller;   /* the same of std::thread and std::condition_variable */
	uint32_t at_lock;       /* it is at work on a lock of the program's own: annotate_tsan.c */
	uint32_t *atomic_lock;  /* held by this thread right now */
	struct rt_signal *signals; /* those that wait; see signals.c */
	uintptr_t handler_sp;      /* a signal handler runs, with its frames below this */
} __attribute__((aligned(64)));

static inline bool rt_on_stack(const struct rt_thread *t, uintptr_t sp)
{
	return sp - t->stack_low < t->stack_high - t->stack_low;
}

/*
 * Is what has its frame here called by a signal handler? One that was left by a
 * jump is not there any more: then the frame is above, or on another stack.
 */
static inline bool rt_in_handler(const struct rt_thread *t, uintptr_t sp)
{
	return t->handler_sp && sp < t->handler_sp &&
	       rt_on_stack(t, sp) == rt_on_stack(t, t->handler_sp);
}

extern __thread struct rt_thread rt_self __attribute__((tls_model("initial-exec")));

extern int rt_process; /* its number */

/* No thread but the first was created, or all were joined: see thread.c. */
extern volatile uint32_t rt_threads_out;

/* What is done with accesses of memory. rt_choose_mode(): after what it depends on has changed. */
enum rt_mode {
	RT_NOTHING, /* no other thread is out there, or no block is open, or nobody wants to know */
	RT_CHECKING, /* those that the shadow does not know already are looked at */
	RT_ALL,      /* each is */
	RT_OWNING,   /* those whose state is not right are: see icd.h */
};
extern volatile uint32_t rt_mode;
void rt_choose_mode(void);

/* One line on standard error: "atomsan: ..." */
void rt_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same into a buffer; knows %s %d %u %lu %lx %c %%. Always terminated. */
size_t rt_format(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void rt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Zeroed pages, or NULL. */
void *rt_pages(size_t bytes);
void rt_pages_free(void *p, size_t bytes);
/* They stay where they are, are zero again, and take no memory. */
void rt_pages_empty(void *p, size_t bytes);

/* The thread's first hook: give it a number. False: this thread notes nothing. */
bool rt_thread_born(struct rt_thread *t);
void rt_signals_deliver(struct rt_thread *t);

/* The halves of rt_enter() and rt_leave() that call nobody. */
static inline void rt_begin(struct rt_thread *t)
{
	t->quiet = RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
}

/* True: there are signals to deliver. */
static inline bool rt_end(struct rt_thread *t)
{
	RT_COMPILER_BARRIER();
	t->quiet &= ~(uint32_t)RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
	return RT_UNLIKELY(t->pending);
}

/* False: note nothing. */
static inline bool rt_enter(struct rt_thread *t)
{
	if (RT_UNLIKELY(t->quiet) && (t->quiet != RT_UNBORN || !rt_thread_born(t)))
		return false;
	rt_begin(t);
	return true;
}

static inline void rt_leave(struct rt_thread *t)
{
	if (rt_end(t))
		rt_signals_deliver(t);
}

/* Stop here, with the status that says that something was found. */
void rt_halt(void) __attribute__((noreturn));
void rt_yield(void);
void rt_nap(void); /* a tenth of a millisecond, or more */

/*
 * Locks of our own: held for a few instructions, never while calling out. A thread that holds one
 * may take another only if that one comes later in this list; check.h says who needs which.
 * Compiled with ATOMSAN_DEBUG, whoever does otherwise dies with a message (lock_rank.c).
 */
enum rt_rank {
	RT_MODULES = 1, /* the loaded modules */
	RT_LABELS,      /* numbers of labels */
	RT_STRIPE,      /* of the shadow; one at a time */
	RT_GRAPH,       /* of doublechecker; before the order's, where a process forks */
	RT_ORDER,       /* of transactions */
	RT_REPLAY,      /* of doublechecker: held for as long as that takes */
	RT_HISTORIES,   /* all of them, held still */
	RT_REGIONS,     /* of the shadow; before its lists', where a process forks */
	RT_LEAF,        /* any other: no lock but the next one is taken while it is held */
	RT_MODE,        /* rt_choose_mode()'s */
	RT_REPORTER,    /* the connection: taken by a thread that holds none, and like a leaf */
};

void rt_lock_slow(uint32_t *l);
#ifdef ATOMSAN_DEBUG
void rt_rank_take(const uint32_t *l, enum rt_rank rank);
void rt_rank_give(const uint32_t *l);
/* In a forked child: nobody holds a lock. */
void rt_rank_child(void);
#else
static inline void rt_rank_take(const uint32_t *l, enum rt_rank rank)
{
	(void)l;
	(void)rank;
}
static inline void rt_rank_give(const uint32_t *l)
{
	(void)l;
}
static inline void rt_rank_child(void)
{
}
#endif

static inline void rt_lock_ranked(uint32_t *l, enum rt_rank rank)
{
	rt_rank_take(l, rank);
	if (RT_UNLIKELY(__atomic_exchange_n(l, 1, __ATOMIC_ACQUIRE)))
		rt_lock_slow(l);
}

/* A leaf. */
static inline void rt_lock(uint32_t *l)
{
	rt_lock_ranked(l, RT_LEAF);
}

static inline void rt_unlock(uint32_t *l)
{
	rt_rank_give(l);
	__atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

#endif
