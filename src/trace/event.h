/*
 * The event: what a trace is made of and what every engine takes.
 *
 * A trace is a sequence of events in the order in which they happened; event
 * numbers count from 1. An event says which thread did what to what, and where
 * in the source. Everything that has a name is a small number here, and the
 * trace's `struct names` turns it back: threads, variables and locks are
 * numbered from 0 in the order in which the trace first mentions them, so an
 * engine keeps its state in plain arrays.
 *
 * What the operations mean to the precise engines, and so which events
 * conflict (that is: cannot be swapped when they are adjacent):
 *
 *  - two events of one thread;
 *  - two accesses of one variable, at least one a write; an update is an
 *    atomic read-modify-write, one event that both reads and writes;
 *  - two operations on one lock, at least one exclusive: shared acquires and
 *    releases commute with each other as reads do;
 *  - fork(T) before all events of T, all events of T before join(T).
 *
 * begin and end mark an atomic block; the outermost block of a thread is a
 * transaction, and each event outside blocks is a transaction by itself.
 * wait, notify, barrier, alloc and free carry no conflict of their own. (predict takes
 * a free for a write.)
 */
#ifndef ATOMSAN_TRACE_EVENT_H
#define ATOMSAN_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/* What an operation's operand is. */
enum operand_kind {
	OPERAND_NONE,
	OPERAND_VAR,
	OPERAND_LOCK,
	OPERAND_THREAD,
	OPERAND_LABEL, /* a strref, may be 0 */
	OPERAND_SYNC,  /* condition variable or barrier: numbered with the locks */
};

/*
 * One table: name of the constant, its spelling in text traces and reports,
 * its operand, its past tense for people. The numbers are part of the .atrace
 * format: append only.
 */
#define EVENT_OPS(X)                                                                               \
	X(NONE, "none", NONE, "did nothing")                                                       \
	X(BEGIN, "begin", LABEL, "began")                                                          \
	X(END, "end", NONE, "ended")                                                               \
	X(READ, "r", VAR, "read")                                                                  \
	X(WRITE, "w", VAR, "wrote")                                                                \
	X(UPDATE, "u", VAR, "updated")                                                             \
	X(ACQUIRE, "acq", LOCK, "acquired")                                                        \
	X(RELEASE, "rel", LOCK, "released")                                                        \
	X(ACQUIRE_SHARED, "racq", LOCK, "acquired (shared)")                                       \
	X(RELEASE_SHARED, "rrel", LOCK, "released (shared)")                                       \
	X(FORK, "fork", THREAD, "forked")                                                          \
	X(JOIN, "join", THREAD, "joined")                                                          \
	X(WAIT, "wait", SYNC, "waited for")                                                        \
	X(NOTIFY, "notify", SYNC, "notified")                                                      \
	X(BARRIER, "barrier", SYNC, "reached")                                                     \
	X(ALLOC, "alloc", VAR, "allocated")                                                        \
	X(FREE, "free", VAR, "freed")

enum op {
#define X(id, spelling, operand, past) OP_##id,
	EVENT_OPS(X)
#undef X
		OP_COUNT
};

struct op_info {
	const char *spelling, *past;
	enum operand_kind operand;
};
extern const struct op_info op_info[OP_COUNT];

static inline bool op_is_access(enum op op)
{
	return op >= OP_READ && op <= OP_UPDATE;
}

static inline bool op_is_lock(enum op op)
{
	return op >= OP_ACQUIRE && op <= OP_RELEASE_SHARED;
}

/*
 * A string of the trace: a label or a place. 0 is "none given"; with
 * STRREF_NUMBER set it is the decimal number in the other bits, so that a
 * trace whose places are event numbers needs no table that grows with it;
 * anything else is an entry of `names->strings`. See names.h.
 */
typedef uint32_t strref;
#define STRREF_NUMBER 0x80000000u

/*
 * The operand of an end: why the block ends. Only recorded runs have another
 * reason than END_RETURN.
 */
enum end_reason {
	END_RETURN,
	END_CUT,        /* the thread waits, joins, creates a thread or passes a barrier */
	END_NOT_ATOMIC, /* the source says that the function is not meant to be atomic */
	END_REASONS
};

/* A begin or end of a thread's outermost block begins or ends a transaction. */
enum outer { OUTER_NONE, OUTER_BEGIN, OUTER_END };

/* How an OP_NONE came to be: a begin or end of a function that is no block (blocks.h). */
enum event_left_out {
	LEFT_OUT_NO,
	LEFT_OUT_BEGIN,
	LEFT_OUT_BEGIN_EXCLUDED, /* a rule or the source says that it is not meant to be atomic */
	LEFT_OUT_END
};

/*
 * Values: what a variable has after an access of it, as far as recordings keep that. For a
 * read this is what it saw. Small numbers and -1 are kept: they are what code decides by.
 * 1 .. VALUE_SMALL are the numbers 0 .. VALUE_SMALL - 1. Equal values are equal bytes,
 * since a variable is always accessed as a whole.
 */
enum { VALUE_UNKNOWN = 0, VALUE_SMALL = 253, VALUE_MINUS_ONE = 254 };

/* Returns the value of a variable of `bytes` bytes, at most 8, that has this number. */
static inline uint8_t event_value(uint64_t number, uint32_t bytes)
{
	if (number < VALUE_SMALL)
		return (uint8_t)(number + 1);
	return number == ~0ull >> (64 - 8 * bytes) ? VALUE_MINUS_ONE : VALUE_UNKNOWN;
}

/*
 * OP_NONE stands where the reader dropped an event (a repeated acquire of a
 * lock that the thread holds already, a function of a recorded run that is not
 * meant to be atomic, or, with --lenient, an impossible event): it keeps its
 * number and means nothing.
 */
struct event {
	uint32_t thread;
	uint32_t operand;
	strref place;
	uint8_t op;       /* enum op */
	uint8_t outer;    /* enum outer; set by the reader */
	uint8_t left_out; /* enum event_left_out */
	uint8_t value;    /* what the variable has after an access; VALUE_UNKNOWN for all else */
};
_Static_assert(sizeof(struct event) == 16, "four events a cache line");

/* Returns the label of a begin; a begin without one is known by its place. */
static inline strref event_label(const struct event *begin)
{
	return begin->operand ? begin->operand : begin->place;
}

#endif
