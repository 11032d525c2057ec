/*
 * Types of the debug information: sizes, members, and the path to bytes of a variable.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_TYPE_H
#define ATOMSAN_SYMBOL_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Sets *type to the type of a variable, member, array or typedef, without typedefs and qualifiers.
 */
bool type_of(Dwarf_Die *die, Dwarf_Die *type);

/* Returns the size of a type in bytes; 0: unknown. */
uint64_t type_size(Dwarf_Die *type);

/* A member of a struct or union, or a base class. */
struct type_part {
	Dwarf_Die die;
	uint64_t lo, hi; /* in bits, from the start of the struct */
	bool bits;       /* a bit-field */
};

/* Reads a child of a struct's DIE; returns false if it is no part of the struct's memory. */
bool type_read_part(Dwarf_Die *die, struct type_part *p);

/* The accessed bytes of a variable or a part of it: [offset, offset + size). */
struct type_want {
	uint64_t offset, size;
	bool lock; /* do not name members of the system's types */
};

/* Adds the path to the bytes: ".balance", "[3].next", ".{a,b}", "+0x8". */
void type_add_path(Dwarf_Die *type, struct type_want w, struct str *out);
/* Adds "+0x8", or nothing for 0. */
void type_add_offset(struct str *out, uint64_t offset);

#endif
