/*
 * From a step of the order to the operation that it stands for, by the histories.
 *
 * Included by: report/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_STEPS_H
#define ATOMSAN_RUNTIME_REPORT_STEPS_H

#include "runtime/history/history.h"
#include "trace/live_format.h"

/*
 * Find the operation of step `s`, with the histories held. `next` is the step to which an edge went
 * from `s`; NULL if an edge came into `s`.
 *
 * Returns true if the history reaches back to the step. If not, the operation may still be known
 * (to->kept: it was a saved operation on a lock); else to->evicted is set.
 */
bool steps_find(uint64_t s, const struct live_step *next, struct live_step *to);

#endif
