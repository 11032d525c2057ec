/*
 * A prediction has steps e1, f ..., e2: the first and the last by thread A, those between by thread
 * B. One run without preemption shows all steps of both threads. Each step of A after e1 up to e2
 * is a place to *cut*: there A is held until B has done f. The cut next to e2 is tried first. If B
 * cannot get to f then (it waits for a lock that A holds), the scheduler lets A go on, and the cut
 * before that one is tried. If B comes first by itself, it is held, in the same way, at a step
 * before f until A has done e1.
 */
#include "cli/confirm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/child.h"
#include "report/step.h"

#include "base/banned.h"

enum {
	CUTS_MAX = 8,           /* places to cut that are tried, from e2 backwards */
	REPLAYS = 5,            /* runs of a confirmed schedule */
	SHRINK_MAX = 8,         /* schedules with more switches are not shortened */
	OUTPUT_MAX = 64 * 1024, /* bytes of output that are compared */
};

int confirm_open(struct confirm *c, const struct confirm_options *o, struct err *err)
{
	*c = (struct confirm){.o = o, .output = -1};
	if (drive_open(&c->drive, err))
		return -1;
	c->output = memfd_create("output", MFD_CLOEXEC);
	return c->output < 0 ? err_sys(err, "cannot keep the program's output in memory") : 0;
}

void confirm_close(struct confirm *c)
{
	if (c->output >= 0)
		close(c->output);
	confirm_run_free(&c->first);
	mem_free(c->log);
	drive_close(&c->drive);
}

void confirm_run_free(struct confirm_run *r)
{
	driven_run_free(&r->run);
	str_free(&r->outcome);
	str_free(&r->output);
	*r = (struct confirm_run){0};
}

static void take_output(int fd, struct str *to)
{
	char buf[4096];
	off_t at = 0;
	ssize_t n;

	while (to->n < OUTPUT_MAX && (n = pread(fd, buf, sizeof buf, at)) > 0) {
		str_addn(to, buf, (size_t)n);
		at += n;
	}
}

int confirm_run(struct confirm *c, struct confirm_run *to, struct err *err)
{
	*to = (struct confirm_run){.run = {.argv = c->o->argv,
					   .drive = &c->drive,
					   .seconds = c->o->seconds,
					   .output = c->output},
				   .outcome = STR_INIT,
				   .output = STR_INIT};
	if (ftruncate(c->output, 0) || lseek(c->output, 0, SEEK_SET) < 0)
		return err_sys(err, "the program's output");
	drive_again(&c->drive);
	if (driven_run(&to->run, err))
		return -1;
	driven_run_outcome(&to->run, &to->outcome);
	take_output(c->output, &to->output);
	return 0;
}

/* --- places --- */

/* The module of the run that the frame is in, or NULL. */
static const struct drive_module *find_module(const struct drive_file *f, const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (uint32_t i = 0; i < f->nmodules; i++) {
		const char *own = strrchr(f->module[i].path, '/');

		own = own ? own + 1 : f->module[i].path;
		if (!strcmp(own, name))
			return &f->module[i];
	}
	return NULL;
}

/* Where the step happened. Reports name the call, and the runtime the address after it. */
static bool place_of_step(const struct drive_file *f, const struct finding_step *s,
			  struct drive_place *to)
{
	const struct drive_module *m =
		s->stack.n && s->stack.v[0].module ? find_module(f, s->stack.v[0].module) : NULL;

	if (m)
		*to = (struct drive_place){m->id, s->stack.v[0].offset + 1};
	return m;
}

static bool is_at(const struct drive_step *s, const struct drive_place *p)
{
	return s->pc.module == p->module && s->pc.offset == p->offset;
}

/* --- the first run --- */

static void plan_nothing(struct drive_file *f)
{
	f->strategy = DRIVE_DEFAULT;
	f->nholds = f->nchoices = 0;
	f->log_all = 0;
}

static void plan_threads(struct drive_file *f)
{
	f->nplan_threads = f->nthreads < DRIVE_THREADS ? f->nthreads : DRIVE_THREADS;
	for (uint32_t i = 0; i < f->nplan_threads; i++)
		f->plan_thread[i] = (struct drive_thread){.parent = f->thread[i].parent,
							  .nth = f->thread[i].nth};
}

/* Runs the program without preemption, with the finding's places as steps, and keeps its log. */
static int run_first(struct confirm *c, struct err *err)
{
	struct drive_file *f = c->drive.file;

	confirm_run_free(&c->first);
	plan_nothing(f);
	f->log_all = 2;
	if (confirm_run(c, &c->first, err))
		return -1;
	c->started = c->first.run.ending != DRIVEN_NOT_STARTED;
	c->instrumented = c->first.run.instrumented;
	c->controlled = drive_was_driven(&c->drive);
	plan_threads(f);
	f->log_all = 0;
	c->nlog = f->nsteps;
	MEM_GROW(c->log, c->log_cap, c->nlog + 1);
	memcpy(c->log, f->step, c->nlog * sizeof *c->log);
	return 0;
}

/* --- what to hold --- */

/* What is known of a finding in this program: places, threads, and steps of the first run. */
struct target {
	const struct finding *f;
	struct drive_place e1, first, last, e2; /* of B: the first and the last step between */
	uint32_t a, b;                          /* threads of the run */
	size_t at_e1, at_e2;                    /* indices in the log: A's steps */
	size_t at_first;                        /* B's first step between */
};

static size_t find_step(const struct confirm *c, size_t from, uint32_t thread,
			const struct drive_place *p)
{
	for (size_t i = from; i < c->nlog; i++)
		if (c->log[i].thread == thread && is_at(&c->log[i], p))
			return i;
	return SIZE_MAX;
}

/* Does A have e1 and then e2, and B the steps between? */
static bool take_threads(const struct confirm *c, struct target *t, uint32_t a, uint32_t b)
{
	size_t next;

	t->at_e1 = find_step(c, 0, a, &t->e1);
	t->at_e2 = t->at_e1 == SIZE_MAX ? SIZE_MAX : find_step(c, t->at_e1 + 1, a, &t->e2);
	t->at_first = find_step(c, 0, b, &t->first);
	if (t->at_e2 == SIZE_MAX || t->at_first == SIZE_MAX ||
	    find_step(c, t->at_first, b, &t->last) == SIZE_MAX)
		return false;
	/* The last e1 before this e2: others are of earlier calls. */
	while ((next = find_step(c, t->at_e1 + 1, a, &t->e1)) < t->at_e2)
		t->at_e1 = next;
	t->a = a;
	t->b = b;
	return true;
}

/* "T12" -> 12 */
static uint32_t number_of(const char *thread)
{
	return thread && *thread == 'T' ? (uint32_t)strtoul(thread + 1, NULL, 10) : UINT32_MAX;
}

/* The finding's own threads if they do that in this run, too; otherwise any two that do. */
static bool choose_threads(const struct confirm *c, struct target *t)
{
	uint32_t n = c->drive.file->nthreads;
	uint32_t a = number_of(t->f->steps[0].thread), b = number_of(t->f->steps[1].thread);

	if (a < n && b < n && a != b && take_threads(c, t, a, b))
		return true;
	for (a = 0; a < n && a < 64; a++)
		for (b = 0; b < n && b < 64; b++)
			if (a != b && take_threads(c, t, a, b))
				return true;
	return false;
}

/* Adds a place that is a step, and returns its number. */
static uint32_t add_place(struct drive_file *f, const struct drive_place *p)
{
	uint32_t i = 0;

	while (i < f->nplaces &&
	       (f->place[i].module != p->module || f->place[i].offset != p->offset))
		i++;
	if (i == f->nplaces && f->nplaces < DRIVE_COUNTED)
		f->place[f->nplaces++] = *p;
	return i < DRIVE_COUNTED ? i : DRIVE_COUNTED - 1;
}

/* How often the thread had come to the place of step `i` of the log, that step included. */
static uint32_t count_visits(const struct confirm *c, size_t i)
{
	uint32_t n = 0;

	for (size_t k = 0; k <= i; k++)
		n += c->log[k].thread == c->log[i].thread && is_at(&c->log[k], &c->log[i].pc);
	return n;
}

/* Holds the thread at step `at` of the log until the other has done step `until`. */
static void add_hold(const struct confirm *c, size_t at, size_t until)
{
	struct drive_file *f = c->drive.file;
	struct drive_hold *h = &f->hold[f->nholds++];

	*h = (struct drive_hold){.thread = c->log[at].thread,
				 .other = c->log[until].thread,
				 .at = add_place(f, &c->log[at].pc),
				 .until = add_place(f, &c->log[until].pc),
				 .at_times = count_visits(c, at),
				 .until_times = count_visits(c, until)};
}

/* The thread's step before `i` in the log at which it can be held; SIZE_MAX if there is none. */
static size_t find_before(const struct confirm *c, size_t i, size_t least)
{
	uint32_t thread = c->log[i].thread;

	while (i > least) {
		const struct drive_step *s = &c->log[--i];

		/* Before an unlock is no better than after it, for the others. */
		if (s->thread == thread && s->pc.module && s->op != DRIVE_UNLOCK)
			return i;
	}
	return SIZE_MAX;
}

/* --- attempts --- */

static struct finding_confirm *confirm_of(struct finding *f)
{
	if (!f->confirm) {
		f->confirm = arena_alloc(&f->arena, sizeof *f->confirm);
		*f->confirm = (struct finding_confirm){.outcome = CONFIRM_NOT_REACHED};
	}
	return f->confirm;
}

static bool has_label(const struct finding *f, const char *label)
{
	if (step_same_name(f->blame.label, label) || step_same_name(f->transaction.label, label))
		return true;
	for (size_t i = 0; i < f->nrefuted; i++)
		if (step_same_name(f->refuted[i], label))
			return true;
	return false;
}

/* Does a step of `seen` have the same operation and place as this one? */
static bool has_step(const struct finding *seen, const struct finding_step *s)
{
	for (size_t i = 0; i < seen->nsteps; i++)
		if (step_same_name(seen->steps[i].op, s->op) &&
		    step_same_name(seen->steps[i].place, s->place))
			return true;
	return false;
}

/* Is what the check has seen what was predicted: the block, and where it was cut? */
static bool is_the_same(const struct finding *f, const struct finding *seen)
{
	const char *label = f->transaction.label ? f->transaction.label : f->region.name;

	return (has_label(seen, label) || (f->region.name && has_label(seen, f->region.name))) &&
	       (has_step(seen, &f->steps[0]) || has_step(seen, &f->steps[f->nsteps - 1]));
}

static const struct finding *find_seen(const struct finding *f, const struct driven_run *run)
{
	for (size_t i = 0; i < run->findings.n; i++)
		if (is_the_same(f, run->findings.v[i]))
			return run->findings.v[i];
	return NULL;
}

/* Says what B waited for when A had to go on. */
static void note_order(const struct confirm *c, const struct target *t, struct finding *f)
{
	const struct drive_hold *h = &c->drive.file->hold[0];
	struct str s = STR_INIT;

	if (h->other_op)
		str_fmt(&s, "thread %s could not go on before thread %s did: it waits to %s",
			t->f->steps[1].thread, t->f->steps[0].thread,
			drive_op_text((enum drive_op)h->other_op));
	else
		str_fmt(&s, "thread %s does its part only after thread %s has ended its own",
			t->f->steps[1].thread, t->f->steps[0].thread);
	confirm_of(f)->why = arena_strdup(&f->arena, s.s);
	str_free(&s);
}

/*
 * Makes the run that `cut` and `late` say. Returns 1 if the check saw the violation, 0 if not, -1
 * on an error. `r` is the caller's to free.
 */
static int attempt(struct confirm *c, const struct target *t, size_t cut, size_t late,
		   struct confirm_run *r, struct finding *f, struct err *err)
{
	struct drive_file *file = c->drive.file;
	size_t last = find_step(c, t->at_first, t->b, &t->last);

	plan_nothing(file);
	add_hold(c, cut, last);
	if (late != SIZE_MAX)
		add_hold(c, late, t->at_e1);
	confirm_of(f)->runs++;
	if (confirm_run(c, r, err))
		return -1;
	return find_seen(f, &r->run) != NULL;
}

/* --- a confirmed run --- */

static bool is_again(struct confirm *c, const struct sched *s, const struct finding *f,
		     const char *outcome)
{
	struct confirm_run r;
	struct err err = {0};
	bool same;

	plan_nothing(c->drive.file);
	if (sched_plan(s, &c->drive, &err) || confirm_run(c, &r, &err))
		return false;
	same = find_seen(f, &r.run) && !strcmp(r.outcome.s, outcome);
	confirm_run_free(&r);
	return same;
}

/* Leaves out switches without which the schedule does the same. */
static void shrink(struct confirm *c, struct sched *s, const struct finding *f, const char *outcome)
{
	for (size_t i = s->nchoices; i-- > 0 && s->nchoices <= SHRINK_MAX;) {
		struct sched_choice left_out = s->choice[i];

		memmove(&s->choice[i], &s->choice[i + 1],
			(s->nchoices - i - 1) * sizeof *s->choice);
		s->nchoices--;
		if (is_again(c, s, f, outcome)) {
			mem_free(left_out.text);
			s->hash = 0; /* another log */
			continue;
		}
		memmove(&s->choice[i + 1], &s->choice[i], (s->nchoices - i) * sizeof *s->choice);
		s->choice[i] = left_out;
		s->nchoices++;
	}
}

/* A name for the schedule's file that is not taken: "deposit.sched", "deposit-2.sched". */
static FILE *create_file(struct str *path, const char *folder, const char *label)
{
	size_t start;

	str_fmt(path, "%s/", folder);
	start = path->n;
	for (const char *p = label ? label : "finding"; *p && path->n - start < 60; p++)
		str_addc(path, strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-",
				      *p)
				       ? *p
				       : '_');
	start = path->n;
	for (int i = 1; i < 1000; i++) {
		FILE *out;

		path->n = start;
		path->s[start] = 0;
		if (i > 1)
			str_fmt(path, "-%d", i);
		str_add(path, ".sched");
		out = fopen(path->s, "wxe");
		if (out || access(path->s, F_OK))
			return out;
	}
	return NULL;
}

/* Replays the schedule of a confirmed run, and writes its file. */
static int keep_schedule(struct confirm *c, const struct confirm_run *r, struct finding *f,
			 struct err *err)
{
	struct finding_confirm *to = confirm_of(f);
	const struct finding *seen = find_seen(f, &r->run);
	struct str path = STR_INIT;
	struct sched s = {0};
	FILE *out;
	int rc = 0;

	sched_take(&s, &c->drive, c->o->argv);
	s.outcome = mem_strdup(r->outcome.s);
	MEM_GROW(s.finding, s.finding_cap, 1);
	s.finding[s.nfindings++] = seen->fingerprint;
	shrink(c, &s, f, r->outcome.s);
	for (to->of = 0; to->of < REPLAYS; to->of++)
		to->replayed += is_again(c, &s, f, r->outcome.s);
	s.replayed = to->replayed;
	s.of = to->of;
	out = create_file(&path, c->o->folder,
			  f->region.name ? f->region.name : f->transaction.label);
	if (!out) {
		rc = err_sys(err, "%s", path.s);
	} else {
		sched_write(&s, out);
		if (ferror(out) | fclose(out))
			rc = err_sys(err, "%s: writing failed", path.s);
	}
	to->schedule = arena_strdup(&f->arena, path.s);
	str_free(&path);
	sched_free(&s);
	return rc;
}

static int take_confirmed(struct confirm *c, const struct target *t, const struct confirm_run *r,
			  struct finding *f, struct err *err)
{
	confirm_of(f)->outcome = CONFIRM_CONFIRMED;
	confirm_of(f)->why = NULL;
	f->status = FINDING_CONFIRMED;
	if (keep_schedule(c, r, f, err))
		return -1;
	return confirm_judge_harm(c, r, t->a, t->b, f, err);
}

/* --- all attempts for a finding --- */

/* Sets what to try next after a run in which the check saw nothing. Returns false if nothing is
 * left. */
static bool choose_next(const struct confirm *c, const struct target *t, size_t *cut, size_t *late,
			struct finding *f)
{
	const struct drive_file *file = c->drive.file;
	const struct drive_hold *h = file->hold;
	struct finding_confirm *to = confirm_of(f);

	if (file->nholds > 1 && h[1].forced) {
		/* A waits for something that B has when it is held: hold B earlier. */
		*late = find_before(c, *late, 0);
		return *late != SIZE_MAX;
	}
	if (h[0].forced && h[0].other_op) {
		to->outcome = CONFIRM_ORDERED;
		note_order(c, t, f);
		*cut = find_before(c, *cut, t->at_e1 + 1);
		return *cut != SIZE_MAX;
	}
	if (!h[0].held && *late == SIZE_MAX) {
		/* B came first by itself. */
		*late = find_before(c, t->at_first, 0);
		return *late != SIZE_MAX;
	}
	to->outcome = h[0].forced ? CONFIRM_ORDERED : CONFIRM_DIVERGED;
	if (h[0].forced)
		note_order(c, t, f);
	*cut = find_before(c, *cut, t->at_e1 + 1);
	return *cut != SIZE_MAX;
}

static int try_cuts(struct confirm *c, const struct target *t, struct finding *f, struct err *err)
{
	size_t cut = t->at_e2, late = SIZE_MAX;

	/* B comes first by itself: hold it from the beginning. */
	if (t->at_first < t->at_e1)
		late = find_before(c, t->at_first, 0);
	while (confirm_of(f)->runs < c->o->runs) {
		struct confirm_run r;
		int seen;

		if (clock_seconds() > c->o->until) {
			confirm_of(f)->outcome = CONFIRM_OUT_OF_TIME;
			return 0;
		}
		seen = attempt(c, t, cut, late, &r, f, err);
		if (seen < 0)
			return -1;
		if (seen) {
			int rc = take_confirmed(c, t, &r, f, err);

			confirm_run_free(&r);
			return rc;
		}
		confirm_run_free(&r);
		if (!choose_next(c, t, &cut, &late, f))
			return 0;
	}
	return 0;
}

/* A block that is no function's is checked only if a specification says so. */
static int include_region(const struct finding *f, struct str *path, struct err *err)
{
	struct str rule = STR_INIT;
	int fd, rc = 0;

	if (!f->region.name || f->region.kind == REGION_FUNCTION ||
	    f->region.kind == REGION_MARKED || f->region.kind == REGION_UNKNOWN)
		return 0;
	file_add_temporary(path);
	str_fmt(&rule, "include function %s\n", f->region.name);
	fd = mkstemp(path->s);
	if (fd < 0 || write(fd, rule.s, rule.n) != (ssize_t)rule.n ||
	    child_add_option("spec", path->s, err) || child_add_option("rules", "1", err))
		rc = err_sys(err, "%s", path->s);
	if (fd >= 0)
		close(fd);
	str_free(&rule);
	return rc;
}

static bool is_cut(const struct finding *f)
{
	return f->nsteps >= 3 && step_same_name(f->kind, "pattern") && f->steps[1].thread &&
	       step_same_name(f->steps[0].thread, f->steps[f->nsteps - 1].thread);
}

/* Finds the finding's places, with the modules of the run. */
static bool find_places(const struct confirm *c, struct target *t)
{
	const struct finding *f = t->f;
	const struct drive_file *file = c->drive.file;

	return place_of_step(file, &f->steps[0], &t->e1) &&
	       place_of_step(file, &f->steps[1], &t->first) &&
	       place_of_step(file, &f->steps[f->nsteps - 2], &t->last) &&
	       place_of_step(file, &f->steps[f->nsteps - 1], &t->e2);
}

static int confirm_cut(struct confirm *c, struct finding *f, struct err *err)
{
	struct drive_file *file = c->drive.file;
	struct target t = {.f = f};

	/* The modules are known after a run; so are the steps at the finding's places. */
	if (!file->nmodules && run_first(c, err))
		return -1;
	if (!c->controlled)
		return 0;
	file->nplaces = 0;
	if (!find_places(c, &t)) {
		confirm_of(f)->why = "the program has no code at these places: was it built anew?";
		return 0;
	}
	add_place(file, &t.e1);
	add_place(file, &t.first);
	add_place(file, &t.last);
	add_place(file, &t.e2);
	if (run_first(c, err))
		return -1;
	if (!choose_threads(c, &t)) {
		confirm_of(f)->why =
			"no two threads came to its places in a run without preemption";
		return 0;
	}
	return try_cuts(c, &t, f, err);
}

int confirm_finding(struct confirm *c, struct finding *f, struct err *err)
{
	struct str rules = STR_INIT;
	char *before = getenv("ATOMSAN_OPTIONS") ? mem_strdup(getenv("ATOMSAN_OPTIONS")) : NULL;
	int rc = 0;

	confirm_of(f);
	if (clock_seconds() > c->o->until)
		confirm_of(f)->outcome = CONFIRM_OUT_OF_TIME;
	else if (!is_cut(f))
		confirm_of(f)->why =
			"only findings with two steps of one block and one between are driven";
	else if (!include_region(f, &rules, err))
		rc = confirm_cut(c, f, err);
	else
		rc = -1;
	if (rules.n)
		unlink(rules.s);
	if (before)
		setenv("ATOMSAN_OPTIONS", before, 1);
	else
		unsetenv("ATOMSAN_OPTIONS");
	mem_free(before);
	str_free(&rules);
	return rc;
}
