/*
 * What a compiler's command line asks for, as far as the wrappers need to know: does it link, and
 * what? Is anything instrumented? The words of response files (@FILE) count, including response
 * files named in response files.
 *
 * Options that take the next word as their value are known, so that the value is not taken for an
 * input file. An unknown option is assumed to take no value.
 *
 * Included by: cmd_cc.c.
 */
#ifndef ATOMSAN_CLI_CC_ARGS_H
#define ATOMSAN_CLI_CC_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

enum cc_link {
	CC_LINK_NONE,    /* no linking, or of an output that has no runtime */
	CC_LINK_PROGRAM, /* links the runtime */
	CC_LINK_SHARED,  /* links the stub library */
};

/* Which functions the compiler may inline. */
enum cc_inlining {
	CC_INLINE_SMALL, /* only small ones that the source declares inline */
	CC_INLINE_NONE,  /* -fatomsan-no-inline */
	CC_INLINE_ALL,   /* -fatomsan-inline, or options of the compiler that say what */
};

struct cc_args {
	bool inputs;     /* there are input files; otherwise no option is added */
	bool instrument; /* what is compiled is instrumented */
	enum cc_inlining inlining;
	bool skeleton; /* -fatomsan-skeleton: without hooks for plain accesses */
	/* Everything that is compiled is C or C++, with optimisation and nothing that a second
	   turn of the compiler could do twice; then `code` has the options for that turn. */
	bool plain;
	char **code;
	size_t ncode, code_cap;
	enum cc_link link;
	/* The words to pass on: all but the wrapper's own options. */
	char **word;
	size_t n, cap;
	struct arena strings;
};

/* Returns 0, or -1 with a sentence on what AtomSan cannot do. cc_args_free() frees it either way.
 */
int cc_args_read(struct cc_args *a, int argc, char **argv, struct err *err);
void cc_args_free(struct cc_args *a);

#endif
