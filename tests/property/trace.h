/*
 * A small trace in memory, for tests: built, checked, put into canonical form,
 * printed and parsed without any help from src/trace, so that a mistake there
 * cannot hide one here.
 *
 * Canonical form is what a reader would deliver: threads, variables and locks
 * numbered from 0 in the order of first mention (of an event, the thread
 * before the operand). They are called T0.., x0.., l0.. and the block that
 * begins with event 17 is called b17, so a label tells which block is meant.
 *
 * Who may include this: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TRACE_H
#define ATOMSAN_TESTS_PROPERTY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/event.h"

/* Which labels and places the engines get. */
enum trace_style {
	STYLE_LABELS, /* blocks have labels, nothing has a place */
	STYLE_BOTH,   /* blocks have labels, every event has its number as place */
	STYLE_PLACES, /* no labels: blocks are known by their places */
	STYLE_COUNT
};

struct trace {
	struct event *ev; /* ev[0] is event 1; operand of a begin and places are 0 */
	size_t n, cap;
	enum trace_style style;
};

void trace_free(struct trace *t);
void trace_add(struct trace *t, uint32_t thread, enum op op, uint32_t operand);
void trace_copy(struct trace *to, const struct trace *from);
/* `from` without the events i with drop[i] set; not in canonical form. */
void trace_copy_without(struct trace *to, const struct trace *from, const bool *drop);

/* Could a reader have delivered this? (Repeated acquires are OP_NONE already.) */
bool trace_legal(const struct trace *t);
void trace_canonical(struct trace *t);

/* What the label of a begin is, by its event number. */
void trace_label(const struct trace *t, uint64_t begin, struct str *out);

/*
 * STD text, one event a line. OP_NONE, which the format has no word for, is
 * "none"; parsing takes it back. The parser wants well-formed text, takes any
 * white space for a line end, and gives canonical form.
 */
void trace_print(const struct trace *t, struct str *out);
int trace_parse(struct trace *t, const char *text, struct err *err);

#endif
