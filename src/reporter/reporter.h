/*
 * The reporter: it receives the messages of programs that are checked while they run
 * (trace/live_format.h), and prints their findings.
 *
 * A session has one or more processes, each with its own connection. Text findings are printed as
 * they are made, each in one piece; other formats are written at the end of the session. A finding
 * that was found before, by whichever process, is counted and not printed again.
 *
 * The reporter does not trust a connection: it checks every message. If a message is wrong, the
 * reporter prints one sentence and ends the connection. What a process has found before that, or
 * before it was killed, counts.
 *
 *	struct reporter *s = reporter_new(&options);
 *	struct reporter_process *p = reporter_connect(s, fd, pid);
 *	while (reporter_serve(p))
 *		;                       // when poll() says so, or blocking
 *	reporter_disconnect(p);
 *	reporter_end(s);
 *	reporter_free(s);
 *
 * Included by: commands, tests.
 */
#ifndef ATOMSAN_REPORTER_REPORTER_H
#define ATOMSAN_REPORTER_REPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/predict/options.h"
#include "report/report.h"
#include "report/suppress.h"
#include "spec/spec.h"

/* How to show that reading a recording takes long: cli/progress.h has such functions. */
struct reporter_progress {
	void (*start)(bool quiet);
	void (*tick)(struct reader *r, int pass);
	void (*end)(void);
};

struct reporter_options {
	const struct report_format *format;
	int out;          /* the file for findings */
	const char *path; /* of a report that is written at the end, instead of `out`; or NULL */
	const char
		*token; /* what a process of another user has to say; NULL: such have no access */
	bool own_file;  /* `out` was asked for: the processes' log_path is ignored */
	const char *color; /* auto, always, never; NULL: as the process says */
	int verbosity;     /* -1, 0, 1; with `each`, the process's option may raise it */
	bool all;          /* no deduplication */
	bool each;         /* each process has its own summary, at its end */
	bool verdict;      /* say it if nothing was found, too */
	bool skeleton;     /* plain accesses are not checked, whatever a process says */
	bool predicts;     /* the run is recorded, and findings are predicted from it */
	struct predict_options predict;           /* how */
	const struct reporter_progress *progress; /* meanwhile; NULL: show nothing */
	struct spec *spec;                        /* NULL: as the process says */
	const char *spec_path;                    /* the file it was read from; NULL: none */
	struct suppress *suppress;                /* NULL: only the process's own suppressions */
	const char *first_run; /* the file to which suspected blocks are written */
	const char *program;   /* for reports; NULL: what the first process says */
};

struct reporter;
struct reporter_process;

struct reporter *reporter_new(const struct reporter_options *options);
/* Adds a process. The session owns the descriptor from now on. */
struct reporter_process *reporter_connect(struct reporter *s, int fd, pid_t pid);
/*
 * The process is another user's. Its first message must contain the session's token; until then it
 * can send next to nothing.
 */
void reporter_distrust(struct reporter_process *p);
/* Reads once from the connection and serves the messages. Returns false when it has ended. */
bool reporter_serve(struct reporter_process *p);
/*
 * A cycle of lock operations is often followed at once by the cycle of the data that the locks
 * should have protected. So the text of the first is held back for a moment, and the two are
 * printed as one. If this returns true, wait for the process no longer than REPORTER_HOLD_MS, and
 * then call reporter_print_held().
 */
bool reporter_holds_text(const struct reporter_process *p);
void reporter_print_held(struct reporter_process *p);
enum { REPORTER_HOLD_MS = 100 };
void reporter_disconnect(struct reporter_process *p);
int reporter_descriptor(const struct reporter_process *p); /* for poll() */

/* Returns how many findings count: neither suppressed nor dropped. */
size_t reporter_findings(const struct reporter *s);
/* Has any process said HELLO? */
bool reporter_was_used(const struct reporter *s);
/* Has this process said END? */
bool reporter_has_finished(const struct reporter_process *p);

/*
 * Moves the findings that count to `to`, which is initialised and owns them: finding_list_free().
 * After that only reporter_free() may be called.
 */
void reporter_take(struct reporter *s, struct finding_list *to);

/* Not everything was checked or reported, for this reason. The first reason is kept. */
void reporter_mark_incomplete(struct reporter *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the reason; NULL if there is none. */
const char *reporter_incomplete(struct reporter *s);

/*
 * Writes the report and the notes on suppressions. If the report cannot be written, prints why and
 * the findings as text to standard error, and returns -1.
 */
int reporter_end(struct reporter *s);
void reporter_free(struct reporter *s);

#endif
