/*
 * What stands around the steps of findings, for reports that draw them: the
 * blocks that were open at each step, and the events of a schedule. It takes
 * one more pass over the trace, up to the last event that is asked for, and is
 * done for what is left after deduplication only.
 *
 * Schedules may be long and findings many: of each schedule the last events
 * are kept, CONTEXT_MOVES of them where there are few findings.
 *
 * Who may include this: the command line.
 */
#ifndef ATOMSAN_ENGINE_CONTEXT_H
#define ATOMSAN_ENGINE_CONTEXT_H

#include "engine/engine.h"

enum { CONTEXT_MOVES = 1000, CONTEXT_MOVES_MIN = 20, CONTEXT_MOVES_ALL = 200000 };

/*
 * Fill in finding_step.blocks and finding.moves. The trace is read again from its
 * start. What comes behind the place where it breaks off, or all where it cannot be
 * read again, stays as it is.
 */
void context_add(struct engine_result *results, size_t n, struct reader *r);

#endif
