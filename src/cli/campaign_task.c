/* One run of a campaign: starts the command, waits for it, collects what it wrote. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/campaign.h"

#include "base/banned.h"

enum {
	OUTPUT_BYTES = 4096,
	OUTPUT_LINES = 20,
	GRACE_S = 5, /* between SIGTERM and SIGKILL */
	POLL_MS = 200,
	SCHEDULES_MAX = 100 /* of one run */
};

char *campaign_self(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	return n > 0 ? mem_strndup(path, (size_t)n) : NULL;
}

static const char *temporary_folder(void)
{
	const char *s = getenv("TMPDIR");

	return s && *s == '/' ? s : "/tmp";
}

static void temporary_name(struct str *out, const char *run, const char *end)
{
	str_reset(out);
	str_fmt(out, "%s/atomsan-%s%s", temporary_folder(), run, end);
}

/* --- the process --- */

struct process {
	pid_t pid;
	int out;    /* what it prints */
	int status; /* an exit status, as a shell has it */
	bool timed_out;
	char last[OUTPUT_BYTES]; /* a ring */
	size_t printed;
};

static _Noreturn void become(const struct task *t, char **argv, const char *into, int out)
{
	int to = into ? open(into, O_WRONLY | O_CREAT | O_TRUNC, 0600) : out;
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	setpgid(0, 0);
	/* If the worker is killed, the run ends, too. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (null < 0 || to < 0 || dup2(null, 0) < 0 || dup2(to, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	if (chdir(t->c->folder)) {
		fprintf(stderr, "%s: %s\n", t->c->folder, strerror(errno));
		_exit(126);
	}
	execv(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Standard output goes into the file `into`, or is taken with standard error (NULL). */
static int start(const struct task *t, char **argv, const char *into, struct process *p,
		 struct err *err)
{
	int fd[2];

	*p = (struct process){.pid = -1};
	if (pipe2(fd, O_CLOEXEC))
		return err_sys(err, "cannot make a pipe");
	fflush(NULL);
	p->pid = fork();
	if (!p->pid)
		become(t, argv, into, fd[1]);
	close(fd[1]);
	p->out = fd[0];
	if (p->pid < 0) {
		close(p->out);
		return err_sys(err, "cannot start a process");
	}
	setpgid(p->pid, p->pid); /* the child does the same; one of them is first */
	fcntl(p->out, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Takes what was printed. Returns false after the end. */
static bool take_output(struct process *p)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(p->out, buf, sizeof buf)) > 0)
		for (ssize_t i = 0; i < n; i++)
			p->last[p->printed++ % OUTPUT_BYTES] = buf[i];
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static bool has_ended(struct process *p)
{
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false;
	p->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

/* Waits for the end of the process; ends it if the time is over, or the worker has to stop. */
static void wait_for(const struct task *t, struct process *p)
{
	int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	double begun = clock_seconds(), asked = 0;
	bool open = true;

	while (!has_ended(p)) {
		struct pollfd v[] = {{.fd = open ? p->out : -1, .events = POLLIN},
				     {.fd = pidfd, .events = POLLIN}};
		double now;

		poll(v, 2, pidfd < 0 ? 10 : POLL_MS);
		open = open && take_output(p);
		worker_beat(t->w);
		now = clock_seconds();
		if (!asked && t->c->timeout && now - begun >= (double)t->c->timeout)
			p->timed_out = true;
		if (!asked && (p->timed_out || *t->stop)) {
			kill(-p->pid, SIGTERM);
			asked = now;
		} else if (asked && now - asked >= GRACE_S) {
			kill(-p->pid, SIGKILL);
		}
	}
	/* What it left behind. */
	kill(-p->pid, SIGKILL);
	take_output(p);
	close(p->out);
	if (pidfd >= 0)
		close(pidfd);
}

/* Adds the last lines that it printed. */
static void add_output(const struct process *p, struct str *out)
{
	size_t n = p->printed < OUTPUT_BYTES ? p->printed : OUTPUT_BYTES, from = p->printed - n;
	struct str all = STR_INIT;
	size_t at, lines = 0;

	for (size_t i = 0; i < n; i++) {
		char c = p->last[(from + i) % OUTPUT_BYTES];

		str_addc(&all, c ? c : '?');
	}
	while (all.n && all.s[all.n - 1] == '\n')
		all.s[--all.n] = 0;
	for (at = all.n; at && lines < OUTPUT_LINES; at--)
		lines += all.s[at - 1] == '\n';
	if (lines == OUTPUT_LINES)
		at++;
	str_reset(out);
	str_add(out, all.s + at);
	str_free(&all);
}

/* --- the command --- */

/* How many of the words after the first are options. */
static size_t count_options(const struct campaign *c)
{
	size_t n = 1;

	while (n < c->nwords && c->command[n][0] == '-' && strcmp(c->command[n], "--") != 0)
		n++;
	return n - 1;
}

/* Runs SELF with these words, and more words after them. */
static int run_words(struct task *t, const char *const *first, const char *const *more,
		     const char *into, struct process *p, struct err *err)
{
	char **argv, *self = campaign_self();
	size_t n = 1, words = 1;
	int rc;

	if (!self)
		return err_fail(err, "cannot find this program in /proc");
	for (size_t i = 0; first[i]; i++)
		words++;
	for (size_t i = 0; more[i]; i++)
		words++;
	argv = mem_zalloc((words + 1) * sizeof *argv);
	argv[0] = self;
	for (size_t i = 0; first[i]; i++)
		argv[n++] = (char *)first[i];
	for (size_t i = 0; more[i]; i++)
		argv[n++] = (char *)more[i];
	rc = start(t, argv, into, p, err);
	if (!rc)
		wait_for(t, p);
	mem_free(argv);
	mem_free(self);
	return rc;
}

/* run, and later kinds that write a report themselves. */
static int make_report(struct task *t, const char *out, struct process *p, struct err *err)
{
	struct str option = STR_INIT;
	const char *first[] = {t->c->command[0], "--format=json", NULL, NULL};
	int rc;

	str_fmt(&option, "--output=%s", out);
	first[2] = option.s;
	rc = run_words(t, first, t->c->command + 1, NULL, p, err);
	str_free(&option);
	return rc;
}

/* predict: records the program, then predicts from the recording. */
static int make_prediction(struct task *t, const char *out, struct process *p, struct err *err)
{
	size_t n = count_options(t->c);
	struct str trace = STR_INIT, option = STR_INIT;
	const char **words = mem_zalloc((n + 6) * sizeof *words);
	struct process predict;
	int rc;

	temporary_name(&trace, t->name.s, ".atrace");
	str_fmt(&option, "--output=%s", trace.s);
	words[0] = "record";
	words[1] = option.s;
	rc = run_words(t, words, t->c->command + 1 + n, NULL, p, err);
	if (!rc && !access(trace.s, R_OK) && !p->timed_out && !*t->stop) {
		str_reset(&option);
		str_fmt(&option, "--output=%s", out);
		words[0] = "predict";
		words[1] = "--format=json";
		words[2] = option.s;
		memcpy(words + 3, t->c->command + 1, n * sizeof *words);
		words[3 + n] = trace.s;
		words[4 + n] = NULL;
		rc = run_words(t, words, words + 4 + n, NULL, &predict, err);
		/* What is wrong with the recording is more than what the program says. */
		if (!rc && predict.status > 1)
			*p = predict;
	}
	unlink(trace.s);
	mem_free(words);
	str_free(&trace);
	str_free(&option);
	return rc;
}

static int make_spec(struct task *t, const char *out, struct process *p, struct err *err)
{
	struct str option = STR_INIT;
	const char *first[] = {"refine", "-q", NULL, NULL};
	int rc;

	str_fmt(&option, "--output=%s", out);
	first[2] = option.s;
	rc = run_words(t, first, t->c->command + 1, NULL, p, err);
	str_free(&option);
	return rc;
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Reads the schedules that were written to the folder, and removes it. */
static void take_schedules(struct task *t, const char *folder)
{
	struct str path = STR_INIT, text = STR_INIT;
	struct dirent **v = NULL;
	struct err err = {0};
	int n = scandir(folder, &v, NULL, compare_names);

	for (int i = 0; i < n; i++) {
		size_t len = strlen(v[i]->d_name);

		str_reset(&path);
		str_fmt(&path, "%s/%s", folder, v[i]->d_name);
		str_reset(&text);
		if (len > 6 && !strcmp(v[i]->d_name + len - 6, ".sched") &&
		    t->nschedules < SCHEDULES_MAX && !file_read(path.s, &text, &err)) {
			MEM_GROW(t->schedules, t->schedules_cap, t->nschedules + 1);
			t->schedules[t->nschedules++] = mem_strdup(text.s);
		}
		unlink(path.s);
		free(v[i]);
	}
	free(v);
	rmdir(folder);
	str_free(&path);
	str_free(&text);
}

/* explore: each task has its own seed. */
static int explore_program(struct task *t, const char *out, struct process *p, struct err *err)
{
	struct str folder = STR_INIT, option = STR_INIT, seed = STR_INIT;
	const char *first[] = {"explore", "--format=json", NULL, NULL, NULL};
	int rc;

	temporary_name(&folder, t->name.s, ".d");
	str_fmt(&option, "--output=%s", folder.s);
	str_fmt(&seed, "--seed=%" PRIu64, t->number);
	first[2] = option.s;
	first[3] = seed.s;
	if (mkdir(folder.s, 0700)) {
		rc = err_sys(err, "%s", folder.s);
	} else {
		rc = run_words(t, first, t->c->command + 1, out, p, err);
		take_schedules(t, folder.s);
	}
	str_free(&folder);
	str_free(&option);
	str_free(&seed);
	return rc;
}

/* --- what came of it --- */

static bool is_expected(const struct task *t, int status)
{
	enum { EXIT_FOUND = 66 };

	if (!status)
		return true;
	return status == (t->c->kind == CAMPAIGN_RUN ? EXIT_FOUND : EXIT_FINDINGS) &&
	       t->has_report && (t->findings || t->c->kind == CAMPAIGN_REFINE);
}

/* How the program failed under a schedule of an `explore`; NULL if it did not. */
static const char *find_failed_schedule(const struct task *t)
{
	static const char key[] = "\noutcome ", fine[] = "exit 0";

	for (size_t i = 0; i < t->nschedules; i++) {
		const char *at = strstr(t->schedules[i], key);

		at = at ? at + strlen(key) : NULL;
		if (at && (strncmp(at, fine, strlen(fine)) != 0 || at[strlen(fine)] != '\n'))
			return at;
	}
	return NULL;
}

static void describe_failure(struct task *t, const struct process *p)
{
	const char *outcome = find_failed_schedule(t);

	if (p->status <= EXIT_FINDINGS && outcome)
		str_fmt(&t->failure, "the program failed under a schedule: %.*s",
			(int)strcspn(outcome, "\n"), outcome);
	else if (p->timed_out)
		str_fmt(&t->failure, "ended after %" PRIu64 " second%s, by --timeout",
			t->c->timeout, t->c->timeout == 1 ? "" : "s");
	else if (p->status > 128)
		str_fmt(&t->failure, "ended by signal %d (%s)", p->status - 128,
			strsignal(p->status - 128));
	else if (!is_expected(t, p->status))
		str_fmt(&t->failure, "exited with %d", p->status);
	else if (!t->has_report)
		str_add(&t->failure, t->report.n ? "checked nothing" : "left no report");
	if (t->failure.n)
		add_output(p, &t->output);
}

/*
 * Was it ended from outside? A batch system ends the program and the worker at the same time, and
 * the worker may notice the program's end first. Such a run is made again.
 */
static bool was_interrupted(const struct process *p)
{
	int number = p->status - 128;

	return number == SIGTERM || number == SIGKILL || number == SIGINT || number == SIGHUP;
}

/* Reads the report, or the specification. */
static void collect(struct task *t, const struct process *p, const char *out)
{
	struct json_loaded l;
	struct err err = {0};

	if (t->c->kind == CAMPAIGN_REFINE) {
		t->has_report = !file_read(out, &t->spec, &err);
		return;
	}
	if (file_read(out, &t->report, &err) ||
	    json_load(&l, out, t->report.s, t->report.n, &err)) {
		str_reset(&t->report);
		return;
	}
	for (size_t i = 0; i < l.rep.nresults; i++)
		t->findings += l.rep.results[i].findings.n;
	/* If nothing was checked, the report knows no thread. */
	t->has_report = t->c->kind != CAMPAIGN_RUN || l.rep.source.threads ||
			(p->status && p->status != EXIT_BAD);
	json_loaded_free(&l);
}

int task_run(struct task *t, struct err *err)
{
	static int (*const make[CAMPAIGN_KINDS])(struct task * t, const char *out,
						 struct process *p, struct err *err) = {
		[CAMPAIGN_RUN] = make_report,
		[CAMPAIGN_PREDICT] = make_prediction,
		[CAMPAIGN_REFINE] = make_spec,
		[CAMPAIGN_EXPLORE] = explore_program,
	};
	double begun = clock_seconds();
	struct str out = STR_INIT;
	struct process p;
	int rc;

	str_fmt(&t->name, "%s-%" PRIu64, t->w->name, ++t->w->runs);
	temporary_name(&out, t->name.s, t->c->kind == CAMPAIGN_REFINE ? ".spec" : ".json");
	rc = make[t->c->kind](t, out.s, &p, err);
	if (!rc) {
		collect(t, &p, out.s);
		describe_failure(t, &p);
		t->result = (struct result){
			.run = t->name.s,
			.campaign = t->c->id,
			.task = t->number,
			.seconds = clock_seconds() - begun,
			.status = p.status,
			.failure = t->failure.n ? t->failure.s : NULL,
			.output = t->output.n ? t->output.s : NULL,
			.spec = t->spec.n ? t->spec.s : NULL,
			.schedules = (const char *const *)t->schedules,
			.nschedules = t->nschedules,
		};
		if (p.timed_out)
			t->has_report = true; /* it will not be better the next time */
		else if (was_interrupted(&p))
			t->has_report = false;
	}
	unlink(out.s);
	str_free(&out);
	return rc;
}

void task_free(struct task *t)
{
	str_free(&t->report);
	str_free(&t->spec);
	str_free(&t->failure);
	str_free(&t->output);
	str_free(&t->name);
	while (t->nschedules)
		mem_free(t->schedules[--t->nschedules]);
	mem_free(t->schedules);
}
