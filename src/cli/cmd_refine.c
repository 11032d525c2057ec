/*
 * Runs a program repeatedly, and removes every block that a run refutes from the specification,
 * until the runs are quiet. The result is a specification that these runs do not violate.
 *
 * This file has the options, the loop and the output file; refine.h has the parts.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/refine.h"

#include "base/banned.h"

extern const struct command cmd_refine;

static struct {
	const char *output, *spec, *engine;
	uint64_t runs, max_runs, jobs, timeout;
	int quiet, verbose;
	bool online;
} o = {.runs = 10, .max_runs = 1000, .jobs = 1};

static const struct opt opts[] = {
	OPT_STR('o', "output", "FILE", &o.output, "write the specification to FILE (atomsan.spec)"),
	OPT_STR(0, "spec", "FILE", &o.spec, "start from this specification instead of the default"),
	OPT_STR('e', "engine", "NAME", &o.engine, "check each run with this engine (frontier)"),
	OPT_FLAG(0, "online", &o.online, "check the program while it runs, without a recording"),
	OPT_U64(0, "runs", "N", &o.runs, "stop when N runs in a row are quiet (10)"),
	OPT_U64(0, "max-runs", "N", &o.max_runs, "give up after N runs (1000)"),
	OPT_U64('j', "jobs", "N", &o.jobs, "make N runs at a time (1)"),
	OPT_U64(0, "timeout", "SECONDS", &o.timeout, "end a run that takes longer"),
	OPT_COUNT('q', "quiet", &o.quiet, "print only what was removed"),
	OPT_COUNT('v', "verbose", &o.verbose, "show what the program prints"),
	OPT_STOP_AT_WORD,
	OPT_END,
};

enum { JOBS_MAX = 256, FAILURES_MAX = 3 };

/* A run that is going on. */
struct job {
	pid_t pid; /* 0: no run */
	int fd;
	unsigned run, removed; /* its number; how many blocks were removed when it started */
	struct str answer;
};

struct refine {
	char **argv;
	const struct engine_ops *engine;
	struct str given;       /* the text to begin with */
	struct str spec;        /* the text that will be written */
	struct refine_block *v; /* blocks that were removed, or cannot be */
	size_t n, cap;
	unsigned removed, learned, started, ended, quiet;
	unsigned failures, bad; /* runs in a row that did not reach their end; that failed at all */
	struct refine_pairs pairs;   /* of the good runs */
	unsigned good;               /* number of runs that ended well */
	struct refine_answer unused; /* rules of the given file that matched nothing so far */
	bool shown;                  /* there is a progress line */
	bool told;                   /* the output of a failed program was shown */
	char *error;                 /* why the command cannot go on */
	struct job job[JOBS_MAX];
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void hide_progress(struct refine *f)
{
	if (f->shown)
		fputs("\r\033[K", stderr);
	f->shown = false;
}

static void show_progress(struct refine *f)
{
	if (o.quiet || !isatty(2))
		return;
	fprintf(stderr, "\r\033[Krun %u: %u of %llu quiet, %u block%s removed", f->started,
		f->quiet, (unsigned long long)o.runs, f->removed, f->removed == 1 ? "" : "s");
	f->shown = true;
}

static void note_run(struct refine *f, unsigned run, const char *what)
{
	hide_progress(f);
	if (!o.quiet)
		note("run %u: %s", run, what);
}

static void set_error(struct refine *f, const char *text)
{
	if (!f->error)
		f->error = mem_strdup(text);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct refine_block *x = a, *y = b;
	int c = refine_compare(x, y);

	if (!c)
		c = (x->run > y->run) - (x->run < y->run);
	return c ? c : strcmp(x->name, y->name);
}

static const char *const section_titles[REFINE_SECTIONS] = {
	[REFINE_LIKELY] = "Likely bugs",
	[REFINE_OTHERS] = "Others",
	[REFINE_UNLIKELY] = "Probably not meant as one step",
};

/* Add the rules of a section. */
static void add_rules(struct refine *f, enum refine_section section)
{
	bool any = false;

	for (size_t i = 0; i < f->n; i++) {
		struct refine_block *b = &f->v[i];

		if (b->stuck || refine_section(b) != section)
			continue;
		if (!any)
			str_fmt(&f->spec, "\n# %s%s.\n", section_titles[section],
				section == REFINE_LIKELY ? ": read these first" : "");
		any = true;
		str_addc(&f->spec, '\n');
		spec_add_comment(&f->spec, b->why);
		if (*b->reason) {
			str_add(&f->spec, "# Reason: ");
			str_add(&f->spec, b->reason);
			str_addc(&f->spec, '\n');
		}
		spec_add_rule(&f->spec, false, b->what, b->name);
	}
}

static int compare_pairs(const void *a, const void *b)
{
	const struct refine_pair *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Add the pairs that were in most good runs and that none cut, unless the given text has them. */
static void add_pairs(struct refine *f)
{
	struct str line = STR_INIT;
	bool any = false;

	if (f->pairs.n)
		qsort(f->pairs.v, f->pairs.n, sizeof *f->pairs.v, compare_pairs);
	for (size_t i = 0; i < f->pairs.n; i++) {
		const struct refine_pair *p = &f->pairs.v[i];

		str_reset(&line);
		str_fmt(&line, " %s\n", p->text);
		if (p->cut || p->runs < 2 || p->runs * 2 < f->good ||
		    memmem(f->given.s, f->given.n, line.s, line.n))
			continue;
		if (!any)
			str_add(&f->spec,
				"\n# Learned: nothing came between these in so many runs. "
				"A finding that cuts one says so.\n");
		any = true;
		str_fmt(&f->spec, "uncut %u%s", p->runs, line.s);
		f->learned++;
	}
	str_free(&line);
	map_free(&f->pairs.by_text);
}

/*
 * Write the specification: the given text, and the rules, those of the likely bugs first. `last`:
 * after the last run, with what was learned.
 */
static int write_spec(struct refine *f, bool last)
{
	struct err err = {0};

	str_reset(&f->spec);
	str_addn(&f->spec, f->given.s, f->given.n);
	if (f->n)
		qsort(f->v, f->n, sizeof *f->v, compare_blocks);
	if (f->removed)
		str_add(&f->spec, "\n# Removed by atomsan refine, with what refuted each.\n");
	for (enum refine_section i = 0; i < REFINE_SECTIONS; i++)
		add_rules(f, i);
	if (last)
		add_pairs(f);
	if (!file_replace(o.output, f->spec.s, f->spec.n, &err))
		return 0;
	set_error(f, err.text);
	return -1;
}

static void remove_block(struct refine *f, struct refine_block *b, unsigned run)
{
	const char *kind = b->what == SPEC_LABEL ? "block marked " : "";

	hide_progress(f);
	MEM_GROW(f->v, f->cap, f->n + 1);
	b->run = run;
	f->v[f->n++] = *b;
	if (b->stuck) {
		printf("cannot be removed: %s%s (run %u)\n", kind, b->name, run);
	} else {
		printf("removed: %s%s (run %u)\n", kind, b->name, run);
		f->removed++;
	}
	fflush(stdout);
	b->name = b->why = b->reason = NULL; /* ours now */
}

static void keep_unused(struct refine *f, const struct refine_answer *a)
{
	struct refine_answer *u = &f->unused;
	size_t kept = 0;

	for (size_t i = 0; i < a->nunused && f->ended == 1; i++) {
		MEM_GROW(u->unused, u->unused_cap, u->nunused + 1);
		u->unused[u->nunused++] = mem_strdup(a->unused[i]);
	}
	for (size_t i = 0; i < u->nunused; i++) {
		bool still = false;

		for (size_t k = 0; k < a->nunused && !still; k++)
			still = !strcmp(u->unused[i], a->unused[k]);
		if (still)
			u->unused[kept++] = u->unused[i];
		else
			mem_free(u->unused[i]);
	}
	u->nunused = kept;
}

/* Prints the lines that a program wrote, without what may control a terminal. */
static void print_output(const char *output)
{
	struct str text = STR_INIT;

	while (*output) {
		size_t n = strcspn(output, "\n");

		str_add_shown(&text, output, n, SIZE_MAX);
		str_addc(&text, '\n');
		output += n + (output[n] == '\n');
	}
	(void)fwrite(text.s, 1, text.n, stderr);
	str_free(&text);
}

/* Prints how the program ended, if that was unusual. Returns true if it did not end by itself. */
static bool was_killed(struct refine *f, const struct job *j, const struct refine_answer *a)
{
	bool killed = a->timed_out || WIFSIGNALED(a->status);
	struct str s = STR_INIT;
	bool show;

	if (a->timed_out)
		str_fmt(&s, "ended by --timeout after %llu second%s", (unsigned long long)o.timeout,
			o.timeout == 1 ? "" : "s");
	else if (WIFSIGNALED(a->status))
		str_fmt(&s, "ended by signal %d (%s)", WTERMSIG(a->status),
			strsignal(WTERMSIG(a->status)));
	else if (WEXITSTATUS(a->status))
		str_fmt(&s, "exited with %d", WEXITSTATUS(a->status));
	/* Show the output once, in case every run fails. */
	show = s.n && a->output && !f->told;
	if (show)
		str_add(&s, "; its last output:");
	f->told |= s.n > 0;
	if (s.n)
		note_run(f, j->run, s.s);
	if (show)
		print_output(a->output);
	if (a->trouble && !killed)
		note_run(f, j->run, a->trouble);
	str_free(&s);
	return killed;
}

static void take_answer(struct refine *f, const struct job *j, struct refine_answer *a)
{
	struct str s = STR_INIT;
	bool killed, bad;
	size_t had = f->n;

	f->ended++;
	if (a->error) {
		set_error(f, a->error);
		return;
	}
	killed = was_killed(f, j, a);
	/* A run that failed may have stopped before it did what others do: it is not quiet. */
	bad = killed || WEXITSTATUS(a->status) || a->trouble;
	f->failures = killed ? f->failures + 1 : 0;
	f->bad = bad ? f->bad + 1 : 0;
	if (!a->recordings && !killed) {
		str_fmt(&s, "%s recorded nothing: was it linked by atomsan-cc?", f->argv[0]);
		set_error(f, s.s);
	}
	keep_unused(f, a);
	for (size_t i = 0; i < a->pairs.n && !bad; i++)
		refine_add_pair(&f->pairs, a->pairs.v[i].text, a->pairs.v[i].cut, 1);
	f->good += !bad;
	for (size_t i = 0; i < a->n; i++)
		if (!refine_find(f->v, f->n, a->v[i].what, a->v[i].name))
			remove_block(f, &a->v[i], j->run);
	if (f->n > had) {
		f->quiet = f->bad = 0;
		write_spec(f, false);
	} else if (!bad && j->removed == f->removed) {
		f->quiet++;
	}
	if (f->failures == FAILURES_MAX) {
		str_reset(&s);
		str_fmt(&s, "%d runs in a row did not reach their end", FAILURES_MAX);
		set_error(f, s.s);
	} else if (f->bad >= FAILURES_MAX && f->bad >= o.runs) {
		str_reset(&s);
		str_fmt(&s, "%u runs in a row failed, and a failed run is not quiet", f->bad);
		if (f->removed)
			str_fmt(&s, "; the specification so far is in %s", o.output);
		set_error(f, s.s);
	}
	str_free(&s);
}

static void end_job(struct refine *f, struct job *j)
{
	struct refine_answer a;
	int status;

	close(j->fd);
	while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
		;
	j->pid = 0;
	if (refine_read(j->answer.s, j->answer.n, &a)) {
		if (!stop)
			take_answer(f, j, &a);
		refine_answer_free(&a);
	} else if (!stop) {
		set_error(f, "the check of a run did not reach its end");
	}
	str_free(&j->answer);
}

static void start_job(struct refine *f, struct job *j)
{
	struct refine_job what = {.argv = f->argv,
				  .engine = f->engine,
				  .online = o.online,
				  .spec = &f->spec,
				  .run = f->started + 1,
				  .timeout = o.timeout,
				  .show = o.verbose > 0};
	struct err err = {0};

	*j = (struct job){.run = what.run, .removed = f->removed, .answer = STR_INIT};
	j->pid = refine_start(&what, &j->fd, &err);
	if (j->pid < 0) {
		j->pid = 0;
		set_error(f, err.text);
		return;
	}
	f->started++;
}

/* Reads what the jobs have sent, and takes the answers of those that have ended. */
static void wait_some(struct refine *f)
{
	struct pollfd p[JOBS_MAX];
	struct job *of[JOBS_MAX];
	nfds_t n = 0;

	for (size_t i = 0; i < o.jobs; i++) {
		if (!f->job[i].pid)
			continue;
		p[n] = (struct pollfd){.fd = f->job[i].fd, .events = POLLIN};
		of[n++] = &f->job[i];
	}
	show_progress(f);
	if (poll(p, n, -1) < 0)
		return;
	for (nfds_t i = 0; i < n; i++) {
		char buf[4096];
		ssize_t got = p[i].revents ? read(p[i].fd, buf, sizeof buf) : -1;

		if (got > 0)
			str_addn(&of[i]->answer, buf, (size_t)got);
		else if (!got)
			end_job(f, of[i]);
	}
}

static unsigned count_running(const struct refine *f)
{
	unsigned n = 0;

	for (size_t i = 0; i < o.jobs; i++)
		n += f->job[i].pid != 0;
	return n;
}

static void run_jobs(struct refine *f)
{
	while (f->quiet < o.runs && !f->error && !stop) {
		for (size_t i = 0; i < o.jobs && count_running(f) < o.runs - f->quiet &&
				   f->started < o.max_runs && !f->error;
		     i++)
			if (!f->job[i].pid)
				start_job(f, &f->job[i]);
		if (!count_running(f))
			break;
		wait_some(f);
	}
	/* Runs whose answers are no longer needed. */
	for (size_t i = 0; i < o.jobs; i++)
		if (f->job[i].pid)
			kill(f->job[i].pid, SIGTERM);
	stop |= f->quiet >= o.runs;
	while (count_running(f))
		wait_some(f);
	hide_progress(f);
}

/* Prints which blocks of a section were removed. */
static void print_removed(const struct refine *f, enum refine_section section)
{
	bool any = false;

	for (size_t i = 0; i < f->n; i++) {
		const struct refine_block *b = &f->v[i];

		if (refine_section(b) != section)
			continue;
		if (!any)
			printf("%s:\n", section_titles[section]);
		any = true;
		printf("  %s%s%s (run %u)\n", b->name, *b->reason ? ": " : "", b->reason, b->run);
	}
}

static int print_result(struct refine *f)
{
	unsigned stuck = (unsigned)f->n - f->removed;

	for (size_t i = 0; i < f->unused.nunused && o.spec; i++)
		note("unused rule: %s:%s", o.spec, f->unused.unused[i]);
	if (f->quiet < o.runs && !f->removed && !o.spec)
		unlink(o.output); /* it is empty */
	if (!o.quiet) {
		for (enum refine_section i = 0; i < REFINE_SECTIONS; i++)
			print_removed(f, i);
		fflush(stdout);
	}
	if (f->error)
		return cli_error("%s", f->error);
	if (f->quiet < o.runs && !f->removed)
		return cli_error("stopped after %u runs without findings", f->ended);
	if (f->quiet < o.runs)
		return cli_error(
			f->started >= o.max_runs
				? "still not quiet after %u runs; the specification so far is in %s"
				: "stopped after %u runs; the specification so far is in %s",
			f->ended, o.output);
	printf("%s: %u block%s removed, %u runs, the last %u quiet\n", o.output, f->removed,
	       f->removed == 1 ? "" : "s", f->ended, f->quiet);
	if (f->learned)
		printf("%s: learned %u pair%s of accesses that nothing came between\n", o.output,
		       f->learned, f->learned == 1 ? "" : "s");
	if (stuck)
		note("%u block%s could not be removed: no rule can name %s", stuck,
		     stuck == 1 ? "" : "s", stuck == 1 ? "it" : "them");
	return f->n ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

static int read_spec(struct refine *f, struct err *err)
{
	struct spec *spec;

	if (!o.spec) {
		str_add(&f->given, "# All blocks are meant to be atomic, except these.\n");
		return 0;
	}
	spec = spec_read(o.spec, err);
	if (!spec)
		return -1;
	spec_free(spec);
	if (file_read(o.spec, &f->given, err))
		return -1;
	if (f->given.n && f->given.s[f->given.n - 1] != '\n')
		str_addc(&f->given, '\n');
	return 0;
}

static int refine(int argc, char **argv)
{
	struct sigaction catch = {.sa_handler = on_signal};
	const struct engine_ops *engine = engine_by_name(o.engine ? o.engine : engines[0]->name);
	struct refine *f;
	struct err err = {0};
	int rc;

	if (!argc)
		return cli_usage(&cmd_refine, "which program?");
	if (!engine)
		return cli_usage(&cmd_refine,
				 "there is no engine '%s' ('atomsan engines' lists them)",
				 o.engine);
	if (o.online && strcmp(engine->name, "frontier") != 0 &&
	    strcmp(engine->name, "doublechecker") != 0)
		return cli_usage(&cmd_refine,
				 "--online works with the engines frontier and doublechecker");
	if (!strstr(engine->noun, "atomicity"))
		return cli_usage(&cmd_refine, "engine '%s' does not judge blocks", o.engine);
	if (!o.runs || !o.max_runs || !o.jobs || o.jobs > JOBS_MAX)
		return cli_usage(&cmd_refine,
				 "--runs, --max-runs and --jobs (up to %d) are at least 1",
				 JOBS_MAX);
	if (!o.output)
		o.output = "atomsan.spec";
	if (!access(o.output, F_OK) && !(o.spec && cli_same_file(o.spec, o.output)))
		return cli_error("%s already exists: start from it with --spec=%s, or name "
				 "another file with -o",
				 o.output, o.output);
	f = mem_zalloc(sizeof *f);
	f->spec = f->given = (struct str)STR_INIT;
	f->argv = argv;
	f->engine = engine;
	if (read_spec(f, &err)) {
		rc = cli_error("%s", err.text);
	} else {
		sigaction(SIGINT, &catch, NULL);
		sigaction(SIGTERM, &catch, NULL);
		if (!write_spec(f, false))
			run_jobs(f);
		if (!f->error)
			write_spec(f, true);
		rc = print_result(f);
	}
	for (size_t i = 0; i < f->n; i++) {
		mem_free(f->v[i].name);
		mem_free(f->v[i].why);
		mem_free(f->v[i].reason);
	}
	mem_free(f->v);
	mem_free(f->error);
	refine_answer_free(&f->unused);
	refine_pairs_free(&f->pairs);
	str_free(&f->spec);
	str_free(&f->given);
	mem_free(f);
	return rc;
}

const struct command cmd_refine = {
	.name = "refine",
	.synopsis = "[options] [--] PROGRAM ARGUMENTS...",
	.summary = "run a program until no block is refuted, and write the specification",
	.opts = opts,
	.run = refine,
};
