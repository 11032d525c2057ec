/*
 * What the files of live.h share: live.c has the messages, live_find.c makes findings
 * of what comes with them, live_evicted.c those whose history is gone, live_predict.c those that
 * did not happen, live_found.c keeps and prints them.
 *
 * Who may include this: those five.
 */
#ifndef ATOMSAN_CLI_LIVE_IMPL_H
#define ATOMSAN_CLI_LIVE_IMPL_H

#include "cli/blockspec.h"
#include "cli/live.h"
#include "engine/engine.h"
#include "engine/doublechecker/suspects.h"
#include "trace/blocks.h"
#include "trace/live_format.h"
#include "trace/names.h"
#include "trace/raw_names.h"
#include "trace/reader.h"

/* A finding of the session. */
struct live_entry {
	struct finding *f; /* f->count: how often it was found */
	bool printed;
	bool suppressed;
	bool dropped;   /* it blames only functions that were left out */
	bool in_log;    /* it stands in a process's own file */
	uint32_t lines; /* that stand for others which say the same of the block */
	uint32_t whole; /* not in one line: 1, or in whose own file: 1 + the process's number */
};

struct live {
	struct live_options o;
	struct live_entry *entry;
	size_t nentries, entry_cap;
	struct raw_map known; /* fingerprint: index of the entry */
	uint32_t nprocesses;
	uint64_t ngroups;
	size_t told; /* in one line each, where all print */
	char *program;
	double since;
	struct live_end total; /* of those processes that said END */
	bool predicts;         /* some process does */
	bool ended;            /* some process said END */
	uint64_t suppressed;   /* how often suppressed ones were found */
	char **said;           /* warnings about symbols */
	size_t nsaid, said_cap;
	struct suppress **lists; /* those that processes brought */
	size_t nlists, lists_cap;
	struct blockspec_names out; /* functions left out, for -v */
	/* What processes want to add to files of first runs, and read of them. */
	struct live_suspects {
		char *path;
		bool add;
		struct suspects s;
	} * *suspects;
	size_t nsuspects, suspects_cap;
	bool doublechecker; /* some process runs it */
	uint64_t mistaken;  /* what was replayed by a program, and turned out to be none */
};

/* The entries of one FINDING. */
struct live_kind {
	uint32_t first, n; /* in `entries` */
};

struct live_process {
	struct live *session;
	int fd;
	pid_t pid;
	uint32_t number; /* from 1 */
	bool greeted, ended;
	bool summed_up; /* live_found_end() */

	char *bytes; /* received and not served: bytes[0..n) */
	size_t n, cap;

	/* What HELLO said. */
	char *command;
	char *log_path;
	int out; /* the session's, or its own file */
	bool own_out;
	size_t told; /* in one line each, in its own file */
	bool color;
	int verbosity;
	struct suppress *suppress;
	struct spec *spec;
	bool own_spec;
	bool doublechecker;
	struct suspects *first, *second; /* the session's */

	/* Names, for what is asked outside of recordings. */
	struct names names;
	struct raw_names raw;
	struct names_resolver *resolver;
	struct reader_module *module;
	size_t nmodules, module_cap;

	/* For reading its recordings: the specification's rules, but for what was left out. */
	struct block_rules rules;
	struct blockspec_names out_names;
	bool left_out; /* some function of a recording was, that was read since this was unset */
	uint64_t *out_pcs; /* whose names were not needed so far */
	size_t nout_pcs, out_pcs_cap;

	struct raw_map keys; /* of findings: index into `kinds` */
	struct live_kind *kinds;
	size_t nkinds, kinds_cap;
	uint32_t *entries; /* of the session */
	size_t nentries, entries_cap;
	bool any_shown;

	int run; /* what RUN brought, in memory; -1: nothing */
	uint64_t run_bytes;
	bool predicts; /* its option says so */
	/* Findings whose transactions are open, in the order of time. */
	struct live_open {
		struct live_finding head;
		struct finding **v;
		size_t n;
		bool excluded;
	} * open;
	size_t nopen, open_cap;

	/* Entries that are not printed yet: see live_found_flush(). */
	uint32_t *held, held_thread;
	size_t nheld, held_cap;
};

/* --- live_find.c --- */

struct live_recording {
	const struct live_finding *head;
	const struct live_step *steps;
	const struct live_closing *closing;
	const char *bytes;
	size_t n;
};

/*
 * The findings in it: at least one, each the caller's, in an array that the caller frees. NULL:
 * the program was mistaken (struct live_finding's `replayed`).
 * *excluded: by the specification, which the program may not have asked about, they are none.
 */
struct finding **live_find(struct live_process *p, const struct live_recording *r, size_t *n,
			   bool *excluded);

/* A raw recording of the process; the descriptor is the reader's from now on. */
struct reader *live_open_recording(struct live_process *p, int fd, const char *name,
				   bool unfinished, struct block_rules *rules, struct err *err);
void live_close_recording(struct reader *reader);

/* Event numbers mean nothing outside of a recording; how a finding's own follow each other does. */
void live_renumber(struct finding *f);

/* --- live_predict.c --- */

int live_predict_take(struct live_process *p, const char *bytes, size_t n, struct err *err);
/* That was all: find what there is to find. */
void live_predict(struct live_process *p);

/* --- live_evicted.c --- */

struct finding *live_evicted(struct live_process *p, const struct live_recording *r);

/* --- live_found.c --- */

/* Takes the findings; how many of them are new and are shown. */
size_t live_found(struct live_process *p, const struct live_finding *head, struct finding **v,
		  size_t n, bool excluded);
void live_found_again(struct live_process *p, uint64_t key, uint64_t times);
/* p->out_names has grown: drop what blames only those. */
void live_found_left_out(struct live_process *p);
/* How many of a process's findings stand. */
size_t live_found_standing(const struct live_process *p);
/* What stands below the findings in a process's own file, or where it is alone. */
void live_found_end(struct live_process *p);
/* A file of first runs, that is to be added to or must be there; read once, for all processes. */
struct suspects *live_found_suspects(struct live *s, const char *path, bool must);
/* A list of suppressions that a process wants, read once; NULL after a note where it is none. */
struct suppress *live_found_list(struct live *s, const char *path);

#endif
