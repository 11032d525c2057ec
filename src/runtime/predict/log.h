/*
 * Phase I of `predict` (engine/predict/witness.h) inside the checked program: a log
 * that keeps, of all that a thread does, only what could be part of a prediction.
 *
 * A log belongs to one thread and knows nothing of other threads. For each access it
 * works out which witnesses the engine would make of it. They are compared by
 * hashes of: the bytes; the locks held, with their acquisition history; the number
 * of forks and joins; the place with its calls; and for a pair, the same for its
 * first access, and the states of the thread between the two. If the log has met all
 * of them before, the access brings nothing new.
 *
 * Terms of this folder:
 *
 *	granule            8 aligned bytes of memory
 *	entry              what is known about some bytes of a granule
 *	burst              accesses with no other operation of the thread between them
 *	critical section   from an acquire to its release, with all that is between
 *	state              the locks held, their acquisition history, and the phase
 *
 * What is kept, so that the engine finds in the log what it would have found in the
 * whole run:
 *
 *  - An access that brings something new, and all other accesses of the same bytes
 *    in its transaction. An access that begins or ends where none has before is new,
 *    because that divides memory into variables.
 *  - Operations on locks. Left out are those of a critical section that ends in the
 *    state in which it began, in which nothing was kept, and which the log has
 *    already. In a transaction, moreover, no bytes may have been accessed for the
 *    first time since the section was passed before.
 *  - Whatever orders threads, always.
 *
 * A schedule of the logs must be a schedule of the run: if a thread would have to
 * wait in a section that was left out, it must have been able to pass it earlier. So
 * "already" means: since the innermost held lock was acquired, since the last access
 * that brought something new, and since the thread's last fork, join, wait, notify or
 * barrier.
 *
 * That is right if locks are nested: a thread that keeps a lock for good in the
 * schedule keeps all locks that it holds at that moment. So a thread that has passed
 * the section before that moment, and waits for no other thread, can pass it again
 * just before, with all that lies between. If locks are not nested, or a third thread
 * keeps a lock until it has heard of something, that may be wrong; only passing the
 * same section again at once is always possible. So the first PLOG_TURNS
 * repetitions that come after other sections are kept all the same.
 *
 * A program that runs in a loop therefore adds nothing. Memory grows with the bytes
 * that a thread accesses and the ways in which it does; not with the run.
 *
 * Included by: the files of predict/, tests/unit/test_runtime_predict.c.
 */
#ifndef ATOMSAN_RUNTIME_PREDICT_LOG_H
#define ATOMSAN_RUNTIME_PREDICT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/raw_format.h"

/*
 * Records of a log that are no operations of a raw recording: a transaction begins, with the
 * innermost call of its node; the records after this one did not happen before its time.
 */
enum { PLOG_BEGIN = RAW_OPS, PLOG_TIME };

/* With the pc: the record stays when its transaction ends. */
#define PLOG_KEEP (1ull << 63)

struct plog_record {
	uint64_t what; /* the first word of a unit: see plog_what(); 0: the record was removed */
	uint64_t pc;   /* and PLOG_KEEP */
	/* An access: its entry << 32 (0: several entries) | the size of a range. Else: the time. */
	uint64_t more;
	uint32_t node;
	/*
	 * An access: 1 + the record before it of the same bytes and transaction. RAW_FORGET: the
	 * number of pages.
	 */
	uint32_t prev;
};

/* A call or a marked block, and by `parent` all those around it. Node 0 is outside all calls. */
struct plog_node {
	uint64_t hash;
	uint64_t place;    /* hash of the callers: it distinguishes places */
	uint64_t function; /* of a marked block, the number of its label */
	uint64_t caller;
	uint32_t parent, depth;
	uint8_t kind; /* the aux of RAW_CALL; PLOG_MARK: a marked block */
};
enum { PLOG_MARK = 255 };

/* A hash table with open addressing. */
struct plog_table {
	uint64_t *slot; /* 0: empty */
	uint64_t mask, n;
};

/* An access of the transaction; seq 0: none. */
struct plog_did {
	uint64_t seq;
	uint64_t place; /* hash of the place and of what it does: plog_place() */
};

/*
 * A thread's accesses of some bytes of a granule. Three cache lines: what each access reads, what
 * an access in a transaction writes, and what only a new access needs.
 */
enum { PLOG_ASKED = 8 };
enum { PLOG_BEGINS = 1, PLOG_ENDS = 2 }; /* some access begins, or ends, with these bytes */
struct plog_entry {
	uint64_t key;   /* granule << 8 | bytes; the granule's first entry has 0 for the bytes */
	uint64_t tx;    /* the transaction of `chain`, `hot`, `first` and `last` */
	uint32_t chain; /* 1 + the last record of these bytes in it */
	uint32_t next;  /* the granule's next entry; 0: none */
	uint16_t generation;
	bool hot;           /* all accesses of the transaction are kept */
	bool split;         /* each byte has an entry of its own */
	uint8_t bytes, all; /* of the granule's first entry: its bytes; all that have an entry */
	uint8_t boundaries; /* PLOG_BEGINS | PLOG_ENDS */
	uint8_t oldest;     /* of `asked` */
	uint32_t asked[PLOG_ASKED]; /* tags of questions without something new: hash_question() */
	struct plog_did first[2], last[2]; /* read, write */
	uint32_t state[6], variant[6];     /* by kind: the first witness; others are in `seen` */
	uint8_t variants[6];               /* witnesses besides one for each state */
	uint32_t reuse;                    /* how often the bytes were freed and used again */
};
_Static_assert(sizeof(struct plog_entry) == 192, "three cache lines");

/* The first entries of 64 neighbouring granules; 0: none. `near` is a cache of the last ones. */
enum { PLOG_GROUP = 64, PLOG_NEAR = 64 };
struct plog_group {
	uint64_t key; /* address / 512 */
	uint32_t entry[PLOG_GROUP];
};
struct plog_near {
	uint64_t key;
	uint32_t group; /* 0: none */
};

/* A state in which the transaction has been. */
enum { PLOG_STATES = 32 };
struct plog_state {
	uint64_t hash;
	uint64_t leave; /* `seq` when it was left; 0: it is the current one */
	bool empty;     /* no lock is held */
};

/*
 * The time within which a critical section counts as "already" passed; its last section, and how
 * many were kept although they were repetitions, because they came after other sections.
 */
enum { PLOG_TURNS = 16 };
struct plog_scope {
	uint64_t id, last;
	uint32_t turns;
};

/* A lock that is held, and how things were when it was acquired. */
enum { PLOG_SINCE = 24 };
struct plog_held {
	uint64_t lock;
	uint32_t times;
	bool shared;
	bool nested; /* no lock that was acquired earlier was released since */
	uint32_t nsince;
	uint64_t since[PLOG_SINCE]; /* hashes of later acquires: the acquisition history */
	uint64_t since_sum;         /* their sum */
	size_t at;                  /* where its acquire is in the log */
	size_t burst_at;            /* the log's `burst_at` then */
	uint64_t before;            /* the state before */
	uint64_t tx, kept, stable;  /* the log's fields of these names then */
	struct plog_scope scope;    /* of sections while this is the innermost lock */
};

/* A critical section that the log has: a hash of its lock operations, and the scope's id. */
struct plog_passed {
	uint64_t hash, scope;
};

/* Accesses of a granule in this burst that bring nothing new if they are repeated. */
enum { PLOG_WAYS = 4, PLOG_FAST = 1 << 11 };
struct plog_fast {
	uint64_t granule;
	uint32_t burst, n;
	struct {
		uint64_t what, pc;
		uint32_t node;
	} way[PLOG_WAYS];
};

/*
 * A counter of accesses with the same places and locks, of different bytes, that brought something
 * new. No more are needed than the engine keeps, in as many states as it counts. If two keys have
 * the same index, one of them is not counted.
 */
enum { PLOG_LIKE = 1 << 12, PLOG_KNOWN = 256 };
struct plog_like {
	uint64_t key;
	uint64_t seq; /* of the access that was counted last */
	uint32_t n;
};

struct plog {
	/* For the fast path. */
	uint32_t burst; /* the number of the current burst */
	uint32_t node;  /* the thread's current node; 0: not known. The caller's */
	struct plog_fast *fast;

	struct plog_record *v;
	size_t n, cap;
	struct plog_node *nodes;
	size_t nnodes, node_cap;
	struct plog_table by_call;  /* index of a node, and part of its hash */
	struct plog_table by_bytes; /* the same of a group */
	struct plog_group *groups;
	size_t ngroups, group_cap;
	struct plog_near near[PLOG_NEAR];
	struct plog_table seen; /* hashes of witnesses */
	struct plog_entry *entries;
	size_t nentries, entry_cap;
	struct plog_like *like;     /* [PLOG_LIKE] */
	uint64_t known[PLOG_KNOWN]; /* the first states, by hash */
	uint32_t nknown;
	struct plog_passed *passed;
	uint64_t passed_mask, npassed;
	uint64_t scopes;                   /* the last scope's id */
	struct plog_scope scope, tx_scope; /* outside transactions; of the transaction */

	struct plog_held *held;
	size_t nheld, held_cap;
	uint64_t state;      /* hash of the current state */
	uint32_t phase;      /* number of forks and joins */
	uint32_t epoch;      /* number of waits, notifies and barriers */
	uint64_t seq;        /* number of operations */
	uint64_t kept;       /* number of operations that brought something new or order threads */
	uint64_t time;       /* of the last operation that has one */
	uint64_t burst_seq;  /* `seq` when the burst began */
	size_t burst_at;     /* the length of the log when it began */
	size_t novel;        /* every record that brought something new is before this index */
	uint64_t not_before; /* a time before the next access; 0: not known, and not needed */

	/* The open transaction. */
	uint64_t tx, last_tx;                 /* its number, 0: none is open; the last number */
	size_t tx_at;                         /* the length of the log when it began */
	uint64_t tx_kept, tx_state, tx_epoch; /* the fields of these names when it began */
	uint64_t stable;                      /* number of first accesses of bytes, and of `kept` */
	struct plog_state states[PLOG_STATES]; /* the current one first, then the last one left */
	size_t nstates;

	bool everything; /* leave nothing out: for tests */
	bool full;       /* there is no more memory: nothing is added any more */
};

/*
 * How a log distinguishes memory that was freed from the memory that is there now. Freed bytes
 * count as new while there is plenty of room, and PLOG_REUSES times in any case.
 */
enum { PLOG_REUSES = 8 };
struct plog_memory {
	/* Returns a number that changes when the memory at this address is freed. */
	uint16_t (*generation)(uint64_t address);
	/* An access of this memory is in a log. */
	void (*mark_kept)(uint64_t address, uint64_t size);
	/* Is there room to begin anew with freed bytes? */
	bool (*has_plenty)(void);
};
extern const struct plog_memory *plog_memory; /* NULL: nothing is freed */

/*
 * Zeroed pages for the logs, or NULL; and back. The user of this header defines both. They count
 * against the budget of the process; the tables that each thread has once, of fixed size, do not.
 */
void *plog_pages(size_t bytes);
void plog_pages_free(void *p, size_t bytes);

/* Returns NULL if there is no memory. */
struct plog *plog_new(void);
/* Free what only served to add to the log; its records and nodes stay. The log is full then. */
void plog_finish(struct plog *l);
void plog_free(struct plog *l);

/* Returns the node of a call in node `parent`, a new one if need be; 0 if there is no memory. */
uint32_t plog_node(struct plog *l, uint32_t parent, uint64_t function, uint64_t caller,
		   uint8_t kind);

/* A transaction begins, in this node; the transaction ends. */
void plog_begin(struct plog *l, uint32_t node);
void plog_end(struct plog *l);

/* The slow path of plog_access(): an access that plog_is_repeat() does not know. */
void plog_access_slow(struct plog *l, enum raw_op op, uint64_t address, uint64_t size,
		      uint32_t node, uint64_t pc);

/* An operation on a lock or semaphore: RAW_ACQUIRE to RAW_SEM_POST. */
void plog_lock(struct plog *l, enum raw_op op, uint64_t lock, uint32_t aux, uint64_t time,
	       uint32_t node, uint64_t pc);

/*
 * The next access does not happen before this time. That is needed if the thread uses memory that
 * another thread freed, and no lock orders the two.
 */
static inline void plog_set_not_before(struct plog *l, uint64_t time)
{
	l->not_before = time;
}

/* Any other operation; it is always kept. It is in no transaction, or none cares about it. */
void plog_put(struct plog *l, enum raw_op op, uint64_t address, uint32_t aux, uint64_t time,
	      uint32_t node, uint64_t pc);

/* RAW_FORGET: memory is about to be used for something else. The size is rounded up to pages. */
void plog_forget(struct plog *l, uint64_t address, uint64_t size, uint64_t time, uint32_t node,
		 uint64_t pc);

/* Returns the first word of a unit. */
static inline uint64_t plog_what(enum raw_op op, uint64_t address, uint32_t aux)
{
	return (address & RAW_ADDRESS_MASK) | (uint64_t)op << 48 | (uint64_t)aux << 56;
}

/* Is this access a repetition, in this burst, that brings nothing new? */
static inline bool plog_is_repeat(const struct plog *l, uint64_t what, uint32_t node, uint64_t pc)
{
	const struct plog_fast *f = &l->fast[(what >> 3) & (PLOG_FAST - 1)];

	if (f->burst != l->burst || f->granule != (what & RAW_ADDRESS_MASK) >> 3)
		return false;
	for (uint32_t i = 0; i < f->n; i++)
		if (f->way[i].what == what && f->way[i].pc == pc && f->way[i].node == node)
			return true;
	return false;
}

/* An access, RAW_READ to RAW_WRITE_RANGE. */
static inline void plog_access(struct plog *l, enum raw_op op, uint64_t address, uint64_t size,
			       uint32_t node, uint64_t pc)
{
	if (op <= RAW_UPDATE &&
	    plog_is_repeat(l, plog_what(op, address, (uint32_t)size & 0xff), node, pc))
		return;
	plog_access_slow(l, op, address, size, node, pc);
}

/* --- writing logs as a raw recording: out.c --- */

struct plog_out {
	/* Takes the next piece: a header or a whole chunk, at most RAW_CHUNK_MAX bytes. */
	void (*take)(struct plog_out *o, const void *bytes, size_t n);
	uint32_t thread;
	uint32_t number;        /* of the thread's next chunk */
	uint64_t *unit;         /* a buffer of RAW_CHUNK_MAX zero bytes, owned by the caller */
	size_t n;               /* words in use; 0: no chunk is open */
	uint64_t base, pc_high; /* what the chunk's units are relative to */
	uint64_t time;          /* of the last unit; times never go back */
};

/* Put a unit; with a size after it; with a text after it. */

void plog_out_unit(struct plog_out *o, enum raw_op op, uint64_t address, uint32_t aux,
		   uint64_t time, uint64_t pc);
void plog_out_sized(struct plog_out *o, enum raw_op op, uint64_t address, uint64_t size,
		    uint64_t time, uint64_t pc);
void plog_out_text(struct plog_out *o, enum raw_op op, uint64_t address, const char *text,
		   size_t n);
/* Close the open chunk, if there is one, and hand it to take(). */
void plog_out_close(struct plog_out *o);
/* The page in front of all chunks. `why`: the reason why recording was given up, or NULL. */
void plog_out_header(struct plog_out *o, const char *why);

/* Put a thread's records, after what was put before. `first`: the node of its first call, or 0. */
void plog_out_records(struct plog_out *o, const struct plog *l, uint32_t first);

#endif
