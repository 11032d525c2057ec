/*
 * The commit-node engines (Wang and Stoller, PPoPP 2006): what their parts have
 * in common. docs/engines/commit-conflict.md has the definitions and the proofs.
 *
 * The words here. A path is what a thread holds, in the order of acquiring: the
 * way from the root of an access tree to a leaf. A node is a leaf or a lock block
 * on the way to it; in a segment it is an interval of operations, and two nodes that
 * do not contain each other are two intervals apart. (Locks that are not nested
 * give intervals that overlap; the proofs need no more than that.) A sort says all
 * that matters of an access besides its variable: whom it can meet, and in which
 * node of its own. Two accesses of a variable meet where the forest has an edge
 * between a node of the one and a node of the other.
 *
 *	sort.c    paths and sorts; the accesses of a segment by sort
 *	rule.c    the rules of the two forests
 *	meet.c    who meets whom, where
 *	table.c   the same for variables that many sorts of access share
 *	index.c   which of many sorts have a lock in common
 *	cycle.c   which transactions have nodes apart that others join
 *	tell.c    findings
 *	commit.c  the engines
 *
 * Who may include this: the files of commit/.
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
	COMMIT_WRITE, /* also an update; in the view-forest an update is a read, too */
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
	 * write of its own segment before it; one more than the path has where all have.
	 */
	uint16_t open_from;
};

struct commit_path {
	size_t start; /* its locks are held[start .. start + depth) */
	uint32_t parent, depth;
};

struct commit_sorts {
	struct commit_path *path; /* 0 is the empty one */
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
	uint32_t blocks; /* in commit_leaves.chain: one a depth, from the outermost */
};

/* The accesses of one sort to one variable, in one segment: nothing between first and last matters.
 */
struct commit_leaf {
	uint32_t var, sort;
	struct commit_at first, last;
};

struct commit_block {
	uint32_t start, end; /* operations; the end of one never released is the segment's */
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

/* What is in a segment; replaces what `l` held. `view` says for which forest. */
void commit_leaves_of(struct commit_leaves *l, struct commit_sorts *s, const struct segments *u,
		      const struct segment *t, bool view);

static inline const held *commit_path_held(const struct commit_sorts *s, uint32_t path)
{
	return s->held + s->path[path].start;
}

/* ---- rule.c ---- */

/* Depths, from 1, of a lock block on each of two paths that keep each other out. */
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
	/* When, by the begin of their transaction or, outside blocks, by event. */
	uint64_t min, max;
};

/* Those of one slot, by phase. */
struct commit_group {
	uint32_t sort, slot;
	size_t begin, end; /* sums */
};

enum { COMMIT_NONE = UINT32_MAX };

/* Whom an access meets in one slot, in one node of its own. */
struct commit_meeting {
	uint32_t depth; /* of the node on its path; 0 stands for the leaf */
	uint32_t slot;
	uint32_t unless;   /* it is not met by accesses of this slot; COMMIT_NONE: by all */
	uint32_t phase;    /* one that it meets there */
	uint64_t min, max; /* the first and the last, as in a sum */
	struct commit_op at_min, at_max;
};

struct commit_meetings {
	struct commit_meeting *v;
	size_t n, cap;
};

/* Answers that do not depend on the phase, kept by variable and sort. */
struct commit_answer {
	uint32_t var, sort; /* sort is 1 + its number; 0 where there is no answer */
	size_t begin, end;  /* meetings */
	uint64_t depths;
};

struct commit_var {
	uint32_t guard; /* where plain: a lock that keeps all its accesses apart, or COMMIT_NONE */
	bool plain;     /* it has such answers */
	bool all;       /* each access meets somebody: none was dropped */
};

struct commit_table {
	struct commit_var *var;
	struct commit_answer *answer;
	size_t nanswers, slots;
	struct commit_meetings met;
	uint32_t *fold[2]; /* by depth and slot: 1 + a meeting */
	size_t fold_cap[2];
	/* Of a slot: the phase of the variable at hand; its stamp. */
	uint32_t *phase_of, *of_slot;
	uint32_t stamp;
	struct commit_index **index; /* of a variable, once it is needed; by_var has as many */
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
	uint64_t *last_event; /* of a phase, as far as its segments are kept */
	uint32_t *rank;       /* of a phase, among all by slot and index */
	uint32_t *by_rank;    /* phases */
	uint32_t *in_slot;    /* ranks of a slot: in_slot[s] .. in_slot[s + 1] */
	uint32_t nslots;
	struct commit_table table;
};

/* After segments_done(). */
void commit_meet_init(struct commit_meet *m, const struct segments *u, bool view);
void commit_meet_free(struct commit_meet *m);

/* In a slot, the rank of the first phase after that index. */
uint32_t commit_meet_after(const struct commit_meet *m, uint32_t slot, uint32_t index);

/* Whom an access of this variable and sort in this phase meets; replaces what `out` held. */
void commit_meet_find(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t phase,
		      struct commit_meetings *out);

/*
 * The depths of its nodes that can meet anybody, as bits, or some more; the
 * highest bit stands for all from there on.
 */
uint64_t commit_meet_depths(struct commit_meet *m, uint32_t var, uint32_t sort, uint32_t phase,
			    struct commit_meetings *scratch);

/* Those of a group that are concurrent with a phase: sums [*begin, *end). */
bool commit_meet_concurrent(const struct commit_meet *m, const struct commit_group *g,
			    uint32_t phase, size_t *begin, size_t *end);
/* The meeting with those. */
struct commit_meeting commit_meet_with(const struct commit_meet *m, uint32_t depth, uint32_t slot,
				       size_t begin, size_t end);

/* ---- table.c ---- */

void commit_table_free(struct commit_table *t);
/*
 * The groups of the variable, the last there are, are complete: if they are
 * many, see whether the table can answer for it, and drop what meets nobody.
 */
void commit_table_look(struct commit_meet *m, uint32_t var);
const struct commit_answer *commit_table_answer(struct commit_meet *m, uint32_t var, uint32_t sort);
/* Its depths, or some more. */
uint64_t commit_table_depths(struct commit_meet *m, uint32_t var, uint32_t sort);

/* ---- index.c ---- */

/* All groups of one sort of a variable. */
struct commit_run {
	size_t begin, end;
	uint32_t mark; /* it was looked at for the answer of this number */
};

struct commit_index {
	struct commit_run *run;
	uint32_t nruns;
	uint32_t mark;
	uint32_t guard;   /* as in the table */
	bool read_by_all; /* whatever is written, three slots can see it */
	struct commit_index_lock *lock;
	size_t nlocks;
	struct commit_index_part *part;
	size_t nparts;
	struct commit_index_group *by_min, *by_max;
};

struct commit_index *commit_index_new(const struct commit_meet *m, uint32_t var);
void commit_index_free(struct commit_index *x);

/*
 * Calls `run` for each run that an access of sort `a` has to be compared with:
 * one that has a lock in common besides the guard, or whose kind needs it. Of all
 * others that meet it, `met` is called with the first and the last of each slot.
 */
void commit_index_ask(struct commit_index *x, const struct commit_meet *m,
		      const struct commit_sort *a, void (*run)(void *arg, size_t begin, size_t end),
		      void (*met)(void *arg, struct commit_meeting met), void *arg);

/* ---- cycle.c ---- */

/* Two nodes of a transaction, the first before the second, and whom they meet. */
struct commit_end {
	uint32_t op; /* an access in the node */
	struct commit_op other;
	uint32_t span; /* of the other */
};

/* On the way from one slot to the next: two accesses that meet, or must come one after the other.
 */
struct commit_hop {
	struct commit_op from, to;
	bool met;
};

struct commit_found {
	uint32_t segment;
	struct commit_end a, b;
	struct commit_hop *hop; /* between other slots; none where a and b meet the same */
	size_t nhops;
};

struct commit_counts {
	uint64_t transactions, several_nodes, found;
};

/* Calls `found` for each transaction, by thread slots and then in the order of the run. */
void commit_cycle_find(struct commit_meet *m, struct commit_counts *counts,
		       void (*found)(void *arg, const struct commit_found *f), void *arg);

/* ---- tell.c ---- */

struct finding *commit_tell(const struct segments *u, const struct commit_found *c);

#endif
