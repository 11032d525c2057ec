/* The runtime's start, and what becomes of the program's status at its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/doublechecker/doublechecker.h"
#include "runtime/frontier/frontier.h"
#include "runtime/intercept/intercept.h"
#include "runtime/link/modules.h"
#include "runtime/os/options.h"
#include "runtime/os/real.h"
#include "runtime/predict/predict.h"
#include "runtime/record/record.h"
#include "runtime/thread/thread.h"

#include "base/banned.h"

/* Libraries that were instrumented look for this to know that a runtime is there. */
RT_EXPORT const char atomsan_rt_version[] = ATOMSAN_VERSION;

/* What the program's status becomes. */
static int ends(int status)
{
	static uint32_t once;

	/* A child made by vfork() is not the program, though it is in its memory. */
	if (getpid() != rt_process)
		return status;
	rt_recorder->finish();
	if (!rt_checking || __atomic_exchange_n(&once, 1, __ATOMIC_RELAXED))
		return status;
	return rt_tool->finish() && !status ? rt_options.exitcode : status;
}

/*
 * Registered before anything else, and so called after everything else: only
 * the C library's own files are still to be written.
 */
static void at_exit(int status, void *arg)
{
	int becomes = ends(status);

	(void)arg;
	if (becomes == status)
		return;
	fflush(NULL);
	for (;;)
		syscall(SYS_exit_group, becomes);
}

RT_INTERCEPT void _exit(int status)
{
	status = ends(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

/* What is found by its end is told, and the rest is the program's. */
RT_INTERCEPT void abort(void)
{
	if (rt_tool->reports_at_end)
		ends(1);
	REAL(abort)();
	__builtin_unreachable();
}

RT_INTERCEPT void _Exit(int status)
{
	_exit(status);
}

/* The handlers of the program run first. */
static int quick_status;

static void at_quick_exit_last(void)
{
	_exit(quick_status);
}

RT_INTERCEPT void quick_exit(int status)
{
	quick_status = status;
	REAL(quick_exit)(status);
	__builtin_unreachable();
}

/* The program stops at a finding. */
static void finish_all(void)
{
	rt_recorder->finish();
	rt_tool->finish();
}

/* Bad options end the program. */
static void choose_tool(void)
{
	bool first = *rt_options.first_run, second = *rt_options.second_run;
	bool named = !strcmp(rt_options.engine, "doublechecker");

	if (rt_options.predict) {
		predict_init();
		return;
	}
	if (!rt_options.check)
		return;
	if (!named && strcmp(rt_options.engine, "frontier"))
		rt_die("ATOMSAN_OPTIONS: 'engine' takes frontier or doublechecker");
	if (first && second)
		rt_die("ATOMSAN_OPTIONS: a run is a first one or a second one");
	if (first || second || named)
		doublechecker_init(first, second);
	else
		frontier_init();
}

/* Before the constructors of the program and its libraries, see below. */
static void init(int argc, char **argv, char **environment)
{
	(void)argc;
	(void)argv;
	real_find_all();
	rt_options_init(environment);
	rt_process = getpid();
	rt_before_halt = finish_all;
	if (*rt_options.record)
		record_init();
	choose_tool();
	thread_init();
	intercept_thread_init();
	modules_note();
	if (rt_options.verbosity)
		rt_say("version %s, process %d%s%s", atomsan_rt_version, getpid(),
		       rt_recording ? ", records to " : "", rt_recording ? rt_options.record : "");
	if (on_exit(at_exit, NULL) || at_quick_exit(at_quick_exit_last))
		rt_say("no memory to be called at the program's end");
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
									      char **) = init;
