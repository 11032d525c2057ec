/* A campaign as a job of Slurm, or of GNU parallel. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/program.h"
#include "cli/campaign.h"

#include "base/banned.h"

enum { JOBS_MAX = 100000 };

struct job {
	char *folder; /* the campaign's, from the root; quoted for a shell in `quoted` */
	char *self;
	struct str quoted, text;
};

static void end_job(struct job *j)
{
	free(j->folder);
	mem_free(j->self);
	str_free(&j->quoted);
	str_free(&j->text);
}

static void add_word(struct str *out, const char *word)
{
	const char *words[] = {word, NULL};

	campaign_add_words(out, words);
}

static int begin_job(struct job *j, const char *path, uint64_t jobs)
{
	struct campaign c;
	struct err err = {0};

	*j = (struct job){.quoted = STR_INIT, .text = STR_INIT};
	if (!jobs || jobs > JOBS_MAX)
		return cli_error("--jobs takes a number from 1 to %d", JOBS_MAX);
	if (campaign_open(&c, path, &err))
		return cli_error("%s", err.text);
	campaign_free(&c);
	j->folder = realpath(path, NULL);
	j->self = campaign_self();
	if (!j->folder || !j->self)
		return cli_error("%s: %s", path, strerror(errno));
	if (strpbrk(j->folder, "\n\"\\")) {
		end_job(j);
		return cli_error("%s: the name of this folder cannot be passed to another program",
				 path);
	}
	add_word(&j->quoted, j->folder);
	return 0;
}

static int print_text(const struct job *j)
{
	fwrite(j->text.s, 1, j->text.n, stdout);
	return 0;
}

/* Gives the text to a program's standard input. */
static int pipe_text(const struct job *j, const char *program, const char *hint)
{
	struct str path = STR_INIT;
	bool there = program_find(&path, program, NULL, NULL);
	FILE *p;
	int status;

	str_free(&path);
	if (!there)
		return cli_error("there is no %s here; without --submit, %s", program, hint);
	p = popen(program, "w");
	if (!p)
		return cli_error("%s: %s", program, strerror(errno));
	fwrite(j->text.s, 1, j->text.n, p);
	status = pclose(p);
	if (status == -1)
		return cli_error("%s: %s", program, strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_BAD;
}

/* --output=... of Slurm, in which a percent sign has a meaning. */
static void add_log(struct str *out, const char *folder)
{
	str_add(out, "#SBATCH --output=\"");
	for (; *folder; folder++)
		str_fmt(out, "%s%c", *folder == '%' ? "%" : "", *folder);
	str_add(out, "/slurm-%A_%a.log\"\n");
}

int campaign_slurm(const char *path, uint64_t jobs, bool submit, char **more)
{
	struct job j;
	int rc = begin_job(&j, path, jobs);

	if (rc)
		return rc;
	str_fmt(&j.text,
		"#!/bin/sh\n"
		"#SBATCH --job-name=atomsan-campaign\n"
		"#SBATCH --array=1-%" PRIu64 "\n"
		"#SBATCH --ntasks=1\n"
		"#SBATCH --requeue\n"
		"#SBATCH --open-mode=append\n",
		jobs);
	add_log(&j.text, j.folder);
	for (size_t i = 0; more[i]; i++)
		str_fmt(&j.text, "#SBATCH %s\n", more[i]);
	add_word(&j.text, "exec");
	str_addc(&j.text, ' ');
	add_word(&j.text, j.self);
	str_fmt(&j.text, " campaign work %s\n", j.quoted.s);
	rc = submit ? pipe_text(&j, "sbatch", "the job is printed") : print_text(&j);
	end_job(&j);
	return rc;
}

int campaign_parallel(const char *path, uint64_t jobs, bool submit, char **more)
{
	struct job j;
	int rc = begin_job(&j, path, jobs);

	if (rc)
		return rc;
	str_fmt(&j.text, "seq %" PRIu64 " | parallel -N0 --jobs=%" PRIu64, jobs, jobs);
	for (size_t i = 0; more[i]; i++) {
		str_addc(&j.text, ' ');
		add_word(&j.text, more[i]);
	}
	str_addc(&j.text, ' ');
	add_word(&j.text, j.self);
	/* GNU parallel gives the words to a shell, once more. */
	str_add(&j.text, " campaign work ");
	if (!strcmp(j.quoted.s, j.folder))
		str_add(&j.text, j.quoted.s);
	else
		add_word(&j.text, j.quoted.s);
	str_addc(&j.text, '\n');
	if (submit) {
		struct str path_of = STR_INIT;

		rc = program_find(&path_of, "parallel", NULL, NULL)
			     ? pipe_text(&j, "sh", "")
			     : cli_error("there is no parallel here; without --submit, the command "
					 "is printed");
		str_free(&path_of);
	} else {
		rc = print_text(&j);
	}
	end_job(&j);
	return rc;
}
