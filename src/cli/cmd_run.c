/*
 * atomsan run: runs an instrumented program and reports what is found in it.
 *
 * The program and the processes that it starts connect to a socket of this command when they have
 * something to ask or to report. ATOMSAN_OPTIONS tells them its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/output_file.h"
#include "base/program.h"
#include "base/str.h"
#include "cli/blockspec.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/follow_up.h"
#include "cli/printing.h"
#include "cli/progress.h"
#include "cli/room.h"
#include "cli/suppressing.h"
#include "engine/doublechecker/suspects.h"
#include "report/color.h"
#include "reporter/reporter.h"

#include "base/banned.h"

extern const struct command cmd_run; /* main.c lists it */

static struct {
	const char *format, *output, *color, *engine, *first_run, *second_run;
	bool all, predict, skeleton, follow_up;
	struct predict_options how; /* to predict */
	int quiet, verbose;
} o = {.how = PREDICT_DEFAULTS};

static const struct opt opts[] = {
	OPT_STR('e', "engine", "NAME", &o.engine,
		"frontier (the default), or doublechecker, which checks only what it suspects"),
	OPT_STR(0, "first-run", "FILE", &o.first_run,
		"report nothing, add the names of suspected blocks to FILE"),
	OPT_STR(0, "second-run", "FILE", &o.second_run, "check only the blocks that FILE suspects"),
	OPT_FLAG(0, "skeleton", &o.skeleton,
		 "check without plain accesses: cheap, and exact for a run without data races"),
	OPT_FLAG(0, "follow-up", &o.follow_up,
		 "a skeleton run first; if it blames blocks, run again and check these in full"),
	OPT_STR('f', "format", "FORMAT", &o.format, PRINTING_FORMATS),
	OPT_STR('o', "output", "FILE", &o.output, "write the findings to FILE (standard error)"),
	OPT_FLAG('p', "predict", &o.predict,
		 "record the run, and report what happened and what other runs could do"),
	OPT_TABLE(predict_opts, &o.how),
	OPT_FLAG(0, "all", &o.all, "print every finding, including those that look the same"),
	OPT_STR(0, "color", "WHEN", &o.color, "auto (the default), always or never"),
	BLOCKSPEC_OPT,
	SUPPRESSING_OPT,
	OPT_COUNT('q', "quiet", &o.quiet, "one line per finding"),
	OPT_COUNT('v', "verbose", &o.verbose, "leave nothing out; print figures, too"),
	OPT_STOP_AT_WORD,
	OPT_END,
};

enum {
	EXIT_FOUND = 66,
	ASK_AGAIN_MS = 50,
	/* For what processes that end with the program still say: so long a silence, so long at
	   all. */
	AFTERWARDS_MS = 1000,
	AFTERWARDS_MOST_S = 20
};

/* --- the processes --- */

static void serve_all(struct room *r)
{
	int program = child_descriptor();
	double until;

	/* If the system has no such descriptors, poll. */
	do
		room_serve(r, program, program < 0 ? ASK_AGAIN_MS : -1);
	while (program < 0 ? !child_has_ended() : !room_program_ended(r));
	if (program >= 0)
		close(program);
	/* Processes that outlive the program are not waited for. */
	until = clock_seconds() + AFTERWARDS_MOST_S;
	while (clock_seconds() < until && room_serve(r, -1, r->n ? AFTERWARDS_MS : 0))
		;
	for (size_t i = 0; i < r->n; i++)
		if (!reporter_has_finished(r->v[i]))
			reporter_mark_incomplete(r->session, "a process is still running");
	if (r->n && !o.quiet)
		note("%zu process%s still running; what %s from now on is not reported", r->n,
		     r->n == 1 ? " is" : "es are", r->n == 1 ? "it finds" : "they find");
	room_close(r);
}

/* --- programs that did not connect --- */

static int open_program(const char *name)
{
	struct str path = STR_INIT;
	int fd = program_find(&path, name, NULL, NULL) ? open(path.s, O_RDONLY | O_CLOEXEC) : -1;

	str_free(&path);
	return fd;
}

enum kind { NOT_KNOWN, PLAIN, INSTRUMENTED };

/* Does the executable contain the runtime? For a script this is not known. */
static enum kind kind_of(const char *name)
{
	static const char symbol[] = "atomsan_rt_version", elf[] = "\177ELF";
	int fd = open_program(name);
	enum kind kind = NOT_KNOWN;
	struct stat st;
	void *map;

	if (fd < 0)
		return NOT_KNOWN;
	if (!fstat(fd, &st) && st.st_size > 4) {
		size_t n = (size_t)st.st_size;

		map = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			if (!memcmp(map, elf, 4))
				kind = memmem(map, n, symbol, sizeof symbol) ? INSTRUMENTED : PLAIN;
			munmap(map, n);
		}
	}
	close(fd);
	return kind;
}

/*
 * No process connected. An instrumented program connects when it starts. Says which case it is;
 * returns whether an instrumented program ran.
 */
static bool explain_silence(struct reporter *session, const char *name)
{
	enum kind kind = kind_of(name);

	if (kind == INSTRUMENTED)
		reporter_mark_incomplete(session,
					 "%s did not connect to the reporter: was it started with "
					 "privileges that you lack, or linked by another atomsan?",
					 name);
	if (o.quiet)
		return kind == INSTRUMENTED;
	switch (kind) {
	case PLAIN:
		note("nothing was checked: %s was not linked by atomsan-cc", name);
		break;
	case INSTRUMENTED:
		break;
	case NOT_KNOWN:
		note("nothing was checked: %s ran no program to its end that was linked by "
		     "atomsan-cc",
		     name);
		break;
	}
	return kind == INSTRUMENTED;
}

/* --- before it starts --- */

/* Takes the files that the program's own options name, unless ours name some. */
static void take_from_environment(void)
{
	if (!blockspec_file)
		blockspec_file = child_option("spec");
	if (!suppressing_file)
		suppressing_file = child_option("suppressions");
	if (blockspec_file && !*blockspec_file)
		blockspec_file = NULL;
	if (suppressing_file && !*suppressing_file)
		suppressing_file = NULL;
}

/* Makes the path absolute: the program may change its folder. */
static const char *from_root(const char *path)
{
	char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);
	struct str s = STR_INIT;

	str_fmt(&s, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path);
	free(cwd);
	return s.s;
}

/* Fail now, not after the program has run for an hour. */
static int prepare_runs(struct err *err)
{
	struct suspects s = {0};
	int rc = 0;

	if (o.first_run) {
		o.first_run = from_root(o.first_run);
		rc = suspects_read(&s, o.first_run, false, err) ||
				     suspects_write(&s, o.first_run, err)
			     ? -1
			     : child_add_option("first_run", o.first_run, err);
	} else if (o.second_run) {
		o.second_run = from_root(o.second_run);
		rc = suspects_read(&s, o.second_run, true, err)
			     ? -1
			     : child_add_option("second_run", o.second_run, err);
	}
	if (!rc && o.engine)
		rc = child_add_option("engine", o.engine, err);
	suspects_free(&s);
	return rc;
}

static const char *wrong_engine(void)
{
	bool other = o.engine && strcmp(o.engine, "doublechecker") != 0;

	if (other && strcmp(o.engine, "frontier") != 0)
		return "--engine takes frontier or doublechecker; other engines check a recording";
	if (o.first_run && o.second_run)
		return "--first-run and --second-run cannot be combined";
	if (other && (o.first_run || o.second_run))
		return "--first-run and --second-run need --engine=doublechecker";
	if (o.predict && (o.engine || o.first_run || o.second_run))
		return "--predict records the run, so it cannot be combined with --engine, "
		       "--first-run or --second-run";
	if ((o.skeleton || o.follow_up) && (o.predict || o.first_run || o.second_run ||
					    (o.engine && strcmp(o.engine, "frontier") != 0)))
		return "--skeleton and --follow-up ignore plain accesses, so they cannot be "
		       "combined with --predict, --engine=doublechecker, --first-run or "
		       "--second-run";
	return NULL;
}

static int exit_code(void)
{
	char *asked = child_option("exitcode");
	long code = asked ? strtol(asked, NULL, 10) : EXIT_FOUND;

	mem_free(asked);
	return (int)(code & 0xff);
}

static char *join_words(char **argv)
{
	struct str s = STR_INIT, shown = STR_INIT;

	for (size_t i = 0; argv[i]; i++)
		str_fmt(&s, "%s%s", i ? " " : "", argv[i]);
	str_add_shown(&shown, s.s, s.n, 4096);
	str_free(&s);
	return shown.s;
}

static int prepare_options(struct reporter_options *options, struct err *err)
{
	if (suppressing_read(err))
		return -1;
	options->suppress = suppressing_list();
	take_from_environment();
	options->spec = blockspec_read(err);
	options->spec_path = blockspec_file;
	if (!options->spec || suppressing_read(err))
		return -1;
	options->suppress = suppressing_list();
	options->out = 2;
	options->own_file = o.output != NULL;
	if (o.output && strcmp(o.output, "-") != 0) {
		/* Fail now, not after the program has run for an hour. */
		options->path = o.output;
		if (options->format != &text_format)
			return output_file_try(o.output, err);
		/* Text is written as it is made. */
		options->path = NULL;
		options->out =
			open(o.output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
		if (options->out < 0)
			return err_sys(err, "%s", o.output);
	} else if (o.output) {
		options->out = 1;
	}
	return 0;
}

/* Runs the program once or twice, by other commands of this kind. */
static int run_and_follow_up(const struct report_format *format, char **argv)
{
	struct str spec = STR_INIT, hidden = STR_INIT;
	const char *words[4];
	struct follow_up f = {.options = words,
			      .format = format,
			      .output = o.output,
			      .color = o.color,
			      .verbosity = o.quiet ? -1 : o.verbose > 0};
	int rc;

	if (blockspec_file) {
		str_fmt(&spec, "--spec=%s", blockspec_file);
		words[f.noptions++] = spec.s;
	}
	if (suppressing_file) {
		str_fmt(&hidden, "--suppressions=%s", suppressing_file);
		words[f.noptions++] = hidden.s;
	}
	if (o.all)
		words[f.noptions++] = "--all";
	if (o.quiet)
		words[f.noptions++] = "-q";
	rc = follow_up_run(&f, argv);
	str_free(&spec);
	str_free(&hidden);
	return rc;
}

static int run(int argc, char **argv)
{
	struct reporter_options options = {
		.color = o.color,
		.verbosity = o.quiet ? -1 : o.verbose > 0,
		.all = o.all,
		.verdict = true,
		.predicts = o.predict,
		.skeleton = o.skeleton,
		.predict = o.how,
		.progress = &progress_functions,
	};
	struct str name = STR_INIT;
	struct room room = {0};
	struct err err = {0};
	char *program;
	bool color;
	int rc, found, unwritten;

	if (!argc)
		return cli_usage(&cmd_run, "which program?");
	options.format = printing_format(&cmd_run, o.format);
	if (!options.format)
		return EXIT_BAD;
	if (color_decide(o.color, -1, &color))
		return cli_usage(&cmd_run, "--color takes auto, always or never");
	if (wrong_engine())
		return cli_usage(&cmd_run, "%s", wrong_engine());
	if (o.follow_up)
		return run_and_follow_up(options.format, argv);
	if (predict_check(&o.how, &err))
		return cli_usage(&cmd_run, "%s", err.text);
	found = exit_code();
	if (prepare_options(&options, &err) || prepare_runs(&err))
		return cli_error("%s", err.text);
	/* A first run only suspects: it has no verdict. */
	options.verdict = !o.first_run;
	options.first_run = o.first_run;
	room_open(&room, &name, &err);
	options.token = room.token;
	/* Without rules the program itself knows which functions are blocks, and need not ask. */
	if (room.listening < 0 || child_add_option("reporter", name.s, &err) ||
	    (blockspec_file && child_add_option("rules", "1", &err)) ||
	    (suppressing_file && child_add_option("hides", "1", &err)) ||
	    (o.predict && child_add_option("predict", "1", &err)) ||
	    (o.skeleton && child_add_option("skeleton", "1", &err)) ||
	    (o.all && child_add_option("all", "1", &err)))
		return cli_error("%s", err.text);
	str_free(&name);
	rc = child_start(argv);
	if (rc)
		return rc;
	/* The reader of our text may go away; the program's status is still needed. */
	signal(SIGPIPE, SIG_IGN);
	/* A limit of the size of files is an error like any other. */
	signal(SIGXFSZ, SIG_IGN);
	program = join_words(argv);
	options.program = program;
	room.session = reporter_new(&options);
	serve_all(&room);
	rc = child_wait();
	if (!reporter_was_used(room.session) && !explain_silence(room.session, argv[0]) && !rc)
		rc = EXIT_BAD;
	/* If standard error was closed, the user does not want the report. */
	unwritten = reporter_end(room.session);
	if (options.own_file && options.out > 2 && close(options.out)) {
		cli_error("%s: %s", o.output, strerror(errno));
		unwritten = -1;
	}
	if (!rc && unwritten && o.output)
		rc = EXIT_BAD;
	if (!rc && reporter_findings(room.session))
		rc = found;
	if (!rc && options.verdict && reporter_incomplete(room.session))
		rc = EXIT_BAD;
	reporter_free(room.session);
	mem_free(program);
	return rc;
}

const struct command cmd_run = {
	.name = "run",
	.synopsis = "[options] [--] PROGRAM ARGUMENTS...",
	.summary = "run an instrumented program and check it as it runs",
	.opts = opts,
	.run = run,
};
