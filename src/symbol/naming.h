/*
 * How names are shown: C++ names demangled, paths relative to the current directory.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_NAMING_H
#define ATOMSAN_SYMBOL_NAMING_H

#include "base/mem.h"
#include "base/map.h"
#include "symbol/module.h"
#include "symbol/debug_info.h"

struct naming {
	struct arena arena; /* returned strings live here, or in the modules */
	char *cwd;          /* ends in '/'; NULL: unknown */
	struct map paths;   /* addresses of libdw's strings (file, directory) -> index in `path` */
	const char **path;
	size_t npaths, path_cap;
};

void naming_init(struct naming *n);
void naming_free(struct naming *n);

/* Returns the name demangled if it is mangled, without the suffix of a compiler's clone. */
const char *naming_demangle(struct naming *n, const char *linkage);

/* Returns a source file's path without "." and "..", relative if below the current directory. */
const char *naming_path(struct naming *n, const char *file, const char *dir);

/* Sets the names of a function or inlined call, for people and for the linker; or NULL. */
void naming_function(struct naming *n, const struct module *m, Dwarf_Die *die,
		     const char **function, const char **linkage);

/* Returns the directory in which the DIE's compilation unit was compiled, or NULL. */
const char *naming_compile_dir(Dwarf_Die *die);
/* Returns the file in DW_AT_decl_file or DW_AT_call_file, as naming_path() has it, or NULL. */
const char *naming_file(struct naming *n, const struct compile_unit *cu, Dwarf_Die *die,
			unsigned attribute);

#endif
