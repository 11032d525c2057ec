/*
 * atomsan gen: a synthetic trace, seeded. See trace/gen.h for what is in it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "trace/gen.h"
#include "trace/writer.h"

#include "base/banned.h"

extern const struct command cmd_gen; /* main.c lists it */

static struct {
	uint64_t events, seed, threads, vars, locks, inject;
	const char *output, *format;
	bool list;
} o = {.events = 1000000, .seed = 1, .output = "-"};

static const struct opt opts[] = {
	OPT_U64(0, "events", "N", &o.events, "how many events (1m)"),
	OPT_U64(0, "seed", "S", &o.seed, "another seed, another trace (1)"),
	OPT_U64(0, "threads", "N", &o.threads, "how many threads (default: the shape decides)"),
	OPT_U64(0, "vars", "N", &o.vars, "how many variables protected by locks"),
	OPT_U64(0, "locks", "N", &o.locks, "how many locks"),
	OPT_U64_OR_1(0, "inject", "K", &o.inject, "plant K lost updates in the second half (1)"),
	OPT_STR('o', "output", "FILE", &o.output, "write to FILE instead of standard output"),
	OPT_STR(0, "format", "NAME", &o.format, "std or atrace (default: FILE's ending decides)"),
	OPT_FLAG(0, "list", &o.list, "print the table of shapes"),
	OPT_END,
};

static int list(void)
{
	printf("%-16s %7s %8s %6s  %s\n", "shape", "threads", "vars", "locks", "what it is");
	for (const struct gen_shape *s = gen_shapes; s->name; s++)
		printf("%-16s %7" PRIu32 " %8" PRIu32 " %6" PRIu32 "  %s\n", s->name, s->threads,
		       s->vars, s->locks, s->summary);
	return 0;
}

static int write_all(struct gen *g, enum trace_format format, struct err *err)
{
	struct event *ev = mem_alloc(GEN_BATCH * sizeof *ev);
	struct writer *w = writer_open(o.output, format, err);
	int n, rc = w ? 0 : -1;

	while (!rc && (n = gen_next(g, ev)) > 0)
		rc = writer_put(w, gen_names(g), ev, (size_t)n, err);
	if (w) {
		struct err ignored = {0};

		/* Report the first error. */
		if (writer_close(w, rc ? &ignored : err))
			rc = -1;
	}
	mem_free(ev);
	return rc;
}

static int run(int argc, char **argv)
{
	struct gen_options options;
	enum trace_format format;
	struct err err = {0};
	struct gen *g;
	int rc;

	if (o.list || argc == 0)
		return list();
	if (argc > 1)
		return cli_usage(&cmd_gen, "it takes one SHAPE; what is '%s'?", argv[1]);
	format = o.format ? trace_format_by_name(o.format) : trace_format_by_path(o.output);
	if (o.format && format == TRACE_UNKNOWN)
		return cli_usage(&cmd_gen, "--format takes std or atrace, not '%s'", o.format);
	if (format == TRACE_UNKNOWN && o.output[0] == '-' && !o.output[1])
		format = TRACE_STD;
	if (format == TRACE_UNKNOWN)
		return cli_usage(&cmd_gen, "'%s' ends in neither .std nor .atrace: use --format",
				 o.output);
	options = (struct gen_options){.shape = argv[0],
				       .events = o.events,
				       .seed = o.seed,
				       .inject = o.inject,
				       .threads = o.threads,
				       .vars = o.vars,
				       .locks = o.locks};
	g = gen_open(&options, &err);
	if (!g)
		return cli_usage(&cmd_gen, "%s", err.text);
	rc = write_all(g, format, &err);
	gen_close(g);
	return rc ? cli_error("%s", err.text) : 0;
}

const struct command cmd_gen = {
	.name = "gen",
	.synopsis = "[options] [SHAPE]",
	.summary = "write a synthetic trace, seeded, for tests and benchmarks",
	.opts = opts,
	.run = run,
};
