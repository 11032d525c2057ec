/*
 * The program that a command runs.
 *
 * What is meant for us is meant for the program: it ends, and then so do we. The
 * command's status is the program's, or 128 and the number of the signal that ended
 * it, as a shell has it.
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_CHILD_H
#define ATOMSAN_CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Start it, and pass signals on from now on; 0, or after a sentence the status to
 * exit with (126, 127).
 */
int child_start(char **argv);
pid_t child_pid(void);

/* A descriptor that polls as readable once it has ended; -1: the system has none. The caller's. */
int child_descriptor(void);

bool child_has_ended(void);
/* Wait for its end; the command's status. */
int child_wait(void);

/*
 * Add to ATOMSAN_OPTIONS, which keeps what it had. The value may hold anything but a quote of each
 * kind; -1 with a sentence otherwise.
 */
int child_add_option(const char *key, const char *value, struct err *err);
/*
 * What ATOMSAN_OPTIONS has for a key; NULL where it has none. The program itself complains of what
 * is wrong with them. The caller's.
 */
char *child_option(const char *key);

#endif
