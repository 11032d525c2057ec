/*
 * Writes a trace. Only what the format cannot express is an error (a name with
 * '|' in it, for STD text); the events are not checked. OP_NONE is not written.
 *
 * The numbers in the events are those of `names`, which may grow between calls
 * and must outlive the writer.
 */
#ifndef ATOMSAN_TRACE_WRITER_H
#define ATOMSAN_TRACE_WRITER_H

#include "base/err.h"
#include "trace/event.h"
#include "trace/names.h"

/* TRACE_PERFETTO is for a viewer; no command reads it: perfetto_write.c. */
enum trace_format { TRACE_UNKNOWN, TRACE_STD, TRACE_ATRACE, TRACE_PERFETTO };

/* Returns the format called "std", "atrace" or "perfetto", or TRACE_UNKNOWN. */
enum trace_format trace_format_by_name(const char *name);
/* The same for the extension of a file name, before ".zst" if it has that. */
enum trace_format trace_format_by_path(const char *path);

struct writer;

/*
 * "-" is standard output. A file whose name ends in ".zst" is compressed as a whole. Returns NULL,
 * with a sentence in `err`, if it cannot be opened.
 */
struct writer *writer_open(const char *path, enum trace_format format, struct err *err);
/* The same for a name that the user did not choose: a symbolic link there is replaced. */
struct writer *writer_open_own(const char *path, enum trace_format format, struct err *err);
int writer_put(struct writer *w, const struct names *names, const struct event *ev, size_t n,
	       struct err *err);
/*
 * Flushes, closes and frees the writer, even if it fails. If all could be written, the file takes
 * its name; otherwise what was there before stays (base/output_file.h).
 */
int writer_close(struct writer *w, struct err *err);

#endif
