/*
 * The program that a command runs.
 *
 * Signals to the command are passed on to the program: the program ends, and then the command does.
 * The command's status is the program's, or 128 plus the number of the signal that ended it, as in
 * a shell.
 *
 * Included by: commands.
 */
#ifndef ATOMSAN_CLI_CHILD_H
#define ATOMSAN_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Starts the program, and passes signals on from now on. Returns 0; or the status to exit with
 * (126, 127), after printing a sentence.
 */
int child_start(char **argv);
/* The same; standard output and standard error go to this descriptor unless it is -1. */
int child_start_to(char **argv, int output);
/* Sends the program a signal. */
void child_kill(int number);
pid_t child_pid(void);

/*
 * Returns a descriptor that polls as readable when the program has ended; -1 if the system has
 * none. It belongs to the caller.
 */
int child_descriptor(void);

bool child_has_ended(void);
/* Waits for its end. Returns the command's status. The next child_start() may follow. */
int child_wait(void);

/*
 * Adds an option to ATOMSAN_OPTIONS. Returns 0, or -1 with a sentence if the value has quotes of
 * both kinds in it.
 */
int child_add_option(const char *key, const char *value, struct err *err);
/*
 * Returns the value of a key in ATOMSAN_OPTIONS, which belongs to the caller; NULL if it has none.
 * Errors in the options are left to the program, which reports them.
 */
char *child_option(const char *key);

#endif
