/*
 * The assembler for clang's output: see cmd_as.c.
 *
 * Included by: cmd_cc.c, skeleton_as.c.
 */
#ifndef ATOMSAN_CLI_CMD_AS_H
#define ATOMSAN_CLI_CMD_AS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Passes the compiler's words and its options for code generation, through the environment, to the
 * `atomsan as` that the compiler will start. Returns false if that fails.
 */
bool cmd_as_prepare(char *const *compiler, size_t n, char *const *options, size_t noptions);

/* The variable with the path of the program that the script `as` starts. */
#define CMD_AS_PROGRAM "ATOMSAN_PROGRAM"
/* Sets it to the path of this program, by the name atomsan. Returns false if that fails. */
bool cmd_as_name_program(void);

#endif
