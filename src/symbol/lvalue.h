/*
 * The type of an expression of the source, by the debug information of the code that it is in.
 *
 * Knows names of variables, members (also of *this), pointers, references, indices, casts to
 * named types, and calls of functions whose return type is described. Any other expression has no
 * type. Indices and arguments are not looked at.
 *
 * Included by: src/symbol.
 */
#ifndef ATOMSAN_SYMBOL_LVALUE_H
#define ATOMSAN_SYMBOL_LVALUE_H

#include "symbol/debug_info.h"
#include "symbol/expression.h"

/* The code that an expression is in. */
struct lvalue_scope {
	struct compile_unit *cu;
	Dwarf_Die function;             /* or the inlined call */
	uint64_t addr;                  /* of the instruction */
	const struct source_text *text; /* for its macros */
};

enum lvalue_storage {
	STORED_LOCAL,  /* in a local variable */
	STORED_GLOBAL, /* in a global or static variable */
	STORED_MEMORY, /* in what a pointer or reference points to */
};

struct lvalue {
	Dwarf_Die type;       /* without typedefs and qualifiers */
	const char *alias;    /* the name of that type, or of the typedef for it; or NULL */
	const char *declared; /* the name of the first typedef that was followed; or NULL */
	size_t pointers;      /* the type is a pointer to a pointer to ... `type`, so many times */
	size_t indices;       /* of a multi-dimensional array, so far */
	enum lvalue_storage storage;
	bool value;     /* a value, not memory */
	bool bits;      /* a bit-field */
	bool member;    /* begins with a member of *this */
	bool parameter; /* the name of a parameter, and nothing else */
	/* What the last pointer points to, and where in it the expression may begin, in bytes. */
	Dwarf_Die base;
	const char *base_alias;
	uint64_t lo, hi;
	size_t path; /* the token of the first member of `base`; LVALUE_NO_PATH: none */
};
#define LVALUE_NO_PATH SIZE_MAX

/* Sets *out; returns false if the type is not known. */
bool lvalue_find(const struct lvalue_scope *s, const struct tokens *t, size_t first, size_t last,
		 struct lvalue *out);

/* The same for the type that is named at a token, as in "new node(1)". */
bool lvalue_find_type(const struct lvalue_scope *s, const struct tokens *t, size_t at,
		      struct lvalue *out);
/* The same for the operand of sizeof: "(struct node)", "*p", "(*p)". */
bool lvalue_find_sizeof(const struct lvalue_scope *s, const struct tokens *t, size_t at,
			struct lvalue *out);

/* Replaces a pointer by what it points to; returns false if it is none. */
bool lvalue_follow(struct lvalue *v);

uint64_t lvalue_size(struct lvalue *v); /* in bytes; 0: unknown */
bool lvalue_is_aggregate(struct lvalue *v);
bool lvalue_is_struct(struct lvalue *v);
bool lvalue_is_array(struct lvalue *v);
bool lvalue_base_is_struct(struct lvalue *v);

#endif
