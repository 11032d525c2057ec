/*
 * Small traces in which it was worked out by hand whether given events are feasible, by
 * the definition in docs/engines/predict.md. Twin and engine must both say so.
 *
 * Included by: tests/property_predict.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_PREDICT_NAMED_PREDICT_H
#define ATOMSAN_TESTS_PROPERTY_PREDICT_NAMED_PREDICT_H

#include "trace.h"
#include "twin_predict.h"

struct named_trace {
	const char *name; /* what it shows */
	const char *text;
	enum trace_style style;
	uint64_t step[TWIN_STEPS]; /* e1, f, e2; or e1, f1, f2, e2 */
	bool feasible;
};

extern const struct named_trace named_traces[];
extern const size_t nnamed_traces;

#endif
