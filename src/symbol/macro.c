#include "symbol/macro.h"

#include <string.h>

#include "symbol/expression.h"

#include "base/banned.h"

/* Macros that are nested deeper, or expand to more, are not expanded. */
enum { DEEPEST = 6, TOKENS_MAX = 4096, ARGUMENTS_MAX = 16 };

/* A call: its arguments as ranges of tokens. */
struct call {
	const struct tokens *t;
	size_t first[ARGUMENTS_MAX], last[ARGUMENTS_MAX]; /* the last is exclusive */
	size_t n;
	size_t close;
};

static bool read_call(const struct tokens *t, size_t name, struct call *c)
{
	size_t depth = 0;

	*c = (struct call){.t = t};
	if (name + 1 >= t->n || !token_is(&t->v[name + 1], "("))
		return false;
	c->close = expression_close(t, name + 1);
	if (c->close == SIZE_MAX)
		return false;
	c->first[c->n++] = name + 2;
	for (size_t i = name + 2; i < c->close; i++) {
		const struct token *k = &t->v[i];

		depth += token_is(k, "(") || token_is(k, "[") || token_is(k, "{");
		depth -= token_is(k, ")") || token_is(k, "]") || token_is(k, "}");
		if (depth || !token_is(k, ","))
			continue;
		if (c->n == ARGUMENTS_MAX)
			return false;
		c->last[c->n - 1] = i;
		c->first[c->n++] = i + 1;
	}
	c->last[c->n - 1] = c->close;
	return true;
}

static void add_token(struct macro_tokens *m, const struct token *t)
{
	MEM_GROW(m->tokens.v, m->cap, m->tokens.n + 1);
	m->tokens.v[m->tokens.n++] = *t;
}

/* Returns the number of the parameter with this name, or SIZE_MAX. */
static size_t find_parameter(const struct macro_tokens *body, size_t close, const struct token *t)
{
	for (size_t i = 1, n = 0; i < close; i += 2, n++)
		if (body->tokens.v[i].n == t->n && !memcmp(body->tokens.v[i].s, t->s, t->n))
			return n;
	return SIZE_MAX;
}

static bool expand_call(const struct source_text *t, const struct tokens *in, size_t at,
			struct macro_tokens *out, size_t *after, int depth);

/* Adds tokens, with the macros in them expanded. */
static void add_expanded(const struct source_text *t, const struct tokens *in, size_t first,
			 size_t last, struct macro_tokens *out, int depth)
{
	for (size_t i = first; i < last && out->tokens.n < TOKENS_MAX;) {
		if (in->v[i].kind == TOKEN_NAME && expand_call(t, in, i, out, &i, depth + 1))
			continue;
		add_token(out, &in->v[i++]);
	}
}

/* Adds an argument; "(p)" in the macro becomes "p" if the argument is a name. */
static void add_argument(const struct macro_tokens *body, size_t i, const struct call *c, size_t n,
			 struct macro_tokens *out, bool *skip_close)
{
	bool name = c->last[n] - c->first[n] == 1;
	bool wrapped = i && i + 1 < body->tokens.n && token_is(&body->tokens.v[i - 1], "(") &&
		       token_is(&body->tokens.v[i + 1], ")");

	/* "f(p)" is a call. */
	if (i > 1 && body->tokens.v[i - 2].kind == TOKEN_NAME)
		wrapped = false;
	if (name && wrapped && out->tokens.n) {
		out->tokens.n--;
		*skip_close = true;
	}
	for (size_t k = c->first[n]; k < c->last[n]; k++)
		add_token(out, &c->t->v[k]);
}

static bool expand_call(const struct source_text *t, const struct tokens *in, size_t at,
			struct macro_tokens *out, size_t *after, int depth)
{
	const struct source_macro *m = source_text_macro(t, &in->v[at], true);
	struct macro_tokens body = {0}, plain = {0};
	struct call c;
	size_t close;

	if (!m || depth > DEEPEST || !read_call(in, at, &c))
		return false;
	source_text_split(m->text, m->ntext, &body.tokens.v, &body.tokens.n, &body.cap);
	close = expression_close(&body.tokens, 0);
	for (size_t i = close == SIZE_MAX ? body.tokens.n : close + 1; i < body.tokens.n; i++) {
		size_t n = find_parameter(&body, close, &body.tokens.v[i]);
		bool skip_close = false;

		if (n < c.n)
			add_argument(&body, i, &c, n, &plain, &skip_close);
		else
			add_token(&plain, &body.tokens.v[i]);
		i += skip_close;
	}
	add_expanded(t, &plain.tokens, 0, plain.tokens.n, out, depth);
	macro_tokens_free(&plain);
	macro_tokens_free(&body);
	*after = c.close + 1;
	return true;
}

bool macro_expand(const struct source_text *t, size_t at, struct macro_tokens *out)
{
	size_t after;

	return t->tokens.v[at].kind == TOKEN_NAME && expand_call(t, &t->tokens, at, out, &after, 0);
}

void macro_tokens_free(struct macro_tokens *m)
{
	mem_free(m->tokens.v);
	*m = (struct macro_tokens){0};
}
