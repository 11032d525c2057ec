/* The start of the runtime, and the program's exit status at its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/blocks/block_policy.h"
#include "runtime/doublechecker/doublechecker.h"
#include "runtime/frontier/frontier.h"
#include "runtime/intercept/intercept.h"
#include "runtime/link/modules.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/options.h"
#include "runtime/os/real.h"
#include "runtime/record/record.h"
#include "runtime/schedule/schedule.h"
#include "runtime/thread/thread.h"

#include "base/banned.h"

/* Instrumented libraries look for this symbol to see whether the program has a runtime (stub.c). */
RT_EXPORT const char atomsan_rt_version[] = ATOMSAN_VERSION;

/*
 * Finish the recorder and, once, the tool. Returns what the program's exit status becomes. The
 * thread is in the runtime meanwhile, so that what the tool does is not noted as the program's.
 */
static int finish_tools(int status)
{
	static uint32_t once;
	uint64_t found;
	bool inside;

	/* A child made by vfork() runs in the program's memory, but is not the program. */
	if (getpid() != rt_process)
		return status;
	inside = rt_enter_nested(&rt_self);
	found = rt_recorder->finish();
	if (rt_checking && !__atomic_exchange_n(&once, 1, __ATOMIC_RELAXED))
		found += rt_tool->finish();
	link_end();
	rt_leave_nested(&rt_self, inside);
	/* Under `atomsan run` only that command's own status shows findings. */
	return found && !status && !*rt_options.reporter ? rt_options.exitcode : status;
}

/*
 * Registered before any handler of the program, and so called after all of them. Only
 * the C library's open streams are not written yet.
 */
static void at_exit(int status, void *arg)
{
	int result = finish_tools(status);

	(void)arg;
	if (result == status)
		return;
	fflush(NULL);
	for (;;)
		syscall(SYS_exit_group, result);
}

RT_INTERCEPT void _exit(int status)
{
	status = finish_tools(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

/* What is predicted is reported now; nothing else changes for the program. */
RT_INTERCEPT void abort(void)
{
	if (rt_recorder->reports_at_end)
		finish_tools(1);
	REAL(abort)();
	__builtin_unreachable();
}

RT_INTERCEPT void _Exit(int status)
{
	_exit(status);
}

/* The program's own handlers of quick_exit() run first. */
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

/* Before the program is stopped at a finding: rt_halt(). */
static void finish_before_halt(void)
{
	RT_ASSERT(rt_is_inside(&rt_self));
	rt_recorder->finish();
	rt_tool->finish();
}

/* The linker defines this if the program is linked with -fatomsan-skeleton. */
extern const char atomsan_skeleton_build __attribute__((weak));

/* A program without hooks for plain accesses can only be checked as a skeleton. */
static void note_skeleton_build(void)
{
	if (!&atomsan_skeleton_build)
		return;
	rt_options.skeleton = true;
	if (*rt_options.record || rt_options.predict)
		rt_say("this program was built with -fatomsan-skeleton: the recording has no plain "
		       "accesses");
}

/* Choose the tool by the options. Bad options end the program. */
static void choose_tool(void)
{
	bool first = *rt_options.first_run, second = *rt_options.second_run;
	bool doublechecker = !strcmp(rt_options.engine, "doublechecker");

	if (!rt_options.check || rt_options.predict)
		return;
	if (!doublechecker && strcmp(rt_options.engine, "frontier"))
		rt_die("ATOMSAN_OPTIONS: 'engine' takes frontier or doublechecker");
	if (first && second)
		rt_die("ATOMSAN_OPTIONS: first_run and second_run exclude each other");
	if (rt_options.skeleton && (first || second || doublechecker))
		rt_die("ATOMSAN_OPTIONS: skeleton is for the engine frontier alone");
	if (first || second || doublechecker)
		doublechecker_init(first, second);
	else
		frontier_init();
}

/* Start the runtime, before the constructors of the program and its libraries (.preinit_array). */
static void start_runtime(int argc, char **argv, char **environment)
{
	(void)argc;
	(void)argv;
	real_find_all();
	rt_options_init(environment);
	rt_process = getpid();
	note_skeleton_build();
	rt_before_halt = finish_before_halt;
	if (!rt_options.check && !rt_options.predict && !*rt_options.record)
		rt_note_incomplete("the option check=0 switched the check off");
	/* Before anything that may have to send something. */
	link_begin();
	if (*rt_options.record || rt_options.predict)
		record_init(environment);
	choose_tool();
	thread_init();
	schedule_init();
	intercept_thread_init();
	modules_note();
	block_policy_learn();
	if (rt_options.verbosity)
		rt_say("version %s, process %d%s%s", atomsan_rt_version, getpid(),
		       rt_recording ? ", records to " : "",
		       !rt_recording        ? ""
		       : *rt_options.record ? rt_options.record
					    : "a temporary file");
	if (on_exit(at_exit, NULL) || at_quick_exit(at_quick_exit_last))
		rt_say("no memory for an exit handler: the exit status will not show findings");
}

__attribute__((section(".preinit_array"),
	       used)) static void (*const preinit)(int, char **, char **) = start_runtime;
