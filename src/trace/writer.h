/*
 * Writing a trace. Nothing is checked but what the format cannot hold (a name
 * with '|' in it has no place in STD text); OP_NONE is not written.
 *
 * The numbers in the events are those of `names`, which may grow between calls
 * and must be there until the writer is closed.
 */
#ifndef ATOMSAN_TRACE_WRITER_H
#define ATOMSAN_TRACE_WRITER_H

#include "base/err.h"
#include "trace/event.h"
#include "trace/names.h"

/* TRACE_PERFETTO is to be looked at, and is not read again: perfetto_write.c. */
enum trace_format { TRACE_UNKNOWN, TRACE_STD, TRACE_ATRACE, TRACE_PERFETTO };

/* By "std", "atrace" or "perfetto"; by the end of a file name, without ".zst". */
enum trace_format trace_format_by_name(const char *name);
enum trace_format trace_format_by_path(const char *path);

struct writer;

/* "-" is standard output. A path that ends in ".zst" is compressed as a whole. */
struct writer *writer_open(const char *path, enum trace_format format, struct err *err);
int writer_put(struct writer *w, const struct names *names, const struct event *ev, size_t n,
	       struct err *err);
/* Flush and close; the writer is gone afterwards, also where this fails. */
int writer_close(struct writer *w, struct err *err);

#endif
