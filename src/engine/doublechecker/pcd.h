/*
 * DoubleChecker's precise pass: replays a component of the imprecise graph from the
 * logs of its transactions.
 *
 * Semantics. All transactions of a component are replayed, in the order of their
 * events, by the check that frontier does on whole traces (precise.h). A precise
 * cycle lies within one component, and a component is given when it is complete, so
 * the closing events are those of the whole trace. Each operation outside blocks is
 * a transaction of its own here, whether or not the graph had merged it.
 *
 * If repeated accesses after an outgoing edge were left out of the logs, the verdict
 * and the first closing event are still right, but later closing events may be
 * missing.
 *
 * Included by: doublechecker.c.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_PCD_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_PCD_H

#include "engine/doublechecker/idg.h"
#include "engine/precise/precise.h"

/*
 * Add the closing events to p->closings; returns how many. Sets *elided if such a repeat was left
 * out.
 */
size_t pcd_replay(struct precise *p, const struct idg *g, uint32_t component, bool *elided);

#endif
