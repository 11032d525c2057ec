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
#include "engine/engine.h"
#include "engine/doublechecker/suspects.h"
#include "report/left_out.h"
#include "report/report.h"
#include "trace/blocks.h"
#include "trace/reader.h"

#include "base/banned.h"

struct check_options check_asked = {.vars = 1};
static const struct check_options *const o = &check_asked;

static const struct opt opts[] = {
	OPT_STR('e', "engine", "NAME[,NAME...]", &check_asked.engine,
		"which engines ('atomsan engines' lists them)"),
	OPT_FLAG(0, "no-merge", &check_asked.no_merge,
		 "velodrome: a node for every operation outside blocks"),
	OPT_STR(0, "blocks", "WHAT", &check_asked.blocks,
		"blocks: pairs (the default) of transactions, or sets"),
	OPT_STR(0, "first-run", "FILE", &check_asked.first_run,
		"doublechecker: find nothing, add the suspected blocks to FILE"),
	OPT_STR(0, "second-run", "FILE", &check_asked.second_run,
		"doublechecker: check only the blocks that FILE suspects"),
	OPT_U64(0, "icd-block", "N", &check_asked.icd_block,
		"doublechecker: N variables have one owner (1)"),
	OPT_U64(0, "log-budget", "BYTES", &check_asked.log_budget,
		"doublechecker: memory for logs (67m)"),
	CHECK_OPTIONS,
	OPT_END,
};

enum { MAX_ENGINES = 16 };

/* Turn "a,b" into a list; 0 where one is unknown or named twice. */
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

/* What blames functions that are not meant to be atomic after all is not a finding. */
static void drop_left_out(struct reader *r, struct engine_result *res)
{
	size_t n = left_out_drop(r, &res->findings);

	if (reader_is_recorded(r) && res->nstats < ENGINE_STATS_MAX)
		res->stats[res->nstats++] = (struct engine_stat){"findings_left_out", n};
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

/* What --first-run and --second-run are about. */
static struct suspects suspects;

/* Options of one engine, without that engine, would do nothing. */
static const char *engine_missing(const struct engine_ops **ops, size_t n)
{
	const char *asked = o->first_run    ? "--first-run"
			    : o->second_run ? "--second-run"
			    : o->icd_block  ? "--icd-block"
			    : o->log_budget ? "--log-budget"
					    : NULL;

	for (size_t i = 0; asked && i < n; i++)
		if (!strcmp(ops[i]->name, "doublechecker"))
			return NULL;
	return asked;
}

static int read_suspects(struct err *err)
{
	if (o->first_run)
		return suspects_read(&suspects, o->first_run, false, err);
	return o->second_run ? suspects_read(&suspects, o->second_run, true, err) : 0;
}

static int write_suspects(size_t had)
{
	struct err err = {0};

	if (!o->first_run)
		return 0;
	if (suspects_write(&suspects, o->first_run, &err))
		return cli_error("%s", err.text);
	if (!printing_asked.quiet)
		note("%s: %zu block%s suspected, %zu of them new%s", o->first_run, suspects.n,
		     suspects.n == 1 ? "" : "s", suspects.n - had,
		     suspects.outside ? "; operations outside blocks too" : "");
	return 0;
}

/* Run the engines one after the other; returns how many ran before the trace failed. */
static size_t run_engines(struct reader *r, const struct engine_ops **ops, size_t n,
			  struct engine_result *results, struct err *err)
{
	struct engine_options options = {.no_merge = o->no_merge,
					 .blocks_sets = o->blocks && !strcmp(o->blocks, "sets"),
					 .all = o->all,
					 .two = o->vars == 2,
					 .icd_block = o->icd_block,
					 .log_budget = o->log_budget,
					 .suspects_out = o->first_run ? &suspects : NULL,
					 .suspects_in = o->second_run ? &suspects : NULL};
	struct err first = {0};
	size_t i;

	for (i = 0; i < n; i++) {
		if (i && reader_rewind(r, err))
			break;
		progress_start(printing_asked.quiet);
		engine_run(ops[i], &options, r, o->all, progress_tick, &results[i], err);
		progress_end();
		drop_left_out(r, &results[i]);
		drop_suppressed(&results[i]);
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
		return cli_usage(cmd, argc ? "one trace at a time" : "which trace?");
	n = pick_engines(o->engine ? o->engine : engines[0]->name, ops, &err);
	if (!n)
		return cli_usage(cmd, "%s", err_is_set(&err) ? err.text : "too many engines");
	if (schedule_check_vars(o->vars, &err))
		return cli_usage(cmd, "%s", err.text);
	if (o->blocks && strcmp(o->blocks, "pairs") && strcmp(o->blocks, "sets"))
		return cli_usage(cmd, "--blocks takes pairs or sets, not '%s'", o->blocks);
	if (engine_missing(ops, n))
		return cli_usage(cmd, "%s is for --engine=doublechecker", engine_missing(ops, n));
	if (o->first_run && o->second_run)
		return cli_usage(cmd, "--first-run and --second-run are two runs");
	if (o->first_run && n > 1)
		return cli_usage(cmd, "--first-run is for doublechecker alone");
	rc = printing_prepare(cmd, argv[0], &rep, &format);
	if (rc)
		return rc;
	if (suppressing_read(&err))
		return cli_error("%s", err.text);
	if (read_suspects(&err))
		return cli_error("%s", err.text);
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
	if (format->context && !o->first_run)
		context_add(results, rep.nresults, r);
	/* A first run has no verdict. */
	rc = o->first_run ? 0 : printing_report(&rep, format);
	blockspec_tell(r, stderr, "atomsan: ", printing_asked.verbose && !printing_asked.quiet);
	if (!printing_asked.quiet)
		suppress_print_unused(suppressing_list(), stderr, "atomsan: ");
	for (size_t i = 0; i < rep.nresults; i++) {
		found += results[i].findings.n;
		engine_result_free(&results[i]);
	}
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
