/*
 * Makes findings of a FINDING message.
 *
 * Its recording is read like any other. The runtime says which operation closed the cycle: the last
 * unit of the finding's thread, and which of its bytes. The engine `frontier` finds the rest: the
 * cycle, whether it rests on data or on locks, and the block to blame. Other cycles in the
 * recording have findings of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "engine/context.h"
#include "engine/precise/options.h"
#include "report/learned.h"
#include "report/rank.h"
#include "report/step.h"
#include "reporter/reporter_impl.h"

#include "base/banned.h"

static int put_in_memory(const struct finding_message *r, struct err *err)
{
	int fd = memfd_create("atomsan", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < r->recording_bytes) {
		ssize_t n = pwrite(fd, r->recording + done, r->recording_bytes - done, (off_t)done);

		if (n <= 0) {
			close(fd);
			fd = -1;
			break;
		}
		done += (size_t)n;
	}
	if (fd < 0)
		err_sys(err, "the recording of a finding cannot be kept in memory");
	return fd;
}

static struct reader *open_recording(struct reporter_process *p, const struct finding_message *r,
				     struct block_rules *rules, struct err *err)
{
	bool is_one = r->recording_bytes >= 8 && !memcmp(r->recording, RAW_MAGIC, 8);
	struct reader *reader;
	int fd;

	if (!is_one && r->recording_bytes)
		err_fail(err, "a finding came without a valid recording");
	fd = is_one ? put_in_memory(r, err) : -1;
	if (fd < 0)
		return NULL;
	reader = recording_open(p, fd, "the recording of a finding", true, rules, err);
	if (reader) {
		reader_set_modules(reader, p->module, p->nmodules);
		reader_set_facts(reader, &r->facts);
	}
	return reader;
}

static bool is_on_lock(uint8_t op)
{
	return op >= RAW_ACQUIRE && op <= RAW_SEM_POST;
}

/*
 * Returns what the runtime has found, for the reader to say which events it is: the bytes that
 * close the cycle, then its steps, in one array that belongs to the caller.
 */
static struct reader_unit *given_units(const struct finding_message *r, size_t *nclosing)
{
	struct reader_unit *v = mem_zalloc((8 * (r->nclosing + 1) + r->nsteps) * sizeof *v);
	size_t n = 0;

	for (size_t i = 0; i < r->nclosing; i++)
		for (uint32_t k = 0; k < 8 && r->closing[i].address; k++)
			if (r->closing[i].bytes >> k & 1)
				v[n++].address = r->closing[i].address + k;
	n += !n; /* not memory but a lock: address 0 is right */
	for (size_t i = 0; i < n; i++)
		v[i].thread = r->head.thread;
	*nclosing = n;
	for (size_t i = 0; i < r->nsteps; i++) {
		const struct live_step *s = &r->steps[i];

		v[n++] = (struct reader_unit){.thread = s->thread,
					      .op = s->evicted || s->kept ? UINT8_MAX : s->op,
					      .on_lock = is_on_lock(s->op),
					      .time = s->time,
					      .pc = s->pc};
	}
	return v;
}

/*
 * Checks the recording with these block rules. Returns the findings, or NULL if there is none. With
 * `steps`, the runtime's steps are believed if the recording alone does not show the cycle; then
 * *believed is set. This takes long: millions of operations are read several times.
 */
static struct finding **replay_recording(struct reporter_process *p,
					 const struct finding_message *r, struct block_rules *rules,
					 bool steps, bool *believed, size_t *n, struct err *err)
{
	struct reader *reader = open_recording(p, r, rules, err);
	struct frontier_given given = {.thread = r->head.thread, .believed = believed};
	struct frontier_options options = {.given = &given};
	struct reader_unit *units;
	struct engine_result res;
	struct finding **v;

	*n = 0;
	*believed = false;
	if (!reader)
		return NULL;
	given.closing = units = given_units(r, &given.nclosing);
	given.steps = units + given.nclosing;
	given.nsteps = steps ? r->nsteps : 0;
	reader_set_units(reader, units, given.nclosing + r->nsteps);
	engine_run(engine_by_name("frontier"), &options, reader, true, NULL, &res, err);
	if (res.findings.n)
		context_add(&res, 1, reader);
	v = mem_alloc((res.findings.n + 1) * sizeof(struct finding *));
	for (; *n < res.findings.n; ++*n) {
		v[*n] = res.findings.v[*n];
		res.findings.v[*n] = finding_new(); /* take ownership */
	}
	engine_result_free(&res);
	recording_close(reader);
	mem_free(units);
	if (*n)
		return v;
	mem_free(v);
	return NULL;
}

/*
 * Checks the recording without the specification. If that gives findings, the specification
 * excludes them.
 */
static struct finding **replay_by_default(struct reporter_process *p,
					  const struct finding_message *r, size_t *n)
{
	struct spec *none;
	struct err ignored = {0};
	struct spec_rule rule;
	struct finding **v;
	bool believed;

	if (!spec_rule_at(p->spec, 0, &rule))
		return NULL; /* there is no specification */
	none = spec_new();
	v = replay_recording(p, r, spec_rules(none), false, &believed, n, &ignored);
	spec_free(none);
	return v;
}

static bool is_blamed(struct finding **v, size_t n)
{
	size_t i = 0;

	while (i < n && !v[i]->blame.thread)
		i++;
	return i < n;
}

static void free_findings(struct finding **v, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		finding_free(v[i]);
	mem_free(v);
	*n = 0;
}

/*
 * Are steps gone? Then the recording is a small one (runtime/report/snapshot.h). Memory may have
 * been freed in the part that it lacks, so that accesses before and after do not conflict: a cycle
 * in the recording may not be one.
 */
static bool is_small(const struct finding_message *r)
{
	for (size_t i = 0; i < r->nsteps; i++)
		if (r->steps[i].evicted || r->steps[i].kept)
			return true;
	return false;
}

/*
 * A cycle leads from a transaction back to itself. That of a block which was left out since,
 * because it waited, does not any more: its operations are in several transactions now.
 */
static bool is_cycle(const struct finding *f)
{
	const struct finding_step *first, *last;

	if (f->evicted || f->nsteps < 2)
		return true; /* some steps are not known */
	first = &f->steps[0];
	last = &f->steps[f->nsteps - 1];
	return !first->op || !last->op ||
	       (step_same_name(first->thread, last->thread) && first->begin == last->begin &&
		!first->label == !last->label);
}

/*
 * Removes what is no cycle, and the findings whose region the specification excludes. Returns true
 * if nothing would be left; then they stay.
 */
static bool remove_excluded(const struct reporter_process *p, struct finding **v, size_t *n)
{
	struct block_rules *rules = spec_rules(p->spec);
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++) {
		struct finding *f = v[i];

		if (!is_cycle(f) || rules->excludes_region(rules, region_kind_names[f->region.kind],
							   f->region.name))
			continue;
		v[i] = v[kept];
		v[kept++] = f;
	}
	if (!kept)
		return true;
	while (*n > kept)
		finding_free(v[--*n]);
	return false;
}

struct finding **explain_finding(struct reporter_process *p, const struct finding_message *r,
				 size_t *n, bool *excluded)
{
	struct err err = {0};
	bool steps = !r->head.replayed, small = is_small(r), believed = false;
	struct finding **v = NULL;

	*n = 0;
	p->left_out = false;
	if (!small)
		v = replay_recording(p, r, &p->rules, steps, &believed, n, &err);
	/* A call that was already running when its function was left out is still a block. */
	if ((!v || believed) && p->left_out && !err_is_set(&err)) {
		free_findings(v, n);
		v = replay_recording(p, r, spec_rules(p->spec), steps, &believed, n, &err);
	}
	*excluded = false;
	if (!v && !small && !err_is_set(&err)) {
		v = replay_by_default(p, r, n);
		*excluded = v != NULL;
	}
	if (!v && !err_is_set(&err) && r->head.replayed && !r->head.evicted)
		return NULL;
	if (err_is_set(&err))
		note("process %d: %s", (int)p->pid, err.text);
	else if (!v && !r->head.evicted && p->verbosity > 0)
		note("process %d: the recording of a finding does not show it", (int)p->pid);
	if (v && r->head.evicted && r->head.blamed && !is_blamed(v, *n)) {
		/* The runtime knew which block is to blame. */
		free_findings(v, n);
		v = NULL;
	}
	if (!v) {
		v = mem_alloc(sizeof(struct finding *));
		v[(*n)++] = explain_steps(p, r);
	}
	for (size_t i = 0; i < *n; i++) {
		v[i]->live = true;
		/* The evicted history may have shown a block to blame. */
		v[i]->evicted |= r->head.evicted && !v[i]->blame.thread;
		/* Without plain accesses it is not known whether the data has a cycle. */
		if (p->skeleton && v[i]->rests_on == RESTS_ON_LOCKS)
			v[i]->rests_on = RESTS_ON_NOTHING;
		rank_classify(v[i]);
		learned_note(v[i], spec_rules(p->spec));
		event_numbers_compact(v[i]);
	}
	*excluded |= remove_excluded(p, v, n);
	return v;
}
