/*
 * Prediction: the process has sent what matters of its run, and the engine `predict` reads that
 * like any other recording. Its findings did not happen in this run, but could.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "engine/context.h"
#include "engine/predict/options.h"
#include "report/left_out.h"
#include "report/shown.h"
#include "reporter/reporter_impl.h"
#include "symbol/symbol.h"

#include "base/banned.h"

/* A program sends far less. */
#define RUN_BYTES_MAX (1ull << 36)

/* The user waits for the program to end, so the search is stopped after some seconds. */
#define EFFORT (1ull << 30)

int predict_add_piece(struct reporter_process *p, const char *bytes, size_t n, struct err *err)
{
	if (p->ended)
		return err_fail(err, "it sent a RUN after END");
	if (p->run < 0)
		p->run = memfd_create("atomsan", MFD_CLOEXEC);
	if (p->run < 0)
		return err_sys(err, "the recording of its run cannot be kept in memory");
	if (p->run_bytes + n > RUN_BYTES_MAX)
		return err_fail(err, "it sent a run of more than %llu bytes", RUN_BYTES_MAX);
	while (n) {
		ssize_t put = pwrite(p->run, bytes, n, (off_t)p->run_bytes);

		if (put <= 0)
			return err_sys(err, "the recording of its run cannot be kept in memory");
		bytes += put;
		n -= (size_t)put;
		p->run_bytes += (uint64_t)put;
	}
	return 0;
}

/* Does the recording stop before the end of the run? Then threads may still hold locks. */
static bool is_cut_off(int fd)
{
	struct raw_header h = {0};

	return pread(fd, &h, sizeof h, 0) == sizeof h && h.closed != 1;
}

/* Adds the predicted findings: they blame no block, and have a schedule. */
static void add_findings(struct reporter_process *p, struct finding_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct live_finding head = {.key = l->v[i]->fingerprint};
		struct finding *f = l->v[i];

		l->v[i] = finding_new(); /* take ownership of f */
		f->live = true;
		event_numbers_compact(f);
		findings_add(p, &head, &f, 1, false);
	}
}

static bool gave_up(const struct engine_result *res)
{
	for (size_t i = 0; i < res->nstats; i++)
		if (!strcmp(res->stats[i].name, "gave_up"))
			return res->stats[i].value;
	return false;
}

void predict_from_run(struct reporter_process *p)
{
	/* Text shows no schedule: the user has no recording to look the events up in. */
	struct predict_options options = {.vars = 1,
					  .all = p->session->o.all,
					  .lean = true,
					  .unscheduled = !p->session->o.format->context,
					  .effort = EFFORT};
	struct engine_result res = {0};
	struct err err = {0};
	struct reader *r;
	int fd = p->run;

	p->run = -1;
	if (fd < 0)
		return;
	r = recording_open(p, fd, "the run", is_cut_off(fd), spec_rules(p->spec), &err);
	if (r) {
		engine_run(engine_by_name("predict"), &options, r, options.all, NULL, &res, &err);
		if (gave_up(&res))
			note("process %d: the search was cut short because it took too long; there "
			     "may be more findings",
			     (int)p->pid);
		left_out_drop(r, &res.findings);
		context_add(&res, 1, r);
		/* The most important is printed first. */
		shown_select(&res.findings, true, options.all);
		add_findings(p, &res.findings);
		engine_result_free(&res);
		recording_close(r);
	}
	if (err_is_set(&err))
		note("process %d: %s", (int)p->pid, err.text);
}
