/*
 * A finding: what an engine reports, in one form for all engines. Report writers
 * print it; a fingerprint identifies equal findings.
 *
 * A finding owns its strings (they live in its arena) and does not refer to the
 * trace it came from, so it can outlive it. A field that the engine does not
 * fill in is NULL, 0 or empty, and is printed as null.
 *
 * Included by: engines, report writers, the command line, tests.
 */
#ifndef ATOMSAN_ENGINE_FINDING_H
#define ATOMSAN_ENGINE_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

enum finding_status {
	FINDING_OBSERVED,  /* it happened in this run */
	FINDING_PREDICTED, /* another interleaving of this run would do it */
	FINDING_CONFIRMED, /* that interleaving has been run */
};

enum finding_rests_on {
	RESTS_ON_NOTHING, /* the engine does not say */
	RESTS_ON_DATA,    /* some cycle uses no lock operation */
	RESTS_ON_LOCKS,   /* every cycle uses one */
};

/* What kind of code a finding is about; the spelling in reports is region_kind_names[]. */
enum region_kind {
	REGION_UNKNOWN,
	REGION_FUNCTION,
	REGION_MARKED,  /* a block that is marked in the source */
	REGION_STRETCH, /* what a function does between two waits */
	REGION_ROUND,   /* one round of a loop */
	REGION_PAIR,    /* two accesses of one variable by one activation of a function */
	REGION_KINDS
};
extern const char *const region_kind_names[REGION_KINDS];

/* A block, named as a report names it; usually a transaction. */
struct finding_block {
	const char *thread; /* NULL: there is no such block */
	const char *label;  /* NULL: an operation outside blocks, or no name given */
	const char *place;  /* of its begin, or NULL */
	uint64_t begin;     /* event number of its begin */
	/* Only in finding_step.blocks: what it is, where it is if it is a function (or NULL), and
	 * the locks held when it began. */
	enum region_kind kind;
	const char *defined;
	const char **held;
	size_t nheld;
};

/* A function in a stack; unknown fields are NULL or 0. See names.h. */
struct finding_frame {
	const char *function, *file, *module;
	uint32_t line, column;
	uint64_t offset;
	bool inlined;
};

/* Innermost frame first; empty if the trace has no stacks. */
struct finding_stack {
	struct finding_frame *v;
	size_t n;
};

/* A thread of the finding, with the thread and stack that created it; for recorded runs only. */
struct finding_thread {
	const char *name, *creator;
	struct finding_stack created;
};

/* An access near a step. */
struct finding_use {
	uint64_t event;
	uint32_t var; /* as in finding_step */
	bool reads, writes;
	struct finding_stack stack; /* of a read of the step's own variable */
};

/* One operation that proves the finding. Consecutive steps conflict or are in one transaction. */
struct finding_step {
	const char *thread;
	uint64_t event;
	const char *op;          /* spelling: "r", "acq" */
	const char *past;        /* for messages: "read" */
	const char *operand;     /* or NULL */
	const char *label;       /* of its transaction, or NULL */
	uint64_t begin;          /* event number of that transaction's begin; 0 outside blocks */
	const char *place;       /* or NULL */
	const char *begin_place; /* of that begin, or NULL */
	struct finding_stack stack;
	uint32_t var; /* the number of the variable that it accesses, in the trace */
	/*
	 * Locks that the thread held before this step, so without the one that the step
	 * acquires: "l", "l (shared)". NULL: the engine does not say.
	 */
	const char **held;
	size_t nheld;
	/*
	 * Atomic blocks that were open at this step, outermost first: its transaction,
	 * then those nested in it. NULL: context_add() was not called.
	 */
	struct finding_block *blocks;
	size_t nblocks;
	/* What context_add() also finds out, for rank.h; not printed. */
	uint64_t *held_since; /* for each of `held`: the event that acquired it; or NULL */
	/*
	 * The thread's accesses of the variables of its steps before this step, the oldest first,
	 * since when it has held any lock without a break; the last ones if they are many.
	 */
	struct finding_use *uses;
	size_t nuses;
	bool together; /* before it lets go of all locks, the thread accesses another of its
			  variables */
	bool updated;  /* the operand is also changed by atomic operations */
	/* What the source calls the operand at this step, "acc->balance"; or NULL. */
	const char *expression;
};

/*
 * A variable or lock that is called by an expression of the source, or by its type
 * and member, and where that memory is: "heap allocation of 24 bytes, offset 8
 * (allocated at bank.c:9)". Without such a name, the operand itself says this.
 */
struct finding_memory {
	const char *name, *location;
	const char *field; /* "account.balance"; or NULL. Only for memory_names.h */
};

/* An event of a schedule. */
struct finding_move {
	uint64_t event;
	const char *thread, *op, *operand, *place; /* operand and place may be NULL */
};

/* What the finding is about: the innermost code that explains it. */
struct finding_region {
	enum region_kind kind;
	const char *name;  /* of the function, or the label; or NULL */
	const char *place; /* of its begin, or NULL */
	const char *why;   /* why it is assumed to be meant as atomic, a clause; or NULL */
};

/* Whether the schedule of a prediction preserves every value that was read. */
enum finding_feasible { FEASIBLE_UNKNOWN, FEASIBLE_NO, FEASIBLE_YES };

/*
 * What a finding looks like, from the most to the least worth reading; rank.h says how each is
 * recognised. The spelling in reports is finding_class_names[].
 */
enum finding_class {
	CLASS_UNKNOWN,
	CLASS_STALE_WRITE,    /* read, then written, under one lock, released in between */
	CLASS_CHECK_THEN_ACT, /* the same without that lock; or checked, then acted upon */
	CLASS_SEVERAL,        /* several variables that belong together */
	CLASS_OTHER,
	CLASS_LOCK_ORDER,      /* only the order of lock operations */
	CLASS_WEAK,            /* little says that the accesses are meant to belong together */
	CLASS_ATOMIC_VARIABLE, /* one variable, which is used by atomic operations */
	CLASS_SYNCHRONISATION, /* a spin wait, a hand-made lock, a callback without the lock */
	CLASSES
};
extern const char *const finding_class_names[CLASSES];

/* What came of driving the program into a prediction. */
enum confirm_outcome {
	CONFIRM_CONFIRMED,
	CONFIRM_ORDERED,     /* the other thread could not go on before the block had ended */
	CONFIRM_NOT_REACHED, /* the threads did not come to its places */
	CONFIRM_DIVERGED,    /* the steps happened in this order, but the check saw no violation */
	CONFIRM_OUT_OF_TIME,
	CONFIRM_OUTCOMES
};
extern const char *const confirm_outcome_names[CONFIRM_OUTCOMES + 1]; /* ends with NULL */

/* How the confirmed run differs from those with whole blocks. */
enum confirm_harm {
	CONFIRM_HARM_UNKNOWN, /* not judged */
	CONFIRM_HARM_NONE,
	CONFIRM_HARM_EXIT,
	CONFIRM_HARM_OUTPUT,
	CONFIRM_HARM_CRASH,
	CONFIRM_HARM_HANG,
	CONFIRM_HARMS
};
extern const char *const confirm_harm_names[CONFIRM_HARMS]; /* the first is NULL */

struct finding_confirm {
	enum confirm_outcome outcome;
	const char *why; /* for the outcome, a clause; or NULL */
	uint32_t runs;   /* driven runs, until it was confirmed or given up */
	uint32_t replayed, of;
	const char *schedule; /* the file that drives the program into it; or NULL */
	enum confirm_harm harm;
	const char *harm_text; /* a sentence without its full stop; or NULL */
};

struct finding {
	enum finding_status status;
	const char *kind; /* "cycle" */
	enum finding_rests_on rests_on;
	uint64_t event; /* the event that completed it */
	struct finding_block transaction;
	struct finding_block blame; /* thread NULL: no transaction is to blame */
	const char **refuted;       /* labels (an entry may be NULL), outermost first */
	size_t nrefuted;
	const char *variable;
	struct finding_stack allocated; /* the allocation that the variable is in, if any */
	const char *pattern;
	struct finding_step *steps;
	size_t nsteps;
	uint64_t *schedule; /* event numbers */
	size_t nschedule;
	struct finding_move *moves; /* the schedule's last events: context.h */
	size_t nmoves;
	struct finding_block *with; /* the other transactions, if the engine names them */
	size_t nwith;
	const char **locks; /* of a cycle of locks */
	size_t nlocks;
	struct finding_thread *threads; /* of the steps, each once, if their creation is known */
	size_t nthreads;
	bool recorded;  /* from a recorded run: see describe.h */
	bool live;      /* found while the program ran: event numbers give only the order of the
			   finding's own events */
	uint64_t group; /* of a live finding: the same number for all of one transaction */
	/*
	 * Of a live finding: the histories no longer have all of its events. Perhaps only the steps
	 * are known, some of them without an operation, and the blamed block only if they show it.
	 */
	bool evicted;
	bool out_of_order;    /* the same, because the clock gives the steps another order */
	uint64_t fingerprint; /* see finding_seal() */
	struct finding_region region;
	enum finding_feasible feasible;
	uint64_t *changed; /* of a feasible one: event numbers of reads that the schedule changes on
			      purpose (docs/engines/predict.md) */
	size_t nchanged;
	bool acts; /* the steps are two reads, and the block writes the variable after them */
	enum finding_class rank_class;
	uint32_t rank;        /* 1 is the first to look at; 0: not ranked yet. Findings with the
				 same cause have the same rank. */
	const char **reasons; /* for the rank: short clauses */
	size_t nreasons;
	struct finding_memory *memory; /* that has a name: memory_names.h */
	size_t nmemory;
	uint64_t count;                  /* findings with this fingerprint */
	struct finding_confirm *confirm; /* NULL: nothing was tried */
	struct arena arena;
};

struct finding *finding_new(void);
/* Does it count for a verdict or an exit status? A prediction that is only possible does not. */
static inline bool finding_counts(const struct finding *f)
{
	return f->feasible != FEASIBLE_NO;
}
void finding_free(struct finding *f);

/*
 * Compute the fingerprint from what stays the same when the program runs again:
 *
 *  - the kind and the labels;
 *  - the operation and place of each step; of a cycle, only of the first step and
 *    the last two. If a step has no place, its operand, unless the run was
 *    recorded: then the operand may be an address.
 *
 * Thread names, event numbers and addresses do not count. Call it last: it also settles the
 * names of memory (memory_names.h).
 */
void finding_seal(struct finding *f);

/* Where an engine puts its findings. emit() takes ownership. */
struct finding_sink {
	void (*emit)(struct finding_sink *sink, struct finding *f);
};

/* Findings that are recognised and counted, but shown only with -v. */
enum finding_hidden {
	HIDDEN_WEAK,
	HIDDEN_ATOMIC,
	HIDDEN_SYNCHRONISATION,
	HIDDEN_POSSIBLE,
	HIDDEN_KINDS
};

/*
 * The usual sink: keeps findings in order. Unless `all` is set, it keeps only the
 * first finding of each fingerprint and counts the others.
 */
struct finding_list {
	struct finding_sink sink; /* must be first: the list is cast from it */
	bool all;
	struct finding **v;
	size_t n, cap;
	uint64_t emitted; /* findings, duplicates included */
	uint32_t *slot;   /* hash of fingerprints: 1 + index into v */
	size_t nslots;
	/* Set by report/shown.h: v[0..nshown) are shown, the others are only counted. */
	bool selected;
	size_t nshown;
	uint64_t hidden[HIDDEN_KINDS]; /* causes */
};
void finding_list_init(struct finding_list *l, bool all);
void finding_list_free(struct finding_list *l);
/* Returns how many findings of the list are shown: the first ones. */
size_t finding_list_shown(const struct finding_list *l);
/* Remove and free the findings for which drop() is true; returns how many they were. */
size_t finding_list_drop(struct finding_list *l, bool (*drop)(const struct finding *f, void *arg),
			 void *arg);

#endif
