/*
 * atomsan explore: runs a program under many schedules.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/explore.h"
#include "cli/printing.h"

#include "base/banned.h"

extern const struct command cmd_explore; /* main.c lists it */

static const char *strategy_name, *folder;
static struct explore_options o = {
	.schedules = 100, .depth = 3, .preemptions = 2, .seed = 1, .run_seconds = 10};
static uint64_t limit, run_limit = 10;
static bool show_output;

static const struct opt opts[] = {
	OPT_U64('n', "schedules", "N", &o.schedules, "run so many schedules (100)"),
	OPT_U64('l', "limit", "SECONDS", &limit, "stop after so long; 0 (the default): no limit"),
	OPT_U64(0, "run-limit", "SECONDS", &run_limit, "let one run take so long (10)"),
	OPT_STR('s', "strategy", "NAME", &strategy_name,
		"mix (the default), random, walk, pct, pos or dfs"),
	OPT_U64(0, "seed", "N", &o.seed, "begin the random choices with N (1)"),
	OPT_U64(0, "depth", "N", &o.depth, "pct: N - 1 changes of priority in a run (3)"),
	OPT_U64(0, "preemptions", "N", &o.preemptions, "dfs: at most so many preemptions (2)"),
	OPT_FLAG(0, "accesses", &o.all_accesses,
		 "let threads change before every plain access, not only those of shared memory"),
	OPT_FLAG(0, "first", &o.first, "stop at the first failure or violation"),
	OPT_STR(0, "setup", "COMMAND", &o.setup, "run this shell command before each run"),
	OPT_STR(0, "teardown", "COMMAND", &o.teardown, "run this shell command after each run"),
	OPT_STR('o', "output", "DIR", &folder, "write schedules to this folder (.)"),
	OPT_FLAG(0, "show-output", &show_output, "show what the program prints"),
	PRINTING_OPTIONS_HOW,
	OPT_STOP_AT_WORD,
	OPT_END,
};

static bool choose_strategy(void)
{
	static const char *const names[] = {"mix", "random", "walk", "pct", "pos", "dfs"};

	if (!strategy_name)
		return true;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(strategy_name, names[i])) {
			o.strategy = (enum explore_strategy)i;
			return true;
		}
	return false;
}

/* Writes the schedules, and says which they are. */
static int write_schedules(struct explore_result *r)
{
	for (size_t i = 0; i < r->nhits; i++) {
		struct explore_hit *h = &r->hit[i];
		struct str path = STR_INIT;
		FILE *out;

		str_fmt(&path, "%s/%s-%zu.sched", folder ? folder : ".",
			h->failure ? "failure" : "violation", i + 1);
		out = fopen(path.s, "we");
		if (!out) {
			int rc = cli_error("%s: cannot be written", path.s);

			str_free(&path);
			return rc;
		}
		sched_write(&h->sched, out);
		fclose(out);
		note("schedule %llu: %s (%s); again: atomsan replay %s",
		     (unsigned long long)h->number,
		     h->failure ? "the program failed" : "a block was not atomic", h->outcome,
		     path.s);
		str_free(&path);
	}
	return 0;
}

static int explore(int argc, char **argv)
{
	const struct report_format *format;
	struct explore_result r;
	struct report rep = {0};
	struct engine_result result = {.ops = engine_by_name("frontier")};
	struct err err = {0};
	int rc;

	if (!argc)
		return cli_usage(&cmd_explore, "which program?");
	if (!choose_strategy())
		return cli_usage(&cmd_explore,
				 "--strategy takes mix, random, walk, pct, pos or dfs");
	if (!o.schedules)
		return cli_usage(&cmd_explore, "--schedules takes at least 1");
	rc = printing_prepare(&cmd_explore, argv[0], &rep, &format);
	if (rc)
		return rc;
	o.seconds = (double)limit;
	o.run_seconds = (double)run_limit;
	o.quiet = !show_output;
	rc = explore_run(&o, argv, &r, &err);
	if (!rc && !r.controlled) {
		explore_free(&r);
		if (!r.started) /* a sentence was printed */
			return EXIT_BAD;
		return cli_error("nothing was controlled: %s %s", argv[0],
				 r.instrumented ? "created no thread"
						: "was not linked by atomsan-cc");
	}
	if (rc) {
		explore_free(&r);
		return cli_error("%s", err.text);
	}
	result.findings = r.findings;
	result.seconds = r.seconds;
	result.explored =
		(struct engine_explored){r.schedules, r.violations, r.failures, r.exhausted};
	rep.results = &result;
	rep.nresults = 1;
	rep.source.program = argv[0];
	rep.source.threads = r.threads;
	rc = printing_report(&rep, format);
	if (!rc)
		rc = write_schedules(&r);
	if (rep.verbosity >= 0)
		note("%llu schedules of %u threads in %.1f s, %llu different: %llu violated a "
		     "block, "
		     "%llu failed%s",
		     (unsigned long long)r.schedules, r.threads, r.seconds,
		     (unsigned long long)r.behaviours, (unsigned long long)r.violations,
		     (unsigned long long)r.failures,
		     r.exhausted ? "; these are all schedules within the bound" : "");
	if (!rc && (r.violations || r.failures))
		rc = EXIT_FINDINGS;
	explore_free(&r);
	return rc;
}

const struct command cmd_explore = {
	.name = "explore",
	.synopsis = "[options] [--] PROGRAM ARGUMENTS...",
	.summary = "run a program under many schedules, each checked",
	.opts = opts,
	.run = explore,
};
