#include "trace.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

void trace_free(struct trace *t)
{
	mem_free(t->ev);
	*t = (struct trace){0};
}

void trace_add(struct trace *t, uint32_t thread, enum op op, uint32_t operand)
{
	MEM_GROW(t->ev, t->cap, t->n + 1);
	t->ev[t->n++] = (struct event){.thread = thread, .operand = operand, .op = (uint8_t)op};
}

void trace_copy_without(struct trace *to, const struct trace *from, const bool *drop)
{
	MEM_GROW(to->ev, to->cap, from->n);
	to->n = 0;
	to->style = from->style;
	for (size_t i = 0; i < from->n; i++)
		if (!drop || !drop[i])
			to->ev[to->n++] = from->ev[i];
}

void trace_copy(struct trace *to, const struct trace *from)
{
	trace_copy_without(to, from, NULL);
}

static uint32_t find_largest(const struct trace *t, enum operand_kind kind)
{
	uint32_t max = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];
		enum operand_kind k = op_info[e->op].operand;

		if (k == OPERAND_SYNC)
			k = OPERAND_LOCK;
		if (e->op != OP_NONE && k == kind && e->operand > max)
			max = e->operand;
		if (kind == OPERAND_THREAD && e->thread > max)
			max = e->thread;
	}
	return max;
}

/* One thread's state, for trace_legal(). */
struct life {
	bool ran, forked, joined;
	unsigned depth;
};

static bool is_legal_lock_op(const struct event *e, uint8_t *held, size_t nthreads)
{
	uint8_t *mine = &held[e->thread]; /* 0, 1 exclusive, 2 shared */
	bool shared = e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;

	if (e->op == OP_RELEASE || e->op == OP_RELEASE_SHARED) {
		if (*mine != (shared ? 2 : 1))
			return false;
		*mine = 0;
		return true;
	}
	for (size_t u = 0; u < nthreads; u++)
		if (held[u] == 1 || (held[u] == 2 && (!shared || u == e->thread)))
			return false;
	*mine = shared ? 2 : 1;
	return true;
}

static bool is_legal_event(const struct event *e, struct life *lives, uint8_t *held,
			   size_t nthreads)
{
	struct life *me = &lives[e->thread];
	struct life *child;

	if (me->joined)
		return false;
	me->ran = true;
	switch (e->op) {
	case OP_BEGIN:
		me->depth++;
		return true;
	case OP_END:
		return me->depth && me->depth--;
	case OP_ACQUIRE:
	case OP_RELEASE:
	case OP_ACQUIRE_SHARED:
	case OP_RELEASE_SHARED:
		return is_legal_lock_op(e, held + e->operand * nthreads, nthreads);
	case OP_FORK:
		child = &lives[e->operand];
		if (child->ran || child->forked || child->joined)
			return false;
		child->forked = true;
		return true;
	case OP_JOIN:
		if (e->operand == e->thread)
			return false;
		lives[e->operand].joined = true;
		return true;
	default:
		return true;
	}
}

bool trace_legal(const struct trace *t)
{
	size_t nthreads = (size_t)find_largest(t, OPERAND_THREAD) + 1;
	size_t nlocks = (size_t)find_largest(t, OPERAND_LOCK) + 1;
	struct life *lives = mem_zalloc(nthreads * sizeof *lives);
	uint8_t *held = mem_zalloc(nthreads * nlocks);
	bool ok = true;

	for (size_t i = 0; i < t->n && ok; i++)
		ok = is_legal_event(&t->ev[i], lives, held, nthreads);
	mem_free(lives);
	mem_free(held);
	return ok;
}

struct numbering {
	uint32_t *to, next; /* to[old] is 1 + new, or 0 if it has no new number yet */
};

static uint32_t renumber(struct numbering *m, uint32_t old)
{
	if (!m->to[old])
		m->to[old] = ++m->next;
	return m->to[old] - 1;
}

void trace_canonical(struct trace *t)
{
	struct numbering threads = {0}, vars = {0}, locks = {0};

	threads.to = mem_zalloc((find_largest(t, OPERAND_THREAD) + 1) * sizeof *threads.to);
	vars.to = mem_zalloc((find_largest(t, OPERAND_VAR) + 1) * sizeof *vars.to);
	locks.to = mem_zalloc((find_largest(t, OPERAND_LOCK) + 1) * sizeof *locks.to);
	for (size_t i = 0; i < t->n; i++) {
		struct event *e = &t->ev[i];

		e->thread = renumber(&threads, e->thread);
		switch (op_info[e->op].operand) {
		case OPERAND_VAR:
			e->operand = renumber(&vars, e->operand);
			break;
		case OPERAND_LOCK:
		case OPERAND_SYNC:
			e->operand = renumber(&locks, e->operand);
			break;
		case OPERAND_THREAD:
			e->operand = renumber(&threads, e->operand);
			break;
		default:
			e->operand = 0;
		}
	}
	mem_free(threads.to);
	mem_free(vars.to);
	mem_free(locks.to);
}

void trace_label(const struct trace *t, uint64_t begin, struct str *out)
{
	if (t->style == STYLE_SAME)
		str_add(out, "b");
	else
		str_fmt(out, t->style == STYLE_PLACES ? "%lu" : "b%lu", (unsigned long)begin);
}

void trace_print(const struct trace *t, struct str *out)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct event *e = &t->ev[i];

		str_fmt(out, "T%u|%s", e->thread, op_info[e->op].spelling);
		switch (op_info[e->op].operand) {
		case OPERAND_VAR:
			str_fmt(out, "(x%u)", e->operand);
			break;
		case OPERAND_LOCK:
		case OPERAND_SYNC:
			str_fmt(out, "(l%u)", e->operand);
			break;
		case OPERAND_THREAD:
			str_fmt(out, "(T%u)", e->operand);
			break;
		case OPERAND_LABEL:
			str_fmt(out, "(b%zu)", i + 1);
			break;
		default:
			break;
		}
		if (e->value)
			str_fmt(out, "|=%d", e->value - 1);
		str_addc(out, '\n');
	}
}

/* The names of one kind that were read so far. A name's number is its index. */
struct known {
	char name[64][32];
	uint32_t n;
};

static int find_or_add_name(struct known *k, const char *s, size_t n, uint32_t *out,
			    struct err *err)
{
	for (uint32_t i = 0; i < k->n; i++) {
		if (strlen(k->name[i]) == n && !memcmp(k->name[i], s, n)) {
			*out = i;
			return 0;
		}
	}
	if (k->n == 64 || n >= 32)
		return err_fail(err, "more than 64 names, or one of more than 31 bytes");
	memcpy(k->name[k->n], s, n);
	k->name[k->n][n] = 0;
	*out = k->n++;
	return 0;
}

static int parse_word(struct trace *t, const char *w, size_t n, struct known *threads,
		      struct known *vars, struct known *locks, struct err *err)
{
	const char *end = w + n, *op = memchr(w, '|', n), *bar, *open;
	uint32_t thread = 0, operand = 0, value = 0;
	struct known *kind = NULL;
	int code = 0;

	if (!op)
		return err_fail(err, "no '|' in '%.*s'", (int)n, w);
	if (find_or_add_name(threads, w, (size_t)(op - w), &thread, err))
		return -1;
	op++;
	bar = memchr(op, '|', (size_t)(end - op));
	if (bar && bar[1] == '=')
		value = (uint32_t)(bar[2] - '0' + 1);
	if (bar)
		end = bar;
	open = memchr(op, '(', (size_t)(end - op));
	while (code < OP_COUNT &&
	       (strlen(op_info[code].spelling) != (size_t)((open ? open : end) - op) ||
		memcmp(op_info[code].spelling, op, strlen(op_info[code].spelling))))
		code++;
	if (code == OP_COUNT)
		return err_fail(err, "unknown operation in '%.*s'", (int)n, w);
	switch (op_info[code].operand) {
	case OPERAND_VAR:
		kind = vars;
		break;
	case OPERAND_LOCK:
	case OPERAND_SYNC:
		kind = locks;
		break;
	case OPERAND_THREAD:
		kind = threads;
		break;
	default:
		break;
	}
	if (kind && (!open || end[-1] != ')'))
		return err_fail(err, "no operand in '%.*s'", (int)n, w);
	if (kind && find_or_add_name(kind, open + 1, (size_t)(end - open - 2), &operand, err))
		return -1;
	trace_add(t, thread, (enum op)code, operand);
	t->ev[t->n - 1].value = (uint8_t)value;
	return 0;
}

int trace_parse(struct trace *t, const char *text, struct err *err)
{
	struct known *known = mem_zalloc(3 * sizeof *known);
	int rc = 0;

	t->n = 0;
	while (!rc) {
		size_t n;

		text += strspn(text, " \t\r\n");
		if (!*text)
			break;
		if (*text == '#') {
			text += strcspn(text, "\n");
			continue;
		}
		n = strcspn(text, " \t\r\n");
		rc = parse_word(t, text, n, &known[0], &known[1], &known[2], err);
		text += n;
	}
	mem_free(known);
	if (!rc && !trace_legal(t))
		rc = err_fail(err, "an event that cannot have happened");
	if (!rc)
		trace_canonical(t);
	return rc;
}
