/*
 * The messages between a checked program and its reporter. The runtime inside the program finds the
 * cycles; it knows addresses only. The reporter is another process (`atomsan run`, or `atomsan
 * live`, which the program starts itself): it knows names, asks the specification, explains and
 * prints.
 *
 * The connection is a stream socket. Each message is a struct live_head followed by `bytes` bytes.
 * Numbers are in the machine's own byte order. The program sends, and waits only for the messages
 * that are marked "answered".
 *
 *	HELLO     the first message: struct live_hello, then those of the runtime's options that the
 *	          reporter needs, "key=value\n" each, then a NUL and the command line
 *	MODULE    a module was loaded: load bias (8 bytes), then the text of RAW_MODULE
 *	ASK       struct live_ask, then the label of a marked block: is this function, or this
 *	          marked block, a block? Answered by ANSWER
 *	UNRULED   no body: about which functions does no rule say anything? Sent before main(), so
 *	          that few functions have to be asked about later. Answered by ANSWERS
 *	FINDING   struct live_finding, then sections (enum live_section_kind): the steps, the facts
 *	          that the reporter needs to name things, and a raw recording of the threads' last
 *	          moments. Answered by SHOWN if `answer` is set. If `open` is set, the finding's
 *	          transaction has not ended: the finding is shown when SETTLED comes or when the
 *	          program is gone
 *	SETTLED   struct live_settled: a thread's transaction has ended, so the reporter can show
 *	          the thread's open findings. If a cut ended the transaction, LEFT_OUT comes first
 *	AGAIN     struct live_again: the same finding was made so many more times. If a block has
 *	          had its share of FINDINGs, its later findings are only in the numbers of END
 *	LEFT_OUT  addresses (8 bytes each) in functions that turned out to wait, or that the source
 *	          says are not atomic (then with LIVE_SAID_NOT): findings that blame only such
 *	          functions do not count
 *	RUN       no body; the descriptor of a raw recording of the whole run comes with it. When
 *	          END comes, or when the process has ended without it, the engines make findings
 *	          of that recording. Without a descriptor, the run could not be recorded
 *	SUSPECT   struct live_suspect, then the text if it is a label: a block that a first run
 *	          suspects
 *	OUTSIDE   struct live_outside, one or more: functions with accesses that were not checked
 *	          because they are outside of all blocks. Comes once, before END
 *	LOCK      struct live_lock: a mutex was used wrongly
 *	FAMILY    no body; the descriptor of a file that has a struct live_family comes with it. The
 *	          process and those that it forks write to it what they cannot send
 *	INCOMPLETE  a text: the process is not checked in full, for this reason
 *	END       struct live_end: the program is about to end. Answered by SHOWN with the number of
 *	          findings that were shown and still count. If a connection ends without END, the
 *	          program was killed; the findings made so far count
 *
 * Included by: the runtime, the reporter, the command line, tests.
 */
#ifndef ATOMSAN_TRACE_LIVE_FORMAT_H
#define ATOMSAN_TRACE_LIVE_FORMAT_H

#include <stdint.h>

#define LIVE_VERSION 12u

/* Limits. A reporter ends the connection if a message exceeds them. */
#define LIVE_BYTES_MAX   (1u << 30) /* of a message */
#define LIVE_STEPS_MAX   4096u      /* of a finding */
#define LIVE_CLOSING_MAX 8u         /* struct live_closing of a finding */
#define LIVE_LABEL_MAX   512u       /* bytes of a label */
#define LIVE_TOKEN       32u        /* bytes of a token */
#define LIVE_REASON_MAX  512u       /* bytes of a reason */
/* The calls that are kept with a step, at most. */
#define LIVE_CALLS 6u

enum live_type {
	LIVE_HELLO = 1,
	LIVE_MODULE,
	LIVE_ASK,
	LIVE_ANSWER,
	LIVE_FINDING,
	LIVE_SHOWN,
	LIVE_AGAIN,
	LIVE_LEFT_OUT,
	LIVE_END,
	LIVE_SETTLED,
	LIVE_RUN,
	LIVE_SUSPECT,
	LIVE_OUTSIDE,
	LIVE_UNRULED,
	LIVE_ANSWERS,
	LIVE_LOCK,
	LIVE_INCOMPLETE,
	LIVE_FAMILY
};

/* Set in an address of LEFT_OUT: the source says that the function is not atomic. */
#define LIVE_SAID_NOT (1ull << 63)

struct live_head {
	uint32_t type, bytes;
};

struct live_hello {
	uint32_t version, pid;
	/*
	 * What follows the '#' in the option `reporter`: proof that the supervisor started this
	 * process, even if it has become another user since. Zeros: there is none.
	 */
	char token[LIVE_TOKEN];
};

/* The arguments of block_rules' decide() and hands_on_at() in blocks.h. */
struct live_ask {
	uint64_t pc;   /* an address in the function, or the number of a label */
	uint64_t call; /* the place of its call */
	char kind;     /* 'f', 's', 'm', 'a' */
	uint8_t start;
	uint8_t zero[6];
};
struct live_answer {
	/* BLOCK_ATOMIC and its kin; with BLOCK_SUSPECTED if a first run's file names the block. */
	uint32_t decide;
	uint32_t hands_on; /* hands_on_at(call) */
};

/*
 * ANSWERS consists of these, in the order of addresses: no rule says anything about the functions
 * from `low` to before `high`.
 */
struct live_unruled {
	uint64_t low, high;
	uint32_t decide[2]; /* as for an ASK about a plain call; about a start function */
};

enum live_suspect_kind { LIVE_SUSPECT_FUNCTION, LIVE_SUSPECT_LABEL, LIVE_SUSPECT_OUTSIDE };
struct live_suspect {
	uint64_t pc; /* an address in the function */
	uint32_t kind, zero;
};

struct live_outside {
	uint64_t pc; /* an address in the function */
	uint64_t accesses;
};
enum { LIVE_OUTSIDE_MAX = 64 };

enum live_lock_use {
	LIVE_LOCK_OF_OTHER, /* a thread unlocked it, and another thread held it */
	LIVE_LOCK_OF_NONE,  /* a thread unlocked it, and no thread held it */
	LIVE_LOCK_AT_END,   /* a thread ended while it held it */
	LIVE_LOCK_AT_EXIT,  /* the program ended, and the thread that ended it held it */
	LIVE_LOCK_USES
};
struct live_lock {
	uint64_t address; /* of the mutex */
	uint64_t pc;      /* where it was unlocked; in the last two cases, where it was locked */
	uint32_t use, zero;
};

/*
 * A FINDING's sections: each is a struct live_section and `bytes` bytes, a multiple of 8. Each kind
 * comes once at most. Numbers of threads are those of the recording.
 */
enum live_section_kind {
	LIVE_SECTION_STEPS = 1, /* struct live_step: the cycle, in the order of its steps */
	LIVE_SECTION_CLOSING, /* struct live_closing: the bytes that close it; there may be more */
	/*
	 * A raw recording (raw_format.h) of the last moments of all threads, as far as they are
	 * kept. The operation that closed the cycle is the last unit of the finding's thread, and
	 * by its clock the last of the recording.
	 */
	LIVE_SECTION_RECORDING,
	/* Facts from before the recording. */
	LIVE_SECTION_MODULES,     /* struct live_text: load bias, text of RAW_MODULE */
	LIVE_SECTION_LABELS,      /* struct live_text: number and text of a label */
	LIVE_SECTION_NOT_BLOCKS,  /* addresses in functions that were already left out */
	LIVE_SECTION_THREADS,     /* struct live_thread */
	LIVE_SECTION_CREATIONS,   /* struct live_origin: of a thread */
	LIVE_SECTION_ALLOCATIONS, /* struct live_origin: of memory */
	LIVE_SECTIONS
};
struct live_section {
	uint32_t kind, bytes;
};

/*
 * A step as the runtime knows it, in case the recording does not reach back far enough to show the
 * cycle.
 */
struct live_step {
	uint64_t address, pc, time;
	uint32_t thread;
	uint8_t op;                 /* enum raw_op */
	uint8_t aux;                /* as in a unit */
	uint8_t evicted;            /* only the thread is known */
	uint8_t kept;               /* a saved operation, which the recording does not have */
	uint64_t calls[LIVE_CALLS]; /* if kept: the calls around it, innermost first, then 0 */
};
/* Which bytes of 8 bytes of memory close the cycle. If a lock operation closes it, all is 0. */
struct live_closing {
	uint64_t address;
	uint64_t bytes; /* bit n: the byte at address + n */
};
/* A text: `bytes` bytes follow, and zeros up to a multiple of 8. */
struct live_text {
	uint64_t number;
	uint32_t bytes, zero;
};
struct live_thread {
	uint64_t stack, stack_bytes; /* lowest address; 0 bytes: not known */
	uint32_t number;
	uint32_t left_start; /* 1: it has left its start function */
	char name[16];       /* zeros: none; without a NUL if it is that long */
};
/* Where a thread or an allocation was made; `ncalls` addresses follow. */
struct live_origin {
	uint64_t address; /* of the allocation; the number of the thread that was created */
	uint64_t size;    /* of the allocation */
	uint64_t pc;
	uint32_t thread; /* the thread that made it */
	uint32_t ncalls; /* the places of the calls around it, outermost first */
};

struct live_finding {
	uint64_t key;      /* of its kind, for AGAIN */
	uint32_t thread;   /* the thread whose access closed the cycle */
	uint32_t answer;   /* 1: the program waits for SHOWN */
	uint32_t evicted;  /* 1: the recording does not reach back to all steps */
	uint32_t open;     /* 1: its transaction has not ended */
	uint32_t replayed; /* 1: found by a replay: not a finding unless the recording has it */
	/* The transaction, in case the recording does not reach back to it. */
	uint32_t marked; /* 1: `block` is the number of a label */
	uint64_t block;  /* an address in its function; 0: there is none */
	uint64_t begin;  /* the place of its call or mark */
	uint32_t blamed; /* 1: the steps alone show that it is to blame */
	uint32_t zero;
};

struct live_settled {
	uint32_t thread, zero;
};

struct live_shown {
	uint64_t findings; /* after FINDING: 1, or 0 if it was suppressed or already known */
};

struct live_again {
	uint64_t key, times;
};

/* Figures for `-v`. */
struct live_end {
	uint64_t transactions, edges, cycles;
	uint64_t evicted; /* findings with `evicted` */
	/* Kinds of cycles not sent because their blocks had too many; how often they came. */
	uint64_t kinds_counted, times_counted;
	uint32_t threads, slots;
	/* The figures of doublechecker, as its table has them. */
	uint64_t idg_edges, components, passed_on, accesses_passed_on, logged, lost, pooled,
		max_alive;
	/* How many of the cycles were searched for in the histories (runtime/report/kinds.h). */
	uint64_t searched;
};

/* The file of FAMILY. */
struct live_family {
	/* Processes, of this one and those that it forked, that could not reach the reporter. */
	uint32_t unreported;
};

#endif
