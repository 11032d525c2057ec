#include "trace/blocks.h"

#include <string.h>

#include "base/mem.h"
#include "trace/reader_impl.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* The flag in an answer's byte that says that the answer was given. */
enum { KNOWN = 128 };

/* A string of the trace; all zero until a begin has it as its label. */
struct block_label {
	uint32_t function; /* 1 + index in blocks->functions */
	uint8_t kind;      /* the kind of recorded.h; 0: another label, always a block */
	uint8_t answer[2]; /* decide()'s, as a function called by others; as a start function */
	uint8_t hands_on;  /* if the string is a place: hands_on_at()'s answer, and KNOWN */
};

/* What a pass has seen of a function; or the maximum over all passes. */
struct block_times {
	uint64_t begun[2]; /* as main; as a start function that does not hand on */
	uint64_t ended[END_REASONS];
};

struct block_function {
	strref label;  /* the first one seen */
	bool left_out; /* not a block from here on, in this pass */
	bool said_not; /* the source declares it not atomic, which overrides rules */
	bool by_rule;  /* a rule decides about it */
	struct block_times now, most;
};

struct block_open {
	uint32_t label; /* index of its block_label */
	bool kept;
	bool hands_on; /* a start function whose callees are start functions too */
	bool is_body; /* a start function, or the compiler's part of the body of an OpenMP region */
};

struct block_stack {
	struct block_open *v;
	size_t n, cap;
};

void blocks_free(struct blocks *b)
{
	for (size_t i = 0; i < b->threads_cap; i++)
		mem_free(b->threads[i].v);
	mem_free(b->threads);
	mem_free(b->labels);
	mem_free(b->functions);
	mem_free(b->list);
	table_reset(&b->pcs);
}

static void keep_most(struct block_function *f)
{
	uint64_t *most = (uint64_t *)&f->most;
	const uint64_t *now = (const uint64_t *)&f->now;

	for (size_t i = 0; i < sizeof f->now / sizeof *now; i++)
		if (now[i] > most[i])
			most[i] = now[i];
}

void blocks_rewind(struct blocks *b)
{
	for (size_t i = 0; i < b->threads_cap; i++)
		b->threads[i].n = 0;
	for (size_t i = 0; i < b->nfunctions; i++) {
		struct block_function *f = &b->functions[i];

		keep_most(f);
		f->now = (struct block_times){0};
		f->left_out = f->said_not = false;
	}
	if (b->cut > b->most_cut)
		b->most_cut = b->cut;
	b->cut = 0;
}

void reader_set_blocks(struct reader *r, struct block_rules *rules)
{
	r->blocks.rules = rules;
}

/* Sets the label's kind and function when it is seen first. */
static void init_label(struct reader *r, strref ref, struct block_label *l)
{
	struct blocks *b = &r->blocks;
	const struct table *strings = &r->names.table[NAMES_STRING];
	const char *text = ref < strings->n ? strings->text[ref] : "";
	size_t n;

	if (!text[0] || !strchr("fsma", text[0]) || text[1] != ' ') {
		/* Not a label that the recorder writes: a block, as in any other trace. */
		l->answer[0] = l->answer[1] = KNOWN | BLOCK_ATOMIC | BLOCK_BY_RULE;
		text = "";
	}
	l->kind = (uint8_t)text[0];
	/* The key of a function is its PC with a space in front, which no other key has. */
	text += l->kind && l->kind != BLOCK_MARKED;
	n = strlen(text);
	l->function = 1 + table_intern_any(&b->pcs, text, n);
	if (l->function > b->nfunctions) {
		MEM_GROW0(b->functions, b->functions_cap, l->function);
		b->functions[b->nfunctions++].label = ref;
	}
}

void blocks_leave_out(struct reader *r, strref label)
{
	struct blocks *b = &r->blocks;
	struct block_label *l;

	MEM_GROW0(b->labels, b->labels_cap, r->names.table[NAMES_STRING].n);
	l = &b->labels[label];
	if (!l->function)
		init_label(r, label, l);
	b->functions[l->function - 1].left_out = true;
}

static unsigned ask_rules(struct reader *r, strref ref, struct block_label *l, bool start)
{
	struct block_rules *rules = r->blocks.rules;
	unsigned answer = block_default((char)l->kind, start);

	if (rules)
		answer = rules->decide(rules, &r->names, ref, (char)l->kind, start);
	l->answer[start] = (uint8_t)(KNOWN | answer);
	return answer;
}

static bool ask_hands_on_at(struct reader *r, strref place)
{
	struct block_rules *rules = r->blocks.rules;
	struct block_label *l = &r->blocks.labels[place & STRREF_NUMBER ? 0 : place];

	if (!rules || !rules->hands_on_at)
		return true;
	if (!l->hands_on)
		l->hands_on = KNOWN | rules->hands_on_at(rules, &r->names, place);
	return l->hands_on & 1;
}

/*
 * Is the function, called by the innermost one, a part of the body of an OpenMP region or task?
 * clang makes two functions of one body if it writes debug information.
 */
static bool is_part_of_body(struct reader *r, const struct block_stack *s, strref ref,
			    struct block_label *l)
{
	unsigned answer;

	if (l->kind != BLOCK_FUNCTION || !s->n || !s->v[s->n - 1].is_body)
		return false;
	answer = l->answer[true];
	return (answer & KNOWN ? answer : ask_rules(r, ref, l, true)) & BLOCK_OUTLINED;
}

static void filter_begin(struct reader *r, struct event *e)
{
	struct blocks *b = &r->blocks;
	struct block_stack *s = &b->threads[e->thread];
	/* The recorder writes no label that is a number: numbers share the entry of strref 0. */
	strref ref = e->operand & STRREF_NUMBER ? 0 : e->operand;
	struct block_label *l = &b->labels[ref];
	struct block_function *f;
	struct block_open open = {.label = ref};
	unsigned answer;
	bool start;

	if (__builtin_expect(!l->function, 0))
		init_label(r, ref, l);
	f = &b->functions[l->function - 1];
	start = l->kind == BLOCK_START || (l->kind == BLOCK_FUNCTION && s->n &&
					   s->v[s->n - 1].hands_on && ask_hands_on_at(r, e->place));
	open.is_body = l->kind == BLOCK_START || is_part_of_body(r, s, ref, l);
	start |= open.is_body;
	answer = l->answer[start];
	if (__builtin_expect(!(answer & KNOWN), 0))
		answer = ask_rules(r, ref, l, start);

	open.hands_on = start && answer & BLOCK_HANDS_ON;
	open.kept = block_is_one(answer, (char)l->kind, start, f->left_out, f->said_not);
	if (answer & BLOCK_BY_RULE)
		f->by_rule = true;
	else if (start || l->kind == BLOCK_MAIN)
		f->now.begun[start] += !open.hands_on;
	MEM_GROW(s->v, s->cap, s->n + 1);
	s->v[s->n++] = open;
	if (open.kept)
		return;
	e->op = OP_NONE;
	e->left_out =
		answer & BLOCK_BY_RULE || f->said_not ? LEFT_OUT_BEGIN_EXCLUDED : LEFT_OUT_BEGIN;
}

static void filter_end(struct reader *r, struct event *e)
{
	struct blocks *b = &r->blocks;
	struct block_stack *s = &b->threads[e->thread];
	struct block_open *open;

	if (!s->n)
		return; /* validate() reports it */
	open = &s->v[--s->n];
	if (__builtin_expect(e->operand != END_RETURN, 0)) {
		struct block_label *l = &b->labels[open->label];
		struct block_function *f = &b->functions[l->function - 1];

		/* A function that hands on does not wait itself: its callees do. */
		if (l->kind != BLOCK_MARKED && l->kind && !open->hands_on) {
			f->left_out = true;
			f->said_not |= e->operand == END_NOT_ATOMIC;
			f->now.ended[e->operand]++;
		}
		b->cut += open->kept && (l->kind == BLOCK_MARKED || f->by_rule);
	}
	if (open->kept)
		return;
	e->op = OP_NONE;
	e->left_out = LEFT_OUT_END;
}

void blocks_filter(struct reader *r, struct event *ev, int n)
{
	struct blocks *b = &r->blocks;
	uint16_t at[READER_BATCH];
	uint32_t blocks = 0;

	/* Decided once, so that a note that comes late does not change a second pass. */
	if (!b->asked) {
		b->asked = true;
		b->recorded = recorded_names(&r->names);
		r->names.resolver = b->recorded ? r->resolver : NULL;
	}
	if (!b->recorded || r->opt.all_blocks)
		return;
	MEM_GROW0(b->threads, b->threads_cap, r->names.table[NAMES_THREAD].n);
	MEM_GROW0(b->labels, b->labels_cap, r->names.table[NAMES_STRING].n);
	/* Collected without a branch, as in validate.c: a predictor cannot guess the next op. */
	for (int i = 0; i < n; i++) {
		at[blocks] = (uint16_t)i;
		blocks += ev[i].op == OP_BEGIN || ev[i].op == OP_END;
	}
	for (uint32_t k = 0; k < blocks; k++) {
		struct event *e = &ev[at[k]];

		if (e->op == OP_BEGIN)
			filter_begin(r, e);
		else
			filter_end(r, e);
	}
}

struct block_rules *reader_block_rules(const struct reader *r)
{
	return r->blocks.rules;
}

bool reader_excludes_region(const struct reader *r, const char *kind, const char *function)
{
	struct block_rules *rules = r->blocks.rules;

	return rules && rules->excludes_region && rules->excludes_region(rules, kind, function);
}

bool reader_is_recorded(const struct reader *r)
{
	return r->blocks.recorded;
}

/* Sets why and how often a function was left out. Returns false if it was not, or by a rule. */
static bool why_left_out(const struct block_function *f, enum block_reason *why, uint64_t *times)
{
	const struct block_times *t = &f->most;

	*times = t->ended[END_NOT_ATOMIC];
	*why = BLOCK_SAID_NOT;
	if (f->by_rule)
		return *times != 0;
	if (t->begun[0] || t->begun[1]) {
		*why = t->begun[0] ? BLOCK_IS_MAIN : BLOCK_IS_START;
		*times = t->begun[*why == BLOCK_IS_START];
	} else if (!*times) {
		*why = BLOCK_WAITS;
		*times = t->ended[END_CUT];
	}
	return *times != 0;
}

size_t reader_left_out(struct reader *r, const struct block_left_out **v)
{
	struct blocks *b = &r->blocks;
	size_t n = 0;

	MEM_GROW(b->list, b->list_cap, b->nfunctions);
	for (size_t i = 0; i < b->nfunctions; i++) {
		struct block_function *f = &b->functions[i];
		struct block_left_out out = {.label = f->label};

		keep_most(f);
		if (why_left_out(f, &out.reason, &out.times))
			b->list[n++] = out;
	}
	*v = b->list;
	return n;
}

uint64_t reader_blocks_cut(const struct reader *r)
{
	return r->blocks.cut > r->blocks.most_cut ? r->blocks.cut : r->blocks.most_cut;
}
