/*
 * The assembler of what clang compiles: see cmd_as.c.
 *
 * Who may include this: cmd_cc.c.
 */
#ifndef ATOMSAN_CLI_CMD_AS_H
#define ATOMSAN_CLI_CMD_AS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Tell `atomsan as`, which a compiler that runs in this process's place will start: the words of
 * the compiler, and its options for making code. False where they cannot be told.
 */
bool cmd_as_prepare(char *const *compiler, size_t n, char *const *options, size_t noptions);

#endif
