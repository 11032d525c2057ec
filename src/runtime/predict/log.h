/*
 * Phase I of `predict` (engine/predict/witness.h) inside the checked program: of
 * all that a thread does, what could be part of a prediction, and nothing else.
 *
 * A log is one thread's, and knows nothing of others. It works out which
 * witnesses an access would be in, as the engine does, from hashes: the bytes, the
 * locks held and their acquisition history, fork and join, the place with
 * its calls, and of a pair the same of its first access and of where the thread stood
 * in between. Where all of them have been met before, the access brings nothing
 * new.
 *
 * What is kept, so that the engine finds in the log what it would have found in the whole
 * run:
 *
 *  - an access that brings something new, and all others of these bytes in its transaction. One
 * that begins or ends where no other has is new: what is a variable depends on that;
 *  - operations on locks, but for those of a stretch that ends with the locks and the
 *    history that it began with, in which nothing was kept, and which the log has already. In
 *    a transaction, nothing may have been accessed for the first time since that stretch was
 *    gone through before;
 *  - what orders threads, always.
 *
 * A schedule for the logs has to be one for the run: a thread that would have to wait in a stretch
 * that was left out must be able to have gone through it earlier. So "already" means: since
 * the innermost lock that is held was acquired, since the last access that brought something new,
 * and since the thread's last fork, join, wait, notify or barrier. Where locks are nested, who
 * keeps a lock for good keeps all that he holds then; so a thread that has been through the stretch
 * before that, and waits for nobody, can go through it again just before that, and through all that
 * lies between. Where they are not, or a third thread keeps a lock until it has heard of something,
 * that may be wrong, and only the same once more, at once, is always possible. So the first
 * PLOG_TURNS that come again behind others are kept all the same.
 *
 * So a program that goes round in a loop adds nothing. Memory grows with the
 * bytes that a thread touches, and the ways in which it does; not with the run.
 *
 * Who may include this: this folder, tests.
 */
#ifndef ATOMSAN_RUNTIME_PREDICT_LOG_H
#define ATOMSAN_RUNTIME_PREDICT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/raw_format.h"

/*
 * Beside the operations of raw recordings: a transaction begins, with the last call of its node;
 * what comes behind was not before this time.
 */
enum { PLOG_BEGIN = RAW_OPS, PLOG_TIME };

#define PLOG_KEEP (1ull << 63)

struct plog_record {
	uint64_t what; /* as in a unit */
	uint64_t pc;   /* and PLOG_KEEP */
	/* An access: the size, and its entry in the high half. All else: the time. */
	uint64_t more;
	uint32_t node;
	/* An access: 1 + the one before, of the same bytes and transaction. RAW_FORGET: pages. */
	uint32_t prev;
};

/* A call, or a block that is marked, and all that are around it. Node 0 is nobody's. */
struct plog_node {
	uint64_t hash;
	uint64_t place;    /* hash of where the calls were made: what a place is told apart by */
	uint64_t function; /* or the number of the label */
	uint64_t caller;
	uint32_t parent, depth;
	uint8_t kind; /* RAW_CALL's aux; PLOG_MARK: a marked block */
};
enum { PLOG_MARK = 255 };

struct plog_table {
	uint64_t *slot; /* 0: empty */
	uint64_t mask, n;
};

/* An access that a transaction has done; seq 0: none. */
struct plog_did {
	uint64_t seq;
	uint64_t place; /* and what it did */
};

/*
 * A thread's accesses of some bytes in the same 8. Three cache lines: what each access looks at,
 * what it leaves behind in a transaction, and what only something new has to look at.
 */
enum { PLOG_MET = 8 };
enum { PLOG_BEGINS = 1, PLOG_ENDS = 2 }; /* some access does, with these bytes */
struct plog_entry {
	uint64_t key; /* address / 8 << 8 | bytes, or 0 for the first that come */
	uint64_t tx;  /* that `chain`, `hot`, `first` and `last` are about */
	uint32_t chain;
	uint32_t next; /* of other bytes in the same 8; 0: none */
	uint16_t generation;
	bool hot;           /* all of this transaction's are kept */
	bool split;         /* its bytes have entries of their own */
	uint8_t bytes, all; /* of the first of a granule: its own, and those that have an entry */
	uint8_t edges, oldest;
	uint32_t met[PLOG_MET]; /* what was asked lately, and brought nothing new: see question() */
	struct plog_did first[2], last[2]; /* read, write */
	uint32_t state[6], variant[6];     /* by kind: of the first witness, others are in `seen` */
	uint8_t variants[6];               /* beside one for each state */
	uint32_t reuse;
};
_Static_assert(sizeof(struct plog_entry) == 192, "three cache lines");

/* The first entries of 64 times 8 bytes; 0: none. The last that were asked for are known. */
enum { PLOG_BLOCK = 64, PLOG_NEAR = 64 };
struct plog_block {
	uint64_t key; /* address / 512 */
	uint32_t entry[PLOG_BLOCK];
};
struct plog_near {
	uint64_t key;
	uint32_t block; /* 0: none */
};

/* Where a transaction has been. */
enum { PLOG_STATES = 32 };
struct plog_state {
	uint64_t hash, leave; /* 0: it is there now */
	bool empty;
};

/*
 * Since when "already" means what it does for stretches with locks; the last one, and how many came
 * again behind others, and were kept.
 */
enum { PLOG_TURNS = 16 };
struct plog_scope {
	uint64_t id, last;
	uint32_t turns;
};

/* A lock that is held, and where it was acquired. */
enum { PLOG_SINCE = 24 };
struct plog_held {
	uint64_t lock;
	uint32_t times;
	bool shared;
	bool nested; /* nothing that was acquired before was released since */
	uint32_t nsince;
	uint64_t since[PLOG_SINCE], since_sum;
	size_t at; /* its acquire in the log */
	size_t segment_at;
	uint64_t before;
	uint64_t tx, kept, stable;
	struct plog_scope scope;
};

/* A stretch with locks that the log has, by a hash of its operations, and the scope's id. */
struct plog_passed {
	uint64_t hash, scope;
};

/* What was done in this segment and brings nothing new when it is done again. */
enum { PLOG_WAYS = 4, PLOG_FAST = 1 << 11 };
struct plog_fast {
	uint64_t granule;
	uint32_t segment, n;
	struct {
		uint64_t what, pc;
		uint32_t node;
	} way[PLOG_WAYS];
};

/*
 * How many accesses with the same places and locks have brought something new, of different bytes:
 * as many as the engine wants are enough, for as many states as it counts. Where two fall together,
 * one is not counted.
 */
enum { PLOG_LIKE = 1 << 12, PLOG_KNOWN = 256 };
struct plog_like {
	uint64_t key, seq; /* the access that was counted last */
	uint32_t n;
};

struct plog {
	/* For the fast path. */
	uint32_t segment; /* goes up with each operation that is no access */
	uint32_t node;
	struct plog_fast *fast;

	struct plog_record *v;
	size_t n, cap;
	struct plog_node *nodes;
	size_t nnodes, node_cap;
	struct plog_table by_call;  /* index of a node, and part of its hash */
	struct plog_table by_bytes; /* the same of a block */
	struct plog_block *blocks;
	size_t nblocks, block_cap;
	struct plog_near near[PLOG_NEAR];
	struct plog_table seen; /* hashes of witnesses */
	struct plog_entry *entries;
	size_t nentries, entry_cap;
	struct plog_like *like;     /* [PLOG_LIKE] */
	uint64_t known[PLOG_KNOWN]; /* the first states, by hash */
	uint32_t nknown;
	struct plog_passed *passed;
	uint64_t passed_mask, npassed;
	uint64_t scopes;                   /* how many there were */
	struct plog_scope scope, tx_scope; /* of what is outside; of the transaction */

	struct plog_held *held;
	size_t nheld, held_cap;
	uint64_t state; /* hash of the locks, their histories and the stretch */
	uint32_t stretch, epoch;
	uint64_t seq;  /* counts what happens */
	uint64_t kept; /* counts what brought something new, or orders threads */
	uint64_t time;
	uint64_t segment_seq;
	size_t segment_at, novel; /* where in the log it began; behind what brought something new */
	uint64_t later; /* than this is the next access; 0: it is not known, and does not matter */

	/* The open transaction. */
	uint64_t tx, last_tx; /* 0: none */
	size_t tx_at;
	uint64_t tx_kept, tx_state, tx_epoch;
	uint64_t stable; /* counts first accesses of bytes, and what brought something new */
	struct plog_state states[PLOG_STATES]; /* the one left last in front */
	size_t nstates;

	bool everything; /* keep it all: for tests */
	bool full;       /* no more memory: nothing is added */
};

/*
 * How memory that was freed is told from what is there now: by address. Bytes that were freed are
 * new while there is plenty of room, and PLOG_REUSES times in any case.
 */
enum { PLOG_REUSES = 8 };
struct plog_memory {
	uint16_t (*generation)(uint64_t address);
	void (*kept)(uint64_t address, uint64_t size); /* an access of it is in a log */
	bool (*plenty)(void);
};
extern const struct plog_memory *plog_memory; /* NULL: nothing is freed */

/*
 * More pages, or NULL; and back. Counts them: the budget is the process's. What a thread has as
 * long as it lives, and never more of, is not counted.
 */
void *plog_pages(size_t bytes);
void plog_pages_free(void *p, size_t bytes);

/* NULL: no memory. */
struct plog *plog_new(void);
/* Only the records and nodes are still needed; then nothing is. */
void plog_finish(struct plog *l);
void plog_free(struct plog *l);

/* The node of a call made in another; 0: no memory. */
uint32_t plog_node(struct plog *l, uint32_t parent, uint64_t function, uint64_t caller,
		   uint8_t kind);

/* A transaction begins in a node, or ends. */
void plog_begin(struct plog *l, uint32_t node);
void plog_end(struct plog *l);

/* RAW_READ to RAW_WRITE_RANGE, at a place: see plog_access(). */
void plog_access_slow(struct plog *l, enum raw_op op, uint64_t address, uint64_t size,
		      uint32_t node, uint64_t pc);

/* Locks and semaphores: RAW_ACQUIRE to RAW_SEM_POST. */
void plog_lock(struct plog *l, enum raw_op op, uint64_t lock, uint32_t aux, uint64_t time,
	       uint32_t node, uint64_t pc);

/*
 * The next access is behind this time. It matters where memory is used again, of which the thread
 * has not heard by a lock.
 */
static inline void plog_later(struct plog *l, uint64_t time)
{
	l->later = time;
}

/* Anything else that is kept: it is in no transaction, or does not mind. */
void plog_put(struct plog *l, enum raw_op op, uint64_t address, uint32_t aux, uint64_t time,
	      uint32_t node, uint64_t pc);

/* RAW_FORGET, of whole pages. */
void plog_forget(struct plog *l, uint64_t address, uint64_t size, uint64_t time, uint32_t node,
		 uint64_t pc);

static inline uint64_t plog_what(enum raw_op op, uint64_t address, uint32_t aux)
{
	return (address & RAW_ADDRESS_MASK) | (uint64_t)op << 48 | (uint64_t)aux << 56;
}

/* Was this done before, in this segment? */
static inline bool plog_done(const struct plog *l, uint64_t what, uint32_t node, uint64_t pc)
{
	const struct plog_fast *f = &l->fast[(what >> 3) & (PLOG_FAST - 1)];

	if (f->segment != l->segment || f->granule != (what & RAW_ADDRESS_MASK) >> 3)
		return false;
	for (uint32_t i = 0; i < f->n; i++)
		if (f->way[i].what == what && f->way[i].pc == pc && f->way[i].node == node)
			return true;
	return false;
}

static inline void plog_access(struct plog *l, enum raw_op op, uint64_t address, uint64_t size,
			       uint32_t node, uint64_t pc)
{
	if (op <= RAW_UPDATE &&
	    plog_done(l, plog_what(op, address, (uint32_t)size & 0xff), node, pc))
		return;
	plog_access_slow(l, op, address, size, node, pc);
}

/* --- as a raw recording: out.c --- */

/* Where it goes, in pieces: whole chunks, at most RAW_CHUNK_MAX bytes each. */
struct plog_out {
	void (*take)(struct plog_out *o, const void *bytes, size_t n);
	uint32_t thread;
	uint32_t number; /* of the thread's next chunk */
	uint64_t *unit;  /* of RAW_CHUNK_MAX bytes, zero; the caller's */
	size_t n;        /* words in use; 0: no chunk is open */
	uint64_t base, pc_high, time;
};

void plog_out_unit(struct plog_out *o, enum raw_op op, uint64_t address, uint32_t aux,
		   uint64_t time, uint64_t pc);
void plog_out_sized(struct plog_out *o, enum raw_op op, uint64_t address, uint64_t size,
		    uint64_t time, uint64_t pc);
void plog_out_text(struct plog_out *o, enum raw_op op, uint64_t address, const char *text,
		   size_t n);
void plog_out_close(struct plog_out *o);
/* The page in front of all chunks; `why`: recording was given up. */
void plog_out_header(struct plog_out *o, const char *why);

/* A thread's records, behind what was put before. `first`: the node of its first call, or 0. */
void plog_out_records(struct plog_out *o, const struct plog *l, uint32_t first);

#endif
