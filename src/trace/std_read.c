/*
 * STD text: one event a line, `thread|operation(operand)|place`.
 *
 * While a line is parsed, the window always ends with a newline. So the scanning
 * loops need no bound: they stop at '|' or '\n'. They test eight bytes at a time
 * for either, with the classic test for a zero byte in a word.
 */
#include <string.h>

#include "base/mem.h"
#include "trace/reader_impl.h"

#include "base/banned.h"

enum { LINE_MAX_BYTES = 1 << 20, READ_AHEAD = 64 * 1024 };

struct std {
	uint64_t line;               /* lines read so far */
	uint64_t at[READER_BATCH];   /* line of each event of the last batch */
	const char *end;             /* end of the last whole line in the window */
	bool nul;                    /* the line at `end` has a NUL byte */
	uint8_t op_at[32];           /* by op_hash() */
	uint64_t spelling[OP_COUNT]; /* as load_word() returns it: at most 8 bytes */
};

/* A perfect hash of the spellings, found by trial; a new operation may need another factor. */
static inline size_t op_hash(uint64_t spelling)
{
	return spelling * 0xad45f23d3b1a11dfull >> 59;
}

static void *std_create(struct reader *r)
{
	struct std *s = mem_zalloc(sizeof *s);

	(void)r;
	for (enum op op = OP_BEGIN; op < OP_COUNT; op++) {
		memcpy(&s->spelling[op], op_info[op].spelling, strlen(op_info[op].spelling));
		s->op_at[op_hash(s->spelling[op])] = (uint8_t)op;
	}
	return s;
}

static void std_destroy(struct reader *r)
{
	mem_free(r->state);
}

static void std_rewind(struct reader *r)
{
	struct std *s = r->state;

	s->line = 0;
	s->end = NULL;
	s->nul = false;
}

static void std_where(const struct reader *r, int i, struct str *out)
{
	const struct std *s = r->state;

	str_fmt(out, "%s:%llu", r->path, (unsigned long long)s->at[i]);
}

static bool fail_too_long(struct reader *r)
{
	const struct std *s = r->state;

	err_fail(&r->err, "%s:%llu: line is longer than %d bytes", r->path,
		 (unsigned long long)s->line, LINE_MAX_BYTES);
	return false;
}

/*
 * A name with a NUL byte would be printed as a different name, so it is an error.
 * One search through all lines of the window costs next to nothing. If there is a
 * NUL byte, s->end moves back to the start of its line. Returns false if no line
 * comes before it.
 */
static bool stop_at_nul(struct reader *r)
{
	struct std *s = r->state;
	const char *nul = memchr(r->in.p, 0, (size_t)(s->end - r->in.p)), *nl;

	if (!nul)
		return true;
	nl = memrchr(r->in.p, '\n', (size_t)(nul - r->in.p));
	s->end = nl ? nl + 1 : r->in.p;
	s->nul = true;
	return s->end != r->in.p;
}

/* Sets r->err for the line at s->end, which has a NUL byte. Always returns false. */
static bool fail_nul(struct reader *r)
{
	struct std *s = r->state;

	s->line++;
	if ((const char *)rawmemchr(r->in.p, '\n') - r->in.p > LINE_MAX_BYTES)
		return fail_too_long(r);
	err_fail(&r->err, "%s:%llu: a NUL byte", r->path, (unsigned long long)s->line);
	return false;
}

/* Reads until a whole line is in the window. Returns false at the end or after an error. */
static bool read_lines(struct reader *r)
{
	struct std *s = r->state;
	struct input *in = &r->in;
	size_t want = READ_AHEAD;

	if (s->nul)
		return fail_nul(r);
	for (;;) {
		const char *nl;

		input_need(in, want);
		nl = memrchr(in->p, '\n', in->avail);
		if (nl) {
			s->end = nl + 1;
			return stop_at_nul(r) || fail_nul(r);
		}
		if (in->eof) {
			if (!in->avail || err_is_set(&in->err))
				return false;
			in->p[in->avail++] = '\n'; /* the pad has room for it */
			s->end = in->p + in->avail;
			return stop_at_nul(r) || fail_nul(r);
		}
		if (in->avail > LINE_MAX_BYTES) {
			s->line++;
			return fail_too_long(r);
		}
		want = in->avail * 2;
	}
}

static const uint64_t ones = 0x0101010101010101ull;

/* Returns the first '|' or '\n' at or after p. */
static inline const char *find_separator(const char *p)
{
	const uint64_t tops = ones << 7;

	for (;; p += 8) {
		uint64_t v, bar, nl, hit;

		memcpy(&v, p, 8);
		bar = v ^ ones * '|';
		nl = v ^ ones * '\n';
		hit = (((bar - ones) & ~bar) | ((nl - ones) & ~nl)) & tops;
		if (hit)
			return p + (__builtin_ctzll(hit) >> 3);
	}
}

/* Returns the first n bytes at p as one number; n is at most 8. */
static inline uint64_t load_word(const char *p, size_t n)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return n < 8 ? v & ((1ull << 8 * n) - 1) : v;
}

/* Returns the operation spelled p[0..n), or OP_NONE. */
static enum op find_op(const struct std *s, const char *p, size_t n)
{
	uint64_t w = load_word(p, n <= 8 ? n : 0);

	enum op op = s->op_at[op_hash(w)];

	return s->spelling[op] == w ? op : OP_NONE;
}

/*
 * Sets r->err for the current line: fmt, with what[0..n) in place of '@'. Always returns false.
 */
static bool fail_line(struct reader *r, const char *fmt, const char *what, size_t n)
{
	const struct std *s = r->state;
	struct str shown = STR_INIT;

	str_add_shown(&shown, what, n, 60);
	err_fail(&r->err, "%s:%llu: ", r->path, (unsigned long long)s->line);
	n = strlen(r->err.text);
	for (; *fmt && n + 1 < sizeof r->err.text; fmt++) {
		if (*fmt == '@') {
			size_t k = shown.n < sizeof r->err.text - n - 1
					   ? shown.n
					   : sizeof r->err.text - n - 1;
			memcpy(r->err.text + n, shown.s, k);
			n += k;
		} else {
			r->err.text[n++] = *fmt;
		}
	}
	r->err.text[n] = 0;
	str_free(&shown);
	return false;
}

static inline size_t length_without_cr(const char *p, const char *end)
{
	return (size_t)(end - p) - (end > p && end[-1] == '\r');
}

/* Sets e->operand to p[0..n). Returns false if the operation cannot have that operand. */
static bool parse_operand(struct reader *r, struct event *e, const char *p, size_t n)
{
	static const int kind[] = {
		[OPERAND_VAR] = NAMES_VAR,
		[OPERAND_LOCK] = NAMES_LOCK,
		[OPERAND_SYNC] = NAMES_LOCK,
		[OPERAND_THREAD] = NAMES_THREAD,
	};
	enum operand_kind k = op_info[e->op].operand;

	if (!n)
		return fail_line(r, "operation '@' has an empty operand", op_info[e->op].spelling,
				 strlen(op_info[e->op].spelling));
	if (k == OPERAND_NONE)
		return fail_line(r, "operation '@' takes no operand", op_info[e->op].spelling,
				 strlen(op_info[e->op].spelling));
	e->operand = k == OPERAND_LABEL ? names_string(&r->names, p, n)
					: table_intern(&r->names.table[kind[k]], p, n);
	return true;
}

/*
 * Parses the line at p and sets *end to its newline. Returns false if the line is
 * wrong.
 */
static inline bool parse_line(struct reader *r, const char *p, struct event *e, const char **end)
{
	const char *bar = find_separator(p), *stop;
	size_t n;

	if (*bar == '\n')
		return fail_line(r, "expected 'thread|operation|place', found '@'", p,
				 length_without_cr(p, bar));
	if (bar == p)
		return fail_line(r, "the thread's name is empty", p, 0);
	e->thread = table_intern(&r->names.table[NAMES_THREAD], p, (size_t)(bar - p));
	e->operand = 0;
	e->place = 0;
	e->outer = OUTER_NONE;
	e->left_out = e->value = 0;

	p = bar + 1;
	stop = find_separator(p);
	n = *stop == '\n' ? length_without_cr(p, stop) : (size_t)(stop - p);
	if (n >= 4 && p[1] == '(' && p[n - 1] == ')' && (*p == 'r' || *p == 'w')) {
		/* A short cut for three lines in four. */
		e->op = *p == 'r' ? OP_READ : OP_WRITE;
		e->operand = table_intern(&r->names.table[NAMES_VAR], p + 2, n - 3);
	} else {
		/* No spelling is longer than 7 bytes: the parenthesis is among the first 8. */
		uint64_t zero = load_word(p, n < 8 ? n : 8) ^ ones * '(';
		uint64_t hit = (zero - ones) & ~zero & ones << 7;
		const char *paren = hit ? p + (__builtin_ctzll(hit) >> 3) : NULL;

		e->op = find_op(r->state, p, paren ? (size_t)(paren - p) : n);
		if (e->op == OP_NONE)
			return fail_line(r, "unknown operation '@'", p, n);
		if (paren && p[n - 1] != ')')
			return fail_line(r, "no ')' at the end of '@'", p, n);
		if (paren && !parse_operand(r, e, paren + 1, (size_t)(p + n - 1 - (paren + 1))))
			return false;
		if (!paren && op_info[e->op].operand != OPERAND_NONE &&
		    op_info[e->op].operand != OPERAND_LABEL)
			return fail_line(r, "operation '@' needs an operand", p, n);
	}
	if (*stop == '|') {
		p = stop + 1;
		stop = find_separator(p);
		if (*stop == '|')
			return fail_line(r, "more than three columns: '@' after the place", stop,
					 length_without_cr(stop, rawmemchr(stop, '\n')));
		n = length_without_cr(p, stop);
		if (n)
			e->place = names_string(&r->names, p, n);
	}
	*end = stop;
	return true;
}

static int std_next(struct reader *r, struct event *ev)
{
	struct std *s = r->state;
	struct input *in = &r->in;
	const char *p = in->p;
	int n = 0;

	while (n < READER_BATCH) {
		const char *end = NULL;

		if (p == s->end || !s->end) {
			input_skip(in, (size_t)(p - in->p));
			if (!read_lines(r)) {
				s->end = p = in->p; /* the window may have moved */
				break;
			}
			p = in->p;
		}
		s->line++;
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a line is there */
		if (*p == '\n' || *p == '#' || *p == '\r') {
			end = rawmemchr(p, '\n');
			if (*p == '\r' && end != p + 1) {
				fail_line(r, "a carriage return at the start of the line", p, 0);
				break;
			}
			ev[n].op = OP_NONE;
		} else if (!parse_line(r, p, &ev[n], &end)) {
			break;
		}
		/* The limit must not depend on how much happens to be in the window. */
		if (end - p > LINE_MAX_BYTES) {
			fail_too_long(r);
			break;
		}
		s->at[n] = s->line;
		n += ev[n].op != OP_NONE;
		p = end + 1;
	}
	input_skip(in, (size_t)(p - in->p));
	if (n < READER_BATCH && err_is_set(&in->err) && !err_is_set(&r->err))
		err_fail(&r->err, "%s:%llu: %s", r->path, (unsigned long long)s->line + 1,
			 in->err.text);
	return n;
}

const struct format_ops format_std = {
	.name = "std",
	.create = std_create,
	.next = std_next,
	.rewind = std_rewind,
	.where = std_where,
	.destroy = std_destroy,
};
