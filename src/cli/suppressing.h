/*
 * The option --suppressions, for all commands that print findings.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_SUPPRESSING_H
#define ATOMSAN_CLI_SUPPRESSING_H

#include "base/err.h"
#include "base/opt.h"
#include "engine/finding.h"
#include "report/suppress.h"

extern const char *suppressing_file; /* --suppressions, or NULL */
#define SUPPRESSING_OPT                                                                            \
	OPT_STR(0, "suppressions", "FILE", &suppressing_file, "findings that are not printed")

/* Reads the file, if one was named. Returns 0, or -1 with a sentence in `err`. */
int suppressing_read(struct err *err);
/* Returns what was read, or NULL. It belongs to this module. */
struct suppress *suppressing_list(void);

/* Drops the suppressed findings. Returns how many there were. */
size_t suppressing_drop(struct finding_list *findings);

#endif
