/*
 * What the files of the reporter share:
 *
 *	connection.c       reads the messages of a process and serves them
 *	finding_message.c  takes a FINDING message apart and checks it
 *	recording.c        opens a raw recording that came with a message
 *	explain.c          makes findings of a FINDING message: from its recording,
 *	explain_steps.c    or from its steps alone, if the recording does not reach back far enough
 *	predict.c          makes findings of the recording of a whole run
 *	event_numbers.c    numbers the events of a finding
 *	findings.c         keeps, counts and prints findings
 *	reporter.c         begins and ends a session, and sums it up
 *
 * Included by: this folder.
 */
#ifndef ATOMSAN_REPORTER_REPORTER_IMPL_H
#define ATOMSAN_REPORTER_REPORTER_IMPL_H

#include "base/map.h"
#include "engine/engine.h"
#include "engine/doublechecker/suspects.h"
#include "engine/outside.h"
#include "report/left_out.h"
#include "reporter/piece.h"
#include "reporter/reporter.h"
#include "trace/blocks.h"
#include "trace/live_format.h"
#include "trace/names.h"
#include "trace/raw_names.h"
#include "trace/reader.h"

/* Files of FAMILY messages that are kept. */
enum { REPORTER_FAMILIES = 64 };

/* A finding of the session. */
struct reporter_entry {
	struct finding *f; /* f->count: how often it was found */
	bool printed;
	bool suppressed;
	bool dropped;   /* it blames only functions that were left out */
	bool in_log;    /* it was printed to a process's own file */
	uint32_t lines; /* one-line findings that refer to this one */
	/* The output that shows it in full. 0: none; 1: the session's; 1 + number: the process's
	 * own file. */
	uint32_t full_in;
};

struct reporter {
	struct reporter_options o;
	struct reporter_entry *entry;
	size_t nentries, entry_cap;
	struct map known;  /* fingerprint -> index of the entry */
	struct map causes; /* hashes of the causes that were printed */
	uint32_t nprocesses;
	uint64_t ngroups;
	size_t in_one_line[2]; /* findings shown so, in the session's output; 1: predicted ones */
	char *program;
	double since;          /* clock_seconds() at the beginning */
	struct live_end total; /* sums over the processes that said END */
	uint64_t asks;         /* how often a process asked about a function or a marked block */
	struct names_resolver
		*resolver;      /* its symbols are shared by all processes; NULL: none yet */
	uint64_t finding_bytes; /* of all recordings that came with findings */
	bool predicts;          /* at least one process predicts */
	char *incomplete;       /* why not everything was checked or reported; NULL: it was */
	bool greeted;           /* a process has said HELLO */
	bool unwritten;         /* some text could not be written where it should be */
	uint64_t unreported;    /* processes that could not reach the session */
	/* Files of FAMILY messages whose processes have no connection any more; a ring. */
	int family[REPORTER_FAMILIES];
	size_t nfamilies;
	uint64_t suppressed; /* how often suppressed findings were found */
	char **said;         /* warnings about symbols that were printed */
	size_t nsaid, said_cap;
	struct suppress **lists; /* suppressions that processes brought */
	size_t nlists, lists_cap;
	struct left_out out;    /* functions left out by any process, for -v */
	struct outside outside; /* what was not checked, of all processes */
	/* Sentences about mutexes that were used wrongly; `minor`: printed only with -v. */
	struct reporter_lock_use {
		char *text;
		bool minor;
	} * lock_use;
	size_t nlock_use, lock_use_cap;
	/* Files of first runs that processes read, or that the session adds to (`add`). */
	struct reporter_suspects {
		char *path;
		bool add;
		struct suspects s;
	} * *suspects;
	size_t nsuspects, suspects_cap;
	bool doublechecker; /* at least one process runs it */
	bool skeleton;      /* at least one process ignores plain accesses */
	uint64_t mistaken;  /* findings of a program's replay that turned out to be none */
};

/* The entries that came of one FINDING. */
struct reporter_kind {
	uint32_t first, n; /* in the process's `entries` */
};

struct reporter_process {
	struct reporter *session;
	int fd;
	pid_t pid;
	uint32_t number; /* from 1 */
	bool greeted, ended;
	bool stranger;  /* another user's, and it has not proved yet that the session started it */
	int family;     /* the file that FAMILY brought; -1: none */
	bool summed_up; /* reporter_end_process() */

	char *bytes; /* bytes[0..n) are received and not yet served */
	size_t n, cap;

	/* What HELLO said. */
	char *command;
	char *log_path;
	int out; /* the session's output, or with `own_out` its own file */
	bool own_out;
	size_t in_one_line[2]; /* findings shown so, in its own file; 1: predicted ones */
	bool color;
	int verbosity;
	struct suppress *suppress;
	struct spec *spec;
	bool own_spec;
	bool doublechecker, skeleton;
	struct suspects *first, *second; /* of its first_run and second_run; the session's */

	/* Names, for questions outside of recordings. */
	struct names names;
	struct raw_names raw;
	struct names_resolver *resolver;
	struct reader_module *module;
	size_t nmodules, module_cap;

	/* For reading its recordings: the specification's rules, without functions left out. */
	struct block_rules rules;
	struct left_out out_names;
	bool left_out;     /* `rules` met a function that was left out, since this was unset */
	uint64_t *out_pcs; /* functions left out whose names were not needed so far */
	size_t nout_pcs, out_pcs_cap;
	struct map
		included; /* addresses of functions that are blocks by a rule, even if they wait */

	struct map keys; /* key of a FINDING -> index in `kinds` */
	struct reporter_kind *kinds;
	size_t nkinds, kinds_cap;
	uint32_t *entries; /* indices of the session's entries */
	size_t nentries, entries_cap;
	bool any_shown; /* at least one finding was */

	int passed;    /* a descriptor that came with the last bytes; -1: none */
	int run;       /* the recording that RUN brought; -1: none */
	bool outlives; /* it has closed its connection, and `fd` shows when it ends */
	/* Findings whose transactions have not ended, in the order of time. */
	struct reporter_open {
		struct live_finding head;
		struct finding **v;
		size_t n;
		bool excluded;
	} * open;
	size_t nopen, open_cap;

	/* Indices of the entries whose text is held back: see reporter_print_held(). */
	uint32_t *held, held_thread;
	size_t nheld, held_cap;
};

/* --- reporter.c --- */

/* In which of a session's results the finding is: what happened, or what was predicted. */
static inline bool reporter_is_predicted(const struct finding *f)
{
	return f->status != FINDING_OBSERVED;
}

static inline bool reporter_prints_text(const struct reporter *s)
{
	return s->o.format == &text_format;
}

/* Reads and closes a file that FAMILY brought. */
void reporter_close_family(struct reporter *s, size_t i);
/* The piece could not be written to `fd`: prints why and the piece to standard error. */
void reporter_rescue_piece(struct reporter *s, struct piece *piece, int fd);
/*
 * Prints what follows the findings of a process: the summary if it has an output of its own, and
 * notes.
 */
void reporter_end_process(struct reporter_process *p);
/*
 * The suspects of a first run's file, which the session reads once for all processes. `must`: the
 * file must be there; otherwise the session adds to it at its end.
 */
struct suspects *reporter_suspects(struct reporter *s, const char *path, bool must);
/* The suppressions in a file that a process names, read once; NULL after a note if it has none. */
struct suppress *reporter_suppressions(struct reporter *s, const char *path);

/* --- finding_message.c --- */

/* A FINDING message, taken apart and checked. */
struct finding_message {
	struct live_finding head;
	char *bytes; /* the message, aligned: what follows points into it */
	struct live_step *steps;
	const struct live_closing *closing;
	const char *recording;
	size_t nsteps, nclosing, recording_bytes;
	struct reader_facts facts; /* its arrays belong to the message */
};

/* Returns 0, and finding_message_free() frees it; or -1 with a sentence in `err`. */
int finding_message_parse(struct finding_message *m, const char *body, size_t n, struct err *err);
void finding_message_free(struct finding_message *m);

/* --- recording.c --- */

/* Opens a raw recording of the process; the reader owns the descriptor from now on. */
struct reader *recording_open(struct reporter_process *p, int fd, const char *name, bool unfinished,
			      struct block_rules *rules, struct err *err);
void recording_close(struct reader *reader);

/* --- explain.c, explain_steps.c --- */

/*
 * Returns the findings in the message: at least one, in an array; both belong to the caller. NULL:
 * the program was mistaken (see `replayed` in struct live_finding).
 * *excluded: the specification, which the program may not have asked about, says that they are
 * none.
 */
struct finding **explain_finding(struct reporter_process *p, const struct finding_message *r,
				 size_t *n, bool *excluded);

/* Makes a finding of the message's steps alone; it belongs to the caller. */
struct finding *explain_steps(struct reporter_process *p, const struct finding_message *r);

/* --- predict.c --- */

/* The process has handed over the recording of its run, or could not be recorded. */
int predict_take_run(struct reporter_process *p, size_t n, struct err *err);
/*
 * The process has ended: makes findings of its recording, if it has one. First those that happened,
 * then those that could have.
 */
void predict_from_run(struct reporter_process *p);

/* --- event_numbers.c --- */

/*
 * Renumbers the events of a finding from 1 on, in their order: their numbers in the recording mean
 * nothing outside of it.
 */
void event_numbers_compact(struct finding *f);

/* --- findings.c --- */

/* Takes the findings of one message; returns how many of them are new and are shown. */
size_t findings_add(struct reporter_process *p, const struct live_finding *head, struct finding **v,
		    size_t n, bool excluded);
/* Counts the findings with this key again. */
void findings_add_repeats(struct reporter_process *p, uint64_t key, uint64_t times);
/* Drops findings that blame only functions which are left out, after p->out_names has grown. */
void findings_drop_left_out(struct reporter_process *p);
/* Returns how many of a process's findings are shown and are a reason to fail. */
size_t findings_counted(const struct reporter_process *p);
/*
 * Collects the findings of a process, or of all (NULL), that count, with or without those in the
 * processes' own files (`logs`). They stay the session's; findings_collect_free() frees the list.
 */
struct finding_list findings_collect(const struct reporter *s, const struct reporter_process *p,
				     bool logs);
void findings_collect_free(struct finding_list *l);

#endif
