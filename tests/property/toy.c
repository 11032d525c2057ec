#include "toy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "twin.h"

#include "base/banned.h"

struct toy_engine {
	enum toy_lie lie;
	struct finding_sink *sink;
	const struct names *names;
	struct event *ev;
	size_t n, cap;
	struct twin twin;
	bool reported;
};

static void *toy_create(enum toy_lie lie, struct finding_sink *sink)
{
	struct toy_engine *toy = mem_zalloc(sizeof *toy);

	toy->lie = lie;
	toy->sink = sink;
	return toy;
}

static void toy_take(void *engine, const struct batch *b)
{
	struct toy_engine *toy = engine;

	toy->names = b->names;
	for (uint32_t i = 0; i < b->n && !toy->reported; i++) {
		MEM_GROW(toy->ev, toy->cap, toy->n + 1);
		toy->ev[toy->n++] = b->ev[i];
	}
}

static const char *move_string(struct finding *f, struct str *s)
{
	const char *text = s->n ? arena_strdup(&f->arena, s->s) : NULL;

	str_free(s);
	return text;
}

static const char *copy_string(const struct toy_engine *toy, struct finding *f, strref ref)
{
	struct str s = STR_INIT;

	names_add_string(toy->names, ref, &s);
	return move_string(f, &s);
}

static const char *copy_label(const struct toy_engine *toy, struct finding *f, uint64_t begin)
{
	return begin ? copy_string(toy, f, event_label(&toy->ev[begin - 1])) : NULL;
}

static const char *copy_thread(const struct toy_engine *toy, struct finding *f, uint64_t k)
{
	return arena_strdup(&f->arena, names_thread(toy->names, toy->ev[k - 1].thread));
}

/*
 * Finds a path that leaves the transaction of k and returns to it at k: breadth
 * first over events, along conflicts and within transactions. Returns its length,
 * or 0 if there is none. `path` has room for k events.
 */
static size_t find_cycle(const struct twin *t, uint64_t k, uint64_t *path)
{
	uint64_t *queue = mem_zalloc((k + 1) * sizeof *queue);
	uint64_t *from = mem_zalloc((k + 1) * sizeof *from);
	size_t head = 0, tail = 0, n = 0;

	for (uint64_t d = 1; d < k; d++)
		if (twin_same_transaction(t, d, k))
			queue[tail++] = d;
	while (head < tail && !from[k]) {
		uint64_t a = queue[head++];
		bool inside = twin_same_transaction(t, a, k);

		for (uint64_t b = 1; b <= k; b++) {
			if (from[b] || (b == k ? inside : twin_same_transaction(t, b, k)))
				continue;
			if (!twin_conflict(t, a, b) && !twin_same_transaction(t, a, b))
				continue;
			from[b] = a;
			queue[tail++] = b;
		}
	}
	if (from[k]) {
		for (uint64_t e = k; e; e = from[e])
			path[n++] = e;
		for (size_t i = 0; i < n / 2; i++) {
			uint64_t swap = path[i];

			path[i] = path[n - 1 - i];
			path[n - 1 - i] = swap;
		}
	}
	mem_free(queue);
	mem_free(from);
	return n;
}

static void add_steps(const struct toy_engine *toy, struct finding *f, uint64_t k)
{
	uint64_t *path = mem_zalloc((k + 1) * sizeof *path);
	size_t n = find_cycle(&toy->twin, k, path);

	f->steps = arena_alloc(&f->arena, (n + 1) * sizeof *f->steps);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = path[toy->lie == TOY_backward ? n - 1 - i : i];
		const struct event *e = &toy->ev[at - 1];
		uint64_t begin = twin_begin(&toy->twin, toy->lie == TOY_mislabelled ? k : at);
		struct str operand = STR_INIT;

		if (toy->lie == TOY_leaping && i == 1)
			continue;
		names_add_operand(toy->names, e, &operand);
		f->steps[f->nsteps++] = (struct finding_step){
			.thread = copy_thread(toy, f, at),
			.event = at,
			.op = op_info[e->op].spelling,
			.past = op_info[e->op].past,
			.operand = move_string(f, &operand),
			.label = copy_label(toy, f, begin),
			.begin = begin,
			.place = copy_string(toy, f, e->place),
		};
	}
	mem_free(path);
}

/* Finds the open blocks of k's transaction, for the toy that refutes all of them. */
static size_t find_open_blocks(const struct toy_engine *toy, uint64_t k, uint64_t *begins)
{
	size_t n = 0;

	for (uint64_t i = 1; i <= k; i++) {
		if (!twin_same_transaction(&toy->twin, i, k))
			continue;
		if (toy->ev[i - 1].op == OP_BEGIN)
			begins[n++] = i;
		if (toy->ev[i - 1].op == OP_END)
			n--;
	}
	return n;
}

static void add_blame(const struct toy_engine *toy, struct finding *f, uint64_t k)
{
	uint64_t *begins = mem_zalloc((k + 1) * sizeof *begins);
	bool blamed = twin_blamed(&toy->twin, k);

	if ((blamed && toy->lie != TOY_blameless) || toy->lie == TOY_blaming) {
		f->blame = f->transaction;
		f->nrefuted = toy->lie == TOY_all_open ? find_open_blocks(toy, k, begins)
						       : twin_refuted(&toy->twin, k, begins);
		if (toy->lie == TOY_outermost && f->nrefuted)
			f->nrefuted = 1;
		f->refuted = arena_alloc(&f->arena, (f->nrefuted + 1) * sizeof *f->refuted);
		for (size_t i = 0; i < f->nrefuted; i++)
			f->refuted[i] = copy_label(toy, f, begins[i]);
	}
	mem_free(begins);
}

static void emit_finding(struct toy_engine *toy, uint64_t k)
{
	struct finding *f = finding_new();
	uint64_t begin = twin_begin(&toy->twin, k);
	bool data = twin_on_cycle(&toy->twin, k, true);

	if (toy->lie == TOY_misnamed)
		for (uint64_t i = begin; i < k; i++)
			if (twin_same_transaction(&toy->twin, i, k) &&
			    toy->ev[i - 1].op == OP_BEGIN)
				begin = i;
	f->status = FINDING_OBSERVED;
	f->kind = "cycle";
	f->event = toy->lie == TOY_late ? k + 1 : toy->lie == TOY_early ? k - 1 : k;
	f->rests_on = toy->lie == TOY_on_data    ? RESTS_ON_DATA
		      : toy->lie == TOY_on_locks ? RESTS_ON_LOCKS
		      : data                     ? RESTS_ON_DATA
						 : RESTS_ON_LOCKS;
	f->transaction = (struct finding_block){
		.thread = copy_thread(toy, f, k),
		.label = copy_label(toy, f, begin),
		.place = begin ? copy_string(toy, f, toy->ev[begin - 1].place) : NULL,
		.begin = begin,
	};
	add_blame(toy, f, k);
	add_steps(toy, f, k);
	toy->sink->emit(toy->sink, f);
}

static uint64_t toy_finish(void *engine)
{
	struct toy_engine *toy = engine;
	uint64_t k;

	if (toy->reported)
		return toy->lie == TOY_endless ? toy->n : 0;
	toy->reported = true;
	twin_init(&toy->twin, toy->ev, toy->n);
	k = twin_first_violation(&toy->twin);
	if (k && toy->lie == TOY_crashing)
		abort();
	if (k && toy->lie != TOY_silent)
		emit_finding(toy, k);
	if (k && toy->lie == TOY_twice)
		emit_finding(toy, k);
	if (!k && toy->lie == TOY_alarmed)
		emit_finding(toy, toy->n);
	if (k && toy->lie == TOY_chatty) {
		uint64_t *path = mem_zalloc((toy->n + 1) * sizeof *path);

		/* The next event whose transaction is on a cycle that this event closes. */
		for (k++; k <= toy->n &&
			  (toy->ev[k - 1].op == OP_NONE || !find_cycle(&toy->twin, k, path));)
			k++;
		if (k <= toy->n)
			emit_finding(toy, k);
		mem_free(path);
	}
	return toy->lie == TOY_greedy ? toy->n + 1 : toy->lie == TOY_endless ? toy->n : 0;
}

static void toy_destroy(void *engine)
{
	struct toy_engine *toy = engine;

	twin_free(&toy->twin);
	mem_free(toy->ev);
	mem_free(toy);
}

/* create() has no argument that selects the engine, so each toy has its own. */
#define X(id, caught_as)                                                                           \
	static void *create_##id(const void *options, struct finding_sink *sink)                   \
	{                                                                                          \
		(void)options;                                                                     \
		return toy_create(TOY_##id, sink);                                                 \
	}                                                                                          \
	static const struct engine_ops ops_##id = {                                                \
		.name = #id,                                                                       \
		.second_pass = true,                                                               \
		.create = create_##id,                                                             \
		.take = toy_take,                                                                  \
		.finish = toy_finish,                                                              \
		.destroy = toy_destroy,                                                            \
	};
TOYS(X)
#undef X

const struct toy toys[TOY_COUNT] = {
#define X(id, caught_as) {{#id, &ops_##id, NULL}, FAIL_##caught_as},
	TOYS(X)
#undef X
};
