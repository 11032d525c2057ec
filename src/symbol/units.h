/*
 * The debug information of a module, by address: which compilation unit a piece
 * of code belongs to, which function of the unit, which variable lies where.
 *
 * Units are known from the start; the functions of a unit are listed when one of
 * them is asked for, and all variables of a module when one of them is: a few dozen
 * bytes each. Compilers' own index (.debug_aranges) is not used: clang leaves it
 * out, and it knows no variables.
 *
 * Who may include this: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_UNITS_H
#define ATOMSAN_SYMBOL_UNITS_H

#include "symbol/module.h"

struct units_function {
	uint64_t lo, hi;
	Dwarf_Off die;
};

struct units_unit {
	Dwarf_Die lines; /* has the line table */
	Dwarf_Die die;   /* has functions and variables: another file with -gsplit-dwarf */
	struct units_function *function; /* by address */
	size_t nfunctions, cap;
	bool scanned;
};

struct units_variable {
	uint64_t addr;
	Dwarf_Off die, function; /* function: that it is a local of, or 0 */
	uint32_t unit;
};

struct units *units_new(const struct module *m);
void units_free(struct units *u);

/* A file of -gsplit-dwarf that cannot be read, as the program names it; NULL: all can. */
const char *units_gone(const struct units *u);
const struct units_unit *units_unit(const struct units *u, uint32_t unit);

/* The unit that has code for the address, or NULL. */
struct units_unit *units_at(struct units *u, uint64_t addr);
/* The function that has code for it; false: none. */
bool units_function_at(struct units *u, struct units_unit *unit, uint64_t addr, Dwarf_Die *out);

/* The variables that begin at the last address not behind this one where any does. */
size_t units_variables_at(struct units *u, uint64_t addr, const struct units_variable **v);
bool units_die(struct units *u, uint32_t unit, Dwarf_Off offset, Dwarf_Die *out);

#endif
