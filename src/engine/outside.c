#include "engine/outside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/contention.h"
#include "engine/region.h"
#include "trace/blocks.h"

#include "base/banned.h"

/* Functions that the sentence names. */
enum { NAMES_MAX = 3 };

/* The last read of a variable by a thread outside of blocks, until the thread writes it. */
struct last_read {
	uint32_t region;  /* 0: none */
	uint32_t section; /* of the last read of the region; 0: no lock was held */
	bool counted;
};

struct thread {
	bool in_block;
	uint32_t held;    /* number of locks */
	uint32_t section; /* number of the outermost critical section */
};

/* Accesses of a function to a life of a variable (contention.h). */
struct count {
	uint32_t life;
	strref label;
	uint64_t accesses;
};

struct reading {
	struct regions regions;
	struct phases phases;
	struct contention contention;
	struct thread *thread;
	size_t thread_cap;
	struct map reads; /* (variable, thread) -> index in `read` */
	struct last_read *read;
	size_t nread, read_cap;
	struct map counts; /* (life, label) -> index in `count` */
	struct count *count;
	size_t ncount, count_cap;
};

static struct last_read *find_read(struct reading *g, const struct event *e)
{
	uint32_t i = map_get2(&g->reads, e->operand, e->thread);

	if (i == MAP_NONE) {
		i = (uint32_t)g->nread++;
		MEM_GROW(g->read, g->read_cap, g->nread);
		g->read[i] = (struct last_read){0};
		map_set2(&g->reads, e->operand, e->thread, i);
	}
	return &g->read[i];
}

static void count_accesses(struct reading *g, uint32_t var, strref label, uint64_t n)
{
	uint32_t life = contention_life(&g->contention, var);
	uint32_t i = map_get2(&g->counts, life, label);

	if (i == MAP_NONE) {
		i = (uint32_t)g->ncount++;
		MEM_GROW(g->count, g->count_cap, g->ncount);
		g->count[i] = (struct count){life, label, 0};
		map_set2(&g->counts, life, label, i);
	}
	g->count[i].accesses += n;
}

static void take_access(struct reading *g, const struct event *e)
{
	const struct region *region = &g->regions.thread[e->thread];
	const struct thread *t = &g->thread[e->thread];
	uint32_t section = t->held ? t->section : 0;
	struct last_read *read;

	if (t->in_block || !region->id)
		return;
	read = find_read(g, e);
	if (e->op == OP_READ) {
		read->counted &= read->region == region->id;
		read->region = region->id;
		read->section = section;
		return;
	}
	if (e->op == OP_WRITE && read->region == region->id &&
	    (!section || section != read->section))
		count_accesses(g, e->operand, region->label, 1 + !read->counted);
	read->region = 0;
}

static void take_lock(struct thread *t, const struct event *e)
{
	if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
		t->section += !t->held++;
	else if (t->held)
		t->held--;
}

static void take_event(struct reading *g, const struct batch *b, const struct event *e,
		       uint64_t number)
{
	struct thread *t = &g->thread[e->thread];

	region_take(&g->regions, b, e, number, t->in_block);
	if (e->op == OP_NONE)
		return;
	phases_take(&g->phases, e);
	contention_look(&g->contention, &g->phases, e);
	if (e->outer)
		t->in_block = e->outer == OUTER_BEGIN;
	if (op_is_access(e->op))
		take_access(g, e);
	else if (op_is_lock(e->op))
		take_lock(t, e);
}

static void take_batch(struct reading *g, const struct batch *b)
{
	const struct table *names = b->names->table;

	regions_prepare(&g->regions, b);
	phases_room(&g->phases, names[NAMES_THREAD].n, names[NAMES_LOCK].n);
	contention_room(&g->contention, names[NAMES_VAR].n, names[NAMES_LOCK].n);
	MEM_GROW0(g->thread, g->thread_cap, names[NAMES_THREAD].n);
	for (uint32_t i = 0; i < b->n; i++)
		take_event(g, b, &b->ev[i], b->first + i);
}

static void free_reading(struct reading *g)
{
	regions_free(&g->regions);
	phases_free(&g->phases);
	contention_free(&g->contention);
	map_free(&g->reads);
	map_free(&g->counts);
	mem_free(g->thread);
	mem_free(g->read);
	mem_free(g->count);
}

void outside_read(struct outside *o, struct reader *r)
{
	struct event *ev;
	struct reading g = {0};
	struct batch b = {.first = 1, .names = reader_names(r)};
	struct err ignored = {{0}};
	struct str name = STR_INIT;
	int n;

	if (!reader_is_recorded(r) || reader_rewind(r, &ignored))
		return;
	ev = mem_alloc(READER_BATCH * sizeof *ev);
	while ((n = reader_next(r, ev, &ignored)) > 0) {
		b.ev = ev;
		b.n = (uint32_t)n;
		take_batch(&g, &b);
		b.first += b.n;
	}
	for (size_t i = 0; i < g.ncount; i++) {
		if (!contention_life_takes_part(&g.contention, g.count[i].life))
			continue;
		str_reset(&name);
		names_add_string(b.names, g.count[i].label, &name);
		if (reader_excludes_region(r, region_kind_names[REGION_PAIR], name.s))
			continue;
		outside_add(o, name.s, g.count[i].accesses);
	}
	str_free(&name);
	mem_free(ev);
	free_reading(&g);
}

void outside_add(struct outside *o, const char *name, uint64_t accesses)
{
	size_t i = 0;

	while (i < o->n && strcmp(o->v[i].name, name) != 0)
		i++;
	if (i == o->n) {
		MEM_GROW(o->v, o->cap, o->n + 1);
		o->v[o->n++] = (struct outside_function){.name = mem_strdup(name)};
	}
	o->v[i].accesses += accesses;
	for (; i && o->v[i - 1].accesses < o->v[i].accesses; i--) {
		struct outside_function swap = o->v[i];

		o->v[i] = o->v[i - 1];
		o->v[i - 1] = swap;
	}
}

void outside_free(struct outside *o)
{
	while (o->n)
		mem_free(o->v[--o->n].name);
	mem_free(o->v);
	*o = (struct outside){0};
}

void outside_describe(const struct outside *o, struct str *s)
{
	uint64_t accesses = 0;
	size_t shown = o->n > NAMES_MAX ? NAMES_MAX - 1 : o->n;

	for (size_t i = 0; i < o->n; i++)
		accesses += o->v[i].accesses;
	if (!accesses)
		return;
	str_fmt(s, "%" PRIu64 " accesses of shared variables in ", accesses);
	for (size_t i = 0; i < shown; i++) {
		const char *name = o->v[i].name;
		size_t bare = strcspn(name, "(");

		str_add(s, !i ? "" : i + 1 == o->n ? " and " : ", ");
		str_add_shown(s, name, strlen(name), 60);
		str_add(s, name[bare] ? "" : "()");
	}
	if (shown < o->n)
		str_fmt(s, " and %zu more functions", o->n - shown);
	str_add(s, " were not checked, because they are in no block");
}
