/*
 * The assembler for gcc's output if the program is built with -fatomsan-skeleton: see
 * skeleton_as.c.
 *
 * Included by: cmd_as.c, cmd_cc.c.
 */
#ifndef ATOMSAN_CLI_SKELETON_AS_H
#define ATOMSAN_CLI_SKELETON_AS_H

#include <stdbool.h>

/*
 * Asks the `atomsan as` that gcc will start to leave out hooks, through the environment. Returns
 * false if there is no assembler on PATH.
 */
bool skeleton_as_prepare(void);

/* Did skeleton_as_prepare() ask for that? */
bool skeleton_as_is_asked(void);

/* Runs the assembler with these words on its input without hooks. Returns only if that fails. */
int skeleton_as(int argc, char **argv);

#endif
