/*
 * The options --format, -o and --color, for all commands that print findings.
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_PRINTING_H
#define ATOMSAN_CLI_PRINTING_H

#include <stdbool.h>

#include "cli/cli.h"
#include "report/report.h"

/* NULL, after saying that there is none such; `name` NULL: text. */
const struct report_format *printing_format(const struct command *cmd, const char *name);

/*
 * Whether what goes to `fd` is to be coloured; `when` is auto, always, never or NULL, which is
 * auto. -1 where it is none of these.
 */
int printing_color(const char *when, int fd, bool *color);

#endif
