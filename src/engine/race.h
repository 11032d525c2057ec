/*
 * Which operations of units can stand beside one that they do not commute with.
 *
 * Two operations *clash* where they are of concurrent units, on the same
 * variable and not both reads, or on the same lock and not both shared, and no
 * lock that both threads hold at that moment keeps the two apart.
 *
 * An acquire or release is *contended* where it clashes with another. If it does
 * not, another lock protects this one, or nobody else wants it at that time. An
 * access is contended where any two accesses of its variable clash, and another,
 * of whatever kind, is concurrent with it: the variable has no lock of its own
 * then (Eraser's rule), and what holds for two accesses may hold for the next run's.
 *
 * How: operations that differ in nothing but their time are one record. A
 * variable whose records have a lock in common is done. Otherwise each record
 * looks for another, among those with few locks first; after too many tries it
 * is taken for contended, and counted.
 *
 * Who may include this: engines over units.
 */
#ifndef ATOMSAN_ENGINE_RACE_H
#define ATOMSAN_ENGINE_RACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/unit.h"

struct races {
	uint32_t *record; /* of each operation u->op[i] */
	bool *contended;  /* of each record */
	uint32_t nrecords;
	uint64_t assumed; /* records that were not looked at to the end */
};

void races_find(struct races *r, struct units *u);
void races_free(struct races *r);

static inline bool races_contended(const struct races *r, size_t op)
{
	return r->contended[r->record[op]];
}

#endif
