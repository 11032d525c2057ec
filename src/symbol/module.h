/*
 * An executable or library of a recorded run: its file, the file that has its
 * debug information, its ELF symbols.
 *
 * All addresses are the file's own, as its ELF headers have them.
 *
 * Who may include this: src/symbol.
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
	uint64_t end; /* of its section: one without a size goes on up to the next, or to there */
	const char *name;
	bool global;
};

struct module_symbols {
	struct module_symbol *v; /* by address */
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

struct module {
	char *path;
	const char *name; /* the path's last part */
	char *build_id;   /* hexadecimal, as recorded; "" where there was none */
	bool opened;
	struct module_file file, debug; /* elf NULL: there is none, or it must not be used */
	Dwarf *dwarf;                   /* NULL: there is none */
	struct units *units;            /* with `dwarf`: units.h */
	struct module_segment *segment;
	size_t nsegments;
	struct module_symbols functions, objects;
};

struct module *module_new(const char *path, const char *build_id, size_t build_id_len);
void module_free(struct module *m);

/*
 * Open the file, once; later calls do nothing. Adds a sentence to `warning` where
 * there will be no names, or functions only.
 */
void module_open(struct module *m, struct str *warning);

/* Did the system bring it along? Then nobody can compile it with -g. */
bool module_is_system(const char *path);

bool module_has_code(const struct module *m, uint64_t addr);
bool module_has_data(const struct module *m, uint64_t addr);

/* The symbol that covers the address, or NULL. */
const struct module_symbol *module_symbol_at(const struct module_symbols *s, uint64_t addr);

#endif
