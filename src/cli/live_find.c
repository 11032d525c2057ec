/*
 * From the recording of a finding to the finding.
 *
 * The recording is read as any other. The engine that knows cycles finds again what
 * the runtime found, by the same rules, and tells it with all that people want to know. Only what
 * the last unit of the finding's thread closes is of interest: the rest has findings of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/live_impl.h"
#include "symbol/symbol.h"

#include "base/banned.h"

static int put_in_memory(const struct live_recording *r, struct err *err)
{
	int fd = memfd_create("atomsan", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < r->n) {
		ssize_t n = pwrite(fd, r->bytes + done, r->n - done, (off_t)done);

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

struct reader *live_open_recording(struct live_process *p, int fd, const char *name,
				   bool unfinished, struct block_rules *rules, struct err *err)
{
	struct reader_options ropt = {.unfinished = unfinished, .rewindable = true};
	struct reader *reader = reader_open_fd(fd, name, &ropt, err);

	if (!reader)
		return NULL;
	reader_set_resolver(reader, symbol_resolver_beside(p->resolver));
	reader_set_blocks(reader, rules);
	reader_set_modules(reader, p->module, p->nmodules);
	return reader;
}

static struct reader *open_recording(struct live_process *p, const struct live_recording *r,
				     struct block_rules *rules, struct err *err)
{
	bool is_one = r->n >= 8 && !memcmp(r->bytes, RAW_MAGIC, 8);
	int fd;

	if (!is_one && r->n)
		err_fail(err, "what comes with a finding is no recording");
	fd = is_one ? put_in_memory(r, err) : -1;
	return fd < 0 ? NULL
		      : live_open_recording(p, fd, "the recording of a finding", true, rules, err);
}

void live_close_recording(struct reader *reader)
{
	struct names_resolver *resolver = reader_resolver(reader);

	reader_close(reader);
	symbol_resolver_free(resolver);
}

/* --- event numbers --- */

struct numbers {
	uint64_t *v;
	size_t n, cap;
};

static void numbers_add(struct numbers *x, uint64_t event)
{
	if (!event)
		return;
	MEM_GROW(x->v, x->cap, x->n + 1);
	x->v[x->n++] = event;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t rank(const struct numbers *x, uint64_t event)
{
	const uint64_t *at =
		event && x->n ? bsearch(&event, x->v, x->n, sizeof *x->v, by_number) : NULL;

	return at ? (uint64_t)(at - x->v) + 1 : 0;
}

void live_renumber(struct finding *f)
{
	struct numbers x = {0};
	size_t kept = 0;

	numbers_add(&x, f->event);
	numbers_add(&x, f->transaction.begin);
	for (size_t i = 0; i < f->nsteps; i++) {
		numbers_add(&x, f->steps[i].event);
		numbers_add(&x, f->steps[i].begin);
	}
	for (size_t i = 0; i < f->nschedule; i++)
		numbers_add(&x, f->schedule[i]);
	if (x.n)
		qsort(x.v, x.n, sizeof *x.v, by_number);
	for (size_t i = 0; i < x.n; i++)
		if (!kept || x.v[kept - 1] != x.v[i])
			x.v[kept++] = x.v[i];
	x.n = kept;
	f->event = rank(&x, f->event);
	f->transaction.begin = rank(&x, f->transaction.begin);
	f->blame.begin = rank(&x, f->blame.begin);
	for (size_t i = 0; i < f->nsteps; i++) {
		f->steps[i].event = rank(&x, f->steps[i].event);
		f->steps[i].begin = rank(&x, f->steps[i].begin);
	}
	for (size_t i = 0; i < f->nschedule; i++)
		f->schedule[i] = rank(&x, f->schedule[i]);
	for (size_t i = 0; i < f->nmoves; i++)
		f->moves[i].event = rank(&x, f->moves[i].event);
	mem_free(x.v);
}

/* --- */

/* Did this thread close it? */
static bool is_of(const struct finding *f, uint32_t thread)
{
	char name[16];

	snprintf(name, sizeof name, "T%u", thread);
	return f->transaction.thread && !strcmp(f->transaction.thread, name);
}

static size_t take(struct finding_list *l, uint32_t thread, struct finding **v)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (is_of(l->v[i], thread)) {
			v[n++] = l->v[i];
			l->v[i] = finding_new(); /* that one is ours now */
		}
	return n;
}

/* Read the recording by these rules; NULL where it has no such finding. */
static struct finding **replay(struct live_process *p, const struct live_recording *r,
			       struct block_rules *rules, size_t *n, struct err *err)
{
	struct engine_options options = {.last_unit = true, .thread = r->head->thread};
	struct reader *reader = open_recording(p, r, rules, err);
	struct engine_result res;
	struct finding **v;

	*n = 0;
	if (!reader)
		return NULL;
	engine_run(engine_by_name("frontier"), &options, reader, true, NULL, &res, err);
	v = mem_alloc((res.findings.n + 1) * sizeof(struct finding *));
	*n = take(&res.findings, r->head->thread, v);
	engine_result_free(&res);
	live_close_recording(reader);
	if (*n)
		return v;
	mem_free(v);
	return NULL;
}

/* Would it be one if the specification were not there? Then that says that it is none. */
static struct finding **replay_by_default(struct live_process *p, const struct live_recording *r,
					  size_t *n)
{
	struct spec *none = spec_new();
	struct err ignored = {0};
	struct finding **v = replay(p, r, spec_rules(none), n, &ignored);

	spec_free(none);
	return v;
}

struct finding **live_find(struct live_process *p, const struct live_recording *r, size_t *n,
			   bool *excluded)
{
	struct err err = {0};
	struct finding **v = replay(p, r, &p->rules, n, &err);

	/* A call that was open when its function was left out is still a block. */
	if (!v && !err_is_set(&err) && p->out_names.n)
		v = replay(p, r, spec_rules(p->spec), n, &err);
	*excluded = false;
	if (!v && !err_is_set(&err)) {
		v = replay_by_default(p, r, n);
		*excluded = v != NULL;
	}
	if (err_is_set(&err))
		cli_note("process %d: %s", (int)p->pid, err.text);
	else if (!v && !r->head->evicted && p->verbosity > 0)
		cli_note("process %d: a finding is not in its own recording", (int)p->pid);
	if (!v) {
		v = mem_alloc(sizeof(struct finding *));
		v[(*n)++] = live_evicted(p, r);
	}
	for (size_t i = 0; i < *n; i++) {
		v[i]->live = true;
		live_renumber(v[i]);
	}
	return v;
}
