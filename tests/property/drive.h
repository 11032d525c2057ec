/*
 * Runs one engine over a small trace, as engine.h says it is to be run: in
 * batches, here of random sizes; with names that grow from batch to batch, as
 * a reader's do; with batches whose memory is gone after the call; with the
 * passes that it asks for. The locks held at each step of its findings are
 * compared with what the trace says.
 *
 * Who may include this: tests/property.
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
 * All findings, in the order in which they came. `seed` draws the batches.
 * Returns false, with a sentence in `what`, where the engine broke the rules.
 * Free `out` with drive_free() either way.
 */
bool drive(const struct contender *who, const struct trace *t, uint64_t seed,
	   struct finding_list *out, struct str *what);
void drive_free(struct finding_list *l);

#endif
