/*
 * For the programs in this folder. In a usual build pass_window() does nothing and print_outcome()
 * prints "done". With -DPROVE, pass_window() waits long enough for the other thread to come in
 * between, and print_outcome() prints whether the result is what the program means: the buggy
 * program prints "wrong", its twin prints "right".
 *
 * Included by: tests/evidence.
 */
#ifndef EVIDENCE_PROVE_H
#define EVIDENCE_PROVE_H

#include <stdbool.h>
#include <stdio.h>
#ifdef PROVE
#include <unistd.h>
#define pass_window() ((void)usleep(20000))
#else
#define pass_window() ((void)0)
#endif

/* Returns the exit status of the program, which does not depend on the outcome. */
static inline int print_outcome(bool right)
{
#ifdef PROVE
	puts(right ? "right" : "wrong");
#else
	static volatile bool outcome;

	outcome = right; /* so that the compiler leaves nothing out of the program */
	(void)outcome;
	puts("done");
#endif
	return 0;
}

#endif
