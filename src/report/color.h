/*
 * Whether a report is coloured.
 *
 * Included by: the reporter, commands.
 */
#ifndef ATOMSAN_REPORT_COLOR_H
#define ATOMSAN_REPORT_COLOR_H

#include <stdbool.h>

/*
 * Decide whether text written to `fd` is coloured. `when` is "auto", "always" or "never"; NULL
 * means auto: if `fd` is a terminal that can do it, and NO_COLOR is not set. Returns 0, or -1 if
 * `when` is none of these.
 */
int color_decide(const char *when, int fd, bool *color);

#endif
