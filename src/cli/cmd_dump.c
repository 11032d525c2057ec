#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/blockspec.h"
#include "cli/cli.h"
#include "cli/event_text.h"
#include "cli/schedule.h"
#include "cli/trace_open.h"
#include "trace/reader.h"

#include "base/banned.h"

static struct {
	uint64_t first, last;
	struct schedule_asked schedule;
	bool all, lenient;
} o = {.schedule = SCHEDULE_ASKED_INIT};

static const struct opt opts[] = {
	OPT_U64(0, "first", "N", &o.first, "start at this event"),
	OPT_U64(0, "last", "N", &o.last, "stop after this event"),
	OPT_U64(0, "schedule", "N", &o.schedule.number,
		"print the schedule of the N-th finding of 'atomsan predict'"),
	OPT_TABLE(predict_opts, &o.schedule.predict),
	OPT_FLAG(0, "all", &o.all, "print the whole schedule"),
	BLOCKSPEC_OPT,
	OPT_FLAG(0, "lenient", &o.lenient, "skip events that cannot have happened, and count them"),
	OPT_END,
};

extern const struct command cmd_dump;

/* "    57  T1  acq(l)          bank.c:12" */
static void add_event_line(const struct names *names, const struct event *e, uint64_t number,
			   struct str *s)
{
	const char *thread = names_thread(names, e->thread);
	size_t from;

	str_reset(s);
	str_fmt(s, "%8llu  ", (unsigned long long)number);
	from = s->n;
	str_add_shown(s, thread, strlen(thread), SIZE_MAX);
	str_pad(s, ' ', (s->n - from < 4 ? 4 - (s->n - from) : 0) + 2);
	from = s->n;
	event_text_op(s, names, e);
	if (e->place)
		str_pad(s, ' ', s->n - from < 24 ? 24 - (s->n - from) : 1);
	event_text_place(s, names, e);
	str_addc(s, '\n');
	fwrite(s->s, 1, s->n, stdout);
}

static int dump_schedule(const char *path)
{
	struct err err = {0};
	struct schedule s;

	if (schedule_read(&s, path, &o.schedule, o.lenient, &err))
		return cli_error("%s", err.text);
	schedule_show(&s, o.all, stdout);
	schedule_free(&s);
	return 0;
}

static int dump(int argc, char **argv)
{
	struct reader_options ropt = {.lenient = o.lenient, .keep_repeats = true};
	struct event ev[READER_BATCH];
	struct str s = STR_INIT;
	struct err err = {0};
	struct reader *r;
	uint64_t number = 0, skipped = 0;
	int n = 0;

	if (argc != 1)
		return cli_usage(&cmd_dump, argc ? "it takes one trace" : "which trace?");
	if (o.schedule.number != SCHEDULE_NONE) {
		if (o.first || o.last)
			return cli_usage(&cmd_dump,
					 "--schedule cannot be combined with --first or --last");
		return dump_schedule(argv[0]);
	}
	r = blockspec_open(argv[0], &ropt, &err);
	if (!r)
		return cli_error("%s", err.text);
	while (!(o.last && number >= o.last) && (n = reader_next(r, ev, &err)) > 0)
		for (int i = 0; i < n; i++)
			if (++number >= o.first && !(o.last && number > o.last)) {
				add_event_line(reader_names(r), &ev[i], number, &s);
				skipped += ev[i].op == OP_NONE && !ev[i].left_out;
			}
	str_free(&s);
	blockspec_print(r, stderr, "atomsan: ", false);
	trace_close(r);
	if (skipped)
		note("%llu event%s that cannot have happened %s skipped",
		     (unsigned long long)skipped, skipped == 1 ? "" : "s",
		     skipped == 1 ? "was" : "were");
	return n < 0 ? cli_error("%s", err.text) : 0;
}

const struct command cmd_dump = {
	.name = "dump",
	.synopsis = "[options] TRACE",
	.summary = "print a trace's events, one per line",
	.opts = opts,
	.run = dump,
};
