/*
 * What the writers of the formats share.
 *
 * Included by: writer.c, std_write.c, atrace_write.c, perfetto_write.c.
 */
#ifndef ATOMSAN_TRACE_WRITER_IMPL_H
#define ATOMSAN_TRACE_WRITER_IMPL_H

#include "trace/output.h"
#include "trace/writer.h"

struct writer_ops {
	/* Called once, before the first event. Returns w->state. */
	void *(*create)(struct writer *w);
	int (*put)(struct writer *w, const struct names *names, const struct event *ev, size_t n,
		   struct err *err);
	/* Called once, after the last event: writes everything that is still in memory. */
	int (*finish)(struct writer *w, struct err *err);
	void (*destroy)(struct writer *w); /* frees w->state */
};
extern const struct writer_ops writer_std, writer_atrace, writer_perfetto;

struct writer {
	struct output out;
	const struct writer_ops *ops;
	void *state;
	struct err err; /* the first failure */
};

#endif
