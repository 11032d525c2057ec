/*
 * A finding: what an engine has to say, whatever the engine. Report writers
 * print it, fingerprints tell two of a kind apart.
 *
 * A finding owns its strings (they live in its arena) and knows nothing of the
 * trace it came from, so it can outlive it. What an engine has nothing for is
 * NULL, 0 or empty, and printed as null.
 *
 * Who may include this: engines, report writers, the command line, tests.
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

/* A transaction, named as a report names it. */
struct finding_block {
	const char *thread; /* NULL: there is no such block */
	const char *label;  /* NULL: an operation outside blocks, or no name given */
	const char *place;  /* where it began, or NULL */
	uint64_t begin;     /* event number of its begin */
};

/* A function in a stack; what is not known is NULL or 0. See names.h. */
struct finding_frame {
	const char *function, *file, *module;
	uint32_t line, column;
	uint64_t offset;
	bool inlined;
};

/* Innermost first; empty where the trace has no stacks. */
struct finding_stack {
	struct finding_frame *v;
	size_t n;
};

/* A thread of the finding, and who created it where; for recorded runs only. */
struct finding_thread {
	const char *name, *creator;
	struct finding_stack created;
};

/* One operation on the way. Consecutive steps conflict or belong to one transaction. */
struct finding_step {
	const char *thread;
	uint64_t event;
	const char *op;          /* spelling: "r", "acq" */
	const char *past;        /* for sentences: "read" */
	const char *operand;     /* or NULL */
	const char *label;       /* of the transaction that it belongs to, or NULL */
	uint64_t begin;          /* event number of that transaction's begin; 0 outside blocks */
	const char *place;       /* or NULL */
	const char *begin_place; /* where that transaction began, or NULL */
	struct finding_stack stack;
	/*
	 * Locks that the thread held when it came to this step, so not what the step
	 * acquires: "l", "l (shared)". NULL: the engine does not say.
	 */
	const char **held;
	size_t nheld;
	/*
	 * Atomic blocks that were open at this step, outermost first: its transaction,
	 * then those nested in it. NULL: nobody looked (context.h).
	 */
	struct finding_block *blocks;
	size_t nblocks;
};

/* An event of a schedule. */
struct finding_move {
	uint64_t event;
	const char *thread, *op, *operand, *place; /* the last two may be NULL */
};

struct finding {
	enum finding_status status;
	const char *kind; /* "cycle" */
	enum finding_rests_on rests_on;
	uint64_t event; /* the one that made it true */
	struct finding_block transaction;
	struct finding_block blame; /* thread NULL: no transaction is to blame */
	const char **refuted;       /* labels (an entry may be NULL), outermost first */
	size_t nrefuted;
	const char *variable;
	struct finding_stack allocated; /* where its heap block was, if it is in one */
	const char *pattern;
	struct finding_step *steps;
	size_t nsteps;
	uint64_t *schedule; /* event numbers */
	size_t nschedule;
	struct finding_move *moves; /* the last of the schedule's events: context.h */
	size_t nmoves;
	struct finding_block *with; /* the other transactions, where the engine names them */
	size_t nwith;
	const char **locks; /* of a lock cycle */
	size_t nlocks;
	struct finding_thread *threads; /* of the steps, each once, as far as known */
	size_t nthreads;
	bool recorded;  /* of a recorded run: see tell.h */
	bool live;      /* found while the program ran: event numbers tell the order of the
			   finding's own events, and nothing else */
	uint64_t group; /* of live ones: those of one transaction have one number */
	bool evicted;   /* of a live one: maybe no more is known than steps, some of them without an
			   operation, and who is to blame only where those say so, since what came
			   before was forgotten */
	bool out_of_order;    /* the same, since by the clock they came in another order */
	uint64_t fingerprint; /* see finding_seal() */
	uint64_t count;       /* how many of this fingerprint were found */
	struct arena arena;
};

struct finding *finding_new(void);
void finding_free(struct finding *f);

/*
 * Compute the fingerprint, from what stays the same when the program is run
 * again: kind, labels, and each step's operation and place (its operand where
 * it has no place, unless the run was recorded: that may be an address); of a
 * cycle only the first and the last two steps. Not from thread names, event
 * numbers or addresses. Call it last.
 */
void finding_seal(struct finding *f);

/* Where an engine puts its findings; it gives them away. */
struct finding_sink {
	void (*emit)(struct finding_sink *sink, struct finding *f);
};

/*
 * The sink that everybody uses: keeps findings in order, and unless `all` is
 * set only the first of each fingerprint, counting the others.
 */
struct finding_list {
	struct finding_sink sink; /* first: cast back from it */
	bool all;
	struct finding **v;
	size_t n, cap;
	uint64_t emitted; /* with the duplicates */
	uint32_t *slot;   /* hash of fingerprints: 1 + index into v */
	size_t nslots;
};
void finding_list_init(struct finding_list *l, bool all);
void finding_list_free(struct finding_list *l);
/* Free those for which `drop` is true, and count them no more; returns how many. */
size_t finding_list_drop(struct finding_list *l, bool (*drop)(const struct finding *f, void *arg),
			 void *arg);

#endif
