#include <stdio.h>
#include <string.h>

#include "cli/blockspec.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/trace_open.h"
#include "report/json_emit.h"
#include "trace/reader.h"

#include "base/banned.h"

static struct {
	const char *format;
	bool lenient;
	int verbose;
} o;

static const struct opt opts[] = {
	OPT_STR('f', "format", "FORMAT", &o.format, "text (the default) or json"),
	BLOCKSPEC_OPT,
	OPT_FLAG(0, "lenient", &o.lenient, "skip events that cannot have happened, and count them"),
	OPT_COUNT('v', "verbose", &o.verbose,
		  "text: also list the functions of a recorded run that are left out"),
	OPT_END,
};

extern const struct command cmd_stats;

/* A figure; both formats print them in the same order. */
enum { MAX_FIGURES = 16 + OP_COUNT };
struct figure {
	const char *name;
	uint64_t value;
	bool is_op;
};

static size_t collect_figures(const struct reader *r, struct figure *f)
{
	const struct reader_counts *c = reader_counts(r);
	const struct table *t = reader_names(r)->table;
	size_t n = 0;

	f[n++] = (struct figure){"events", c->events, false};
	f[n++] = (struct figure){"threads", t[NAMES_THREAD].n, false};
	f[n++] = (struct figure){"transactions", c->transactions, false};
	f[n++] = (struct figure){"blocks", c->blocks, false};
	f[n++] = (struct figure){"variables", t[NAMES_VAR].n, false};
	f[n++] = (struct figure){"locks", t[NAMES_LOCK].n, false};
	f[n++] = (struct figure){"repeated_lock_operations", c->repeats, false};
	f[n++] = (struct figure){"skipped", c->skipped, false};
	for (enum op op = OP_BEGIN; op < OP_COUNT; op++)
		f[n++] = (struct figure){op_info[op].spelling, c->op[op], true};
	return n;
}

static void print_json(const struct reader *r, const struct figure *f, size_t n, const char *error)
{
	struct json_emit j = JSON_EMIT_INIT(stdout);
	bool compressed;

	json_emit_open(&j, NULL, '{', JSON_LINES);
	json_emit_str(&j, "trace", reader_path(r));
	json_emit_str(&j, "format", reader_format(r, &compressed));
	json_emit_bool(&j, "compressed", compressed);
	for (size_t i = 0; i < n; i++) {
		if (f[i].is_op && (i == 0 || !f[i - 1].is_op))
			json_emit_open(&j, "operations", '{', JSON_ONE_LINE);
		json_emit_u64(&j, f[i].name, f[i].value);
	}
	json_emit_close(&j);
	json_emit_str(&j, "error", error);
	json_emit_close(&j);
}

static void print_text(const struct reader *r, const struct figure *f, size_t n)
{
	bool compressed;
	const char *format = reader_format(r, &compressed);

	printf("%-24s %s (%s%s)\n", "trace", reader_path(r), format, compressed ? ", zstd" : "");
	for (size_t i = 0; i < n; i++)
		if (f[i].value || !f[i].is_op)
			printf("%s%-*s %llu\n", f[i].is_op ? "  " : "", f[i].is_op ? 22 : 24,
			       f[i].name, (unsigned long long)f[i].value);
}

static int stats(int argc, char **argv)
{
	static struct event ev[READER_BATCH];
	struct reader_options ropt = {
		.lenient = o.lenient, .count_ops = true, .keep_repeats = true};
	bool json = o.format && !strcmp(o.format, "json");
	struct figure f[MAX_FIGURES];
	struct err err = {0};
	struct reader *r;
	size_t nf;
	int n;

	if (argc != 1)
		return cli_usage(&cmd_stats, argc ? "it takes one trace" : "which trace?");
	if (o.format && !json && strcmp(o.format, "text"))
		return cli_usage(&cmd_stats, "--format takes text or json, not '%s'", o.format);
	r = blockspec_open(argv[0], &ropt, &err);
	if (!r)
		return cli_error("%s", err.text);
	progress_start(false);
	while ((n = reader_next(r, ev, &err)) > 0)
		progress_tick(r, 1);
	progress_end();
	nf = collect_figures(r, f);
	if (json)
		print_json(r, f, nf, n < 0 ? err.text : NULL);
	else
		print_text(r, f, nf);
	blockspec_print(r, stdout, "", o.verbose && !json);
	trace_close(r);
	return n < 0 ? cli_error("%s", err.text) : 0;
}

const struct command cmd_stats = {
	.name = "stats",
	.synopsis = "[options] TRACE",
	.summary = "count what is in a trace",
	.opts = opts,
	.run = stats,
};
