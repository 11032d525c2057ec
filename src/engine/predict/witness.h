/*
 * Phase I of `predict` (Farzan, Madhusudan and Sorrentino, CAV 2009): one pass
 * that keeps, for each thread and variable, what may take part in a violation.
 *
 * A violation is two accesses e1, e2 of a variable in one transaction, and an
 * access f by another thread that conflicts with both and can come between them.
 * It can when e's thread can stand somewhere between e1 and e2 while the other
 * stands at f. Where a thread stands matters only by its *state*: its locks with
 * their acquisition history, and its stretch between forks and joins. So of all
 * events with one state, one witness is enough. The paper's sets are kept apart
 * by what the accesses are, so that every pattern is found: R and W for f; for
 * e1 and e2, read-read, read-write, write-read (which are, with WW, the
 * paper's AA) and WW.
 *
 * Who stands somewhere with no lock in his hands is in nobody's way: where the
 * thread does so between e1 and e2, its other states there are not looked at.
 *
 * Beyond the paper, events of one state are told apart by their places, so
 * that findings can be told by place, and by how many barriers, waits and
 * notifies the thread has had: beside one for each state, the next
 * WITNESS_VARIANTS for each thread, variable and kind; but not those of whose
 * places and locks there are WITNESS_LIKE already, of whatever variable.
 *
 * Memory grows with threads, variables that they access, and states; not with
 * the trace.
 *
 * Who may include this: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_WITNESS_H
#define ATOMSAN_ENGINE_PREDICT_WITNESS_H

#include "engine/engine.h"
#include "engine/predict/lockhist.h"
#include "base/map.h"

/*
 * The first variables are looked up in an array a thread, others by a hash. The
 * last WITNESS_MET witnesses met are known by a hash of all that tells them
 * apart, those that one access brings together by the sum of theirs: most
 * accesses bring nothing new.
 */
enum {
	WITNESS_VARIANTS = 8,
	WITNESS_LIKE = 64,
	WITNESS_COMMON = 1 << 11,
	WITNESS_DIRECT = 1 << 14,
	WITNESS_MET = 1 << 16
};
#define WITNESS_NONE UINT32_MAX

/* What a witness is of: f, which reads or writes; e1 and e2, which do. */
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

/* A transaction that some witness is in. */
struct witness_tx {
	uint64_t begin; /* 0: an operation outside blocks */
	strref label, place;
};

/* A single witness has e2 only: f. */
struct witness {
	uint64_t e1, cut, e2; /* event numbers; the thread may stand behind `cut` */
	strref place1, place2;
	uint32_t state, entry, tx;
	uint32_t next;    /* of the same entry */
	uint32_t epoch;   /* barriers, waits and notifies of its thread before it */
	uint8_t kind;     /* enum witness_kind */
	uint8_t op1, op2; /* what the accesses are: an update is both */
};

/*
 * Where a thread stands. A state belongs to one thread, since a stretch does;
 * so those of the thread's open transaction are a list through this array, the
 * one that was left last in front.
 */
struct witness_state {
	uint32_t hist;
	uint32_t stretch;
	uint64_t tx;           /* the transaction in whose list it is */
	uint64_t first;        /* event that entered it first, in that transaction */
	uint64_t enter, leave; /* and last; event that left it then, 0: not yet */
	uint32_t newer, older;
	uint64_t bit;  /* of its own among the thread's first 64 states; 0: a later one */
	uint32_t took; /* two.h */
};

/*
 * A stretch of a thread: a fork or join of its own begins the next one. It
 * comes after all of the thread's earlier ones, and after stretch `from`.
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

/* Of whose witnesses an entry is: one variable's, or two variables' in one role (two.h). */
enum witness_role { WITNESS_ONE, WITNESS_OUTER, WITNESS_INNER };

/* A thread's accesses of one variable, or of two. */
struct witness_entry {
	uint32_t var, var2, thread;
	uint32_t next_of_var; /* or of those two */
	uint8_t role;         /* enum witness_role */
	uint32_t first_witness;
};

/* What each access of it has to look at. Which comes next is anybody's guess: two cache lines. */
struct witness_now {
	uint64_t has[WITNESS_KINDS];             /* bits of the states that have a witness */
	uint8_t variants[WITNESS_KINDS];         /* how many there are beside those */
	uint64_t tx;                             /* that the next line is about */
	struct witness_access first[2], last[2]; /* read, write */
};
_Static_assert(sizeof(struct witness_now) == 128, "two cache lines");

struct witness_thread {
	uint32_t state, stretch; /* WITNESS_NONE before its first event */
	uint64_t tx;             /* number of its open transaction, or 0 */
	uint32_t newest;         /* state */
	uint32_t tx_id;          /* of that transaction or operation, once a witness needs it */
	uint32_t nstates;
	uint32_t empty; /* the state of its stretch in which it holds nothing, or WITNESS_NONE */
	uint32_t epoch, tx_epoch; /* now, and when the transaction began */
	bool joined;
	struct witness_tx about;
	uint32_t *entry; /* 1 + that of a variable below WITNESS_DIRECT, or 0 */
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
	struct two *two;    /* NULL: one variable is enough */
	const bool *shared; /* by variable, the first `nshared`: only these; NULL: all */
	size_t nshared;
	uint32_t *var; /* the first entry of each variable, or WITNESS_NONE */
	size_t n, nentries, nstates, nstretches, nthreads, ntx, nvars;
	size_t cap, entry_cap, now_cap, state_cap, stretch_cap, thread_cap, tx_cap, var_cap;
	uint64_t *met;     /* [WITNESS_MET] */
	struct map by_key; /* witnesses */
	struct map like;   /* places and locks -> how many have them, WITNESS_LIKE at most */
	uint64_t common[WITNESS_COMMON]; /* keys of those that have WITNESS_LIKE, by a hash */
	struct map moves;                /* (state, operation on a lock) -> state */
	struct map state_ids;            /* (history, stretch) -> state */
	uint64_t last_tx;
	uint64_t unnested; /* releases out of order */
	bool barriers;     /* were there any? */
};

void witnesses_init(struct witnesses *w);
/* From then on, look at pairs of variables too, of those that are `shared`, by number. */
void witnesses_want_two(struct witnesses *w, const bool *shared, size_t n);
void witnesses_free(struct witnesses *w);
void witnesses_take(struct witnesses *w, const struct batch *b);

/* For two.c, as for one variable: an entry; e2 = `x` after e1; one that stands at its e1.
 */
uint32_t witness_new_entry(struct witnesses *w, struct witness_entry entry);
void witness_take_pair(struct witnesses *w, struct witness_thread *t, struct witness *x,
		       const struct witness_access *e1, uint64_t since);
void witness_take_at(struct witnesses *w, struct witness_thread *t, struct witness *x);

#endif
