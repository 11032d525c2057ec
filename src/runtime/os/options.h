/*
 * The options of the runtime: ATOMSAN_OPTIONS=key=value:key=value. One table gives
 * the defaults, the parser and what help=1 prints. To add an option, add a line to
 * RT_OPTIONS and use rt_options.NAME.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_OPTIONS_H
#define ATOMSAN_RUNTIME_OS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* X(kind, name, default, what it does); kind: STRING, BOOL or INT */
#define RT_OPTIONS(X)                                                                              \
	X(BOOL, check, 1, "check while the program runs")                                          \
	X(STRING, engine, "frontier", "how to check: frontier or doublechecker")                   \
	X(BOOL, skeleton, 0, "ignore plain accesses: exact for a run without data races")          \
	X(STRING, first_run, "", "only suspect: add the names of suspected blocks to this file")   \
	X(STRING, second_run, "", "check only the blocks that this file, from first runs, names")  \
	X(INT, exitcode, 66, "exit status if something was found and the program's own is 0")      \
	X(BOOL, halt_on_error, 0, "stop at the first finding")                                     \
	X(STRING, log_path, "", "write findings to this file, with .PID appended, not to stderr")  \
	X(STRING, suppressions, "", "do not show findings that this file names")                   \
	X(STRING, spec, "", "specification file: which functions are meant to be atomic")          \
	X(STRING, color, "auto", "colors in reports: auto, always or never")                       \
	X(INT, history_size, 2, "how far reports look back: 0 to 6, each step doubles it")         \
	X(STRING, reporter, "",                                                                    \
	  "socket of the reporter, which prints findings (atomsan run sets it)")                   \
	X(BOOL, predict, 0, "record the run, and predict at its end what other runs could do")     \
	X(INT, predict_size, 1024,                                                                 \
	  "size of that recording in MiB, at most; the run after that is ignored")                 \
	X(BOOL, all, 0, "report each cycle, also equal ones (atomsan run --all sets it)")          \
	X(BOOL, rules, 0, "the reporter has a specification (atomsan run sets it)")                \
	X(BOOL, hides, 0, "the reporter has suppressions (atomsan run sets it)")                   \
	X(STRING, record, "", "record the run to this file; %p stands for the process id")         \
	X(BOOL, record_children, 0,                                                                \
	  "1: a forked child records to FILE.PID; 0: it records nothing")                          \
	X(STRING, drive, "",                                                                       \
	  "drive file: one thread runs at a time, as it says (atomsan explore sets it)")           \
	X(INT, verbosity, 0, "1: say what the runtime is doing")                                   \
	X(BOOL, help, 0, "print this list and continue")

#define RT_OPTION_STRING(name) char name[4096];
#define RT_OPTION_BOOL(name)   bool name;
#define RT_OPTION_INT(name)    int name;

struct rt_options {
#define X(kind, name, standard, what) RT_OPTION_##kind(name)
	RT_OPTIONS(X)
#undef X
};
extern struct rt_options rt_options;

/*
 * Was the program started with privileges that its user may lack: by the bits for user or group, or
 * the capabilities, of its file? Then the user must not be able to use them through this library:
 * options that name a file or start a process are ignored, and no reporter is started.
 */
extern bool rt_is_privileged;

/* Write all options as "key=value" lines, for the reporter. Returns their length. */
size_t rt_options_format(char *to, size_t size);

/*
 * Read ATOMSAN_OPTIONS from this environment: the C library does not know its own yet. A bad option
 * ends the program with a message and status 2.
 */
void rt_options_init(char **environment);

#endif
