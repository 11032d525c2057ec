#include "cli/explore.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/place_names.h"

#include "base/banned.h"

enum {
	/* Runs in which places that access shared memory are learned before the others begin. */
	LEARNING_MAX = 8,
	KINDS = 4, /* strategies that the mix takes in turns */
};

struct explorer {
	const struct explore_options *o;
	struct explore_result *to;
	struct drive drive;
	struct driven_run run;
	struct dfs *dfs;
	struct map behaviours; /* hashes of logs */
	struct map known;      /* hashes of outcomes and fingerprints that have a hit */
	uint64_t expected;     /* steps of a run */
	int output;            /* where the program's output goes */
	double since;
};

static uint64_t mix_bits(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint64_t hash_text(const char *s)
{
	uint64_t hash = 14695981039346656037ull;

	for (; *s; s++)
		hash = (hash ^ (unsigned char)*s) * 1099511628211ull;
	return hash;
}

/* Takes the threads of the last run, and the steps that they had, into the plan. */
static void plan_threads(struct drive_file *f)
{
	f->nplan_threads = f->nthreads < DRIVE_THREADS ? f->nthreads : DRIVE_THREADS;
	for (uint32_t i = 0; i < f->nplan_threads; i++)
		f->plan_thread[i] = (struct drive_thread){.parent = f->thread[i].parent,
							  .nth = f->thread[i].nth,
							  .steps = f->thread[i].steps};
}

/* Adds the places that the last run learned. Returns how many were new. */
static uint32_t plan_learned(struct drive_file *f)
{
	uint32_t added = 0;

	for (uint32_t i = 0; i < f->nlearned && i < DRIVE_PLACES; i++) {
		uint32_t k = 0;

		while (k < f->nplaces && (f->place[k].module != f->learned[i].module ||
					  f->place[k].offset != f->learned[i].offset))
			k++;
		if (k < f->nplaces || f->nplaces == DRIVE_PLACES)
			continue;
		f->place[f->nplaces++] = f->learned[i];
		added++;
	}
	return added;
}

/* Runs a shell command around a run. Returns false if it fails. */
static bool run_command(const char *command, const char *what)
{
	int status =
		command ? system(command) : 0; /* NOLINT(cert-env33-c): the user's own command */

	if (status)
		note("%s: '%s' failed", what, command);
	return !status;
}

/* Runs the program once, as the plan says. Returns 0, or -1 with a sentence. */
static int run_once(struct explorer *x, struct err *err)
{
	if (!run_command(x->o->setup, "--setup"))
		return err_fail(err, "without --setup there is nothing to run");
	drive_again(&x->drive);
	if (driven_run(&x->run, err))
		return -1;
	run_command(x->o->teardown, "--teardown");
	return 0;
}

/* Is this the first time that something like this is found? */
static bool is_new(struct explorer *x, uint64_t hash)
{
	if (map_get(&x->known, hash) != MAP_NONE)
		return false;
	map_set(&x->known, hash, 1);
	return true;
}

/* Counts what the run did, and keeps its schedule if it is the first of its kind. */
static void take_run(struct explorer *x)
{
	const struct drive_file *f = x->drive.file;
	struct explore_result *to = x->to;
	struct str outcome = STR_INIT;
	uint64_t *found = NULL;
	size_t n = 0, cap = 0;
	bool failure = x->run.ending != DRIVEN_ENDED || x->run.status, fresh = false;

	to->schedules++;
	to->steps += f->steps;
	to->left += f->left;
	to->failures += failure;
	to->violations += x->run.nfindings > 0;
	if (f->nthreads > to->threads)
		to->threads = f->nthreads;
	if (map_get(&x->behaviours, f->hash) == MAP_NONE) {
		map_set(&x->behaviours, f->hash, 1);
		to->behaviours++;
	}
	driven_run_outcome(&x->run, &outcome);
	if (failure)
		fresh = is_new(x, hash_text(outcome.s));
	for (size_t i = 0; i < x->run.findings.n; i++) {
		MEM_GROW(found, cap, n + 1);
		found[n++] = x->run.findings.v[i]->fingerprint;
	}
	for (size_t i = 0; i < x->run.findings.n; i++) {
		struct finding *f_new = x->run.findings.v[i];

		if (!is_new(x, f_new->fingerprint))
			continue;
		fresh = true;
		to->findings.sink.emit(&to->findings.sink, f_new);
		x->run.findings.v[i] = finding_new(); /* take ownership */
	}
	if (fresh) {
		struct place_names *names;
		struct explore_hit *h;

		MEM_GROW0(to->hit, to->hit_cap, to->nhits + 1);
		h = &to->hit[to->nhits++];
		sched_take(&h->sched, &x->drive, x->run.argv);
		names = place_names_new(f);
		place_names_annotate(names, &h->sched);
		if (x->run.ending == DRIVEN_DEADLOCK)
			place_names_print_deadlock(names, stderr);
		place_names_free(names);
		h->sched.outcome = mem_strdup(outcome.s);
		h->sched.finding = found;
		h->sched.nfindings = n;
		found = NULL;
		h->failure = failure;
		h->outcome = mem_strdup(outcome.s);
		h->number = to->schedules;
	}
	mem_free(found);
	str_free(&outcome);
	driven_run_free(&x->run);
}

/* Chooses how schedule `n` is made, counted from 0. */
static void plan_strategy(struct explorer *x, uint64_t n)
{
	static const enum drive_strategy mix[KINDS] = {DRIVE_POS, DRIVE_WALK, DRIVE_RANDOM,
						       DRIVE_PCT};
	struct drive_file *f = x->drive.file;

	f->seed = mix_bits(x->o->seed + 0x9e3779b97f4a7c15ull * (n + 1));
	f->expected = x->expected;
	f->depth = (uint32_t)x->o->depth;
	f->nchoices = 0;
	switch (x->o->strategy) {
	case EXPLORE_MIX:
		f->strategy = mix[n % KINDS];
		break;
	case EXPLORE_RANDOM:
		f->strategy = DRIVE_RANDOM;
		break;
	case EXPLORE_WALK:
		f->strategy = DRIVE_WALK;
		break;
	case EXPLORE_PCT:
		f->strategy = DRIVE_PCT;
		break;
	case EXPLORE_POS:
		f->strategy = DRIVE_POS;
		break;
	case EXPLORE_DFS:
		f->strategy = DRIVE_DEFAULT;
		dfs_plan(x->dfs, f);
		drive_sort_choices(f);
		break;
	}
}

static bool is_over(const struct explorer *x)
{
	return x->to->schedules >= x->o->schedules ||
	       (x->o->seconds > 0 && clock_seconds() - x->since > x->o->seconds) ||
	       (x->o->first && x->to->nhits);
}

/* The first runs: without preemption, until no more places are learned. */
static int run_first(struct explorer *x, struct err *err)
{
	struct drive_file *f = x->drive.file;

	f->learn = 1;
	f->all_accesses = x->o->all_accesses;
	for (uint64_t n = 0; n < LEARNING_MAX && !is_over(x); n++) {
		f->strategy = n ? DRIVE_RANDOM : DRIVE_DEFAULT;
		f->seed = mix_bits(x->o->seed + n);
		if (run_once(x, err))
			return -1;
		x->to->started |= x->run.ending != DRIVEN_NOT_STARTED;
		x->to->instrumented |= x->run.instrumented;
		if (!drive_was_driven(&x->drive)) {
			driven_run_free(&x->run);
			return 0;
		}
		x->to->controlled = true;
		if (f->steps > x->expected)
			x->expected = f->steps;
		plan_threads(f);
		take_run(x);
		if (!plan_learned(f) && n)
			break;
	}
	return 0;
}

static int run_rest(struct explorer *x, struct err *err)
{
	struct drive_file *f = x->drive.file;

	if (x->o->strategy == EXPLORE_DFS) {
		x->dfs = dfs_new(x->o->preemptions);
		f->log_all = 1;
	}
	for (uint64_t n = 0; !is_over(x) && !x->to->exhausted; n++) {
		plan_strategy(x, n);
		if (run_once(x, err))
			return -1;
		take_run(x);
		if (x->dfs) {
			/* With new places there are new steps: the search begins again. */
			plan_threads(f);
			if (plan_learned(f)) {
				dfs_free(x->dfs);
				x->dfs = dfs_new(x->o->preemptions);
			} else if (!dfs_next(x->dfs, f)) {
				x->to->exhausted = !f->steps_lost && !x->to->left;
				break;
			}
		} else {
			plan_learned(f);
		}
	}
	return 0;
}

int explore_run(const struct explore_options *o, char **argv, struct explore_result *to,
		struct err *err)
{
	struct explorer x = {.o = o, .to = to, .output = -1, .since = clock_seconds()};
	int rc;

	*to = (struct explore_result){0};
	finding_list_init(&to->findings, true);
	if (drive_open(&x.drive, err))
		return -1;
	if (o->quiet)
		x.output = open("/dev/null", O_WRONLY | O_CLOEXEC);
	x.run = (struct driven_run){
		.argv = argv, .drive = &x.drive, .seconds = o->run_seconds, .output = x.output};
	rc = run_first(&x, err);
	if (!rc && to->controlled)
		rc = run_rest(&x, err);
	to->seconds = clock_seconds() - x.since;
	dfs_free(x.dfs);
	map_free(&x.behaviours);
	map_free(&x.known);
	if (x.output >= 0)
		close(x.output);
	drive_close(&x.drive);
	return rc;
}

void explore_free(struct explore_result *r)
{
	for (size_t i = 0; i < r->nhits; i++) {
		sched_free(&r->hit[i].sched);
		mem_free(r->hit[i].outcome);
	}
	mem_free(r->hit);
	finding_list_free(&r->findings);
}
