#include "engine/context.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/describe.h"
#include "trace/block_policy.h"
#include "trace/blocks.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* Blocks nested deeper than this are left out: they cannot be drawn. */
enum { DEPTH_MAX = 32 };

/* An event to look up: a step of a finding, or an event of its schedule; the other is NULL. */
struct wanted {
	uint64_t event;
	struct finding *f;
	struct finding_step *step;
	struct finding_move *move;
	uint32_t var; /* once the event was read */
};
enum { NO_VAR = UINT32_MAX };

/* Locks beyond this number are not followed. */
enum { LOCKS_MAX = 16 };

/* A lock that a thread holds. */
struct lock {
	uint32_t lock;
	bool shared;
	uint64_t since; /* the event that acquired it */
};

struct locks {
	struct lock v[LOCKS_MAX];
	size_t n;
};

struct block {
	uint64_t begin;
	strref label, place;
	struct locks held;
};

struct use {
	uint32_t var;
	enum op op;
	strref place;
	uint64_t event;
};

/* Accesses under locks that are kept; if there are more, the older are forgotten. */
enum { USES_MAX = 1 << 16, USES_KEPT = 16, STEPS_MAX = 64 };

/* What a thread is in the middle of. */
struct open {
	struct block block[DEPTH_MAX];
	size_t depth; /* may be more than DEPTH_MAX */
	struct locks held;
	struct use *uses; /* since it has held any lock */
	size_t nuses, uses_cap;
	/* Steps since then, for which later accesses matter; further ones are left out. */
	struct wanted *steps[STEPS_MAX];
	size_t nsteps;
};

struct context {
	struct wanted *v;
	size_t n, cap;
	struct open *threads;
	size_t nthreads;
	uint64_t *updated; /* bits by variable: an atomic operation has changed it */
	size_t nupdated;   /* words */
	bool recorded;
};

static int by_event(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

static void add_wanted(struct context *c, struct wanted w)
{
	MEM_GROW(c->v, c->cap, c->n + 1);
	c->v[c->n++] = w;
}

static void want_finding(struct context *c, struct finding *f, size_t moves)
{
	for (size_t i = 0; i < f->nsteps; i++)
		add_wanted(c, (struct wanted){.event = f->steps[i].event,
					      .f = f,
					      .step = &f->steps[i],
					      .var = NO_VAR});
	if (!f->nschedule)
		return;
	f->nmoves = f->nschedule < moves ? f->nschedule : moves;
	f->moves = arena_alloc(&f->arena, f->nmoves * sizeof *f->moves);
	for (size_t i = 0; i < f->nmoves; i++) {
		f->moves[i] = (struct finding_move){
			.event = f->schedule[f->nschedule - f->nmoves + i],
			.thread = "?",
			.op = op_info[OP_NONE].spelling,
		};
		add_wanted(c, (struct wanted){.event = f->moves[i].event,
					      .f = f,
					      .move = &f->moves[i],
					      .var = NO_VAR});
	}
}

static struct open *open_of(struct context *c, uint32_t thread)
{
	if (thread >= c->nthreads)
		MEM_GROW0(c->threads, c->nthreads, (size_t)thread + 1);
	return &c->threads[thread];
}

static const char *name_of_lock(struct finding *f, const struct names *names, const struct lock *l)
{
	struct event e = {.op = l->shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, .operand = l->lock};

	return describe_operand(f, names, &e);
}

static enum region_kind kind_of_label(const struct names *names, strref label)
{
	struct recorded_label got;

	if (!recorded_names(names) || label & STRREF_NUMBER)
		return REGION_MARKED;
	return recorded_label(names->table[NAMES_STRING].text[label], &got) &&
			       got.kind == BLOCK_MARKED
		       ? REGION_MARKED
		       : REGION_FUNCTION;
}

/* Returns "bank.c:12", where a function of a recorded run is; NULL if that is unknown. */
static const char *place_of_function(struct finding *f, const struct names *names, strref label)
{
	const struct names_frame *frame;
	struct str s = STR_INIT;
	char *copy;

	if (!names->resolver)
		return NULL;
	frame = names->resolver->function(names->resolver, names, label);
	if (!frame || !frame->file || !frame->line)
		return NULL;
	str_fmt(&s, "%s:%" PRIu32, frame->file, frame->line);
	copy = arena_strndup(&f->arena, s.s, s.n);
	str_free(&s);
	return copy;
}

static struct finding_block block_of(const struct wanted *w, const struct names *names,
				     const struct block *b)
{
	struct finding_block out = {
		.thread = w->step->thread,
		.label = describe_string(w->f, names, b->label),
		.place = describe_string(w->f, names, b->place),
		.begin = b->begin,
		.kind = kind_of_label(names, b->label),
		.nheld = b->held.n,
	};

	if (out.kind == REGION_FUNCTION)
		out.defined = place_of_function(w->f, names, b->label);
	out.held = arena_alloc(&w->f->arena, (b->held.n + 1) * sizeof *out.held);
	for (size_t i = 0; i < b->held.n; i++)
		out.held[i] = name_of_lock(w->f, names, &b->held.v[i]);
	return out;
}

/* Is `name` the lock's name, maybe followed by " (shared)"? */
static bool names_lock(const char *name, const char *lock)
{
	size_t n = lock ? strlen(lock) : 0;

	return lock && !strncmp(name, lock, n) && (!name[n] || !strcmp(name + n, " (shared)"));
}

/* Find out since when the thread holds the locks that the engine has named. */
static void fill_held_since(const struct wanted *w, const struct names *names,
			    const struct locks *locks)
{
	struct finding_step *s = w->step;

	if (!s->held)
		return;
	s->held_since = arena_alloc(&w->f->arena, (s->nheld + 1) * sizeof *s->held_since);
	for (size_t i = 0; i < s->nheld; i++) {
		s->held_since[i] = 0;
		for (size_t k = 0; k < locks->n && s->held[i]; k++)
			if (names_lock(s->held[i], name_of_lock(w->f, names, &locks->v[k])))
				s->held_since[i] = locks->v[k].since;
	}
}

/* Is it a variable that this thread accesses in one of the finding's steps? */
static bool is_var_of_thread(const struct finding *f, const char *thread, uint32_t var)
{
	for (size_t i = 0; i < f->nsteps; i++)
		if (f->steps[i].var == var && f->steps[i].thread && thread &&
		    !strcmp(f->steps[i].thread, thread))
			return true;
	return false;
}

/* Of the accesses under a lock, add the last ones of the variables that matter. */
static void fill_uses(const struct wanted *w, const struct names *names, const struct open *open,
		      uint32_t var)
{
	struct finding_step *s = w->step;
	size_t found[USES_KEPT], n = 0;

	for (size_t i = open->nuses; i-- > 0 && n < USES_KEPT;)
		if (is_var_of_thread(w->f, s->thread, open->uses[i].var))
			found[n++] = i;
	if (!n)
		return;
	s->uses = arena_alloc(&w->f->arena, n * sizeof *s->uses);
	while (n) {
		const struct use *u = &open->uses[found[--n]];
		struct finding_use use = {
			.event = u->event,
			.var = u->var,
			.reads = u->op != OP_WRITE,
			.writes = u->op != OP_READ,
		};

		if (use.reads && u->var == var)
			use.stack = describe_stack(w->f, names, u->place);
		s->uses[s->nuses++] = use;
	}
}

static void fill_step(const struct wanted *w, const struct names *names, const struct open *open,
		      const struct event *e)
{
	struct finding_step *s = w->step;

	s->nblocks = open->depth < DEPTH_MAX ? open->depth : DEPTH_MAX;
	/* One element more, so that it is not NULL if no block is open. */
	s->blocks = arena_alloc(&w->f->arena, (s->nblocks + 1) * sizeof *s->blocks);
	for (size_t i = 0; i < s->nblocks; i++)
		s->blocks[i] = block_of(w, names, &open->block[i]);
	fill_held_since(w, names, &open->held);
	if (!op_is_access(e->op))
		return;
	fill_uses(w, names, open, e->operand);
}

static void fill_move(const struct wanted *w, const struct names *names, const struct event *e)
{
	w->move->thread = arena_strdup(&w->f->arena, names_thread(names, e->thread));
	w->move->op = op_info[e->op].spelling;
	w->move->operand = describe_operand(w->f, names, e);
	w->move->place = describe_string(w->f, names, e->place);
}

static void track_block(struct open *open, const struct event *e, uint64_t number)
{
	if (e->op == OP_BEGIN) {
		if (open->depth < DEPTH_MAX)
			open->block[open->depth] =
				(struct block){number, event_label(e), e->place, open->held};
		open->depth++;
	} else if (e->op == OP_END && open->depth) {
		open->depth--;
	}
}

static void track_lock(struct open *open, const struct event *e, uint64_t number)
{
	struct locks *locks = &open->held;
	size_t i = 0;

	if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED) {
		if (!locks->n)
			open->nuses = 0;
		if (locks->n < LOCKS_MAX)
			locks->v[locks->n++] =
				(struct lock){e->operand, e->op == OP_ACQUIRE_SHARED, number};
		return;
	}
	while (i < locks->n && locks->v[i].lock != e->operand)
		i++;
	if (i < locks->n) {
		if (locks->n == 1)
			open->nsteps = 0;
		locks->n--;
		memmove(&locks->v[i], &locks->v[i + 1], (locks->n - i) * sizeof *locks->v);
	}
}

static void track_access(struct context *c, struct open *open, const struct event *e,
			 uint64_t number)
{
	size_t word = e->operand / 64;

	if (e->op == OP_UPDATE) {
		if (word >= c->nupdated)
			MEM_GROW0(c->updated, c->nupdated, word + 1);
		c->updated[word] |= 1ull << e->operand % 64;
	}
	if (!open->held.n)
		return;
	for (size_t i = 0; i < open->nsteps; i++) {
		struct wanted *w = open->steps[i];

		w->step->together |=
			e->operand != w->var && is_var_of_thread(w->f, w->step->thread, e->operand);
	}
	if (open->nuses == USES_MAX)
		open->nuses = 0;
	MEM_GROW(open->uses, open->uses_cap, open->nuses + 1);
	open->uses[open->nuses++] = (struct use){e->operand, e->op, e->place, number};
}

/* Follow what the thread does after the steps at this event were filled in. */
static void track_event(struct context *c, struct open *open, const struct event *e,
			uint64_t number)
{
	if (e->op == OP_END)
		track_block(open, e, number);
	else if (op_is_lock(e->op))
		track_lock(open, e, number);
	else if (op_is_access(e->op))
		track_access(c, open, e, number);
}

static bool is_updated(const struct context *c, uint32_t var)
{
	return var / 64 < c->nupdated && c->updated[var / 64] >> var % 64 & 1;
}

static void fill_wanted(const struct wanted *w, const struct names *names, const struct open *open,
			const struct event *e)
{
	if (w->step)
		fill_step(w, names, open, e);
	else
		fill_move(w, names, e);
}

/* Of a recorded run, read all: any event may update a variable. */
static void read_all(struct context *c, struct reader *r)
{
	struct event *ev = mem_alloc(READER_BATCH * sizeof *ev);
	struct err ignored = {{0}};
	uint64_t number = 0;
	size_t next = 0;
	int n;

	while ((next < c->n || c->recorded) && (n = reader_next(r, ev, &ignored)) > 0)
		for (int i = 0; i < n; i++) {
			struct open *open = open_of(c, ev[i].thread);

			number++;
			if (ev[i].op == OP_BEGIN)
				track_block(open, &ev[i], number);
			/* Event 0 is not in the trace. */
			for (; next < c->n && c->v[next].event <= number; next++) {
				if (c->v[next].event != number)
					continue;
				c->v[next].var = op_is_access(ev[i].op) ? ev[i].operand : NO_VAR;
				fill_wanted(&c->v[next], reader_names(r), open, &ev[i]);
				if (c->v[next].step && open->held.n && open->nsteps < STEPS_MAX)
					open->steps[open->nsteps++] = &c->v[next];
			}
			track_event(c, open, &ev[i], number);
		}
	mem_free(ev);
}

static void fill_updated(const struct context *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].step && c->v[i].var != NO_VAR)
			c->v[i].step->updated = is_updated(c, c->v[i].var);
}

void context_add(struct engine_result *results, size_t n, struct reader *r)
{
	struct context c = {.recorded = reader_is_recorded(r)};
	struct err ignored = {{0}};
	size_t findings = 0, moves = CONTEXT_MOVES;

	for (size_t i = 0; i < n; i++)
		findings += results[i].findings.n;
	if (!findings || reader_rewind(r, &ignored))
		return;
	if (findings > CONTEXT_MOVES_ALL / CONTEXT_MOVES)
		moves = CONTEXT_MOVES_ALL / findings;
	if (moves < CONTEXT_MOVES_MIN)
		moves = CONTEXT_MOVES_MIN;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < results[i].findings.n; k++)
			want_finding(&c, results[i].findings.v[k], moves);
	if (c.n)
		qsort(c.v, c.n, sizeof *c.v, by_event);
	read_all(&c, r);
	fill_updated(&c);
	for (size_t i = 0; i < c.nthreads; i++)
		mem_free(c.threads[i].uses);
	mem_free(c.updated);
	mem_free(c.v);
	mem_free(c.threads);
}
