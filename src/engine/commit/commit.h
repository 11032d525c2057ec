/*
 * The commit-node engines (Wang and Stoller, PPoPP 2006): what their parts have
 * in common. docs/engines/commit-conflict.md has the definitions and the proofs.
 *
 * Terms:
 *
 *  - A *path* is the locks that a thread holds, in the order of their acquires: the
 *    path from the root of an access tree to a leaf.
 *  - A *node* is a leaf, or a lock block on the path to it. In a segment it is an
 *    interval of operations; two nodes that do not contain each other are two
 *    separate intervals. (Locks that are not nested give intervals that overlap;
 *    the proofs allow that.)
 *  - A *sort* is all that matters about an access besides its variable: which
 *    accesses it can meet, and in which of its nodes.
 *  - Two accesses of a variable *meet* if the forest has an edge between a node of
 *    the one and a node of the other.
 *
 *	sort.c      paths and sorts; the accesses of a segment by sort
 *	rule.c      the rules of the two forests
 *	meet.c      which accesses meet, in which nodes
 *	table.c     the same for variables with many sorts of accesses
 *	index.c     which of many sorts have a lock in common
 *	cycle.c     which transactions have separate nodes that others connect
 *	describe.c  findings
 *	commit.c    the engines
 *
 * Included by: the files of commit/.
 */
#ifndef ATOMSAN_ENGINE_COMMIT_COMMIT_H
#define ATOMSAN_ENGINE_COMMIT_COMMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/segment.h"

/* ---- sort.c ---- */

enum commit_kind {
	COMMIT_READ,
	COMMIT_WRITE, /* or an update; in the view-forest an update is also a read */
	/* Only in the view-forest: */
	COMMIT_FINAL, /* the last write of its segment */
	COMMIT_OWN,   /* a write that a later read of the same segment may see */
};

struct commit_sort {
	uint32_t path;
	uint32_t reader; /* of COMMIT_OWN: the path of that read */
	uint16_t kind;
	/*
	 * Of a read: the first depth on its path (0 is the root) whose block has no
	 * write of its own segment before the read; one more than the path's depth if all
	 * blocks have one.
	 */
	uint16_t open_from;
};

struct commit_path {
	size_t start; /* its locks are held[start .. start + depth) */
	uint32_t parent, depth;
};

struct commit_sorts {
	struct commit_path *path; /* path 0 is empty */
	size_t npaths, path_cap;
	held *held;
	size_t nheld, held_cap;
	struct commit_sort *sort;
	size_t nsorts, sort_cap;
	uint32_t *path_slot, *sort_slot; /* hashes: 1 + number */
	size_t path_slots, sort_slots;
};

/* An access in a segment: an index into its operations, and the lock blocks around it. */
struct commit_at {
	uint32_t op;
	uint32_t blocks; /* index into commit_leaves.chain: a block for each depth, outermost first
			  */
};

/* The accesses of one sort to one variable in one segment: only the first and the last matter. */
struct commit_leaf {
	uint32_t var, sort;
	struct commit_at first, last;
};

struct commit_block {
	uint32_t start, end; /* operations; without a release, the end of the segment */
};

struct commit_leaves {
	struct commit_leaf *v;
	size_t n, cap;
	struct commit_block *block;
	size_t nblocks, block_cap;
	uint32_t *chain; /* of blocks */
	size_t nchain, chain_cap;
	/* The rest is for sort.c. */
	struct commit_open *open;
	size_t nopen, open_cap;
	struct commit_wrote *wrote;
	size_t nwrote, wrote_cap;
	struct commit_slot *slot;
	size_t nslots, used;
	uint32_t stamp;
};

void commit_sorts_init(struct commit_sorts *s);
void commit_sorts_free(struct commit_sorts *s);
void commit_leaves_free(struct commit_leaves *l);

/* Set `l` to the leaves of a segment. `view` says for which forest. */
void commit_leaves_of(struct commit_leaves *l, struct commit_sorts *s, const struct segments *u,
		      const struct segment *t, bool view);

static inline const held *commit_path_held(const struct commit_sorts *s, uint32_t path)
{
	return s->held + s->path[path].start;
}

/* ---- rule.c ---- */

/* Depths, from 1, of two lock blocks, one on each path, that exclude each other. */
struct commit_pair {
	uint32_t a, b;
};

int commit_common(const struct commit_sorts *s, uint32_t a, uint32_t b, struct commit_pair out[2]);
bool commit_can_see(const struct commit_sorts *s, uint32_t reader, uint32_t open_from,
		    uint32_t writer, struct commit_pair out[2], int *n);
int commit_meets(const struct commit_sorts *s, bool view, const struct commit_sort *a,
		 const struct commit_sort *b, uint32_t depth[2]);

/* ---- meet.c ---- */

/* An operation of a segment. */
struct commit_op {
	uint32_t segment, op;
};

/* A variable's accesses of one sort in one phase: the first and the last. */
struct commit_sum {
	uint32_t phase;
	struct commit_op first, last;
	/* Their times: the begin of their transaction or, outside blocks, their event. */
	uint64_t min, max;
};

/* The sums of one sort in one slot, by phase. */
struct commit_group {
	uint32_t sort, slot;
	size_t begin, end; /* sums */
};

enum { COMMIT_NONE = UINT32_MAX };

/* The accesses of one slot that an access meets in one of its nodes. */
struct commit_meeting {
	uint32_t depth; /* of the node on its path; 0 stands for the leaf */
	uint32_t slot;
	uint32_t unless;   /* does not hold for accesses of this slot; COMMIT_NONE: for all */
	uint32_t phase;    /* one in which it meets an access */
	uint64_t min, max; /* the first and the last, as in a sum */
	struct commit_op at_min, at_max;
};

struct commit_meetings {
	struct commit_meeting *v;
	size_t n, cap;
};

/* Answers that do not depend on the phase, kept by variable and sort. */
struct commit_answer {
	uint32_t var, sort; /* sort is 1 + its number; 0: no answer */
	size_t begin, end;  /* meetings */
	uint64_t depths;
};

struct commit_var {
	uint32_t guard; /* if plain: a lock that all accesses exclude each other by, or COMMIT_NONE
			 */
	bool plain;     /* it has such answers */
	bool all;       /* each access meets another: none was dropped */
};

struct commit_table {
	struct commit_var *var;
	struct commit_answer *answer;
	size_t nanswers, slots;
	struct commit_meetings met;
	uint32_t *fold[2]; /* by depth and slot: 1 + a meeting */
	size_t fold_cap[2];
	/* By slot: the phase of the current variable; its stamp. */
	uint32_t *phase_of, *of_slot;
	uint32_t stamp;
	struct commit_index **index; /* by variable, once it is needed; as many as in by_var */
	uint32_t nindexes;
};

struct commit_meet {
	const struct segments *segments;
	struct commit_sorts sorts;
	struct commit_leaves leaves;
	bool view;
	struct commit_sum *sum;
	size_t nsums;
	struct commit_group *group;
	size_t ngroups, group_cap;
	size_t *by_var;       /* groups of a variable: by_var[x] .. by_var[x + 1] */
	uint64_t *last_event; /* of a phase, in the segments that are kept */
	uint32_t *rank;       /* of a phase, among all phases by slot and index */
	uint32_t *by_rank;    /* phases */
	uint32_t *in_slot;    /* ranks of a slot: in_slot[s] .. in_slot[s + 1] */
	uint32_t nslots;
	struct commit_table table;
};

/* Call this after segments_done(). */
void commit_meet_init(struct commit_meet *m, const struct segments *u, bool view);
void commit_meet_free(struct commit_meet *m);

/* Returns the rank of the first phase of a slot after that index. */
uint32_t commit_meet_after(const struct commit_meet *m, uint32_t slot, uint32_t index);

/* Set `out` to what an access of this variable and sort in this phase meets. */
void commit_meet_find(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t phase,
		      struct commit_meetings *out);

/*
 * Returns the depths of its nodes that can meet any access, and perhaps some more, as
 * bits; the highest bit stands for all depths from there on.
 */
uint64_t commit_meet_depths(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t phase,
			    struct commit_meetings *scratch);

/* Find the sums of a group that are concurrent with a phase: [*begin, *end). False: none. */
bool commit_meet_concurrent(const struct commit_meet *m, const struct commit_group *g,
			    uint32_t phase, size_t *begin, size_t *end);
/* Returns the meeting with those sums. */
struct commit_meeting commit_meet_with(const struct commit_meet *m, uint32_t depth, uint32_t slot,
				       size_t begin, size_t end);

/* ---- table.c ---- */

void commit_table_free(struct commit_table *t);
/*
 * Call this when the groups of a variable are complete, and before those of the next:
 * if they are many, find out whether the table can answer for the variable, and drop
 * what meets no access.
 */
void commit_table_look(struct commit_meet *m, uint32_t var);
const struct commit_answer *commit_table_answer(struct commit_meet *m, uint32_t var, uint32_t sort);
/* Returns its depths, and perhaps some more. */
uint64_t commit_table_depths(struct commit_meet *m, uint32_t var, uint32_t sort);

/* ---- index.c ---- */

/* All groups of one sort of a variable. */
struct commit_run {
	size_t begin, end;
	uint32_t mark; /* number of the last answer for which it was examined */
};

struct commit_index {
	struct commit_run *run;
	uint32_t nruns;
	uint32_t mark;
	uint32_t guard;   /* as in the table */
	bool read_by_all; /* any write can be seen by three slots */
	struct commit_index_lock *lock;
	size_t nlocks;
	struct commit_index_part *part;
	size_t nparts;
	struct commit_index_group *by_min, *by_max;
};

struct commit_index *commit_index_new(const struct commit_meet *m, uint32_t var);
void commit_index_free(struct commit_index *x);

/*
 * Call `run` for each run that an access of sort `a` must be compared with: one that
 * has a lock in common besides the guard, or whose kind needs it. For all others that
 * meet it, `met` is called with the first and the last of each slot.
 */
void commit_index_ask(struct commit_index *x, const struct commit_meet *m,
		      const struct commit_sort *a, void (*run)(void *arg, size_t begin, size_t end),
		      void (*met)(void *arg, struct commit_meeting met), void *arg);

/* ---- cycle.c ---- */

/* One of two nodes of a transaction, and an access that it meets. */
struct commit_end {
	uint32_t op; /* an access in the node */
	struct commit_op other;
	uint32_t span; /* of `other` */
};

/* A step from one slot to the next: two accesses that meet, or of which one must come first. */
struct commit_hop {
	struct commit_op from, to;
	bool met;
};

/* A transaction with two nodes that others connect. Node `a` is before node `b`. */
struct commit_found {
	uint32_t segment;
	struct commit_end a, b;
	struct commit_hop *hop; /* between other slots; none if a and b meet the same slot */
	size_t nhops;
};

struct commit_counts {
	uint64_t transactions, several_nodes, found;
};

/* Call `found` for each such transaction, by thread slots and then in the order of the run. */
void commit_cycle_find(struct commit_meet *m, struct commit_counts *counts,
		       void (*found)(void *arg, const struct commit_found *f), void *arg);

/* ---- describe.c ---- */

struct finding *commit_describe(const struct segments *u, const struct commit_found *c);

#endif
