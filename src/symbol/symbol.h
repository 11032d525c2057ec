/*
 * What the names of a recorded run mean: program counters become functions,
 * files, lines and columns with all inlined frames; addresses become variables
 * with the way into them (trace/recorded.h says what is recorded).
 *
 * The program and its libraries are read where the recording says they lie, when
 * a name is first asked for, and never over the network. What was not compiled
 * with -g has functions only; what is gone or has changed since, as its build id
 * tells, has modules and offsets only; of each a warning is kept. Everything is
 * looked up once and kept until the resolver is freed.
 *
 * The notes of a trace may grow while it is read.
 *
 * Two variables, or two locks, are never shown by the same text, so that what was
 * shown can be read back as a trace: the second of a kind says where it is
 * declared, or gets a number.
 *
 * Who may include this: the command line, tests.
 */
#ifndef ATOMSAN_SYMBOL_SYMBOL_H
#define ATOMSAN_SYMBOL_SYMBOL_H

#include <stddef.h>

#include "base/err.h"
#include "trace/names.h"

struct names_resolver *symbol_resolver_new(void);
/*
 * One for another trace of the same program, that has its own numbers: the two share what they
 * have read of its files. Each is freed by itself, in any order.
 */
struct names_resolver *symbol_resolver_beside(struct names_resolver *other);
void symbol_resolver_free(struct names_resolver *r);

/* Sentences without "atomsan: " in front, each once; they live as long as the resolver. */
size_t symbol_resolver_warnings(struct names_resolver *r, const char *const **v);

/*
 * All functions of an executable or library that have code of their own, once
 * each; what `each` is given lives as long as the call. -1: it cannot be read.
 */
int symbol_functions(const char *path, void (*each)(void *arg, const struct names_frame *f),
		     void *arg, struct err *err);

#endif
