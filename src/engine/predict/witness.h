/*
 * The first part of `predict` (phase I of Farzan, Madhusudan and Sorrentino, CAV
 * 2009): one pass that keeps, for each thread and variable, the witnesses: the
 * accesses that may take part in a violation.
 *
 * A violation is two accesses e1, e2 of a variable in one transaction, and an access
 * f by another thread that conflicts with both and can come between them. It can if
 * the thread of e1 and e2 can be at a point between them while the other is at f.
 * The only thing that matters about a point is its *state*: the thread's locks with
 * their acquisition history, and its stretch between forks and joins. So of all
 * events with one state, one witness is enough. The paper's sets are divided by the
 * kinds of the accesses, so that every pattern is found: R and W for f; for e1 and
 * e2, read-read, read-write, write-read (which are, with WW, the paper's AA) and WW.
 *
 * To free memory is to write it.
 *
 * Beyond the paper, e1 and e2 may also be in one region (region.h) instead of one
 * transaction: what a function that is no block does itself is like a transaction;
 * of accesses in different blocks of a region only some count (witness_across).
 *
 * A thread that holds no lock is in no other thread's way: if there is such a point
 * between e1 and e2, the other states between them are not needed.
 *
 * Beyond the paper, events of one state are distinguished by their places, so that
 * there are findings for each place, and by how many barriers, waits and notifies
 * the thread has had before. Besides one witness for each state, the next
 * WITNESS_VARIANTS of each thread, variable and kind are kept, unless there are
 * already WITNESS_LIKE with the same places and locks, of any variable.
 *
 * Memory grows with threads, variables that they access, and states; not with
 * the trace.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_WITNESS_H
#define ATOMSAN_ENGINE_PREDICT_WITNESS_H

#include "base/map.h"
#include "engine/engine.h"
#include "engine/predict/lockhist.h"
#include "engine/region.h"

/*
 * The first WITNESS_DIRECT variables are looked up in an array of the thread, others
 * in a map. Most accesses add no new witness: the last WITNESS_MET witnesses are
 * recognised by a hash of all that distinguishes them, and those that one access
 * adds together by the sum of their hashes.
 */
enum {
	WITNESS_VARIANTS = 8,
	WITNESS_LIKE = 64,
	WITNESS_COMMON = 1 << 11,
	WITNESS_DIRECT = 1 << 14,
	WITNESS_MET = 1 << 16
};
#define WITNESS_NONE UINT32_MAX

/* Kinds of witnesses: of f, a read or write; of e1 and e2, by what each does. */
enum witness_kind {
	WITNESS_R,
	WITNESS_W,
	WITNESS_RR,
	WITNESS_RW,
	WITNESS_WR,
	WITNESS_WW,
	WITNESS_KINDS
};

static inline bool witness_is_pair(enum witness_kind kind)
{
	return kind >= WITNESS_RR;
}

/* A transaction or region that has a witness. */
struct witness_tx {
	uint64_t begin; /* 0: an operation outside blocks */
	strref label, place;
	bool is_round; /* a region that is one round of a loop */
};

enum {
	WITNESS_IN_REGION = 1, /* e1 and e2 are in a region, and not in one block */
	WITNESS_REVERSED = 4,  /* of f1 and f2: f2, of the entry's second variable, comes first */
	WITNESS_ACTS = 2,      /* of e1 and e2, both reads: the transaction of e2 writes after it */
};

/* A witness. One of f has only e2, which is f. */
struct witness {
	uint64_t e1, cut, e2; /* event numbers; after `cut` the thread is in `state` */
	strref place1, place2;
	uint32_t state, entry, tx;
	uint32_t next;    /* the next witness of the entry */
	uint32_t epoch;   /* barriers, waits and notifies of its thread before it */
	uint8_t kind;     /* enum witness_kind */
	uint8_t op1, op2; /* what the accesses are: an update is both */
	uint8_t flags;
};

/*
 * The state of a thread at a point. A state belongs to one thread, because a stretch
 * does; so the states of the thread's open transaction form a list through this
 * array, the one that was left last first.
 */
struct witness_state {
	uint32_t hist;
	uint32_t stretch;
	uint64_t tx;           /* the transaction in whose list it is */
	uint64_t first;        /* event that first entered it in that transaction */
	uint64_t enter, leave; /* event that last entered it, and that left it; 0: not yet */
	uint32_t newer, older;
	uint64_t bit;  /* a bit for each of the thread's first 64 states; 0 for later ones */
	uint32_t took; /* two.h */
};

/*
 * A stretch of a thread: each fork or join by the thread begins another, and so does a
 * release after one that was made with locks held. It comes
 * after all earlier stretches of the thread, and after stretch `from`.
 */
struct witness_stretch {
	uint32_t thread, index, from;
};

/* One access. */
struct witness_access {
	uint64_t event : 56;
	uint64_t op : 8;
	strref place;
	uint32_t state;
};

/* What the witnesses of an entry are for: one variable, or a role with two variables (two.h). */
enum witness_role { WITNESS_ONE, WITNESS_OUTER, WITNESS_INNER };

/* A thread's accesses of one variable, or of two. */
struct witness_entry {
	uint32_t var, var2, thread;
	uint32_t next_of_var; /* the next entry of the variable, or of the two */
	uint8_t role;         /* enum witness_role */
	uint32_t first_witness;
};

/* What each access of an entry needs. The next entry is hard to predict, so: two cache lines. */
struct witness_now {
	uint64_t has[WITNESS_KINDS];             /* bits of the states that have a witness */
	uint8_t variants[WITNESS_KINDS];         /* witnesses besides those */
	uint64_t tx;                             /* the transaction of `first` and `last` */
	struct witness_access first[2], last[2]; /* read, write */
};
_Static_assert(sizeof(struct witness_now) == 128, "two cache lines");

/*
 * What a region did to an entry's variable, in several blocks or in none. Most pairs of accesses in
 * different blocks are fine. These are not, because what was read first is stale:
 *
 *  - a read, and a write in a later block that did not read the variable again;
 *  - a read in a block that does not write the variable, and a block that reads and writes it:
 *    a check, and an act that depends on it.
 */
struct witness_across {
	uint64_t region;             /* the region (witness_thread.tx) that this is about */
	uint64_t unit;               /* the block, or the region itself, of the last access */
	struct witness_access read;  /* the last read; event 0: none */
	struct witness_access check; /* the last read before `unit`, if its block did not write */
	bool has_read, has_written;  /* in `unit` */
	bool is_check_due;           /* `due` is a check; it counts if `unit` writes, too */
	struct witness due;
};

struct witness_thread {
	uint32_t state, stretch; /* WITNESS_NONE before its first event */
	uint64_t tx;             /* number of its open region or transaction, or 0 */
	uint64_t unit;           /* number of its open block in a region; else the same as `tx` */
	uint32_t region;         /* regions' number of its open region, or 0 */
	uint32_t region_tx_id;   /* tx_id of the region, while a block is open in it */
	struct witness_tx region_about;
	uint32_t newest; /* state */
	uint32_t tx_id;  /* index of that transaction or operation, once a witness needs it */
	uint32_t nstates;
	uint32_t empty;           /* the state of its stretch without locks, or WITNESS_NONE */
	uint32_t epoch, tx_epoch; /* witness.epoch now, and at the transaction's begin */
	bool joined;
	bool kept_locks; /* it held locks when its stretch began */
	struct witness_tx about;
	uint32_t *entry; /* by variable, below WITNESS_DIRECT: 1 + its entry, or 0 */
	size_t entry_cap;
	struct map entries; /* of other variables */
};

struct witnesses {
	struct lockhist hist;
	struct witness *v;
	struct witness_entry *entry;
	struct witness_now *now; /* by entry */
	struct witness_state *state;
	struct witness_stretch *stretch;
	struct witness_thread *thread;
	struct witness_tx *tx;
	struct two *two; /* NULL: no pairs of variables */
	struct regions regions;
	struct witness_across *across; /* by entry */
	size_t across_cap;
	uint32_t alone;     /* index of the last transaction that is an access by itself */
	const bool *shared; /* by variable, below `nshared`: only these count; NULL: all do */
	size_t nshared;
	uint32_t *var; /* by variable: its first entry, or WITNESS_NONE */
	size_t n, nentries, nstates, nstretches, nthreads, ntx, nvars;
	size_t cap, entry_cap, now_cap, state_cap, stretch_cap, thread_cap, tx_cap, var_cap;
	uint64_t *met;     /* [WITNESS_MET] */
	struct map by_key; /* witnesses */
	struct map like;   /* places and locks -> witnesses with them, WITNESS_LIKE at most */
	uint64_t common[WITNESS_COMMON]; /* keys of `like` that have WITNESS_LIKE, by a hash */
	struct map moves;                /* (state, operation on a lock) -> state */
	struct map state_ids;            /* (history, stretch) -> state */
	uint64_t last_tx;
	uint64_t unnested; /* releases out of order */
	bool barriers;     /* the trace has barriers */
};

void witnesses_init(struct witnesses *w);
/* From now on look at pairs of variables too, of those that are `shared`, by number. */
void witnesses_want_two(struct witnesses *w, const bool *shared, size_t n);
void witnesses_free(struct witnesses *w);
void witnesses_take(struct witnesses *w, const struct batch *b);

/* For two.c, as for one variable: make an entry; take e2 = `x` after e1; take `x` at its e1. */
uint32_t witness_new_entry(struct witnesses *w, struct witness_entry entry);
void witness_take_pair(struct witnesses *w, struct witness_thread *t, struct witness *x,
		       const struct witness_access *e1, uint64_t since);
void witness_take_at(struct witnesses *w, struct witness_thread *t, struct witness *x);

#endif
