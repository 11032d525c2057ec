/*
 * A cycle that an operation has closed, as the order of transactions knows it
 * (engine/precise/order.h).
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_CYCLE_H
#define ATOMSAN_RUNTIME_REPORT_CYCLE_H

#include <stdbool.h>
#include <stdint.h>

enum { CYCLE_STEPS = 32, CYCLE_CLOSING = 8, CYCLE_REACH = 64 };
struct cycle {
	/*
	 * Steps of the order, backwards from the operation that closed the cycle. They come in
	 * pairs, one for each edge: where the edge went to, then where it came from.
	 */
	uint64_t step[CYCLE_STEPS];
	uint32_t n;
	bool from_write; /* the closing edge came from a write, or from an exclusive lock */
	/* The transaction that closed the cycle: its slot, and its time and clock at its begin. */
	uint32_t slot;
	uint64_t begin, clock;
	/*
	 * For each of the first `nreach` slots, a time of that slot: the closing transaction
	 * reaches the slot's steps from this time on. If the slot's own open transaction began
	 * earlier, it is the time of that begin.
	 */
	uint32_t nreach;
	uint64_t reach[CYCLE_REACH];
	/* The memory of the closing access: the first cells from which an edge closed the cycle. */
	uint32_t nclosing;
	struct {
		uintptr_t address; /* of the cell; 0: the operation is not an access */
		uint64_t bytes;    /* a bit for each byte of the cell */
	} closing[CYCLE_CLOSING];
};

#endif
