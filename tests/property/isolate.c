#include "isolate.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

/* Different from the exit codes of sanitizers and of abort(). */
enum { EXIT_JUDGED = 100 };

void *isolate_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	return p;
}

/* Judges the trace in a child, within `seconds`. `loud`: keep the child's standard error. */
static void judge_in_child(struct judge *j, const struct trace *t, uint64_t seed, unsigned seconds,
			   bool loud, struct verdict *v)
{
	static size_t *who; /* one page for all calls */
	struct judge copy = *j;
	int status, quiet;
	pid_t child;

	if (!who)
		who = isolate_shared(sizeof *who);
	*who = 0;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		perror("fork");
		exit(2);
	}
	if (!child) {
		quiet = loud ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
		if (quiet >= 0)
			dup2(quiet, STDERR_FILENO);
		alarm(seconds);
		copy.account = NULL;
		copy.running = who;
		judge_trace(&copy, t, seed, v);
		*who = v->who;
		_exit(EXIT_JUDGED + (int)v->failure);
	}
	waitpid(child, &status, 0);
	v->who = *who;
	v->failure = FAIL_CRASH;
	if (WIFEXITED(status) && WEXITSTATUS(status) >= EXIT_JUDGED &&
	    WEXITSTATUS(status) < EXIT_JUDGED + FAIL_COUNT)
		v->failure = (enum failure)(WEXITSTATUS(status) - EXIT_JUDGED);
	str_reset(&v->what);
	if (WIFSIGNALED(status))
		str_fmt(&v->what, "ended by signal %d", WTERMSIG(status));
	else if (v->failure == FAIL_CRASH)
		str_fmt(&v->what, "exited with %d", WEXITSTATUS(status));
}

void isolate_judge(struct judge *j, const struct trace *t, uint64_t seed, struct verdict *v)
{
	judge_in_child(j, t, seed, ISOLATE_SECONDS, false, v);
}

struct want {
	struct judge judge; /* a copy, so that the attempts of shrinking are not counted */
	uint64_t seed;
	enum failure failure;
	size_t who;
	time_t deadline;
};

static bool fails_in_same_way(void *arg, const struct trace *t)
{
	struct want *w = arg;
	struct verdict v = {.what = STR_INIT};
	bool alike;

	if (time(NULL) > w->deadline)
		return false;
	if (w->failure == FAIL_CRASH)
		judge_in_child(&w->judge, t, w->seed, ISOLATE_SHRINK_SECONDS, false, &v);
	else
		judge_trace(&w->judge, t, w->seed, &v);
	alike = v.failure == w->failure && v.who == w->who;
	str_free(&v.what);
	return alike;
}

void isolate_shrink(struct judge *j, struct trace *t, uint64_t seed, struct verdict *v)
{
	struct want w = {.judge = *j, .seed = seed, .failure = v->failure, .who = v->who};

	w.judge.account = NULL;
	w.deadline = time(NULL) + ISOLATE_PATIENCE;
	shrink(t, fails_in_same_way, &w);
	if (w.failure == FAIL_CRASH)
		judge_in_child(&w.judge, t, seed, ISOLATE_SHRINK_SECONDS, true, v);
	else
		judge_trace(&w.judge, t, seed, v);
}
