/*
 * atomsan confirm: drives a program into what was predicted for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/printing.h"
#include "report/json.h"
#include "report/shown.h"

#include "base/banned.h"

extern const struct command cmd_confirm; /* main.c lists it */

static const char *folder = ".";
static uint64_t runs = 10, limit = 300, run_limit = 10;

static const struct opt opts[] = {
	OPT_U64('n', "runs", "N", &runs, "drive the program so often for each finding (10)"),
	OPT_U64('l', "limit", "SECONDS", &limit, "try no more findings after so long (300)"),
	OPT_U64(0, "run-limit", "SECONDS", &run_limit, "let one run take so long (10)"),
	OPT_STR('o', "output", "DIR", &folder, "write schedules to this folder (.)"),
	PRINTING_OPTIONS_HOW,
	OPT_STOP_AT_WORD,
	OPT_END,
};

/* Has `atomsan predict` write the findings of a trace to `out`. */
static int predict(const char *trace, const char *out, struct err *err)
{
	struct str output = STR_INIT;
	pid_t pid;
	int status = 0;

	str_fmt(&output, "--output=%s", out);
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "atomsan", "predict", "--format=json", output.s, "--",
		      trace, (char *)NULL);
		_exit(127);
	}
	str_free(&output);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return err_sys(err, "cannot predict from %s", trace);
	/* It has printed a sentence. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) > EXIT_FINDINGS)
		return err_fail(err, "nothing to confirm: %s cannot be read", trace);
	return 0;
}

static int load_text(struct json_loaded *loaded, const char *path, const char *name,
		     struct err *err)
{
	struct str text = STR_INIT;
	int rc = file_read(path, &text, err) || json_load(loaded, name, text.s, text.n, err);

	str_free(&text);
	return rc ? -1 : 0;
}

/* Is it a file of findings? A trace is anything else. */
static bool is_json(const char *path)
{
	FILE *in = fopen(path, "re");
	int c = ' ';

	while (in && (c == ' ' || c == '\n' || c == '\t'))
		c = getc(in);
	if (in)
		fclose(in);
	return c == '{';
}

static int load_findings(struct json_loaded *loaded, const char *path, struct err *err)
{
	struct str findings = STR_INIT;
	int fd, rc;

	if (is_json(path))
		return load_text(loaded, path, path, err);
	if (access(path, R_OK))
		return err_sys(err, "%s", path);
	file_add_temporary(&findings);
	fd = mkstemp(findings.s);
	if (fd < 0) {
		rc = err_sys(err, "%s", findings.s);
	} else {
		close(fd);
		rc = predict(path, findings.s, err) || load_text(loaded, findings.s, path, err);
		unlink(findings.s);
	}
	str_free(&findings);
	return rc ? -1 : 0;
}

/* Tries all predictions that are shown. Returns how many were confirmed, or -1. */
static int confirm_all(struct confirm *c, struct json_loaded *loaded, size_t *tried,
		       struct err *err)
{
	int confirmed = 0;

	for (size_t i = 0; i < loaded->rep.nresults; i++) {
		struct finding_list *l = &loaded->results[i].findings;

		for (size_t k = 0; k < finding_list_shown(l); k++) {
			if (l->v[k]->status != FINDING_PREDICTED)
				continue;
			++*tried;
			if (confirm_finding(c, l->v[k], err))
				return -1;
			if (!c->controlled)
				return 0;
			confirmed += l->v[k]->status == FINDING_CONFIRMED;
		}
	}
	return confirmed;
}

static int report(struct json_loaded *loaded, const struct report_format *format, char **argv,
		  size_t tried, int confirmed)
{
	int rc;

	loaded->rep.source.program = argv[0];
	rc = printing_report(&loaded->rep, format);
	if (loaded->rep.verbosity >= 0 && tried)
		note("%d of %zu prediction%s confirmed", confirmed, tried, tried == 1 ? "" : "s");
	else if (loaded->rep.verbosity >= 0)
		note("there is no prediction to confirm");
	return rc ? rc : confirmed ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

static int try_findings(struct json_loaded *loaded, const struct report_format *format, char **argv)
{
	struct confirm_options how = {.runs = (uint32_t)runs,
				      .seconds = (double)run_limit,
				      .until = clock_seconds() + (double)limit,
				      .folder = folder,
				      .argv = argv};
	struct confirm c;
	struct err err = {0};
	size_t tried = 0;
	int confirmed, rc;

	if (confirm_open(&c, &how, &err))
		return cli_error("%s", err.text);
	confirmed = confirm_all(&c, loaded, &tried, &err);
	if (confirmed < 0)
		rc = cli_error("%s", err.text);
	else if (tried && !c.started)
		rc = EXIT_BAD; /* a sentence was printed */
	else if (tried && !c.controlled)
		rc = cli_error("nothing was controlled: %s %s", argv[0],
			       c.instrumented ? "created no thread"
					      : "was not linked by atomsan-cc");
	else
		rc = report(loaded, format, argv, tried, confirmed);
	confirm_close(&c);
	return rc;
}

static int confirm(int argc, char **argv)
{
	const struct report_format *format;
	struct json_loaded loaded;
	struct report asked = {0};
	struct err err = {0};
	const char *path;
	int rc;

	if (!argc)
		return cli_usage(&cmd_confirm, "which trace, or file of findings?");
	path = *argv++;
	if (--argc && !strcmp(*argv, "--"))
		argc--, argv++;
	if (!argc)
		return cli_usage(&cmd_confirm, "which program?");
	if (!runs || runs > 1000)
		return cli_usage(&cmd_confirm, "--runs takes 1 to 1000");
	rc = printing_prepare(&cmd_confirm, path, &asked, &format);
	if (rc)
		return rc;
	if (load_findings(&loaded, path, &err))
		return cli_error("%s", err.text);
	loaded.rep.color = asked.color;
	loaded.rep.verbosity = asked.verbosity;
	for (size_t i = 0; i < loaded.rep.nresults; i++)
		shown_select(&loaded.results[i].findings, asked.verbosity > 0, false);
	rc = try_findings(&loaded, format, argv);
	json_loaded_free(&loaded);
	return rc;
}

const struct command cmd_confirm = {
	.name = "confirm",
	.synopsis = "[options] TRACE|FINDINGS.json [--] PROGRAM ARGUMENTS...",
	.summary = "drive a program into what was predicted for it",
	.opts = opts,
	.run = confirm,
};
