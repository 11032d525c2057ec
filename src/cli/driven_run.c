#include "cli/driven_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/room.h"
#include "report/report.h"

#include "base/banned.h"

enum {
	TICK_MS = 1, /* how often the program is watched */
	/* After the release: so long until SIGTERM, and then until SIGKILL. */
	GRACE_S = 2,
	AFTERWARDS_MS = 100,
	AFTERWARDS_MOST_S = 5,
};

static const char variable[] = "ATOMSAN_OPTIONS";

/* Ends the program if its time is over or it hangs. `stage` is how far that has come. */
static void end_if_stuck(struct driven_run *run, double since, int *stage)
{
	static const int by[] = {0, SIGTERM, SIGKILL};
	double late = clock_seconds() - since - run->seconds;
	bool deadlock = run->drive->file->end == DRIVE_DEADLOCK;

	if (run->ending == DRIVEN_ENDED && (deadlock || late > 0)) {
		run->ending = deadlock ? DRIVEN_DEADLOCK : DRIVEN_TOO_LONG;
		/* A deadlock stays one when the threads are released. */
		if (deadlock) {
			child_kill(SIGKILL);
			*stage = 3;
			return;
		}
		drive_release(run->drive);
		*stage = 1;
	}
	while (*stage && *stage < 3 && late > *stage * GRACE_S)
		child_kill(by[(*stage)++]);
}

static void serve_program(struct driven_run *run, struct room *room)
{
	int program = child_descriptor(), stage = 0;
	double since = clock_seconds(), until;

	do {
		room_serve(room, program, TICK_MS);
		drive_watch(run->drive);
		end_if_stuck(run, since, &stage);
	} while (program < 0 ? !child_has_ended() : !room_program_ended(room));
	if (program >= 0)
		close(program);
	run->took = clock_seconds() - since;
	until = clock_seconds() + AFTERWARDS_MOST_S;
	while (clock_seconds() < until && room_serve(room, -1, room->n ? AFTERWARDS_MS : 0))
		;
}

int driven_run(struct driven_run *run, struct err *err)
{
	static const struct reporter_options silent = {
		.format = &json_format, .out = 2, .verbosity = -1};
	struct reporter_options options = run->print ? *run->print : silent;
	char *before = getenv(variable) ? mem_strdup(getenv(variable)) : NULL;
	struct str name = STR_INIT;
	struct room room = {0};
	int rc;

	run->ending = DRIVEN_ENDED;
	run->nfindings = 0;
	finding_list_init(&run->findings, true);
	options.predicts = run->predict;
	rc = room_open(&room, &name, err);
	if (!rc)
		rc = child_add_option("reporter", name.s, err);
	if (!rc)
		rc = child_add_option("drive", run->drive->path, err);
	if (!rc && run->predict)
		rc = child_add_option("predict", "1", err);
	str_free(&name);
	if (!rc) {
		run->status = child_start_to(run->argv, run->output);
		if (run->status)
			run->ending = DRIVEN_NOT_STARTED;
	}
	if (!rc && run->ending != DRIVEN_NOT_STARTED) {
		options.token = room.token;
		room.session = reporter_new(&options);
		signal(SIGPIPE, SIG_IGN);
		serve_program(run, &room);
		run->status = child_wait();
		run->instrumented = reporter_was_used(room.session);
		run->nfindings = reporter_findings(room.session);
		room_close(&room);
		if (run->print)
			reporter_end(room.session);
		else
			reporter_take(room.session, &run->findings);
		reporter_free(room.session);
	} else {
		room_close(&room);
	}
	if (before)
		setenv(variable, before, 1);
	else
		unsetenv(variable);
	mem_free(before);
	return rc;
}

void driven_run_free(struct driven_run *run)
{
	finding_list_free(&run->findings);
}

void driven_run_outcome(const struct driven_run *run, struct str *to)
{
	switch (run->ending) {
	case DRIVEN_DEADLOCK:
		str_add(to, "deadlock");
		break;
	case DRIVEN_TOO_LONG:
		str_add(to, "too long");
		break;
	default:
		if (run->status > 128 && run->status < 128 + 65)
			str_fmt(to, "signal %d", run->status - 128);
		else
			str_fmt(to, "exit %d", run->status);
	}
}
