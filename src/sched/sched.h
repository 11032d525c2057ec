/*
 * A schedule: which choices a driven run took that were not the default ones, so that the run can
 * be driven again. Its file is text, a line for each choice; docs/schedule-format.md describes it.
 *
 * The reader does not trust a file: each line is checked, and any bytes give a schedule or one
 * sentence.
 *
 * Included by: commands, tests.
 */
#ifndef ATOMSAN_SCHED_SCHED_H
#define ATOMSAN_SCHED_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "sched/drive.h"

/* A place, and what people call it. */
struct sched_place {
	uint32_t module; /* its index in sched.module */
	uint64_t offset;
	char *text; /* "bank.c:10 (deposit)"; NULL: not known */
};

struct sched_choice {
	uint32_t thread, step, chosen;
	char *text; /* for people: "before lock, bank.c:10 (deposit)"; NULL: none */
};

struct sched {
	char **command; /* the program and its arguments; ends with NULL */
	size_t ncommand;
	struct sched_module {
		uint64_t id;
		char *path;
	} * module;
	size_t nmodules;
	struct drive_thread *thread; /* paths of threads; the first is main */
	size_t nthreads;
	struct sched_place *place; /* plain accesses that are steps */
	size_t nplaces;
	struct sched_choice *choice; /* in the order in which they were taken */
	size_t nchoices;
	bool all_accesses; /* each plain access is a step */
	uint64_t clock;
	/* What the run that it was taken from did. */
	uint64_t steps, hash; /* hash 0: not known */
	char *outcome;        /* "exit 0", "signal 6", "deadlock"; NULL: not known */
	uint64_t *finding;    /* fingerprints */
	size_t nfindings;
	uint32_t replayed, of; /* it came out the same so often when it was made */
	/* Capacities. */
	size_t command_cap, module_cap, thread_cap, place_cap, choice_cap, finding_cap;
};

void sched_free(struct sched *s);
/* Reads a file. Returns 0, or -1 with a sentence; sched_free() is right in both cases. */
int sched_read(struct sched *s, const char *path, struct err *err);
/* The same from bytes in memory; `path` is for messages. */
int sched_parse(struct sched *s, const char *path, const char *text, size_t n, struct err *err);
void sched_write(const struct sched *s, FILE *out);

/* Writes the plan that repeats it into a drive file. Returns -1 with a sentence if it has no room.
 */
int sched_plan(const struct sched *s, struct drive *d, struct err *err);
/*
 * Makes a schedule of what a driven run did. `argv` is its command. Texts for people are left to
 * the caller.
 */
void sched_take(struct sched *s, const struct drive *d, char **argv);
/*
 * Are the modules that its places lie in the ones of the run? Returns the path of one that is not,
 * or NULL.
 */
const char *sched_other_build(const struct sched *s, const struct drive *d);

#endif
