/*
 * The context of a finding's steps, for reports that draw them: the blocks that
 * were open at each step, and the events of a schedule. This takes one more pass
 * over the trace, up to the last event that is needed, and is done only for the
 * findings that are left after deduplication.
 *
 * Schedules may be long and findings many, so only the last events of a schedule
 * are kept: CONTEXT_MOVES of them if there are few findings.
 *
 * Included by: the command line, the reporter.
 */
#ifndef ATOMSAN_ENGINE_CONTEXT_H
#define ATOMSAN_ENGINE_CONTEXT_H

#include "engine/engine.h"

enum { CONTEXT_MOVES = 1000, CONTEXT_MOVES_MIN = 20, CONTEXT_MOVES_ALL = 200000 };

/*
 * Fill in finding_step.blocks and finding.moves by reading the trace again from its
 * start. If the trace breaks off, the events after that point stay as they are; so do
 * all if it cannot be read again.
 */
void context_add(struct engine_result *results, size_t n, struct reader *r);

#endif
