/* The worker: claims tasks, makes their runs, writes the results. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/campaign.h"

#include "base/banned.h"

enum {
	JOBS_MAX = 1024,
	WITHOUT_REPORT_MAX = 3, /* runs in a row; attempts at one task */
	ASK_AGAIN_MS = 500,
	PROGRESS_MS = 1000,
	SYNC_AFTER_S = 1 /* a run that took less is made again sooner than it is saved */
};

/* What all workers of this command did; shared by its processes. */
struct tally {
	_Atomic uint64_t runs, found, failed;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

struct work {
	struct campaign c;
	const struct work_options *o;
	struct worker w;
	struct claims claims;
	struct tally *tally;
	double begun;
	unsigned without_report; /* runs in a row */
	uint64_t left;           /* runs that this process may still begin */
};

static bool may_go_on(const struct work *k)
{
	uint64_t limit = k->o->limit ? k->o->limit : k->c.limit;

	return !stop && k->left && (!limit || clock_seconds() - k->begun < (double)limit);
}

static void count_run(struct work *k, const struct task *t)
{
	k->tally->runs++;
	k->tally->found += t->findings != 0;
	k->tally->failed += t->result.failure != NULL;
}

/* The first line that atomsan printed itself, else the last line. */
static const char *find_reason(const char *output, size_t *n)
{
	static const char own[] = "atomsan: ";
	const char *line = output, *next;

	while (strncmp(line, own, strlen(own)) != 0 && (next = strchr(line, '\n')) != NULL)
		line = next + 1;
	*n = strcspn(line, "\n");
	return line;
}

/* Returns 0 if the result is written or the task was given back; -1 if the worker has to end. */
static int make_run(struct work *k, uint64_t task, struct err *err)
{
	struct task t = {
		.c = &k->c,
		.w = &k->w,
		.number = task,
		.stop = &stop,
		.report = STR_INIT,
		.spec = STR_INIT,
		.failure = STR_INIT,
		.output = STR_INIT,
		.name = STR_INIT,
	};
	int rc = task_run(&t, err);

	if (rc || stop) {
		claims_release(&k->claims);
	} else if (!t.has_report && k->claims.attempts < WITHOUT_REPORT_MAX) {
		claims_release(&k->claims);
		k->without_report++;
		if (k->without_report == WITHOUT_REPORT_MAX) {
			size_t n;
			const char *line = find_reason(t.output.s, &n);

			rc = err_fail(err, "%d runs in a row brought no report; the last %s%s%.*s",
				      WITHOUT_REPORT_MAX, t.failure.s, n ? ": " : "", (int)n, line);
		}
	} else {
		rc = result_write(&k->c, &t.result, &t.report, t.result.seconds > SYNC_AFTER_S,
				  err);
		if (rc)
			claims_release(&k->claims);
		else
			count_run(k, &t);
		k->without_report = t.has_report ? 0 : k->without_report;
		k->left--;
	}
	task_free(&t);
	return rc;
}

static int work_on(struct work *k, struct err *err)
{
	enum claim_answer answer = CLAIM_WAIT;
	bool first = true;
	uint64_t task;

	while (may_go_on(k)) {
		answer = first ? claims_take_over(&k->claims, &task, err)
			       : claims_take(&k->claims, &task, err);
		first = false;
		if (answer == CLAIM_ERROR || (answer == CLAIM_GOT && make_run(k, task, err)))
			return -1;
		if (answer == CLAIM_NONE || (answer == CLAIM_WAIT && k->o->no_wait))
			break;
		if (answer == CLAIM_WAIT)
			poll(NULL, 0, ASK_AGAIN_MS);
	}
	return 0;
}

/* One worker, in this process. Returns the exit code. */
static int be_worker(struct work *k)
{
	double patience = (double)k->o->patience;
	struct err err = {0};
	int rc;

	if (worker_begin(&k->w, &k->c, &err))
		return cli_error("%s", err.text);
	claims_begin(&k->claims, &k->c, &k->w, patience);
	rc = work_on(k, &err);
	claims_end(&k->claims);
	worker_end(&k->w);
	if (rc)
		return cli_error("%s", err.text);
	return stop ? EXIT_BAD : 0;
}

/* --- several workers --- */

static uint64_t count_results(const struct campaign *c)
{
	struct str path = STR_INIT;
	const struct dirent *e;
	uint64_t n = 0, task;
	DIR *d;

	campaign_path(c, &path, "results", "");
	d = opendir(path.s);
	while (d && (e = readdir(d)) != NULL)
		n += claim_parse_task(e->d_name, &task) != NULL;
	if (d)
		closedir(d);
	str_free(&path);
	return n;
}

static void show_progress(const struct work *k)
{
	fprintf(stderr, "\r\033[K%s: %" PRIu64, k->c.path, count_results(&k->c));
	if (k->c.tasks)
		fprintf(stderr, " of %" PRIu64, k->c.tasks);
	fprintf(stderr, " runs; here %" PRIu64 ", %" PRIu64 " with findings, %" PRIu64 " failed",
		k->tally->runs, k->tally->found, k->tally->failed);
}

/* The runs that process `i` of `n` may make. */
static uint64_t share_of(uint64_t runs, uint64_t i, uint64_t n)
{
	return runs ? runs / n + (i < runs % n) : UINT64_MAX;
}

static int start_workers(struct work *k, pid_t *pids, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		k->left = share_of(k->o->runs, i, n);
		fflush(NULL);
		pids[i] = fork();
		if (pids[i] < 0)
			return cli_error("cannot start a worker: %s", strerror(errno));
		if (!pids[i]) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			_exit(be_worker(k));
		}
	}
	return 0;
}

/* Waits for the workers, and passes a signal on. Returns the worst exit code. */
static int wait_for_workers(struct work *k, pid_t *pids, uint64_t n)
{
	bool terminal = isatty(2) && !k->o->quiet, told = false;
	uint64_t left = n;
	int rc = 0;

	while (left) {
		int status;
		pid_t pid = waitpid(-1, &status, terminal || stop ? WNOHANG : 0);

		if (stop && !told) {
			for (uint64_t i = 0; i < n; i++)
				if (pids[i] > 0)
					kill(pids[i], SIGTERM);
			told = true;
		}
		if (pid <= 0) {
			if (terminal)
				show_progress(k);
			if (terminal || stop)
				poll(NULL, 0, stop ? 50 : PROGRESS_MS);
			continue;
		}
		for (uint64_t i = 0; i < n; i++)
			if (pids[i] == pid)
				pids[i] = 0, left--;
		/* If a worker was killed, the others take over. */
		if (WIFEXITED(status) && WEXITSTATUS(status) > rc)
			rc = WEXITSTATUS(status);
	}
	if (terminal)
		fputs("\r\033[K", stderr);
	return rc;
}

static int run_workers(struct work *k, uint64_t jobs)
{
	pid_t *pids = mem_zalloc(jobs * sizeof *pids);
	int rc;

	if (k->o->runs && jobs > k->o->runs)
		jobs = k->o->runs;
	if (jobs == 1 && (k->o->quiet || !isatty(2))) {
		k->left = share_of(k->o->runs, 0, 1);
		rc = be_worker(k);
	} else {
		rc = start_workers(k, pids, jobs);
		if (rc)
			stop = 1;
		rc |= wait_for_workers(k, pids, jobs);
	}
	mem_free(pids);
	return rc;
}

static void print_end(const struct work *k)
{
	const struct tally *t = k->tally;
	uint64_t done = count_results(&k->c);

	if (!t->runs && (!k->c.tasks || done < k->c.tasks))
		return;
	note("%s: made %" PRIu64 " run%s: %" PRIu64 " with findings, %" PRIu64 " failed", k->c.path,
	     t->runs, t->runs == 1 ? "" : "s", t->found, t->failed);
	if (k->c.tasks && done >= k->c.tasks)
		note("%s: all runs are done; 'atomsan campaign merge' shows what they found",
		     k->c.path);
}

static void catch_signals(void)
{
	struct sigaction end = {.sa_handler = on_signal};

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	/* A file that grows too large is an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
}

int campaign_work(const char *path, const struct work_options *o)
{
	struct work k = {.o = o, .begun = clock_seconds()};
	struct err err = {0};
	int rc;

	if (o->jobs > JOBS_MAX)
		return cli_error("--jobs takes a number up to %d", JOBS_MAX);
	if (campaign_open(&k.c, path, &err))
		return cli_error("%s", err.text);
	if (o->folder)
		k.c.folder = o->folder;
	if (access(k.c.folder, X_OK))
		return cli_error("%s: %s (the folder in which the campaign's command is run; "
				 "--folder names another one)",
				 k.c.folder, strerror(errno));
	k.tally = mmap(NULL, sizeof *k.tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (k.tally == MAP_FAILED)
		return cli_error("cannot map memory: %s", strerror(errno));
	catch_signals();
	rc = run_workers(&k, o->jobs);
	if (!o->quiet)
		print_end(&k);
	if (stop)
		note("%s: stopped; the runs that were interrupted can be made again", path);
	munmap(k.tally, sizeof *k.tally);
	campaign_free(&k.c);
	return rc;
}
