/*
 * The parts of `blocks`: the 1v- and 2v-blocks of a segment, and which of other
 * segments can cut them. docs/engines/blocks.md has the definitions and the proofs.
 *
 * Included by: the files of blocks/.
 */
#ifndef ATOMSAN_ENGINE_BLOCKS_BLOCKS_H
#define ATOMSAN_ENGINE_BLOCKS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/segment.h"

/* Kinds of accesses, as other segments see them. */
enum {
	BLOCKS_WRITE = 1,   /* writes */
	BLOCKS_INITIAL = 2, /* an initial read: no write of its segment comes before it */
	BLOCKS_FINAL = 4,   /* a final write: no write of its segment comes after it */
};

/* An access of a segment. Outside blocks every read is initial and every write final. */
struct blocks_point {
	uint32_t life, op; /* of the variable; index of the operation in the segment */
	uint8_t kind;
	bool reads, writes;
	heldset held;
};

/* A 1v-block: two accesses of one variable, and the kind of access that must not come between. */
struct blocks_window {
	uint32_t life, from, to; /* operations */
	uint8_t enemy;           /* that kind: BLOCKS_WRITE, ..._INITIAL or ..._FINAL */
	heldset across;          /* the locks held from one to the other */
};

/* A 2v-block: two initial reads or final writes of different variables. */
struct blocks_pair {
	uint32_t life[2], op[2]; /* in their order */
	uint8_t kind[2];         /* BLOCKS_INITIAL, BLOCKS_FINAL, or both */
	heldset across;
	heldset held[2];
	heldset used; /* blocks_walk_used(), once it was needed */
};

/* The blocks of one segment; reused for each. */
struct blocks_walk {
	struct blocks_point *point;
	size_t point_cap;
	uint32_t npoints;
	struct blocks_window *window;
	size_t window_cap;
	uint32_t nwindows;
	uint32_t nends; /* points that are initial reads or final writes */
	bool wide;      /* too many of them: not all pairs were compared */
	heldset *tree;  /* over ranges of operations: the locks held throughout */
	size_t tree_cap;
	struct blocks_last *last; /* by life: a small hash */
	size_t last_cap;
	uint32_t *end; /* indexes of points */
	size_t end_cap;
};

/* If a transaction has more initial reads and final writes, not all pairs of them are compared. */
enum { BLOCKS_WIDE = 512 };

/* Find the points of a segment, and for a transaction its windows. */
void blocks_walk(struct blocks_walk *w, struct segments *u, const struct segment *t);
/* Call `each` for its pairs, until that returns false. */
void blocks_walk_pairs(struct blocks_walk *w, struct segments *u, const struct segment *t,
		       bool (*each)(void *arg, const struct blocks_pair *p), void *arg);
/* Returns the locks that are held at some point from one operation to another. */
heldset blocks_walk_used(struct segments *u, const struct segment *t, uint32_t from, uint32_t to);
void blocks_walk_free(struct blocks_walk *w);

static inline bool blocks_conflict(uint8_t a, uint8_t b)
{
	return (a | b) & BLOCKS_FINAL;
}

#endif
