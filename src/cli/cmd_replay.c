/*
 * atomsan replay: runs a schedule again.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/driven_run.h"
#include "cli/place_names.h"
#include "cli/progress.h"
#include "report/report.h"
#include "sched/sched.h"

#include "base/banned.h"

extern const struct command cmd_replay; /* main.c lists it */

static struct {
	uint64_t times, limit;
	bool gdb;
	int quiet, verbose;
} o = {.times = 1, .limit = 60};

static const struct opt opts[] = {
	OPT_U64('n', "times", "N", &o.times,
		"run it N times (1), and say how often it came out the same"),
	OPT_U64(0, "limit", "SECONDS", &o.limit, "let a run take so long (60)"),
	OPT_FLAG(0, "gdb", &o.gdb, "run it under gdb, with a breakpoint at each switch"),
	OPT_COUNT('q', "quiet", &o.quiet, "do not print the findings in full"),
	OPT_COUNT('v', "verbose", &o.verbose, "print what each run did"),
	OPT_STOP_AT_WORD,
	OPT_END,
};

enum { EXIT_FOUND = 66, EXIT_DIVERGED = 3 };

/* Did the run find all that the schedule's run found? If findings were printed, only their number.
 */
static bool found_the_same(const struct sched *s, const struct driven_run *run)
{
	size_t found = 0;

	if (run->print)
		return !s->nfindings || run->nfindings;
	for (size_t i = 0; i < s->nfindings; i++)
		for (size_t k = 0; k < run->findings.n; k++)
			if (s->finding[i] == run->findings.v[k]->fingerprint) {
				found++;
				break;
			}
	return found == s->nfindings;
}

/* Did the run come out as the one that the schedule was taken from? Adds why not. */
static bool is_reproduced(const struct sched *s, const struct driven_run *run, struct str *why)
{
	const struct drive_file *f = run->drive->file;
	struct str outcome = STR_INIT;
	bool same = true;

	driven_run_outcome(run, &outcome);
	if (s->outcome && strcmp(s->outcome, outcome.s) != 0) {
		str_fmt(why, "it ended with %s, not %s", outcome.s, s->outcome);
		same = false;
	} else if (!found_the_same(s, run)) {
		str_add(why, "it found something else");
		same = false;
	} else if (!s->outcome && !s->nfindings && f->taken < s->nchoices) {
		str_add(why, "not every switch could be taken");
		same = false;
	}
	if (!same && f->impossible)
		str_fmt(why, "; the switch of %s at its step %u was not possible",
			f->first_impossible <= s->nchoices ? "a thread" : "?",
			f->choice[f->first_impossible - 1].step);
	str_free(&outcome);
	return same;
}

/* What the run did besides coming out the same or not, for -v. */
static void print_figures(const struct sched *s, const struct driven_run *run)
{
	const struct drive_file *f = run->drive->file;

	note("%llu steps of %u threads, log %016llx%s; %llu of %zu switches taken; a thread left "
	     "its turn %llu time%s",
	     (unsigned long long)f->steps, f->nthreads, (unsigned long long)f->hash,
	     !s->hash             ? ""
	     : f->hash == s->hash ? " (the same)"
				  : " (another)",
	     (unsigned long long)f->taken, s->nchoices, (unsigned long long)f->left,
	     f->left == 1 ? "" : "s");
}

static int replay_all(const struct sched *s, char **argv, struct err *err)
{
	struct reporter_options print = {.format = &text_format,
					 .out = 2,
					 .verbosity = o.quiet ? -1 : 0,
					 .predict = PREDICT_DEFAULTS,
					 .progress = &progress_functions};
	struct driven_run run = {.argv = argv, .seconds = (double)o.limit, .output = -1};
	struct str why = STR_INIT;
	struct drive d;
	uint64_t same = 0;
	int rc = 0;

	if (drive_open(&d, err))
		return EXIT_BAD;
	run.drive = &d;
	if (sched_plan(s, &d, err))
		rc = EXIT_BAD;
	for (uint64_t i = 0; i < o.times && !rc; i++) {
		const char *other;

		run.print = o.times == 1 ? &print : NULL;
		drive_again(&d);
		if (driven_run(&run, err)) {
			rc = EXIT_BAD;
			break;
		}
		other = sched_other_build(s, &d);
		if (run.ending == DRIVEN_NOT_STARTED)
			rc = run.status;
		else if (other)
			rc = err_fail(err, "the schedule is for another build of %s", other);
		else if (!drive_was_driven(&d))
			rc = err_fail(err,
				      "nothing was controlled: %s created no thread, or was not "
				      "linked by atomsan-cc",
				      argv[0]);
		if (rc) {
			rc = rc < 0 ? EXIT_BAD : rc;
			driven_run_free(&run);
			break;
		}
		str_reset(&why);
		if (run.ending == DRIVEN_TOO_LONG && !o.quiet)
			note("the limit of %llu s is over: all threads ran freely from there",
			     (unsigned long long)o.limit);
		if (is_reproduced(s, &run, &why))
			same++;
		else if (!o.quiet)
			note("the run did not come out the same: %s", why.s);
		if (run.ending == DRIVEN_DEADLOCK && o.times == 1) {
			struct place_names *names = place_names_new(d.file);

			place_names_print_deadlock(names, stderr);
			place_names_free(names);
		}
		if (o.verbose)
			print_figures(s, &run);
		driven_run_free(&run);
	}
	if (!rc && o.times > 1)
		note("the schedule reproduced %llu of %llu times", (unsigned long long)same,
		     (unsigned long long)o.times);
	if (!rc)
		rc = same < o.times  ? EXIT_DIVERGED
		     : run.status    ? run.status
		     : run.nfindings ? EXIT_FOUND
				     : 0;
	str_free(&why);
	drive_close(&d);
	return rc;
}

/*
 * Runs the program under gdb. There is no time limit, and the status is gdb's. The scheduler is
 * patient with a program that is traced.
 */
static int replay_in_gdb(const struct sched *s, char **argv, struct err *err)
{
	static char *const gdb[] = {"gdb",   "-q",
				    "-ex",   "set breakpoint pending on",
				    "-ex",   "break atomsan_schedule_switch",
				    "--args"};
	enum { WORDS = sizeof gdb / sizeof *gdb };
	struct driven_run run = {.seconds = 1e9, .output = -1};
	struct drive d;
	size_t n = 0;
	int rc = -1;

	while (argv[n])
		n++;
	run.argv = mem_zalloc((WORDS + n + 1) * sizeof *run.argv);
	memcpy(run.argv, gdb, sizeof gdb);
	memcpy(run.argv + WORDS, argv, n * sizeof *argv);
	if (!drive_open(&d, err)) {
		run.drive = &d;
		rc = sched_plan(s, &d, err);
		if (!rc)
			rc = driven_run(&run, err);
		if (!rc)
			driven_run_free(&run);
		drive_close(&d);
	}
	mem_free(run.argv);
	return rc ? EXIT_BAD : run.status;
}

static int replay(int argc, char **argv)
{
	struct err err = {0};
	struct sched s;
	int rc;

	if (!argc)
		return cli_usage(&cmd_replay, "which schedule?");
	if (!o.times)
		return cli_usage(&cmd_replay, "--times takes at least 1");
	if (sched_read(&s, argv[0], &err)) {
		sched_free(&s);
		return cli_error("%s", err.text);
	}
	if (argc > 1 && !strcmp(argv[1], "--"))
		argc--, argv++;
	rc = (o.gdb ? replay_in_gdb : replay_all)(&s, argc > 1 ? argv + 1 : s.command, &err);
	if (err_is_set(&err))
		cli_error("%s", err.text);
	sched_free(&s);
	return rc;
}

const struct command cmd_replay = {
	.name = "replay",
	.synopsis = "[options] FILE.sched [-- PROGRAM ARGUMENTS...]",
	.summary = "run a schedule again",
	.opts = opts,
	.run = replay,
};
