/*
 * Program counter -> functions, with the place in each.
 *
 * Who may include this: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_FRAMES_H
#define ATOMSAN_SYMBOL_FRAMES_H

#include "symbol/naming.h"
#include "trace/names.h"

struct frames {
	struct names_frame *v; /* in the naming's arena */
	size_t n;              /* at least 1 */
};

/*
 * The frames of the instruction at this address of an open module, innermost
 * first: inlined calls, then the function that has the code.
 */
struct frames frames_at(struct naming *n, struct module *m, uint64_t addr);

/* The function that has the code, and where it is declared. */
struct names_frame frames_function_at(struct naming *n, struct module *m, uint64_t addr);

#endif
