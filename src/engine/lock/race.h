/*
 * Which operations of segments can stand beside one that they do not commute with.
 *
 * Two operations *clash* where they are of concurrent segments, on the same
 * variable and not both reads, or on the same lock and not both shared, and no
 * lock that both threads hold at that moment keeps the two apart.
 *
 * An acquire or release is *contended* where it clashes with another. If it does
 * not, another lock protects this one, or nobody else wants it at that time. An
 * access is contended where any two accesses of its variable clash, and another,
 * of whatever kind, is concurrent with it: the variable has no lock of its own
 * then (Eraser's rule), and what holds for two accesses may hold for the next run's.
 *
 * How: operations are sorted by what they are on, and of each variable and lock
 * those that differ in nothing but their time are one record. A variable whose
 * records have a lock in common is done. Otherwise each record looks for another,
 * among those with few locks first; after too many tries it is taken for
 * contended, and counted.
 *
 * Who may include this: reduction.c.
 */
#ifndef ATOMSAN_ENGINE_LOCK_RACE_H
#define ATOMSAN_ENGINE_LOCK_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/segment.h"

struct races {
	bool *contended;  /* of each operation u->op[i] */
	uint64_t assumed; /* records that were not looked at to the end */
};

void races_find(struct races *r, struct segments *u);
void races_free(struct races *r);

#endif
