/*
 * The events of a schedule that `predict` found, in its order.
 *
 * Who may include this: commands.
 */
#ifndef ATOMSAN_CLI_SCHEDULE_H
#define ATOMSAN_CLI_SCHEDULE_H

#include <stdbool.h>

#include "base/err.h"
#include "trace/reader.h"

struct schedule {
	struct reader *reader; /* has the names */
	struct event *ev;
	size_t n;
};

/*
 * That of finding `number`, counted from 1 in the order of `atomsan predict
 * --format=json`. The trace is read several times, so it is a file. Returns 0, or -1 with
 * a sentence in `err`; schedule_free() it in the first case.
 */
int schedule_read(struct schedule *s, const char *path, uint64_t number, bool lenient,
		  struct err *err);
void schedule_free(struct schedule *s);

#endif
