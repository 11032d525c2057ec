#include "engine/context.h"

#include <stdlib.h>

#include "engine/tell.h"

#include "base/banned.h"

/* Blocks nested deeper than this are left out: they cannot be drawn. */
enum { DEPTH_MAX = 32 };

/* An event to look up: a step of a finding, or an event of its schedule; the other is NULL. */
struct wanted {
	uint64_t event;
	struct finding *f;
	struct finding_step *step;
	struct finding_move *move;
};

struct block {
	uint64_t begin;
	strref label, place;
};

/* The open blocks of a thread. */
struct open {
	struct block block[DEPTH_MAX];
	size_t depth; /* may be more than DEPTH_MAX */
};

struct context {
	struct wanted *v;
	size_t n, cap;
	struct open *threads;
	size_t nthreads;
};

static int by_event(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;

	return (x->event > y->event) - (x->event < y->event);
}

static void want(struct context *c, struct wanted w)
{
	MEM_GROW(c->v, c->cap, c->n + 1);
	c->v[c->n++] = w;
}

static void want_finding(struct context *c, struct finding *f, size_t moves)
{
	for (size_t i = 0; i < f->nsteps; i++)
		want(c, (struct wanted){.event = f->steps[i].event, .f = f, .step = &f->steps[i]});
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
		want(c, (struct wanted){.event = f->moves[i].event, .f = f, .move = &f->moves[i]});
	}
}

static struct open *open_of(struct context *c, uint32_t thread)
{
	if (thread >= c->nthreads)
		MEM_GROW0(c->threads, c->nthreads, (size_t)thread + 1);
	return &c->threads[thread];
}

static void fill_step(const struct wanted *w, const struct names *names, const struct open *open)
{
	struct finding_step *s = w->step;

	s->nblocks = open->depth < DEPTH_MAX ? open->depth : DEPTH_MAX;
	/* One element more, so that it is not NULL if no block is open. */
	s->blocks = arena_alloc(&w->f->arena, (s->nblocks + 1) * sizeof *s->blocks);
	for (size_t i = 0; i < s->nblocks; i++)
		s->blocks[i] = (struct finding_block){
			.thread = s->thread,
			.label = tell_string(w->f, names, open->block[i].label),
			.place = tell_string(w->f, names, open->block[i].place),
			.begin = open->block[i].begin,
		};
}

static void fill_move(const struct wanted *w, const struct names *names, const struct event *e)
{
	w->move->thread = arena_strdup(&w->f->arena, names_thread(names, e->thread));
	w->move->op = op_info[e->op].spelling;
	w->move->operand = tell_operand(w->f, names, e);
	w->move->place = tell_string(w->f, names, e->place);
}

static void track(struct open *open, const struct event *e, uint64_t number)
{
	if (e->op == OP_BEGIN) {
		if (open->depth < DEPTH_MAX)
			open->block[open->depth] = (struct block){number, event_label(e), e->place};
		open->depth++;
	} else if (e->op == OP_END && open->depth) {
		open->depth--;
	}
}

static void read_all(struct context *c, struct reader *r)
{
	struct event *ev = mem_alloc(READER_BATCH * sizeof *ev);
	struct err ignored = {{0}};
	uint64_t number = 0;
	size_t next = 0;
	int n;

	while (next < c->n && (n = reader_next(r, ev, &ignored)) > 0)
		for (int i = 0; i < n; i++) {
			struct open *open = open_of(c, ev[i].thread);

			number++;
			if (ev[i].op == OP_BEGIN)
				track(open, &ev[i], number);
			/* Event 0 is not in the trace. */
			for (; next < c->n && c->v[next].event <= number; next++) {
				if (c->v[next].event != number)
					continue;
				if (c->v[next].step)
					fill_step(&c->v[next], reader_names(r), open);
				else
					fill_move(&c->v[next], reader_names(r), &ev[i]);
			}
			if (ev[i].op == OP_END)
				track(open, &ev[i], number);
		}
	mem_free(ev);
}

void context_add(struct engine_result *results, size_t n, struct reader *r)
{
	struct context c = {0};
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
	mem_free(c.v);
	mem_free(c.threads);
}
