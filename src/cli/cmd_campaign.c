/*
 * atomsan campaign: many runs of one command by many workers, and one answer.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "campaign/view.h"
#include "cli/campaign.h"
#include "cli/printing.h"
#include "cli/suppressing.h"

#include "base/banned.h"

enum { RUNS = 100, PATIENCE = 60 };

static struct {
	uint64_t runs, jobs;
	const char *limit, *timeout, *patience, *folder, *baseline, *schedules;
	bool no_wait, lenient, submit;
} o = {.runs = UINT64_MAX, .jobs = UINT64_MAX};

static const struct opt opts[] = {
	OPT_U64(0, "runs", "N", &o.runs,
		"init: so many runs (100), 0: no end; work: at most N here"),
	OPT_STR(0, "limit", "TIME", &o.limit,
		"init, work: a worker begins no new run after this (90, 15m, 8h, 2d)"),
	OPT_STR(0, "timeout", "TIME", &o.timeout, "init: end a run that takes longer"),
	OPT_U64('j', "jobs", "N", &o.jobs, "work, slurm, parallel: N workers"),
	OPT_STR(0, "patience", "TIME", &o.patience,
		"work: take over from a worker that is silent so long (60)"),
	OPT_FLAG(0, "no-wait", &o.no_wait, "work: do not wait for the runs of other workers"),
	OPT_STR(0, "folder", "FOLDER", &o.folder, "work: run the command in this folder"),
	OPT_FLAG(0, "submit", &o.submit, "slurm, parallel: run it instead of printing it"),
	OPT_STR(0, "baseline", "FILE", &o.baseline,
		"merge: leave out what this file of an earlier merge has (JSON)"),
	OPT_STR(0, "schedules", "FOLDER", &o.schedules,
		"merge: write a schedule for each finding that has one"),
	OPT_FLAG(0, "lenient", &o.lenient, "merge: skip damaged results, and count them"),
	PRINTING_OPTIONS,
	SUPPRESSING_OPT,
	OPT_END,
};

/* Sets *seconds if the option is given. Returns 0 or the exit code. */
static int read_time(const char *option, const char *text, uint64_t *seconds)
{
	if (!text || (!campaign_seconds(text, seconds) && *seconds))
		return 0;
	return cli_usage(&cmd_campaign, "--%s takes a time such as 90, 15m, 8h or 2d, not '%s'",
			 option, text);
}

/* --- init --- */

/* The campaign itself decides what is written, and where. */
static const char *find_taken_option(const struct campaign *c)
{
	static const char *const taken[] = {"-o", "--output", "-f", "--format", "--seed"};

	for (size_t i = 1; i < c->nwords && c->command[i][0] == '-'; i++) {
		if (!strcmp(c->command[i], "--"))
			break;
		for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
			if (!strncmp(c->command[i], taken[k], strlen(taken[k])))
				return c->command[i];
	}
	return NULL;
}

/* A command that does not begin with a kind is a program to be run. */
static void take_command(struct campaign *c, int argc, char **argv)
{
	size_t n = 0;

	c->command = arena_alloc(&c->arena, ((size_t)argc + 3) * sizeof *c->command);
	if (!campaign_find_kind(argv[0], &c->kind)) {
		c->kind = CAMPAIGN_RUN;
		c->command[n++] = campaign_kind_names[CAMPAIGN_RUN];
		c->command[n++] = "--";
	}
	for (int i = 0; i < argc; i++)
		c->command[n++] = argv[i];
	c->command[n] = NULL;
	c->nwords = n;
}

/* Returns 0, or the exit code after a message on what is wrong with the definition. */
static int check_definition(struct campaign *c)
{
	const char *taken = find_taken_option(c);

	if (taken)
		return cli_usage(&cmd_campaign,
				 "init: leave out %s: the campaign itself chooses that", taken);
	if (c->nwords < 2 || (c->nwords == 2 && !strcmp(c->command[1], "--")))
		return cli_usage(&cmd_campaign, "init: which program?");
	c->tasks = o.runs == UINT64_MAX ? RUNS : o.runs;
	if (c->tasks > CAMPAIGN_TASKS_MAX)
		return cli_usage(&cmd_campaign, "--runs takes a number up to %d",
				 CAMPAIGN_TASKS_MAX);
	if (read_time("limit", o.limit, &c->limit) || read_time("timeout", o.timeout, &c->timeout))
		return EXIT_BAD;
	return 0;
}

static int create(struct campaign *c)
{
	char *folder = getcwd(NULL, 0);
	struct err err = {0};
	bool had;
	int rc;

	if (!folder)
		return cli_error("the current folder has no name: %s", strerror(errno));
	c->folder = folder;
	rc = campaign_create(c, &had, &err);
	if (rc)
		cli_error("%s", err.text);
	else if (had)
		note("%s: already this campaign; its results are kept", c->path);
	free(folder);
	return rc ? EXIT_BAD : 0;
}

static int init(int argc, char **argv)
{
	struct campaign c = {0};
	int rc;

	if (argc < 1)
		return cli_usage(&cmd_campaign, "init: which folder?");
	if (argc < 2)
		return cli_usage(&cmd_campaign, "init: which command?");
	c.path = argv[0];
	take_command(&c, argc - 1, argv + 1);
	rc = check_definition(&c);
	if (!rc)
		rc = create(&c);
	arena_free(&c.arena);
	return rc;
}

/* --- work --- */

static int work(int argc, char **argv)
{
	struct work_options w = {
		.jobs = o.jobs == UINT64_MAX ? 1 : o.jobs,
		.runs = o.runs == UINT64_MAX ? 0 : o.runs,
		.patience = PATIENCE,
		.no_wait = o.no_wait,
		.quiet = printing_asked.quiet > 0,
		.folder = o.folder,
	};

	if (argc != 1)
		return cli_usage(&cmd_campaign,
				 argc ? "work takes one folder" : "work: which folder?");
	if (!w.jobs || !o.runs)
		return cli_usage(&cmd_campaign, "work: --%s takes a number above 0",
				 w.jobs ? "runs" : "jobs");
	if (read_time("limit", o.limit, &w.limit) || read_time("patience", o.patience, &w.patience))
		return EXIT_BAD;
	if (w.patience * 1000 < 3 * WORKER_BEAT_MS)
		return cli_usage(&cmd_campaign, "work: --patience takes at least %d seconds",
				 3 * WORKER_BEAT_MS / 1000);
	return campaign_work(argv[0], &w);
}

/* --- merge and status --- */

static int collect(struct merge *m, int argc, char **argv, bool lenient)
{
	struct err err = {0};

	for (int i = 0; i < argc; i++)
		if (merge_add(m, argv[i], lenient, &err))
			return cli_error("%s", err.text);
	return 0;
}

/* Is it a campaign of `refine`, whose result is a specification? */
static bool is_about_specs(const struct merge *m)
{
	for (size_t i = 0; i < m->ncampaigns; i++)
		if (m->campaigns[i].head)
			return true;
	return false;
}

static int write_spec(const struct view *v)
{
	struct str text = STR_INIT;
	struct err err = {0};
	int rc = 0;

	view_add_spec(v, &text);
	if (printing_asked.output && strcmp(printing_asked.output, "-") != 0)
		rc = file_replace(printing_asked.output, text.s, text.n, &err);
	else
		fwrite(text.s, 1, text.n, stdout);
	str_free(&text);
	if (rc)
		return cli_error("%s", err.text);
	return v->m->nrules ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

/* In the JSON form all findings stand, so that it can be merged again. */
static void unselect(struct view *v)
{
	for (size_t i = 0; i < v->rep.nresults; i++) {
		struct finding_list *l = &v->results[i].findings;

		l->selected = false;
		for (size_t k = 0; k < v->m->nengines; k++)
			if (v->m->engines[k].ops == v->results[i].ops)
				memcpy(l->hidden, v->m->engines[k].hidden, sizeof l->hidden);
	}
}

static int write_schedules(const struct view *v, struct err *err)
{
	size_t n;

	if (view_write_schedules(v, o.schedules, &n, err))
		return -1;
	note("%s: %zu schedule%s; 'atomsan replay' runs one again", o.schedules, n,
	     n == 1 ? "" : "s");
	return 0;
}

static int print_view(struct view *v, const struct report_format *format)
{
	struct err err = {0};
	size_t found;
	int rc;

	if (o.baseline && view_forget(v, o.baseline, &err))
		return cli_error("%s", err.text);
	for (size_t i = 0; i < v->rep.nresults; i++)
		suppressing_drop(&v->results[i].findings);
	view_rank(v, v->rep.verbosity > 0);
	if (o.schedules && write_schedules(v, &err))
		return cli_error("%s", err.text);
	if (is_about_specs(v->m) && format == &text_format)
		return write_spec(v);
	found = view_count(v);
	if (format == &json_format)
		unselect(v);
	rc = printing_report(&v->rep, format == &text_format ? &view_text_format : format);
	return rc ? rc : found ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

static int merge(int argc, char **argv)
{
	const struct report_format *format;
	struct report asked = {0};
	struct merge m = {0};
	struct err err = {0};
	struct view v;
	int rc;

	if (!argc)
		return cli_usage(&cmd_campaign, "merge: which folders?");
	rc = printing_prepare(&cmd_campaign, argv[0], &asked, &format);
	if (rc)
		return rc;
	if (suppressing_read(&err))
		return cli_error("%s", err.text);
	rc = collect(&m, argc, argv, o.lenient);
	if (!rc) {
		view_begin(&v, &m);
		v.rep.color = asked.color;
		v.rep.verbosity = asked.verbosity;
		rc = print_view(&v, format);
		view_free(&v);
	}
	merge_free(&m);
	return rc;
}

/* Adds how many runs are in progress, according to the claims. */
static int add_pending(const char *path, struct str *b)
{
	struct campaign c;
	struct claims k;
	struct err err = {0};
	uint64_t pending;
	int rc = -1;

	if (campaign_open(&c, path, &err))
		return cli_error("%s", err.text);
	claims_begin(&k, &c, NULL, 1e9); /* only what is certainly dead is left out */
	rc = claims_count(&k, &pending, &err);
	claims_end(&k);
	if (!rc && pending)
		str_fmt(b, "in progress: %" PRIu64 " run%s\n", pending, pending == 1 ? "" : "s");
	campaign_free(&c);
	return rc ? cli_error("%s", err.text) : 0;
}

static int print_status(struct view *v, const char *path, const struct report_format *format)
{
	struct str b = STR_INIT;
	int rc;

	view_rank(v, v->rep.verbosity > 0);
	if (format == &json_format) {
		unselect(v);
		return printing_report(&v->rep, format);
	}
	str_fmt(&b, "%s: %s\n", path, v->title.s);
	rc = add_pending(path, &b);
	view_add_overview(v, &b);
	if (!rc)
		fwrite(b.s, 1, b.n, stdout);
	str_free(&b);
	return rc;
}

static int status(int argc, char **argv)
{
	const struct report_format *format;
	struct report asked = {0};
	struct merge m = {0};
	struct campaign c;
	struct err err = {0};
	struct view v;
	int rc;

	if (argc != 1)
		return cli_usage(&cmd_campaign,
				 argc ? "status takes one folder" : "status: which folder?");
	rc = printing_prepare(&cmd_campaign, argv[0], &asked, &format);
	if (rc)
		return rc;
	if (format != &text_format && format != &json_format)
		return cli_usage(&cmd_campaign, "status: --format takes text or json");
	/* A file, which merge would take, has no claims. */
	if (campaign_open(&c, argv[0], &err))
		return cli_error("%s", err.text);
	campaign_free(&c);
	/* A file that is damaged does not hide the others. */
	rc = collect(&m, argc, argv, true);
	if (!rc) {
		view_begin(&v, &m);
		v.rep.verbosity = asked.verbosity;
		rc = print_status(&v, argv[0], format);
		view_free(&v);
	}
	merge_free(&m);
	return rc;
}

/* --- slurm and parallel --- */

static int slurm(int argc, char **argv)
{
	if (!argc)
		return cli_usage(&cmd_campaign, "slurm: which folder?");
	return campaign_slurm(argv[0], o.jobs == UINT64_MAX ? 4 : o.jobs, o.submit, argv + 1);
}

static int parallel(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (!argc)
		return cli_usage(&cmd_campaign, "parallel: which folder?");
	return campaign_parallel(argv[0],
				 o.jobs != UINT64_MAX ? o.jobs
				 : processors > 0     ? (uint64_t)processors
						      : 1,
				 o.submit, argv + 1);
}

/* --- the verbs --- */

enum { INIT = 1, WORK = 2, MERGE = 4, STATUS = 8, SLURM = 16, PARALLEL = 32 };

static const struct verb {
	const char *name;
	unsigned bit;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{"init", INIT, init},       {"work", WORK, work},    {"merge", MERGE, merge},
	{"status", STATUS, status}, {"slurm", SLURM, slurm}, {"parallel", PARALLEL, parallel},
};

/* Returns an option that was given although the verb has none such; or NULL. */
static const char *find_misplaced(unsigned verb)
{
	const struct {
		const char *name;
		bool given;
		unsigned verbs;
	} rules[] = {
		{"runs", o.runs != UINT64_MAX, INIT | WORK},
		{"limit", o.limit, INIT | WORK},
		{"timeout", o.timeout, INIT},
		{"jobs", o.jobs != UINT64_MAX, WORK | SLURM | PARALLEL},
		{"patience", o.patience, WORK},
		{"no-wait", o.no_wait, WORK},
		{"folder", o.folder, WORK},
		{"submit", o.submit, SLURM | PARALLEL},
		{"baseline", o.baseline, MERGE},
		{"schedules", o.schedules, MERGE},
		{"lenient", o.lenient, MERGE},
		{"suppressions", suppressing_file, MERGE},
		{"format", printing_asked.format, MERGE | STATUS},
		{"output", printing_asked.output, MERGE},
		{"color", printing_asked.color, MERGE},
		{"verbose", printing_asked.verbose, MERGE | STATUS},
		{"quiet", printing_asked.quiet, MERGE | WORK},
	};

	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].given && !(rules[i].verbs & verb))
			return rules[i].name;
	return NULL;
}

static int campaign(int argc, char **argv)
{
	for (size_t i = 0; argc && i < sizeof verbs / sizeof *verbs; i++) {
		const char *wrong;

		if (strcmp(argv[0], verbs[i].name) != 0)
			continue;
		wrong = find_misplaced(verbs[i].bit);
		if (wrong)
			return cli_usage(&cmd_campaign, "%s does not take --%s", argv[0], wrong);
		return verbs[i].run(argc - 1, argv + 1);
	}
	return cli_usage(&cmd_campaign,
			 argc ? "init, work, merge, status, slurm or parallel, not '%s'"
			      : "init, work, merge, status, slurm or parallel?",
			 argv[0]);
}

const struct command cmd_campaign = {
	.name = "campaign",
	.synopsis = "init FOLDER -- COMMAND... | work|status|slurm|parallel FOLDER | "
		    "merge FOLDER...",
	.summary = "run a program many times, on many machines, and merge the findings",
	.opts = opts,
	.run = campaign,
};
