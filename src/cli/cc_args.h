/*
 * What a compiler's command line asks for, as far as the wrappers have to know:
 * does it link, and what? is anything instrumented? Words out of response files
 * (@FILE) count, also where one names another.
 *
 * Options that take the next word as their value are known, so that such a value
 * is not taken for an input file. What is not known is assumed to stand alone.
 *
 * Who may include this: cmd_cc.c.
 */
#ifndef ATOMSAN_CLI_CC_ARGS_H
#define ATOMSAN_CLI_CC_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

enum cc_link {
	CC_LINK_NONE,    /* no linking, or of something that no runtime belongs in */
	CC_LINK_PROGRAM, /* takes the runtime */
	CC_LINK_SHARED,  /* takes the stub library */
};

struct cc_args {
	bool inputs;     /* without any the compiler answers questions: nothing is to be added */
	bool instrument; /* what it compiles */
	bool no_inline;
	/* Everything that is compiled is C or C++, with optimisation and nothing that a second
	   turn of the compiler could do twice; then `code` has the options for that turn. */
	bool plain;
	char **code;
	size_t ncode, code_cap;
	enum cc_link link;
	/* The words to pass on: those given, without the wrapper's own options. */
	char **word;
	size_t n, cap;
	struct arena strings;
};

/* Returns 0, or -1 with a sentence on what AtomSan cannot do. cc_args_free() it in both cases. */
int cc_args_read(struct cc_args *a, int argc, char **argv, struct err *err);
void cc_args_free(struct cc_args *a);

#endif
