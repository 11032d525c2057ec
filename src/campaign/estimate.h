/*
 * How many findings are still unseen? From the number of findings that were seen in exactly one
 * run and in exactly two (Good 1953; Chao 1987 for runs instead of single animals):
 *
 * - The next run is expected to show once/runs new findings. The square of the standard error is
 *   (once + 2 twice) / runs^2: it follows from adding up, over independent findings, the variance
 *   of the difference between the estimate and what it estimates. If nothing was seen only once,
 *   the upper bound is 3/runs: what shows more often than that would have been missed with less
 *   than 5 percent.
 * - At least once^2 / (2 twice) findings are unseen (Chao's lower bound).
 *
 * Both assume that runs are independent and alike. They say nothing about findings that no run of
 * this kind can show.
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_ESTIMATE_H
#define ATOMSAN_CAMPAIGN_ESTIMATE_H

#include <stdint.h>

struct estimate {
	uint64_t runs, findings, once, twice;
	double next, low, high; /* new findings that the next run shows: expected; 95 percent */
	double unseen;          /* at least so many findings, probably */
};

void estimate_compute(struct estimate *e, uint64_t runs, uint64_t findings, uint64_t once,
		      uint64_t twice);

#endif
