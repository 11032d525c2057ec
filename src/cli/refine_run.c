#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/refine.h"

#include "base/banned.h"

extern char **environ;

/* Seconds between SIGTERM and SIGKILL; how many lines of the program's output are shown. */
enum { GRACE = 3, OUTPUT_LINES = 10, OUTPUT_BYTES = 4096 };

static volatile sig_atomic_t stop;

/* The folder of the run, for the signal handler: checking its recordings may take long. */
static struct {
	volatile sig_atomic_t checked;
	glob_t recordings;
	const char *folder, *output;
} left;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
	if (!left.checked)
		return;
	for (size_t i = 0; i < left.recordings.gl_pathc; i++)
		unlink(left.recordings.gl_pathv[i]);
	unlink(left.output);
	rmdir(left.folder);
	_exit(0);
}

void refine_answer_free(struct refine_answer *a)
{
	mem_free(a->error);
	mem_free(a->trouble);
	mem_free(a->output);
	while (a->n) {
		mem_free(a->v[--a->n].name);
		mem_free(a->v[a->n].why);
		mem_free(a->v[a->n].reason);
	}
	mem_free(a->v);
	while (a->nunused)
		mem_free(a->unused[--a->nunused]);
	mem_free(a->unused);
	refine_pairs_free(&a->pairs);
	*a = (struct refine_answer){0};
}

static void set_options(const char *folder, bool online)
{
	const char *had = getenv("ATOMSAN_OPTIONS");
	char quote = strchr(folder, '"') ? '\'' : '"';
	struct str s = STR_INIT;

	if (had && *had)
		str_fmt(&s, "%s:", had);
	if (online)
		str_add(&s, "exitcode=0"); /* keep the program's status */
	else
		str_fmt(&s, "check=0:record=%c%s/raw.%%p%c:record_children=1", quote, folder,
			quote);
	setenv("ATOMSAN_OPTIONS", s.s, 1);
	str_free(&s);
}

/* Starts it in its own process group, which can be killed as a whole. Returns its pid, or -errno.
 */
static pid_t spawn_program(const struct refine_job *job, char **argv, const char *output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, usual;
	pid_t pid = 0;
	int rc;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGINT);
	sigaddset(&usual, SIGTERM);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &usual);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!job->show) {
		posix_spawn_file_actions_addopen(&files, 1, output, O_WRONLY | O_CREAT | O_APPEND,
						 0600);
		posix_spawn_file_actions_adddup2(&files, 1, 2);
	}
	rc = posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return rc ? -rc : pid;
}

static char *in_folder(const char *folder, const char *name)
{
	struct str s = STR_INIT;

	str_fmt(&s, "%s/%s", folder, name);
	return s.s;
}

/* Starts `atomsan run` with the program. */
static pid_t spawn_online(const struct refine_job *job, const char *folder, const char *output)
{
	char *spec = in_folder(folder, "spec"), *found = in_folder(folder, "found.json");
	struct str with_spec = STR_INIT, engine = STR_INIT;
	size_t n = 0, words = 0;
	struct err err = {0};
	char **argv, self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
	pid_t pid = -EIO;

	while (job->argv[words])
		words++;
	argv = mem_zalloc((words + 16) * sizeof *argv);
	str_fmt(&with_spec, "--spec=%s", spec);
	str_fmt(&engine, "--engine=%s", job->engine->name);
	if (len > 0 && !file_replace(spec, job->spec->s, job->spec->n, &err)) {
		self[len] = 0;
		argv[n++] = self;
		argv[n++] = (char *)"run";
		argv[n++] = (char *)"--format=json";
		argv[n++] = (char *)"-o";
		argv[n++] = found;
		argv[n++] = with_spec.s;
		argv[n++] = engine.s;
		argv[n++] = (char *)"--";
		for (size_t i = 0; i < words; i++)
			argv[n++] = job->argv[i];
		pid = spawn_program(job, argv, output);
	}
	mem_free(argv);
	mem_free(spec);
	mem_free(found);
	str_free(&with_spec);
	str_free(&engine);
	return pid;
}

/* Takes what `atomsan run` found; it says so if the program was not instrumented. */
static void take_online(const struct refine_job *job, const char *folder, const char *output,
			bool wanted, struct refine_answer *out)
{
	static const char nothing[] = "atomsan: nothing was checked";
	char *spec = in_folder(folder, "spec"), *found = in_folder(folder, "found.json");
	struct str said = STR_INIT;
	struct err ignored = {0};

	if (job->show || file_read(output, &said, &ignored) || !strstr(said.s, nothing))
		out->recordings = 1;
	if (wanted && out->recordings)
		refine_take(found, job, out);
	unlink(spec);
	unlink(found);
	mem_free(spec);
	mem_free(found);
	str_free(&said);
}

/* Waits so many seconds, or forever if 0. Returns false if it still runs. */
static bool wait_for(pid_t pid, uint64_t seconds, int *status)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	int timeout = !seconds ? -1 : seconds > 1000000ul ? 1000000000 : (int)(seconds * 1000);
	int rc = p.fd < 0 ? 1 : poll(&p, 1, timeout);

	if (p.fd >= 0)
		close(p.fd);
	if (rc == 0 || (rc < 0 && stop))
		return false;
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		if (stop)
			return false;
	return true;
}

/* Waits for the program's end. Returns false if the command was stopped: no answer is needed. */
static bool wait_to_end(const struct refine_job *job, pid_t pid, struct refine_answer *out)
{
	bool stopped = false;

	if (!wait_for(pid, job->timeout, &out->status)) {
		stopped = stop;
		out->timed_out = !stopped;
		stop = 0;
		kill(-pid, SIGTERM);
		if (!wait_for(pid, GRACE, &out->status)) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &out->status, 0) < 0 && errno == EINTR)
				;
		}
	}
	/* Processes that it has left running would disturb the next run. */
	kill(-pid, SIGKILL);
	return !stopped;
}

/* Returns the last lines of a file, or NULL. */
static char *read_tail(const char *path)
{
	FILE *f = fopen(path, "re");
	char buf[OUTPUT_BYTES + 1];
	const char *from;
	size_t n;
	int lines = 0;

	if (!f)
		return NULL;
	if (fseek(f, -OUTPUT_BYTES, SEEK_END))
		rewind(f);
	n = fread(buf, 1, OUTPUT_BYTES, f);
	fclose(f);
	while (n && buf[n - 1] == '\n')
		n--;
	buf[n] = 0;
	for (from = buf + n; from > buf; from--)
		if (from[-1] == '\n' && ++lines == OUTPUT_LINES)
			break;
	return n ? mem_strdup(from) : NULL;
}

/* Checks the recordings, if they are needed, and removes them. */
static void take_all(const struct refine_job *job, const char *folder, const char *output,
		     bool wanted, struct refine_answer *out)
{
	glob_t *found = &left.recordings;
	struct str pattern = STR_INIT;

	left.folder = folder;
	left.output = output;
	str_fmt(&pattern, "%s/raw.*", folder);
	if (!glob(pattern.s, 0, NULL, found)) {
		left.checked = 1;
		for (size_t i = 0; i < found->gl_pathc; i++) {
			if (wanted && !stop)
				refine_check(found->gl_pathv[i], job, out);
			unlink(found->gl_pathv[i]);
		}
		left.checked = 0;
		globfree(found);
	}
	str_free(&pattern);
}

static void set_failure(struct refine_answer *out, const char *what, int number)
{
	struct str s = STR_INIT;

	str_fmt(&s, "%s: %s", what, strerror(number));
	out->error = s.s;
}

/* Makes a whole run. */
static void run_whole(const struct refine_job *job, struct refine_answer *out)
{
	const char *tmp = getenv("TMPDIR");
	struct str folder = STR_INIT, output = STR_INIT;
	pid_t pid;

	str_fmt(&folder, "%s/atomsan-refine-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (folder.n > 2000 || strpbrk(folder.s, "\"'%*?[\\") || !mkdtemp(folder.s)) {
		set_failure(out, folder.s, errno ? errno : EINVAL);
		str_free(&folder);
		return;
	}
	str_fmt(&output, "%s/output", folder.s);
	set_options(folder.s, job->online);
	pid = job->online ? spawn_online(job, folder.s, output.s)
			  : spawn_program(job, job->argv, output.s);
	if (pid < 0) {
		set_failure(out, job->argv[0], -pid);
	} else {
		bool wanted = wait_to_end(job, pid, out);

		if (job->online)
			take_online(job, folder.s, output.s, wanted, out);
		else
			take_all(job, folder.s, output.s, wanted, out);
		out->output = job->show ? NULL : read_tail(output.s);
	}
	unlink(output.s);
	rmdir(folder.s);
	str_free(&folder);
	str_free(&output);
}

/*
 * The answer in the pipe: texts, each followed by a NUL. A missing text is empty.
 */
static void put_text(struct str *s, const char *text)
{
	str_add(s, text ? text : "");
	str_addc(s, 0);
}

static void put_number(struct str *s, uint64_t n)
{
	str_fmt(s, "%llu", (unsigned long long)n);
	str_addc(s, 0);
}

static void put_answer(struct str *s, const struct refine_answer *a)
{
	put_text(s, a->error);
	put_number(s, (uint64_t)(unsigned)a->status);
	put_number(s, a->timed_out);
	put_number(s, a->recordings);
	put_text(s, a->trouble);
	put_text(s, a->output);
	put_number(s, a->n);
	for (size_t i = 0; i < a->n; i++) {
		put_number(s, a->v[i].what);
		put_text(s, a->v[i].name);
		put_text(s, a->v[i].why);
		put_text(s, a->v[i].reason);
		put_number(s, a->v[i].class);
		put_number(s, a->v[i].stuck);
	}
	put_number(s, a->nunused);
	for (size_t i = 0; i < a->nunused; i++)
		put_text(s, a->unused[i]);
	put_number(s, a->pairs.n);
	for (size_t i = 0; i < a->pairs.n; i++) {
		put_text(s, a->pairs.v[i].text);
		put_number(s, a->pairs.v[i].cut);
	}
	put_text(s, "done");
}

struct got {
	const char *at, *end;
};

/* Returns the next text; "" after the last. */
static const char *next_text(struct got *g)
{
	const char *text = g->at, *zero = memchr(g->at, 0, (size_t)(g->end - g->at));

	if (!zero)
		return "";
	g->at = zero + 1;
	return text;
}

static char *get_text(struct got *g)
{
	const char *text = next_text(g);

	return *text ? mem_strdup(text) : NULL;
}

static uint64_t get_number(struct got *g)
{
	return strtoull(next_text(g), NULL, 10);
}

bool refine_read(const char *bytes, size_t n, struct refine_answer *out)
{
	struct got g = {bytes, bytes + n};
	uint64_t many;

	*out = (struct refine_answer){0};
	if (n < 5 || memcmp(bytes + n - 5, "done", 5) != 0)
		return false;
	out->error = get_text(&g);
	out->status = (int)get_number(&g);
	out->timed_out = get_number(&g);
	out->recordings = get_number(&g);
	out->trouble = get_text(&g);
	out->output = get_text(&g);
	for (many = get_number(&g); many; many--) {
		struct refine_block b = {.what = (enum spec_what)get_number(&g)};

		b.name = mem_strdup(next_text(&g));
		b.why = mem_strdup(next_text(&g));
		b.reason = mem_strdup(next_text(&g));
		b.class = (enum finding_class)get_number(&g);
		b.stuck = get_number(&g);
		MEM_GROW(out->v, out->cap, out->n + 1);
		out->v[out->n++] = b;
	}
	for (many = get_number(&g); many; many--) {
		MEM_GROW(out->unused, out->unused_cap, out->nunused + 1);
		out->unused[out->nunused++] = mem_strdup(next_text(&g));
	}
	for (many = get_number(&g); many; many--) {
		const char *text = next_text(&g);

		refine_add_pair(&out->pairs, text, get_number(&g), 1);
	}
	return true;
}

static void send_all(int fd, const struct str *s)
{
	size_t done = 0;

	while (done < s->n) {
		ssize_t n = write(fd, s->s + done, s->n - done);

		if (n < 0 && errno != EINTR)
			return;
		done += n > 0 ? (size_t)n : 0;
	}
}

pid_t refine_start(const struct refine_job *job, int *fd, struct err *err)
{
	struct sigaction catch = {.sa_handler = on_signal};
	struct refine_answer answer = {0};
	struct str s = STR_INIT;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return err_sys(err, "pipe");
	fflush(NULL);
	pid = fork();
	if (pid) {
		close(ends[1]);
		*fd = ends[0];
		if (pid > 0)
			return pid;
		close(ends[0]);
		return err_sys(err, "fork");
	}
	/* If the command is killed, this run ends, too, and cleans up. */
	sigaction(SIGINT, &catch, NULL);
	sigaction(SIGTERM, &catch, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	run_whole(job, &answer);
	put_answer(&s, &answer);
	send_all(ends[1], &s);
	str_free(&s);
	refine_answer_free(&answer);
	_exit(0);
}
