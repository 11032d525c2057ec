/*
 * A cycle that an access has closed, as the order of transactions knows it.
 *
 * Included by: report/, the checking tools.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_CYCLE_H
#define ATOMSAN_RUNTIME_REPORT_CYCLE_H

#include <stdint.h>

enum { CYCLE_STEPS = 32, CYCLE_CLOSING = 8, CYCLE_REACH = 64 };
struct cycle {
	uint64_t step[CYCLE_STEPS]; /* steps of the order, backwards from the closing one */
	uint32_t n;
	uint32_t slot;  /* of the transaction that closed it */
	uint64_t begin; /* the time at which that transaction began */
	uint64_t clock; /* the thread's clock then */
	/*
	 * By slot, for the first slots: the time from which on the transaction reaches it, or an
	 * open transaction of its own began.
	 */
	uint32_t nreach;
	uint64_t reach[CYCLE_REACH];
	/* What the closing access touched, the first cells of it. */
	uint32_t nclosing;
	struct {
		uintptr_t address; /* of a cell; 0: of a lock */
		uint64_t bytes;
	} closing[CYCLE_CLOSING];
};

#endif
