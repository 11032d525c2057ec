/*
 * Finds the functions of a program counter, with the source line in each.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_FRAMES_H
#define ATOMSAN_SYMBOL_FRAMES_H

#include "symbol/naming.h"
#include "trace/names.h"

struct frames {
	struct names_frame *v; /* lives in the arena of `struct naming` */
	size_t n;              /* at least 1 */
};

/*
 * Returns the frames of the instruction at an address in an open module, innermost
 * first: the inlined calls, then the function that has the code.
 */
struct frames frames_at(struct naming *n, struct module *m, uint64_t addr);

/*
 * Sets *cu and *die to the compilation unit and the function, or inlined call, of one of the frames
 * that frames_at() returns: `depth` 0 is the innermost. Returns false if there is none.
 */
bool frames_scope(struct module *m, uint64_t addr, size_t depth, struct compile_unit **cu,
		  Dwarf_Die *die);

/* Returns the function that has the code at an address, and where it is declared. */
struct names_frame frames_function_at(struct naming *n, struct module *m, uint64_t addr);

#endif
