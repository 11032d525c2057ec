/*
 * Which operations of segments can happen next to an operation that they do not
 * commute with.
 *
 * Two operations *clash* if they are in concurrent segments, on the same variable
 * and not both reads, or on the same lock and not both shared, and no lock that both
 * threads hold excludes one of them.
 *
 * An acquire or release is *contended* if it clashes with another. If it does not,
 * another lock protects this one, or no other thread wants it at that time. An
 * access is contended if any two accesses of its variable clash and some access of
 * any kind is concurrent with it: then the variable has no lock of its own
 * (Eraser's rule), and in another run this access may be one of the two.
 *
 * How: operations are sorted by variable or lock; those that differ only in their
 * time are one record. If the records of a variable have a lock in common, it is
 * done. Otherwise each record is compared with others, those with few locks first;
 * after too many tries it is assumed to be contended, and counted.
 *
 * Included by: reduction.c.
 */
#ifndef ATOMSAN_ENGINE_LOCK_RACE_H
#define ATOMSAN_ENGINE_LOCK_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/segment.h"

struct races {
	bool *contended;  /* for each operation u->op[i] */
	uint64_t assumed; /* records that were assumed to be contended */
};

void races_find(struct races *r, struct segments *u);
void races_free(struct races *r);

#endif
