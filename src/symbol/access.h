/*
 * What the source calls the memory that an instruction accesses: "acc->balance",
 * from the text at the instruction's line and column; and "account.balance", from
 * the type that the memory has according to the debug information.
 *
 * An expression is used only if it has a type, if an access of that type can
 * have this size, and if it can lie at this offset of the allocation. If several
 * different expressions pass, none is used: no name is better than a wrong one.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_ACCESS_H
#define ATOMSAN_SYMBOL_ACCESS_H

#include "symbol/expression.h"
#include "symbol/module.h"
#include "symbol/source_text.h"
#include "trace/names.h"
#include "trace/recorded.h"

/* A stack, innermost frame first. */
struct access_stack {
	const struct names_frame *v;
	size_t n;
};

/* Finds modules by the paths in frames. */
struct access_files {
	struct module **module;
	size_t nmodules;
	struct source_texts *sources;
};

struct access {
	struct access_stack at;        /* of the operation */
	struct access_stack allocated; /* of the allocation; empty: none, or not known */
	const struct recorded_memory *memory;
	enum expression_use use; /* USE_READ, USE_WRITE or USE_LOCK */
};

/*
 * Adds the expression and the type with its member; each stays empty if it is not known.
 */
void access_name(const struct access_files *files, const struct access *a, struct str *expression,
		 struct str *field);

/* Returns whether code is part of the system: its libraries, or the headers of the C++ library. */
bool access_is_system(const struct names_frame *f);

#endif
