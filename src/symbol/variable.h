/*
 * Address -> global or static variable, and the way into it: "account.balance",
 * "table[3].next", "f()::calls", "ns::Class::member", "buffer+0x8".
 *
 * Who may include this: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_VARIABLE_H
#define ATOMSAN_SYMBOL_VARIABLE_H

#include "symbol/naming.h"

struct variable {
	uint64_t addr, size; /* of the memory that was used */
	bool lock;           /* do not look into it where its type is the system's */
};

/*
 * Add the name of what lies there in an open module; false, and nothing added,
 * where that is not known. `declared` gets "file:line" where the debug
 * information has it.
 */
bool variable_name(struct naming *n, struct module *m, const struct variable *v, struct str *out,
		   struct str *declared);

#endif
