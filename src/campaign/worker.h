/*
 * A worker: a process that makes a campaign's runs, one after the other.
 *
 * Its name, "HOST-PID-RANDOM", is unique, even among containers that have equal host names. It has
 * a file of that name in workers/, which it changes every second while it makes a run: the *beat*.
 * Another worker believes that it is alive as long as the file changes, and measures the silence by
 * its own steady clock. So neither the date nor the difference between two machines' clocks
 * matters, nor do the times that a file system gives to files.
 *
 * A worker that died on this machine is recognised at once: its process is gone.
 *
 * Included by: this folder, commands, tests.
 */
#ifndef ATOMSAN_CAMPAIGN_WORKER_H
#define ATOMSAN_CAMPAIGN_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "campaign/definition.h"

enum { WORKER_BEAT_MS = 1000, WORKER_NAME_MAX = 96 };

struct worker {
	char name[WORKER_NAME_MAX];
	char host[33];
	uint64_t runs; /* begun so far; numbers them */
	uint64_t beat;
	double beat_at; /* of the last one, by clock_seconds() */
	struct str path;
};

/* Begins to be a worker of the campaign: the calling process is it. */
int worker_begin(struct worker *w, const struct campaign *c, struct err *err);
void worker_end(struct worker *w);

/* Beats, if the last time was WORKER_BEAT_MS ago. A file that cannot be written is ignored. */
void worker_beat(struct worker *w);

/* What is known about the other workers; zeroed memory at first. */
struct worker_watch {
	struct worker_seen {
		char name[WORKER_NAME_MAX];
		uint64_t beat; /* a hash of the file */
		double since;  /* when the file was first seen like this */
	} * v;
	size_t n, cap;
};

/* May the tasks of the worker be taken over: is it dead, or silent for `patience` seconds? */
bool worker_is_gone(struct worker_watch *watch, const struct campaign *c, const char *name,
		    double patience);
void worker_watch_free(struct worker_watch *watch);

#endif
