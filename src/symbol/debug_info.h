/*
 * The debug information (DWARF) of a module, by address: the compilation unit and
 * the function that code belongs to, and the variable at a data address.
 *
 * Compilation units are listed when the module is opened, the functions of one when
 * a caller first asks for one of them, and all variables of the module when a
 * caller first asks for one: a few dozen bytes each. The compiler's own index
 * (.debug_aranges) is not used: clang does not write it, and it has no variables.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_DEBUG_INFO_H
#define ATOMSAN_SYMBOL_DEBUG_INFO_H

#include "base/map.h"
#include "symbol/module.h"

struct debug_function {
	uint64_t lo, hi;
	Dwarf_Off die;
};

struct compile_unit {
	Dwarf_Die lines; /* the DIE with the line table */
	Dwarf_Die
		die; /* the DIE with functions and variables; with -gsplit-dwarf in another file */
	struct debug_function *function; /* sorted by address */
	size_t nfunctions, cap;
	bool scanned;     /* `function` is complete */
	struct map names; /* hash of a name and its kind -> index in `named`: lvalue.c */
	Dwarf_Off *named;
	size_t nnamed, named_cap;
	bool indexed; /* `named` is complete */
};

struct debug_variable {
	uint64_t addr;
	Dwarf_Off die;
	Dwarf_Off function; /* the function whose local variable it is, or 0 */
	uint32_t cu;        /* number of its compilation unit */
};

/* m->dwarf must be open. Returns the debug information of the module, for debug_info_free(). */
struct debug_info *debug_info_new(const struct module *m);
void debug_info_free(struct debug_info *d);

/* Returns the name of a -gsplit-dwarf file that cannot be read, as the program has it; or NULL. */
const char *debug_info_missing_file(const struct debug_info *d);
const struct compile_unit *debug_info_compile_unit(const struct debug_info *d, uint32_t cu);

/* Returns the compilation unit that has code at the address, or NULL. */
struct compile_unit *debug_info_compile_unit_at(struct debug_info *d, uint64_t addr);
/* Sets *out to the function that has code at the address; returns false if there is none. */
bool debug_info_function_at(struct debug_info *d, struct compile_unit *cu, uint64_t addr,
			    Dwarf_Die *out);

/*
 * Sets *v to the variables with the highest address that is not above `addr`, and returns how many
 * there are: several compilation units may describe the same variable.
 */
size_t debug_info_variables_at(struct debug_info *d, uint64_t addr,
			       const struct debug_variable **v);
/* Sets *out to the DIE at an offset; returns false if there is none. */
bool debug_info_die(struct debug_info *d, uint32_t cu, Dwarf_Off offset, Dwarf_Die *out);

#endif
