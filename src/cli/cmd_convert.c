#include "cli/blockspec.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/schedule.h"
#include "cli/trace_open.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include "base/banned.h"

static struct {
	const char *from, *to;
	struct schedule_asked schedule;
	bool lenient;
} o = {.schedule = SCHEDULE_ASKED_INIT};

static const struct opt opts[] = {
	OPT_STR(0, "from", "FORMAT", &o.from,
		"require the input to be std or atrace (default: its first bytes decide)"),
	OPT_STR(0, "to", "FORMAT", &o.to,
		"write std, atrace or perfetto (default: the output's name decides)"),
	OPT_U64(0, "schedule", "N", &o.schedule.number,
		"write the schedule of the N-th finding of 'atomsan predict'"),
	OPT_TABLE(predict_opts, &o.schedule.predict),
	BLOCKSPEC_OPT,
	OPT_FLAG(0, "lenient", &o.lenient,
		 "leave out events that cannot have happened, and count them"),
	OPT_END,
};

extern const struct command cmd_convert;

static int copy_events(struct reader *r, struct writer *w, struct err *err)
{
	static struct event ev[READER_BATCH];
	int n;

	while ((n = reader_next(r, ev, err)) > 0) {
		struct err werr = {0};

		progress_tick(r, 1);
		if (writer_put(w, reader_names(r), ev, (size_t)n, &werr)) {
			*err = werr;
			return -1;
		}
	}
	return n;
}

/* Writes the events of a finding's schedule as a trace. */
static int convert_schedule(const char *in, const char *out, enum trace_format to)
{
	struct err err = {0}, werr = {0};
	struct schedule s;
	struct writer *w;

	if (schedule_read(&s, in, &o.schedule, o.lenient, &err))
		return cli_error("%s", err.text);
	w = writer_open(out, to, &err);
	if (w) {
		writer_put(w, reader_names(s.reader), s.ev, s.n, &err);
		if (writer_close(w, &werr) && !err_is_set(&err))
			err = werr;
	}
	schedule_free(&s);
	return err_is_set(&err) ? cli_error("%s", err.text) : 0;
}

static int convert(int argc, char **argv)
{
	struct reader_options ropt = {.lenient = o.lenient, .keep_repeats = true};
	enum trace_format to;
	struct err err = {0}, werr = {0};
	struct reader *r;
	struct writer *w;
	bool compressed;
	int rc;

	if (argc != 2)
		return cli_usage(&cmd_convert, "it takes an input and an output");
	to = o.to ? trace_format_by_name(o.to) : trace_format_by_path(argv[1]);
	if (to == TRACE_UNKNOWN && o.to)
		return cli_usage(&cmd_convert, "--to takes std, atrace or perfetto, not '%s'",
				 o.to);
	if (to == TRACE_UNKNOWN)
		return cli_usage(
			&cmd_convert,
			"which format? '%s' does not end in .std, .atrace or .json (use --to)",
			argv[1]);
	if (o.from && trace_format_by_name(o.from) != TRACE_STD &&
	    trace_format_by_name(o.from) != TRACE_ATRACE)
		return cli_usage(&cmd_convert, "--from takes std or atrace, not '%s'", o.from);
	if (cli_same_file(argv[0], argv[1]))
		return cli_error("%s and %s are the same file", argv[0], argv[1]);
	if (blockspec_file && to == TRACE_ATRACE && o.schedule.number == SCHEDULE_NONE)
		return cli_usage(
			&cmd_convert,
			"--spec does not apply to .atrace, which keeps every function; use "
			"--spec when you read it");
	ropt.all_blocks = to == TRACE_ATRACE;
	if (o.schedule.number != SCHEDULE_NONE)
		return convert_schedule(argv[0], argv[1], to);
	r = blockspec_open(argv[0], &ropt, &err);
	if (!r)
		return cli_error("%s", err.text);
	if (o.from &&
	    trace_format_by_name(o.from) != trace_format_by_name(reader_format(r, &compressed))) {
		trace_close(r);
		return cli_error("%s: not an %s trace", argv[0], o.from);
	}
	w = writer_open(argv[1], to, &err);
	if (!w) {
		trace_close(r);
		return cli_error("%s", err.text);
	}
	progress_start(false);
	rc = copy_events(r, w, &err);
	progress_end();
	/* If the trace breaks off, what was read before that is written. */
	if (writer_close(w, &werr) && !rc) {
		err = werr;
		rc = -1;
	}
	if (reader_counts(r)->skipped)
		note("%llu event%s that cannot have happened %s left out",
		     (unsigned long long)reader_counts(r)->skipped,
		     reader_counts(r)->skipped == 1 ? "" : "s",
		     reader_counts(r)->skipped == 1 ? "was" : "were");
	blockspec_print(r, stderr, "atomsan: ", false);
	trace_close(r);
	return rc ? cli_error("%s", err.text) : 0;
}

const struct command cmd_convert = {
	.name = "convert",
	.synopsis = "[options] IN OUT",
	.summary = "convert a trace to another format",
	.opts = opts,
	.run = convert,
};
