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
 *	struct live *s = live_new(&options);
 *	struct live_process *p = live_connect(s, fd, pid);
 *	while (live_serve(p))
 *		;                       // when poll() says so, or blocking
 *	live_disconnect(p);
 *	live_end(s);
 *	live_free(s);
 *
 * Who may include this: commands, tests.
 */
#ifndef ATOMSAN_CLI_LIVE_H
#define ATOMSAN_CLI_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/report.h"
#include "report/suppress.h"
#include "spec/spec.h"

struct live_options {
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
	struct suppress *suppress; /* NULL: none but those of the process */
	const char *first_run;     /* the file that is to name what is suspected */
	const char *program;       /* for reports; NULL: what the first process says */
};

struct live;
struct live_process;

struct live *live_new(const struct live_options *options);
/* The descriptor is the session's from now on. */
struct live_process *live_connect(struct live *s, int fd, pid_t pid);
/* Read once, and do what is to be done; false: it has ended. */
bool live_serve(struct live_process *p);
/*
 * A cycle of lock operations is mostly followed at once by that of the data which the locks should
 * have kept together: so its text is held back for a moment, and the two are printed as one. Is
 * something held back? Then wait for the process no longer than LIVE_HOLD_MS, and let it go.
 */
bool live_holds(const struct live_process *p);
void live_let_go(struct live_process *p);
enum { LIVE_HOLD_MS = 100 };
void live_disconnect(struct live_process *p);
int live_descriptor(const struct live_process *p); /* to wait for what it says */

/* How many findings stand. */
size_t live_findings(const struct live *s);
/* Has any process said HELLO? */
bool live_was_used(const struct live *s);

/* The report, and what there is to say about suppressions; -1 where it could not be written. */
int live_end(struct live *s);
void live_free(struct live *s);

#endif
