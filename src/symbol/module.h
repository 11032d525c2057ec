/*
 * An executable or library of a recorded run: its file, the file that has its
 * debug information, its ELF symbols.
 *
 * All addresses are those of the file, as in its ELF headers.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_MODULE_H
#define ATOMSAN_SYMBOL_MODULE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct module_symbol {
	uint64_t addr, size;
	uint64_t end; /* end of its section: a symbol without a size ends at the next, or here */
	const char *name;
	bool global;
};

struct module_symbols {
	struct module_symbol *v; /* sorted by address */
	size_t n, cap;
};

struct module_segment {
	uint64_t lo, hi;
	bool code;
};

struct module_file {
	int fd;
	Elf *elf;
};

/* Which file it was, and when it was last written. */
struct module_version {
	uint64_t device, inode, size, seconds, nanoseconds;
};

struct module {
	char *path;
	const char *name;              /* the last part of the path */
	char *build_id;                /* hexadecimal, as recorded; "": none */
	struct module_version version; /* of the file at module_new() */
	bool opened;
	struct module_file file, debug; /* elf is NULL if there is none or it must not be used */
	Dwarf *dwarf;                   /* NULL: there is none */
	struct debug_info *debug_info;  /* with `dwarf`: debug_info.h */
	struct module_segment *segment;
	size_t nsegments;
	struct module_symbols functions, objects;
};

struct module *module_new(const char *path, const char *build_id, size_t build_id_len);
void module_free(struct module *m);
/* Is the file at the module's path still the one that it was at module_new()? */
bool module_is_current(const struct module *m);

/*
 * Opens the file; later calls do nothing. Adds a sentence to `warning` if there will
 * be no names, or only functions.
 */
void module_open(struct module *m, struct str *warning);

/* Returns whether the module is part of the system: then the user cannot compile it with -g. */
bool module_is_system(const char *path);

bool module_has_code(const struct module *m, uint64_t addr);
bool module_has_data(const struct module *m, uint64_t addr);

/* Returns the symbol that covers the address, or NULL. */
const struct module_symbol *module_symbol_at(const struct module_symbols *s, uint64_t addr);

#endif
