/*
 * atomsan live: the reporter that an instrumented program starts itself if it is not run by
 * `atomsan run`. Standard input is the connection. Findings go to standard error, or where the
 * program's options say. It ends when the program does.
 */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/progress.h"
#include "reporter/reporter.h"

#include "base/banned.h"

extern const struct command cmd_live; /* main.c lists it */

static const struct opt opts[] = {
	OPT_END,
};

static int live(int argc, char **argv)
{
	/* Ignore the signals that the terminal sends to the program: findings may still come. */
	static const int not_ours[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGTSTP, SIGPIPE};
	struct reporter_options options = {.format = &text_format,
					   .out = 2,
					   .each = true,
					   .predict = PREDICT_DEFAULTS,
					   .progress = &progress_functions};
	struct reporter_process *p;
	struct reporter *s;

	(void)argv;
	if (argc)
		return cli_usage(&cmd_live, "it takes no arguments");
	for (size_t i = 0; i < sizeof not_ours / sizeof *not_ours; i++)
		signal(not_ours[i], SIG_IGN);
	s = reporter_new(&options);
	p = reporter_connect(s, 0, getppid());
	do {
		struct pollfd wait = {.fd = 0, .events = POLLIN};

		if (reporter_holds_text(p) && !poll(&wait, 1, REPORTER_HOLD_MS))
			reporter_print_held(p);
	} while (reporter_serve(p));
	reporter_disconnect(p);
	reporter_free(s);
	return 0;
}

const struct command cmd_live = {
	.name = "live",
	.synopsis = "",
	.summary = "report what an instrumented program finds (the program starts this)",
	.opts = opts,
	.internal = true,
	.run = live,
};
