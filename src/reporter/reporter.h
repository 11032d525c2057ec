/*
 * Programs that are checked while they run: the other end of trace/live_format.h.
 *
 * A session has one or more processes, each with a connection of its own. Text
 * findings are printed as they are made, each in one piece; other formats when
 * everything has ended. What was found before is counted and not printed again,
 * whichever process found it.
 *
 * A connection is not believed: whatever it sends, it is served, or ended with one
 * sentence. What a process has found before that, or before it was killed, stands.
 *
 *	struct reporter *s = reporter_new(&options);
 *	struct reporter_process *p = reporter_connect(s, fd, pid);
 *	while (reporter_serve(p))
 *		;                       // when poll() says so, or blocking
 *	reporter_disconnect(p);
 *	reporter_end(s);
 *	reporter_free(s);
 *
 * Who may include this: commands, tests.
 */
#ifndef ATOMSAN_REPORTER_REPORTER_H
#define ATOMSAN_REPORTER_REPORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/report.h"
#include "report/suppress.h"
#include "spec/spec.h"

struct reporter_options {
	const struct report_format *format;
	int out;                   /* where findings go */
	bool own_file;             /* that was asked for: log_path of a process changes nothing */
	const char *color;         /* auto, always, never; NULL: as the process says */
	int verbosity;             /* -1, 0, 1; of a process without a session of its own, 0 */
	bool all;                  /* no deduplication */
	bool each;                 /* each process has a summary of its own, at its end */
	bool verdict;              /* say also that nothing was found */
	bool predicts;             /* the program is not checked, but predicted from */
	struct spec *spec;         /* NULL: as the process says */
	const char *spec_path;     /* the file it was read from; NULL: none */
	struct suppress *suppress; /* NULL: none but those of the process */
	const char *first_run;     /* the file that is to name what is suspected */
	const char *program;       /* for reports; NULL: what the first process says */
};

struct reporter;
struct reporter_process;

struct reporter *reporter_new(const struct reporter_options *options);
/* The descriptor is the session's from now on. */
struct reporter_process *reporter_connect(struct reporter *s, int fd, pid_t pid);
/* Read once, and do what is to be done; false: it has ended. */
bool reporter_serve(struct reporter_process *p);
/*
 * A cycle of lock operations is mostly followed at once by that of the data which the locks should
 * have kept together: so its text is held back for a moment, and the two are printed as one. Is
 * something held back? Then wait for the process no longer than REPORTER_HOLD_MS, and let it go.
 */
bool reporter_holds_text(const struct reporter_process *p);
void reporter_print_held(struct reporter_process *p);
enum { REPORTER_HOLD_MS = 100 };
void reporter_disconnect(struct reporter_process *p);
int reporter_descriptor(const struct reporter_process *p); /* to wait for what it says */

/* How many findings stand. */
size_t reporter_findings(const struct reporter *s);
/* Has any process said HELLO? */
bool reporter_was_used(const struct reporter *s);

/* The report, and what there is to say about suppressions; -1 where it could not be written. */
int reporter_end(struct reporter *s);
void reporter_free(struct reporter *s);

#endif
