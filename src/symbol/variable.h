/*
 * Finds the name of a global or static variable by its address, down to the member
 * or element: "account.balance", "table[3].next", "f()::calls", "ns::Class::member",
 * "buffer+0x8".
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_VARIABLE_H
#define ATOMSAN_SYMBOL_VARIABLE_H

#include "symbol/naming.h"

struct variable {
	uint64_t addr, size; /* the accessed memory */
	bool lock;           /* a lock: do not name members of the system's types */
};

/*
 * Adds the name of the variable at this address of an open module, and to
 * `declared` "file:line" if the debug information has it. Returns false, and adds
 * nothing, if the name is unknown.
 */
bool variable_name(struct naming *n, struct module *m, const struct variable *v, struct str *out,
		   struct str *declared);

#endif
