/*
 * The assembler for clang's output: see cmd_as.c.
 *
 * Included by: cmd_cc.c.
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

#endif
