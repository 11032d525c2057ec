#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/blockspec.h"
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/printing.h"
#include "cli/progress.h"
#include "cli/trace_open.h"
#include "engine/context.h"
#include "engine/doublechecker/suspects.h"
#include "engine/engine.h"
#include "engine/outside.h"
#include "report/learned.h"
#include "report/left_out.h"
#include "report/report.h"
#include "report/shown.h"
#include "trace/blocks.h"
#include "trace/reader.h"

#include "base/banned.h"

struct check_options check_asked = {.predict = PREDICT_DEFAULTS};
static const struct check_options *const o = &check_asked;
static const struct doublechecker_options *const dc = &check_asked.doublechecker;

static const struct opt opts[] = {
	OPT_STR('e', "engine", "NAME[,NAME...]", &check_asked.engine,
		"the engines to run ('atomsan engines' lists them)"),
	OPT_TABLE(velodrome_opts, &check_asked.velodrome),
	OPT_TABLE(blocks_opts, &check_asked.blocks),
	OPT_TABLE(doublechecker_opts, &check_asked.doublechecker),
	CHECK_OPTIONS,
	OPT_END,
};

enum { MAX_ENGINES = 16 };

/* Turns "a,b" into a list. Returns its length, or 0 if an engine is unknown or named twice. */
static size_t pick_engines(const char *names, const struct engine_ops **v, struct err *err)
{
	size_t n = 0;

	while (names) {
		const char *comma = strchr(names, ',');
		size_t len = comma ? (size_t)(comma - names) : strlen(names);
		char *name = mem_strndup(names, len);
		const struct engine_ops *ops = engine_by_name(name);

		if (!ops)
			err_fail(err, "there is no engine '%s' ('atomsan engines' lists them)",
				 name);
		for (size_t i = 0; i < n; i++)
			if (v[i] == ops)
				err_fail(err, "engine '%s' is named twice", name);
		mem_free(name);
		if (err_is_set(err) || n == MAX_ENGINES)
			return 0;
		v[n++] = ops;
		names = comma ? comma + 1 : NULL;
	}
	return n;
}

/* Drops findings that blame only functions which turned out not to be meant as atomic. */
static void drop_left_out(struct reader *r, struct engine_result *res)
{
	size_t n = left_out_drop(r, &res->findings);

	if (reader_is_recorded(r) && res->nstats < ENGINE_STATS_MAX)
		res->stats[res->nstats++] = (struct engine_stat){"findings_left_out", n};
}

/*
 * Drops findings in regions that the specification excludes, and counts them as left out, too; adds
 * what it has learned about the others.
 */
static void apply_specification(struct reader *r, struct engine_result *res)
{
	size_t n = left_out_drop_regions(r, &res->findings);

	for (size_t i = 0; i < res->nstats; i++)
		if (!strcmp(res->stats[i].name, "findings_left_out"))
			res->stats[i].value += n;
	learned_note_all(r, &res->findings);
}

static void drop_suppressed(struct engine_result *res)
{
	size_t n = suppressing_drop(&res->findings);

	if (n && !printing_asked.quiet)
		note("%zu finding%s of %s suppressed by %s", n, n == 1 ? "" : "s", res->ops->name,
		     suppressing_file);
	if (suppressing_file && res->nstats < ENGINE_STATS_MAX)
		res->stats[res->nstats++] = (struct engine_stat){"findings_suppressed", n};
}

/* With --feasible, say how many predictions were hidden because they are only possible. */
static void print_hidden(const struct engine_result *res)
{
	for (size_t i = 0; i < res->nstats; i++) {
		uint64_t n = res->stats[i].value;

		if (strcmp(res->stats[i].name, "findings_hidden") || !n || printing_asked.quiet)
			continue;
		note("%" PRIu64 " finding%s hidden because of --feasible: only locks, forks and "
		     "joins allow %s",
		     n, n == 1 ? "" : "s", n == 1 ? "it" : "them");
	}
}

/* Nothing was found: say which accesses in functions that are no blocks were not checked. */
static void print_unchecked(struct reader *r, const struct engine_result *results, size_t n)
{
	struct outside outside = {0};
	struct str s = STR_INIT;
	bool judges_blocks = false, predicts = false, has_pairs = false;

	for (size_t i = 0; i < n; i++) {
		bool is_predict = !strcmp(results[i].ops->name, "predict");

		judges_blocks |= strstr(results[i].ops->noun, "atomicity") != NULL;
		predicts |= is_predict;
		has_pairs |= is_predict && predict_has_pairs(&check_asked.predict);
	}
	/* Other formats are for programs, which may take any message for a failure. */
	if (printing_asked.quiet || !judges_blocks || has_pairs ||
	    (printing_asked.format && strcmp(printing_asked.format, "text") != 0))
		return;
	outside_read(&outside, r);
	outside_describe(&outside, &s);
	if (outside.n)
		note("%s: %s", s.s,
		     predicts ? "without --regions, predict looks there, too"
			      : "'atomsan predict' looks there, too");
	outside_free(&outside);
	str_free(&s);
}

/* The suspects of --first-run or --second-run. */
static struct suspects suspects;

/* Returns an option of doublechecker that was given without that engine, or NULL. */
static const char *engine_missing(const struct engine_ops **ops, size_t n)
{
	const char *asked = dc->first_run    ? "--first-run"
			    : dc->second_run ? "--second-run"
			    : dc->icd_block  ? "--icd-block"
			    : dc->log_budget ? "--log-budget"
					     : NULL;

	for (size_t i = 0; asked && i < n; i++)
		if (!strcmp(ops[i]->name, "doublechecker"))
			return NULL;
	return asked;
}

static int read_suspects(struct err *err)
{
	if (dc->first_run)
		return suspects_read(&suspects, dc->first_run, false, err);
	return dc->second_run ? suspects_read(&suspects, dc->second_run, true, err) : 0;
}

static int write_suspects(size_t had)
{
	struct err err = {0};

	if (!dc->first_run)
		return 0;
	if (suspects_write(&suspects, dc->first_run, &err))
		return cli_error("%s", err.text);
	if (!printing_asked.quiet)
		note("%s: %zu block%s suspected, %zu of them new%s", dc->first_run, suspects.n,
		     suspects.n == 1 ? "" : "s", suspects.n - had,
		     suspects.outside ? "; and operations outside blocks" : "");
	return 0;
}

/* Returns the options of an engine as the command line set them; NULL if it can set none. */
static const void *options_of(const struct engine_ops *ops)
{
	for (const struct opt *row = opts; row->kind != OPT_KIND_END; row++)
		if (row->kind == OPT_KIND_TABLE && row->table == ops->opts)
			return row->value;
	return NULL;
}

/* Checks the options of all engines, including those that will not run. */
static int check_engine_options(struct err *err)
{
	for (size_t i = 0; engines[i]; i++)
		if (engines[i]->check && engines[i]->check(options_of(engines[i]), err))
			return -1;
	return 0;
}

/* Runs the engines one after the other. Returns how many ran before the trace failed. */
static size_t run_engines(struct reader *r, const struct engine_ops **ops, size_t n,
			  struct engine_result *results, struct err *err)
{
	struct err first = {0};
	size_t i;

	for (i = 0; i < n; i++) {
		if (i && reader_rewind(r, err))
			break;
		progress_start(printing_asked.quiet);
		engine_run(ops[i], options_of(ops[i]), r, o->all, progress_tick, &results[i], err);
		progress_end();
		drop_left_out(r, &results[i]);
		drop_suppressed(&results[i]);
		print_hidden(&results[i]);
		if (!err_is_set(&first))
			first = *err;
		err->text[0] = 0;
	}
	if (err_is_set(&first))
		*err = first;
	return i;
}

int check_run(const struct command *cmd, int argc, char **argv)
{
	const struct engine_ops *ops[MAX_ENGINES];
	struct engine_result results[MAX_ENGINES];
	const struct report_format *format;
	struct report rep = {.results = results, .all = o->all};
	struct reader_options ropt = {.lenient = o->lenient, .rewindable = true};
	struct err err = {0};
	struct reader *r;
	size_t n, found = 0, suspected;
	int rc;

	if (argc != 1)
		return cli_usage(cmd, argc ? "it takes one trace" : "which trace?");
	n = pick_engines(o->engine ? o->engine : engines[0]->name, ops, &err);
	if (!n)
		return cli_usage(cmd, "%s", err_is_set(&err) ? err.text : "too many engines");
	if (check_engine_options(&err))
		return cli_usage(cmd, "%s", err.text);
	if (engine_missing(ops, n))
		return cli_usage(cmd, "%s is for --engine=doublechecker", engine_missing(ops, n));
	if (dc->first_run && dc->second_run)
		return cli_usage(cmd, "--first-run and --second-run cannot be combined");
	if (dc->first_run && n > 1)
		return cli_usage(cmd, "--first-run is for doublechecker alone");
	rc = printing_prepare(cmd, argv[0], &rep, &format);
	if (rc)
		return rc;
	if (suppressing_read(&err))
		return cli_error("%s", err.text);
	if (read_suspects(&err))
		return cli_error("%s", err.text);
	check_asked.predict.all = o->all;
	check_asked.doublechecker.suspects_out = dc->first_run ? &suspects : NULL;
	check_asked.doublechecker.suspects_in = dc->second_run ? &suspects : NULL;
	suspected = suspects.n;
	r = blockspec_open(argv[0], &ropt, &err);
	if (!r)
		return cli_error("%s", err.text);

	rep.nresults = run_engines(r, ops, n, results, &err);
	rep.source = (struct report_source){
		.trace = reader_path(r),
		.events = results[0].counts.events,
		.transactions = results[0].counts.transactions,
		.skipped = results[0].counts.skipped,
		.threads = reader_names(r)->table[NAMES_THREAD].n,
		.variables = reader_names(r)->table[NAMES_VAR].n,
		.locks = reader_names(r)->table[NAMES_LOCK].n,
		.error = err_is_set(&err) ? err.text : NULL,
	};
	if (!dc->first_run)
		context_add(results, rep.nresults, r);
	for (size_t i = 0; i < rep.nresults; i++) {
		apply_specification(r, &results[i]);
		shown_select(&results[i].findings, rep.verbosity > 0 || o->all, o->all);
		found += shown_count(&results[i].findings);
	}
	/* A first run has no verdict. */
	rc = dc->first_run ? 0 : printing_report(&rep, format);
	if (!found && !rc && !dc->first_run && !err_is_set(&err) && format == &text_format)
		print_unchecked(r, results, rep.nresults);
	blockspec_print(r, stderr, "atomsan: ", printing_asked.verbose && !printing_asked.quiet);
	if (!printing_asked.quiet)
		suppress_print_unused(suppressing_list(), stderr, "atomsan: ");
	for (size_t i = 0; i < rep.nresults; i++)
		engine_result_free(&results[i]);
	trace_close(r);
	if (!rc)
		rc = write_suspects(suspected);
	suspects_free(&suspects);
	if (err_is_set(&err))
		return cli_error("%s", err.text);
	return rc ? rc : found ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

extern const struct command cmd_check; /* main.c lists it */

static int check(int argc, char **argv)
{
	return check_run(&cmd_check, argc, argv);
}

const struct command cmd_check = {
	.name = "check",
	.synopsis = "[options] TRACE",
	.summary = "check a trace for atomicity violations ('-' reads standard input)",
	.opts = opts,
	.run = check,
};
