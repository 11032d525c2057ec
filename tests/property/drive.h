/*
 * Runs one engine over a small trace, as engine.h requires:
 *
 *  - in batches, here of random sizes, whose memory is freed after the call;
 *  - with names that grow from batch to batch, as a reader's names do;
 *  - with as many passes as the engine asks for.
 *
 * Also compares the locks held at each step of its findings with the trace.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_DRIVE_H
#define ATOMSAN_TESTS_PROPERTY_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "engine/engine.h"
#include "trace.h"

struct contender {
	const char *name; /* for messages */
	const struct engine_ops *ops;
	const void *options; /* the engine's own; NULL: its defaults */
};

/*
 * Runs the engine and collects all its findings in `out`, in the order in which it emitted them.
 * `seed` decides the sizes of the batches. Returns false, with a sentence in `what`, if the engine
 * broke a rule. In both cases the caller frees `out` with drive_free().
 */
bool drive(const struct contender *who, const struct trace *t, uint64_t seed,
	   struct finding_list *out, struct str *what);
void drive_free(struct finding_list *l);

#endif
