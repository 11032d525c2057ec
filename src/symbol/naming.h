/*
 * How things are called: C++ names demangled, paths as a person at the current
 * directory would write them.
 *
 * Who may include this: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_NAMING_H
#define ATOMSAN_SYMBOL_NAMING_H

#include "base/mem.h"
#include "symbol/map.h"
#include "symbol/module.h"
#include "symbol/units.h"

struct naming {
	struct arena arena; /* what is handed out lives here, or in the modules */
	char *cwd;          /* ends in '/'; NULL: not known */
	struct map paths;   /* of libdw's strings, by address */
	const char **path;
	size_t npaths, path_cap;
};

void naming_init(struct naming *n);
void naming_free(struct naming *n);

/* Demangled, without what compilers put behind names of clones; as it is where it is not mangled.
 */
const char *naming_demangle(struct naming *n, const char *linkage);

/* A source file: cleaned, and relative where it lies beneath the current directory. */
const char *naming_path(struct naming *n, const char *file, const char *dir);

/* What a function (or inlined call) is called; each may be NULL. */
void naming_function(struct naming *n, const struct module *m, Dwarf_Die *die,
		     const char **function, const char **linkage);

/* The directory that the DIE's unit was compiled in, or NULL. */
const char *naming_unit_dir(Dwarf_Die *die);
/* The file in DW_AT_decl_file or DW_AT_call_file, as it is shown, or NULL. */
const char *naming_file(struct naming *n, const struct units_unit *unit, Dwarf_Die *die,
			unsigned attribute);

#endif
