/*
 * A small trace in memory, for tests. It is built, checked, put into canonical
 * form, printed and parsed without code of src/trace, so that a mistake there
 * cannot hide here.
 *
 * Canonical form is what a reader would deliver: threads, variables and locks are
 * numbered from 0 in the order of first mention (in an event, the thread comes
 * before the operand). They are called T0.., x0.., l0.., and the block that begins
 * with event 17 is called b17, so a label identifies its block.
 *
 * Included by: tests/property.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_TRACE_H
#define ATOMSAN_TESTS_PROPERTY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/event.h"

/* Which labels and places the engines receive. */
enum trace_style {
	STYLE_LABELS, /* blocks have labels; no event has a place */
	STYLE_BOTH,   /* blocks have labels; the place of every event is its number */
	STYLE_PLACES, /* places as before, but no labels: blocks are identified by places */
	STYLE_COUNT,
	/* All blocks have one label; no event has a place. For tests that ask for it. */
	STYLE_SAME = STYLE_COUNT
};

struct trace {
	struct event *ev; /* ev[0] is event 1; operand of a begin and places are 0 */
	size_t n, cap;
	enum trace_style style;
};

void trace_free(struct trace *t);
void trace_add(struct trace *t, uint32_t thread, enum op op, uint32_t operand);
void trace_copy(struct trace *to, const struct trace *from);
/* Copies `from` without the events i with drop[i] set. The copy is not in canonical form. */
void trace_copy_without(struct trace *to, const struct trace *from, const bool *drop);

/* Could a reader have delivered this? (Repeated acquires are OP_NONE already.) */
bool trace_legal(const struct trace *t);
void trace_canonical(struct trace *t);

/* Adds the label of the block that begins with event `begin` to `out`. */
void trace_label(const struct trace *t, uint64_t begin, struct str *out);

/*
 * STD text, one event a line; after an access, a third column `=3` is its value, one digit.
 * OP_NONE, for which the format has no word, is printed and parsed as "none". The parser expects
 * well-formed text, treats any white space as a line end, and returns canonical form.
 */
void trace_print(const struct trace *t, struct str *out);
int trace_parse(struct trace *t, const char *text, struct err *err);

#endif
