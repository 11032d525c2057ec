/*
 * The command's side of a drive file (trace/drive_format.h): it is made before the program starts,
 * watched while the program runs, and read after that.
 *
 *	struct drive d;
 *	drive_open(&d, &err);
 *	d.file->strategy = DRIVE_RANDOM; ...     the plan
 *	...start the program with ATOMSAN_OPTIONS=drive=PATH, where PATH is d.path...
 *	drive_watch(&d) every millisecond or so, until the program ends
 *	...read d.file...
 *	drive_close(&d);
 *
 * Included by: sched/, commands, tests.
 */
#ifndef ATOMSAN_SCHED_DRIVE_H
#define ATOMSAN_SCHED_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "trace/drive_format.h"

struct drive {
	struct drive_file *file;
	char *path;
	/* For drive_watch(): what it saw last, and when that began. */
	uint64_t steps;
	uint32_t holder;
	uint64_t since; /* clock_ns() */
	uint32_t asleep;
};

/* Makes an empty drive file. Returns 0, or -1 with a sentence. */
int drive_open(struct drive *d, struct err *err);
void drive_close(struct drive *d);
/* Empties the run, not the plan, so that the file can be used again. */
void drive_again(struct drive *d);

/*
 * Looks whether the thread with the turn has left it: it sleeps in a call that the runtime does not
 * know, or computes for a second although others wait. Then another thread gets the turn.
 */
void drive_watch(struct drive *d);
/* Lets all threads run freely. */
void drive_release(struct drive *d);

/* Puts the choices of the plan into the order that the runtime needs. */
void drive_sort_choices(struct drive_file *f);

/* Has the program created threads, and did they take turns? */
bool drive_was_driven(const struct drive *d);

/* "lock", "signal a condition", ...: what a thread is about to do, for people. */
const char *drive_op_text(enum drive_op op);
/* Adds "main/2/1", the path of a thread of the run. */
void drive_add_path(struct str *to, const struct drive_thread *threads, uint32_t n,
		    uint32_t thread);

#endif
