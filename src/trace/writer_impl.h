/*
 * What the writers of the formats share.
 *
 * Who may include this: writer.c, *_write.c.
 */
#ifndef ATOMSAN_TRACE_WRITER_IMPL_H
#define ATOMSAN_TRACE_WRITER_IMPL_H

#include "trace/output.h"
#include "trace/writer.h"

struct writer_ops {
	/* Once, before the first event. */
	void *(*create)(struct writer *w);
	int (*put)(struct writer *w, const struct names *names, const struct event *ev, size_t n,
		   struct err *err);
	/* Everything that is still in memory goes out. */
	int (*finish)(struct writer *w, struct err *err);
	void (*destroy)(struct writer *w);
};
extern const struct writer_ops writer_std, writer_atrace, writer_perfetto;

struct writer {
	struct output out;
	const struct writer_ops *ops;
	void *state;
	struct err err; /* set once something failed */
};

#endif
