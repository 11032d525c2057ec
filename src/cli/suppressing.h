/*
 * The option --suppressions, for all commands that print findings.
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_SUPPRESSING_H
#define ATOMSAN_CLI_SUPPRESSING_H

#include "base/err.h"
#include "base/opt.h"
#include "engine/finding.h"
#include "report/suppress.h"

extern const char *suppressing_file; /* --suppressions, or NULL */
#define SUPPRESSING_OPT                                                                            \
	OPT_STR(0, "suppressions", "FILE", &suppressing_file, "findings that are not to be printed")

/* Read the file, where there is one; -1 with a sentence in `err`. */
int suppressing_read(struct err *err);
/* That file; NULL where there is none. */
struct suppress *suppressing_list(void);

/* Drop findings that are suppressed; returns how many. */
size_t suppressing_drop(struct finding_list *findings);

#endif
