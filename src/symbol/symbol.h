/*
 * Finds out what the names of a recorded run mean (trace/recorded.h says what is
 * recorded): program counters become functions, files, lines and columns, with all
 * inlined frames; addresses become variables, with members and indices.
 *
 * The program and its libraries are read from the paths in the recording, when
 * a name in them is first needed, and never over the network. For code that was not
 * compiled with -g only functions are known. For a file that is missing, or that
 * has changed as its build id shows, only modules and offsets are known. A warning
 * is kept for each of these. Everything is looked up once and kept until the
 * resolver is freed.
 *
 * The notes of a trace may grow while it is read.
 *
 * Two variables, or two locks, never have the same text, so that the output can be
 * read back as a trace: the second one gets the place of its declaration or a number.
 *
 * Included by: src/symbol, src/reporter, the command line, tests.
 */
#ifndef ATOMSAN_SYMBOL_SYMBOL_H
#define ATOMSAN_SYMBOL_SYMBOL_H

#include <stddef.h>

#include "base/err.h"
#include "trace/names.h"

/* Returns a resolver for one trace, for symbol_resolver_free(). */
struct names_resolver *symbol_resolver_new(void);
/*
 * Returns a resolver for another trace of the same program, which has numbers of its own. The two
 * share what they have read from the program's files. Each is freed separately, in any order.
 */
struct names_resolver *symbol_resolver_share(struct names_resolver *other);
void symbol_resolver_free(struct names_resolver *r);

/*
 * Sets *v to the warnings so far, each once and without "atomsan: " in front, and returns how many
 * there are. The next look-up may move *v; the sentences live as long as the resolver.
 */
size_t symbol_resolver_warnings(struct names_resolver *r, const char *const **v);

/*
 * Calls `each` once for every function with code of its own in a module, in the order of addresses:
 * with its first address in the file, the address after it, and its name. `module` is a number in
 * the trace's notes. Modules of the system are left out, and so are those that cannot be read.
 */
void symbol_resolver_functions(struct names_resolver *r, const struct names *names, uint32_t module,
			       void (*each)(void *arg, uint64_t begin, uint64_t end,
					    const struct names_frame *f),
			       void *arg);

/*
 * Calls `each` once for every function with code of its own in an executable or
 * library. The frame lives only during the call. Returns 0, or -1 with a sentence in
 * `err` if the file cannot be read.
 */
int symbol_functions(const char *path, void (*each)(void *arg, const struct names_frame *f),
		     void *arg, struct err *err);

#endif
