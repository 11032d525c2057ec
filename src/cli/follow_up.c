#include "cli/follow_up.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/printing.h"
#include "engine/doublechecker/suspects.h"
#include "report/color.h"
#include "report/json.h"
#include "report/shown.h"

#include "base/banned.h"

/* A folder for the files of the two runs. */
static int make_folder(struct str *folder, struct err *err)
{
	file_add_temporary(folder);
	return mkdtemp(folder->s) ? 0 : err_sys(err, "%s", folder->s);
}

static char *join_path(const struct str *folder, const char *name)
{
	struct str s = STR_INIT;

	str_fmt(&s, "%s/%s", folder->s, name);
	return s.s;
}

/* Runs `atomsan run MODE ... -- PROGRAM`, with its findings in `out`. Returns its status. */
static int run_checked(const struct follow_up *f, const char *mode, const char *out, char **program)
{
	struct str output = STR_INIT;
	char **word;
	size_t n = 0, words = 0;
	int rc;

	while (program[words])
		words++;
	word = mem_zalloc((words + f->noptions + 8) * sizeof *word);
	str_fmt(&output, "--output=%s", out);
	word[n++] = mem_strdup("/proc/self/exe");
	word[n++] = mem_strdup("run");
	word[n++] = mem_strdup(mode);
	word[n++] = mem_strdup("--format=json");
	word[n++] = mem_strdup(output.s);
	for (size_t i = 0; i < f->noptions; i++)
		word[n++] = mem_strdup(f->options[i]);
	word[n++] = mem_strdup("--");
	for (size_t i = 0; i < words; i++)
		word[n++] = mem_strdup(program[i]);
	rc = child_start(word);
	if (!rc)
		rc = child_wait();
	while (n)
		mem_free(word[--n]);
	mem_free(word);
	str_free(&output);
	return rc;
}

/* Reads the findings that a run has written. Returns how many of them are shown, -1 on an error. */
static int load_findings(const struct follow_up *f, const char *path, struct json_loaded *loaded,
			 struct err *err)
{
	struct str text = STR_INIT;
	int found = 0;

	if (file_read(path, &text, err) ||
	    json_load(loaded, "the findings of the run", text.s, text.n, err)) {
		str_free(&text);
		return -1;
	}
	str_free(&text);
	for (size_t i = 0; i < loaded->rep.nresults; i++) {
		struct finding_list *l = &loaded->results[i].findings;

		shown_select(l, f->verbosity > 0, false);
		found += (int)shown_count(l);
	}
	return found;
}

/* The blocks of a finding, and whether it has operations outside of blocks. */
static void add_suspects(struct suspects *s, const struct finding *f)
{
	if (f->blame.label)
		suspects_add(s, f->blame.label);
	for (size_t i = 0; i < f->nsteps; i++) {
		if (f->steps[i].label)
			suspects_add(s, f->steps[i].label);
		else
			s->outside = true;
	}
}

static void collect_suspects(struct suspects *s, const struct json_loaded *loaded)
{
	for (size_t i = 0; i < loaded->rep.nresults; i++) {
		const struct finding_list *l = &loaded->results[i].findings;

		for (size_t k = 0; k < l->n; k++)
			add_suspects(s, l->v[k]);
	}
}

/* Says which blocks are checked now. */
static void announce(const struct suspects *s)
{
	struct str names = STR_INIT;

	for (size_t i = 0; i < s->n; i++)
		str_fmt(&names, "%s%s", i ? ", " : "", s->v[i]);
	note("the skeleton run blames blocks; the program runs again, and %s %s checked in full",
	     s->n ? names.s : "what is outside of blocks", s->n > 1 ? "are" : "is");
	str_free(&names);
}

static int print_report(const struct follow_up *f, struct json_loaded *loaded)
{
	loaded->rep.verbosity = f->verbosity;
	color_decide(f->color, f->output ? -1 : 2, &loaded->rep.color);
	if (f->output) {
		printing_asked.output = f->output;
		return printing_report(&loaded->rep, f->format);
	}
	f->format->write(&loaded->rep, stderr);
	return fflush(stderr) ? cli_error("the findings could not be printed") : 0;
}

/*
 * Runs the program again with the suspects of `first`. Sets `*status` to its status. Returns how
 * many findings of the second run are in `second`, or -1.
 */
static int check_suspects(const struct follow_up *f, char **program, const struct str *folder,
			  const struct json_loaded *first, struct json_loaded *second, int *status,
			  struct err *err)
{
	char *names = join_path(folder, "suspects"), *findings = join_path(folder, "second.json");
	struct suspects s = {0};
	struct str mode = STR_INIT;
	int found = -1;

	collect_suspects(&s, first);
	if (!suspects_write(&s, names, err)) {
		if (f->verbosity >= 0)
			announce(&s);
		str_fmt(&mode, "--second-run=%s", names);
		*status = run_checked(f, mode.s, findings, program);
		found = load_findings(f, findings, second, err);
	}
	unlink(names);
	unlink(findings);
	mem_free(names);
	mem_free(findings);
	str_free(&mode);
	suspects_free(&s);
	return found;
}

/* Prints the findings of both runs: those of the second, if it has some. */
static int check_and_print(const struct follow_up *f, char **program, const struct str *folder,
			   struct json_loaded *first, int *status)
{
	struct json_loaded second;
	struct err err = {0};
	int found, rc;

	found = check_suspects(f, program, folder, first, &second, status, &err);
	if (found < 0)
		note("%s", err.text);
	if (found <= 0 && f->verbosity >= 0)
		note("the second run did not do it again: this is what the skeleton run found");
	rc = print_report(f, found > 0 ? &second : first);
	if (found >= 0)
		json_loaded_free(&second);
	return rc;
}

int follow_up_run(const struct follow_up *f, char **program)
{
	struct str folder = STR_INIT;
	struct json_loaded first;
	struct err err = {0};
	char *findings;
	int status, again = 0, found, rc;

	if (make_folder(&folder, &err))
		return cli_error("%s", err.text);
	findings = join_path(&folder, "first.json");
	status = run_checked(f, "--skeleton", findings, program);
	found = load_findings(f, findings, &first, &err);
	unlink(findings);
	if (found < 0)
		rc = status ? status : cli_error("%s", err.text);
	else if (found)
		rc = check_and_print(f, program, &folder, &first, &again);
	else
		rc = print_report(f, &first);
	if (found >= 0)
		json_loaded_free(&first);
	rmdir(folder.s);
	mem_free(findings);
	str_free(&folder);
	return rc ? rc : status ? status : again;
}
