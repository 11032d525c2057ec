#include "trace/gen.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "trace/gen_impl.h"

#include "base/banned.h"

uint32_t gen_mention(struct gen *g, enum names_kind kind, char letter, uint32_t number)
{
	char name[16];
	int n = snprintf(name, sizeof name, "%c%" PRIu32, letter, number);

	return table_intern_any(&g->names.table[kind], name, (size_t)n);
}

void gen_next_stratum(struct gen *g)
{
	g->plant_at = g->stratum_at + (g->stratum ? gen_random(g) % g->stratum : 0);
	g->stratum_at += g->stratum;
}

static strref add_place(struct gen *g, const char *file, uint32_t line)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%s:%" PRIu32, file, line);

	return table_intern_any(&g->names.table[NAMES_STRING], text, (size_t)n);
}

static strref add_label(struct gen *g, const char *name, uint32_t depth)
{
	char text[64];
	int n = snprintf(text, sizeof text, "%s", name);

	if (depth)
		n = snprintf(text, sizeof text, "%s_%" PRIu32, name, depth);
	return table_intern_any(&g->names.table[NAMES_STRING], text, (size_t)n);
}

/* clang-format off */
static const struct {
	char letter;
	uint8_t kind, op, lock;
} letters[] = {
	{'(', INSTR_MARK, OP_BEGIN, 0},      {')', INSTR_MARK, OP_END, 0},
	{'r', INSTR_GUARDED, OP_READ, 0},    {'v', INSTR_GUARDED, OP_WRITE, 0},
	{'x', INSTR_SAME, OP_READ, 0},       {'w', INSTR_SAME, OP_WRITE, 0},
	{'s', INSTR_ANY, OP_READ, 0},        {'f', INSTR_ANY, OP_READ, 0},
	{'i', INSTR_ANY, OP_READ, 0},        {'o', INSTR_ANY, OP_WRITE, 0},
	{'p', INSTR_ANY, OP_READ, 0},        {'q', INSTR_ANY, OP_WRITE, 0},
	{'a', INSTR_ACQUIRE, OP_ACQUIRE, 0}, {'A', INSTR_RELEASE, OP_RELEASE, 0},
	{'b', INSTR_ACQUIRE, OP_ACQUIRE, 1}, {'B', INSTR_RELEASE, OP_RELEASE, 1},
	{'c', INSTR_ACQUIRE, OP_ACQUIRE, 2}, {'C', INSTR_RELEASE, OP_RELEASE, 2},
	{'!', INSTR_LET_IN, OP_NONE, 0},     {'~', INSTR_WAKE, OP_NONE, 0},
	{'.', INSTR_OVER, OP_NONE, 0},       {']', INSTR_REPEAT, OP_NONE, 0},
	{'n', INSTR_ANY, OP_READ, 0},
};
/* clang-format on */

static void compile_letter(struct gen *g, char letter, struct instr *s)
{
	size_t i = 0;

	while (letters[i].letter != letter)
		i++;
	s->kind = letters[i].kind;
	s->op = letters[i].op;
	s->lock = letters[i].lock;
	switch (letter) {
	case 's':
		s->first = g->first_shared;
		s->n = g->shape->shared;
		break;
	case 'i':
	case 'o':
		s->first = g->first_own;
		s->stride = s->n = OWN;
		break;
	case 'p':
	case 'q':
		s->first = g->first_racy;
		s->n = RACY;
		break;
	case 'n':
		s->n = g->vars;
		break;
	case 'f':
		s->first = g->flag;
		s->n = 1;
		break;
	}
}

static void compile_script(struct gen *g, const struct gen_script *from, struct script *to)
{
	size_t n = strlen(from->text), at = 0, open = 0;
	uint32_t depth = 0;

	to->instr = mem_zalloc((n + 1) * sizeof *to->instr);
	for (size_t i = 0; i < n; i++) {
		struct instr *s = &to->instr[at];

		if (from->text[i] == '[') {
			open = at + 1;
			continue;
		}
		at++;
		compile_letter(g, from->text[i], s);
		if (s->kind == INSTR_REPEAT) {
			s->back = (uint32_t)(at - open);
			open = 0;
		}
		if (s->op == OP_NONE)
			continue;
		*(open ? &to->more : &to->once) += 1;
		s->place = add_place(g, from->file, from->line + (uint32_t)i % 32);
		if (s->op == OP_BEGIN)
			s->label = add_label(g, from->label, depth++);
		else if (s->op == OP_END)
			depth--;
		else if (s->op == OP_ACQUIRE && to->locks <= s->lock)
			to->locks = s->lock + 1u;
	}
	to->repeat = to->more != 0;
	to->events = to->once + to->more;
}

/*
 * For a shape with a number of blocks: sets how often the scripts repeat their [ ]
 * part, so that this number of blocks takes all events. Weights are sixteenths.
 */
static void fit_repeats(struct gen *g, uint64_t events)
{
	const struct gen_script *from = g->shape->script;
	uint64_t blocks = 0, once = 0, more = 0, repeat;

	for (int i = 0; from[i].text; i++) {
		blocks += g->script[i].more ? from[i].weight : 0;
		once += (uint64_t)from[i].weight * g->script[i].once;
		more += (uint64_t)from[i].weight * g->script[i].more;
	}
	events = events * blocks / g->shape->blocks;
	repeat = events > once + more ? (events - once) / more : 1;
	for (int i = 0; from[i].text; i++) {
		struct script *s = &g->script[i];

		s->repeat = s->more ? repeat : 0;
		s->events = s->once + s->repeat * s->more;
	}
}

static int check_count(const char *what, uint64_t asked, uint32_t usual, uint32_t max,
		       uint32_t *count, struct err *err)
{
	if (asked > max)
		return err_fail(err, "%" PRIu64 " %s are too many: at most %" PRIu32, asked, what,
				max);
	*count = asked ? (uint32_t)asked : usual;
	return 0;
}

/* Reserves the events that belong to no script. If `events` is too small, says what is needed. */
static int claim_events(struct gen *g, const struct gen_options *o, struct err *err)
{
	uint64_t start = g->shape->shared + (g->threads - 1) + 2 * g->shape->open;
	uint64_t end = (g->threads - 1) + g->shape->open;
	uint64_t pair = g->planted[0].events + g->planted[1].events;
	uint64_t least = start + end, longest = 0;

	for (int i = 0; i < SCRIPTS; i++)
		longest = g->script[i].events > longest ? g->script[i].events : longest;
	if (o->inject && o->inject > UINT64_MAX / 4 / pair)
		return err_fail(err, "%" PRIu64 " violations are too many", o->inject);
	/* Padding, planted violations and joins must fit into the second half. */
	if (o->inject && least < 2 * (o->inject * pair + longest + end))
		least = 2 * (o->inject * pair + longest + end);
	if (o->events < least)
		return err_fail(err,
				"%" PRIu64 " events are too few: at least %" PRIu64 " for %" PRIu32
				" threads and %" PRIu64 " violations",
				o->events, least, g->threads, o->inject);
	g->left = o->events - start - end - o->inject * pair;
	g->to_plant = o->inject;
	if (o->inject) {
		g->stratum_at = o->events - o->events / 2;
		/* The last sixteenth is kept for violations that come late. */
		g->stratum = (o->events / 2 - o->events / 32) / o->inject;
		gen_next_stratum(g);
	}
	return 0;
}

static int set_up_shape(struct gen *g, const struct gen_options *o, struct err *err)
{
	const struct gen_shape *shape = g->shape;
	uint32_t least = 1u + shape->open + (o->inject != 0), k = 0;

	if (shape->blocks && o->inject)
		return err_fail(
			err, "violations cannot be planted: this shape is not serializable anyway");
	if (check_count("threads", o->threads, shape->threads, MAX_THREADS, &g->threads, err) ||
	    check_count("variables", o->vars, shape->vars, MAX_NAMES, &g->vars, err) ||
	    check_count("locks", o->locks, shape->locks, MAX_NAMES, &g->locks, err))
		return -1;
	if (g->threads < least)
		return err_fail(err, "%" PRIu32 " threads are too few: at least %" PRIu32,
				g->threads, least);
	g->vars_a_lock = g->vars / g->locks;
	g->vars_over = g->vars % g->locks;
	g->first_shared = g->vars;
	g->first_racy = g->first_shared + shape->shared;
	g->flag = g->first_racy + RACY;
	g->first_own = g->flag + 1;

	for (int i = 0; shape->script[i].text; i++) {
		compile_script(g, &shape->script[i], &g->script[i]);
		/* If there are too few locks for a script, the first one is run instead. */
		for (uint32_t w = 0; w < shape->script[i].weight; w++)
			g->pick[k++] = (uint8_t)(g->script[i].locks <= g->locks ? i : 0);
	}
	assert(k == sizeof g->pick);
	if (shape->blocks)
		fit_repeats(g, o->events);
	for (int i = 0; o->inject && i < 2; i++)
		compile_script(g, &gen_planted[i], &g->planted[i]);
	for (uint32_t i = 0; i < 4; i++)
		g->place_main[i] = add_place(g, "main.c", 20 + 9 * i);
	for (uint32_t i = 0; shape->open && i < 3; i++)
		g->place_open[i] = add_place(g, "report.c", 14 + 5 * i);
	for (uint32_t i = 0; shape->open && i < 2; i++) {
		compile_letter(g, "os"[i], &g -> open[i]);
		g->open[i].place = add_place(g, "report.c", 20 + i);
	}
	return claim_events(g, o, err);
}

static void put_fixed(struct gen *g, uint32_t thread, enum op op, uint32_t operand, strref place)
{
	MEM_GROW(g->fixed, g->fixed_cap, g->fixed_n + 1);
	g->fixed[g->fixed_n++] = (struct event){
		.thread = thread, .operand = operand, .place = place, .op = (uint8_t)op};
}

/* Makes the events before all scripts, in `fixed`; every thread is ready for its first script. */
static void begin_threads(struct gen *g)
{
	gen_mention(g, NAMES_THREAD, 'T', 0);
	for (uint32_t i = 0; i < g->shape->shared; i++)
		put_fixed(g, 0, OP_WRITE, gen_var(g, g->first_shared + i), g->place_main[0]);
	for (uint32_t t = 0; t < g->threads; t++) {
		if (t)
			put_fixed(g, 0, OP_FORK, gen_mention(g, NAMES_THREAD, 'T', t),
				  g->place_main[1]);
		if (t == 1 && g->shape->open) {
			put_fixed(g, 1, OP_BEGIN, add_label(g, "snapshot", 0), g->place_open[0]);
			put_fixed(g, 1, OP_WRITE, gen_var(g, g->flag), g->place_open[1]);
		} else {
			g->thread[t].pc = &g->stop;
			g->run[g->nrun++] = t;
		}
	}
}

struct gen *gen_open(const struct gen_options *options, struct err *err)
{
	struct gen *g = mem_zalloc(sizeof *g);
	size_t n;

	names_init(&g->names);
	g->rng = options->seed;
	g->shape = gen_shapes;
	while (g->shape->name && strcmp(g->shape->name, options->shape))
		g->shape++;
	if (!g->shape->name) {
		err_fail(err, "there is no shape '%s' ('atomsan gen --list' lists them)",
			 options->shape);
		gen_close(g);
		return NULL;
	}
	if (set_up_shape(g, options, err)) {
		err_wrap(err, "%s", options->shape);
		gen_close(g);
		return NULL;
	}
	n = g->first_own + (size_t)g->threads * OWN;
	g->var_id = mem_zalloc(n * sizeof *g->var_id);
	g->lock_id = mem_zalloc(g->locks * sizeof *g->lock_id);
	g->lock = mem_zalloc(g->locks * sizeof *g->lock);
	g->thread = mem_zalloc(g->threads * sizeof *g->thread);
	g->run = mem_alloc(g->threads * sizeof *g->run);
	g->idle = mem_alloc(g->threads * sizeof *g->idle);
	begin_threads(g);
	return g;
}

const struct names *gen_names(const struct gen *g)
{
	return &g->names;
}

void gen_close(struct gen *g)
{
	for (int i = 0; i < SCRIPTS; i++)
		mem_free(g->script[i].instr);
	for (int i = 0; i < 2; i++)
		mem_free(g->planted[i].instr);
	mem_free(g->var_id);
	mem_free(g->lock_id);
	mem_free(g->lock);
	mem_free(g->thread);
	mem_free(g->run);
	mem_free(g->idle);
	mem_free(g->fixed);
	names_free(&g->names);
	mem_free(g);
}

void gen_finish(struct gen *g)
{
	assert(g->nidle + g->shape->open == g->threads);
	g->finishing = true;
	g->fixed_n = g->fixed_at = 0;
	while (g->left) {
		g->left--;
		put_fixed(g, 0, g->left & 1 ? OP_READ : OP_WRITE, gen_var(g, g->first_own),
			  g->place_main[2]);
	}
	if (g->shape->open)
		put_fixed(g, 1, OP_END, 0, g->place_open[2]);
	for (uint32_t t = 1; t < g->threads; t++)
		put_fixed(g, 0, OP_JOIN, t, g->place_main[3]);
}
