/*
 * ATOMSAN_OPTIONS=key=value:key=value. One table gives defaults, parser and
 * what help=1 prints: add a line to RT_OPTIONS and use rt_options.NAME.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_OPTIONS_H
#define ATOMSAN_RUNTIME_OS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* X(kind, name, default, what it does); kind: STRING, BOOL or INT */
#define RT_OPTIONS(X)                                                                              \
	X(BOOL, check, 1, "check while the program runs")                                          \
	X(STRING, engine, "frontier", "how: frontier, or doublechecker")                           \
	X(STRING, first_run, "", "suspect only: add the names of suspected blocks to this file")   \
	X(STRING, second_run, "", "check only the blocks that this file of first runs names")      \
	X(INT, exitcode, 66, "status where something was found and the program's own was 0")       \
	X(BOOL, halt_on_error, 0, "stop at the first finding")                                     \
	X(STRING, log_path, "",                                                                    \
	  "findings go to this file, with .PID behind it, and not to stderr")                      \
	X(STRING, suppressions, "", "do not show findings that this file names")                   \
	X(STRING, spec, "", "which functions are meant to be atomic: a specification file")        \
	X(STRING, color, "auto", "auto, always or never")                                          \
	X(INT, history_size, 2, "how far reports look back: 0 to 6, each step doubles it")         \
	X(STRING, reporter, "", "a socket of somebody who prints the findings (atomsan run does)") \
	X(BOOL, predict, 0, "predict from this run what others could do, in place of the check")   \
	X(INT, predict_size, 512,                                                                  \
	  "memory for that, in MiB; what comes then is not predicted from")                        \
	X(BOOL, all, 0,                                                                            \
	  "report each cycle, also those that look the same (atomsan run --all does)")             \
	X(BOOL, rules, 0, "who reads at `reporter` has a specification (atomsan run says so)")     \
	X(BOOL, hides, 0, "the same of suppressions")                                              \
	X(STRING, record, "", "record the run to this file; %p is the number of the process")      \
	X(BOOL, record_children, 0,                                                                \
	  "a forked child records to a file of its own, FILE.PID (else it records nothing)")       \
	X(INT, verbosity, 0, "1: say what the runtime is doing")                                   \
	X(BOOL, help, 0, "print this list and go on")

#define RT_OPTION_STRING(name) char name[4096];
#define RT_OPTION_BOOL(name)   bool name;
#define RT_OPTION_INT(name)    int name;

struct rt_options {
#define X(kind, name, standard, what) RT_OPTION_##kind(name)
	RT_OPTIONS(X)
#undef X
};
extern struct rt_options rt_options;

/* Those that a reporter wants to know, as "key=value" lines; returns their length. */
size_t rt_options_tell(char *to, size_t size);

/* The C library does not know its environment yet. What cannot be understood ends the program with
 * a sentence and status 2. */
void rt_options_init(char **environment);

#endif
