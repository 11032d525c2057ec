/*
 * Run an instrumented program and keep its recording.
 *
 * The program writes a raw recording FILE.raw.RANDOM.PID next to the trace; when it has ended, that
 * becomes the trace. RANDOM is new for each run, so that only files of this run are converted and
 * removed. Each process that records has its own trace: FILE for the program, FILE.PID
 * for another process.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/output_file.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "trace/raw_format.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include "base/banned.h"

extern const struct command cmd_record;

static struct {
	const char *output;
	bool children;
	int quiet, verbose;
} o;

static const struct opt opts[] = {
	OPT_STR('o', "output", "FILE", &o.output, "write the trace to FILE (atomsan.atrace)"),
	OPT_FLAG(0, "children", &o.children,
		 "also record the processes that the program forks, to FILE.PID"),
	OPT_COUNT('q', "quiet", &o.quiet, "print no progress"),
	OPT_COUNT('v', "verbose", &o.verbose, "print what was recorded"),
	OPT_STOP_AT_WORD,
	OPT_END,
};

/* An absolute path: the program may change its directory. */
static char *raw_path(struct err *err)
{
	struct str s = STR_INIT;
	char cwd[PATH_MAX];

	if (o.output[0] != '/') {
		if (!getcwd(cwd, sizeof cwd)) {
			err_sys(err, "the current directory");
			return NULL;
		}
		str_fmt(&s, "%s/", cwd);
	}
	str_fmt(&s, "%s.raw", o.output);
	output_file_add_random(&s);
	return s.s;
}

static int set_options(const char *raw, struct err *err)
{
	struct str s = STR_INIT;
	int rc;

	if (strchr(raw, '%'))
		return err_fail(err, "%s: this name cannot be passed to the program", raw);
	str_fmt(&s, "%s.%%p", raw);
	rc = child_add_option("check", "0", err);
	if (!rc)
		rc = child_add_option("record", s.s, err);
	if (!rc && o.children)
		rc = child_add_option("record_children", "1", err);
	str_free(&s);
	return rc;
}

/* Prints how far the program is, from the first page of its recording. */
static void show_progress(const char *raw, double since)
{
	struct raw_header h;
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%s.%d", raw, (int)child_pid());
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	n = read(fd, &h, sizeof h);
	close(fd);
	if (n == (ssize_t)sizeof h)
		fprintf(stderr,
			"\r\033[Krecording: %.0f s, %.1f million events, %.1f MB, %u thread%s",
			clock_seconds() - since, (double)h.end / sizeof(struct raw_unit) / 1e6,
			(double)h.end / 1e6, h.threads, h.threads == 1 ? "" : "s");
}

static int wait_for(const char *raw)
{
	bool show = !o.quiet && isatty(2), shown = false;
	struct pollfd p = {.fd = child_descriptor(), .events = POLLIN};
	double since = clock_seconds();

	while (show && p.fd >= 0 && !p.revents) {
		poll(&p, 1, 200);
		if (clock_seconds() - since > 1) {
			show_progress(raw, since);
			shown = true;
		}
	}
	if (shown)
		fputs("\r\033[K", stderr);
	if (p.fd >= 0)
		close(p.fd);
	return child_wait();
}

/*
 * Opens a raw recording. The program can write to this folder, and so may others: a link, a pipe or
 * a file of another user is none of this run's. Returns NULL with a sentence in `err`.
 */
static struct reader *open_raw(const char *raw, struct err *err)
{
	struct reader_options ropt = {.keep_repeats = true, .all_blocks = true};
	int fd = open(raw, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		err_sys(err, "%s", raw);
		return NULL;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (st.st_uid != geteuid() && geteuid())) {
		close(fd);
		err_fail(err, "%s: this file is not from this run", raw);
		return NULL;
	}
	return reader_open_fd(fd, raw, &ropt, err);
}

/* Converts a raw recording to a trace, and removes it. `own`: the user did not choose the name. */
static int convert_recording(const char *raw, const char *to, bool own, struct err *err)
{
	struct reader *r = open_raw(raw, err);
	enum trace_format format = trace_format_by_path(to);
	static struct event ev[READER_BATCH];
	struct writer *w;
	struct stat st;
	int n;

	if (!r)
		return -1;
	format = format == TRACE_UNKNOWN ? TRACE_ATRACE : format;
	w = own ? writer_open_own(to, format, err) : writer_open(to, format, err);
	if (!w) {
		reader_close(r);
		return -1;
	}
	progress_start(o.quiet);
	while ((n = reader_next(r, ev, err)) > 0) {
		progress_tick(r, 1);
		n = writer_put(w, reader_names(r), ev, (size_t)n, err);
		if (n < 0)
			break;
	}
	progress_end();
	if (!n)
		n = writer_put(w, reader_names(r), NULL, 0, err);
	if (n) {
		struct err ignored = {0};

		writer_close(w, &ignored);
	} else {
		n = writer_close(w, err);
	}
	if (!n && o.verbose && !stat(to, &st))
		note("%s: %llu events, %.1f bytes each", to,
		     (unsigned long long)reader_counts(r)->events,
		     (double)st.st_size / (double)(reader_counts(r)->events + 1));
	reader_close(r);
	if (!n)
		unlink(raw);
	return n;
}

/* Converts all recordings. Returns how many there are, or -1. */
static int finish_all(const char *raw)
{
	struct str pattern = STR_INIT, to = STR_INIT;
	int done = 0;
	glob_t found;

	for (const char *p = raw; *p; p++) {
		if (strchr("*?[\\", *p))
			str_addc(&pattern, '\\');
		str_addc(&pattern, *p);
	}
	str_add(&pattern, ".*");
	if (!glob(pattern.s, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++) {
			const char *pid = found.gl_pathv[i] + strlen(raw) + 1;
			bool own = strtol(pid, NULL, 10) != child_pid();
			struct err err = {0};

			str_reset(&to);
			str_add(&to, o.output);
			if (own)
				str_fmt(&to, ".%s", pid);
			if (convert_recording(found.gl_pathv[i], to.s, own, &err)) {
				cli_error("%s", err.text);
				note("%s is kept; all commands can read it", found.gl_pathv[i]);
				done = -1;
			}
			if (done >= 0)
				done++;
		}
		globfree(&found);
	}
	str_free(&pattern);
	str_free(&to);
	return done;
}

/*
 * Opens the trace's file, creating it if there is none, and locks it: a second recording to the
 * same file would take the raw recordings of the first. Returns the descriptor, or -1.
 */
static int open_output(struct err *err)
{
	for (;;) {
		int fd = open(o.output, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		struct stat opened = {0}, named = {0};

		if (fd < 0)
			return err_sys(err, "%s", o.output);
		if (fstat(fd, &opened) || !S_ISREG(opened.st_mode))
			return fd;
		if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
			close(fd);
			return err_fail(err, "%s: another 'atomsan record' is writing this file",
					o.output);
		}
		/* Another recording may have replaced the file before it was locked here. */
		if (!stat(o.output, &named) && named.st_ino == opened.st_ino &&
		    named.st_dev == opened.st_dev)
			return fd;
		close(fd);
	}
}

/* Is the file empty that open_output() may have created? */
static bool is_empty(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !st.st_size;
}

static int record(int argc, char **argv)
{
	struct err err = {0};
	bool was_there;
	char *raw;
	int rc, status, done, output;

	if (!argc)
		return cli_usage(&cmd_record, "which program?");
	if (!o.output)
		o.output = "atomsan.atrace";
	if (!strcmp(o.output, "-"))
		return cli_usage(&cmd_record, "a recording needs a file");
	raw = raw_path(&err);
	if (!raw || set_options(raw, &err)) {
		mem_free(raw);
		return cli_error("%s", err.text);
	}
	/* Fail now, not after the program has run for an hour. */
	was_there = !access(o.output, F_OK);
	output = open_output(&err);
	if (output < 0) {
		mem_free(raw);
		return cli_error("%s", err.text);
	}
	rc = child_start(argv);
	if (rc) {
		mem_free(raw);
		if (!was_there)
			unlink(o.output);
		close(output);
		return rc;
	}
	status = wait_for(raw);
	done = finish_all(raw);
	mem_free(raw);
	if (done <= 0 && !was_there && is_empty(o.output))
		unlink(o.output);
	close(output);
	if (!done) {
		cli_error("%s recorded nothing: was it linked by atomsan-cc?", argv[0]);
		return status ? status : EXIT_BAD;
	}
	return done < 0 && !status ? EXIT_BAD : status;
}

const struct command cmd_record = {
	.name = "record",
	.synopsis = "[-o FILE] [--] PROGRAM ARGUMENTS...",
	.summary = "run an instrumented program and write a trace",
	.opts = opts,
	.run = record,
};
