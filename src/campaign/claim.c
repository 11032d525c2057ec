#include "campaign/claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#include "base/banned.h"

enum { TASK_MAX = CAMPAIGN_TASKS_MAX };
static const char released[] = "released";

const char *claim_parse_task(const char *name, uint64_t *task)
{
	uint64_t n = 0;
	const char *p = name;

	for (; *p >= '0' && *p <= '9' && n <= TASK_MAX; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	if (p == name || *p != '.' || !n || n > TASK_MAX)
		return NULL;
	*task = n;
	return p + 1;
}

void claims_begin(struct claims *k, const struct campaign *c, struct worker *w, double patience)
{
	*k = (struct claims){.c = c, .w = w, .patience = patience, .next = 1, .path = STR_INIT};
}

void claims_end(struct claims *k)
{
	worker_watch_free(&k->watch);
	mem_free(k->state);
	str_free(&k->path);
}

static uint8_t *state_of(struct claims *k, uint64_t task)
{
	MEM_GROW0(k->state, k->cap, task + 1);
	return &k->state[task];
}

/* Tries to make one attempt ours. Returns 1 if it is, 0 if it is another worker's, -1 on error. */
static int try_attempt(struct claims *k, uint64_t task, unsigned attempt, struct err *err)
{
	char name[64];
	size_t n = strlen(k->w->name);
	int fd, rc;

	snprintf(name, sizeof name, "%07" PRIu64 ".%u", task, attempt);
	campaign_path(k->c, &k->path, "claims", name);
	fd = open(k->path.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return errno == EEXIST ? 0 : err_sys(err, "%s", k->path.s);
	rc = write(fd, k->w->name, n) != (ssize_t)n || write(fd, "\n", 1) != 1;
	if (close(fd) || rc) {
		err_sys(err, "%s", k->path.s);
		/* The file names no worker: others wait until their patience ends. */
		return -1;
	}
	*state_of(k, task) = (uint8_t)(attempt + 1);
	k->attempts = attempt + 1;
	return 1;
}

static int take_new(struct claims *k, uint64_t *task, struct err *err)
{
	while (!k->c->tasks || k->next <= k->c->tasks) {
		int rc;

		if (k->next > TASK_MAX)
			return err_fail(err, "%s: the campaign has too many runs", k->c->path);
		*task = k->next++;
		if (*state_of(k, *task))
			continue;
		rc = try_attempt(k, *task, 0, err);
		if (rc)
			return rc;
		*state_of(k, *task) = 1;
	}
	return 0;
}

/* Reads the names in a folder of the campaign. */
static int scan(struct claims *k, const char *part,
		void (*see)(struct claims *k, uint64_t task, const char *rest), struct err *err)
{
	struct str path = STR_INIT;
	const struct dirent *e;
	uint64_t task;
	DIR *d;
	int rc = 0;

	campaign_path(k->c, &path, part, "");
	d = opendir(path.s);
	if (!d) {
		rc = err_sys(err, "%s", path.s);
	} else {
		while ((e = readdir(d)) != NULL) {
			const char *rest = claim_parse_task(e->d_name, &task);

			if (rest && (!k->c->tasks || task <= k->c->tasks))
				see(k, task, rest);
		}
		closedir(d);
	}
	str_free(&path);
	return rc;
}

static void see_claim(struct claims *k, uint64_t task, const char *rest)
{
	uint8_t *state = state_of(k, task);
	unsigned attempt = 0;

	while (*rest >= '0' && *rest <= '9' && attempt < CLAIM_ATTEMPTS_MAX)
		attempt = attempt * 10 + (unsigned)(*rest++ - '0');
	if (*rest || attempt >= CLAIM_ATTEMPTS_MAX || *state & CLAIM_DONE)
		return;
	if (*state < attempt + 1)
		*state = (uint8_t)(attempt + 1);
}

static void see_result(struct claims *k, uint64_t task, const char *rest)
{
	(void)rest;
	*state_of(k, task) = CLAIM_DONE;
}

/* May another worker make the attempt after this one? */
static bool is_abandoned(struct claims *k, uint64_t task, unsigned attempt)
{
	char name[64], owner[WORKER_NAME_MAX] = "";
	struct str path = STR_INIT;
	ssize_t n = -1;
	int fd;

	snprintf(name, sizeof name, "%07" PRIu64 ".%u", task, attempt);
	campaign_path(k->c, &path, "claims", name);
	fd = open(path.s, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, owner, sizeof owner - 1);
		close(fd);
	}
	str_free(&path);
	owner[n > 0 ? n : 0] = 0;
	owner[strcspn(owner, "\n")] = 0;
	if (!strncmp(owner, released, strlen(released)) || (k->w && !strcmp(owner, k->w->name)))
		return true;
	/* A claim without a name: its worker was interrupted. Its own name stands for the worker.
	 */
	if (!*owner || strchr(owner, '/'))
		snprintf(owner, sizeof owner, "%s", name);
	return worker_is_gone(&k->watch, k->c, owner, k->patience);
}

/* Claims first: a result that appears in between is then seen. */
static int scan_all(struct claims *k, struct err *err)
{
	return scan(k, "claims", see_claim, err) || scan(k, "results", see_result, err) ? -1 : 0;
}

int claims_count(struct claims *k, uint64_t *pending, struct err *err)
{
	*pending = 0;
	if (scan_all(k, err))
		return -1;
	for (size_t t = 1; t < k->cap; t++)
		*pending += k->state[t] && !(k->state[t] & CLAIM_DONE) &&
			    !is_abandoned(k, t, k->state[t] - 1u);
	return 0;
}

static enum claim_answer take_abandoned(struct claims *k, uint64_t *task, struct err *err)
{
	enum claim_answer answer = CLAIM_NONE;

	if (scan_all(k, err))
		return CLAIM_ERROR;
	for (uint64_t t = 1; t < k->cap && (!k->c->tasks || t <= k->c->tasks); t++) {
		unsigned attempts = k->state[t];
		int rc;

		if (!attempts || attempts & CLAIM_DONE || attempts >= CLAIM_ATTEMPTS_MAX)
			continue;
		answer = CLAIM_WAIT;
		if (!is_abandoned(k, t, attempts - 1))
			continue;
		rc = try_attempt(k, t, attempts, err);
		if (rc) {
			*task = t;
			return rc < 0 ? CLAIM_ERROR : CLAIM_GOT;
		}
	}
	return answer;
}

enum claim_answer claims_take(struct claims *k, uint64_t *task, struct err *err)
{
	int rc = take_new(k, task, err);

	if (rc)
		return rc < 0 ? CLAIM_ERROR : CLAIM_GOT;
	return take_abandoned(k, task, err);
}

enum claim_answer claims_take_over(struct claims *k, uint64_t *task, struct err *err)
{
	enum claim_answer answer = take_abandoned(k, task, err);

	return answer == CLAIM_GOT || answer == CLAIM_ERROR ? answer : claims_take(k, task, err);
}

void claims_release(struct claims *k)
{
	int fd = open(k->path.s, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	/* If that fails, others wait until this worker is gone. */
	if (pwrite(fd, released, strlen(released), 0) == (ssize_t)strlen(released))
		(void)!ftruncate(fd, (off_t)strlen(released));
	close(fd);
}
