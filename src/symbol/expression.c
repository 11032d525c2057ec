#include "symbol/expression.h"

#include <string.h>

#include "base/banned.h"

#define NONE SIZE_MAX

/* Brackets further apart than this belong to more than an expression. */
enum { REACH = 4096 };

static bool token_at_is(const struct tokens *t, size_t i, const char *text)
{
	return i < t->n && token_is(&t->v[i], text);
}

static bool is_one_of(const struct tokens *t, size_t i, const char *const *words, size_t n)
{
	for (size_t k = 0; k < n; k++)
		if (token_at_is(t, i, words[k]))
			return true;
	return false;
}

static bool is_keyword(const struct tokens *t, size_t i)
{
	static const char *const words[] = {
		"return",   "if",       "while",   "for",      "switch", "case",      "do",
		"else",     "sizeof",   "goto",    "new",      "delete", "throw",     "co_return",
		"co_await", "co_yield", "alignof", "_Alignof", "typeof", "__typeof__"};

	return is_one_of(t, i, words, sizeof words / sizeof *words);
}

static bool is_name(const struct tokens *t, size_t i)
{
	return i < t->n && t->v[i].kind == TOKEN_NAME && !is_keyword(t, i);
}

static bool is_member_operator(const struct tokens *t, size_t i)
{
	return token_at_is(t, i, "->") || token_at_is(t, i, ".");
}

static bool is_step_operator(const struct tokens *t, size_t i)
{
	return token_at_is(t, i, "++") || token_at_is(t, i, "--");
}

static bool is_compound_assignment(const struct tokens *t, size_t i)
{
	static const char *const words[] = {
		"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};

	return is_one_of(t, i, words, sizeof words / sizeof *words);
}

static bool is_binary_operator(const struct tokens *t, size_t i)
{
	static const char *const words[] = {"+",  "-",  "/",  "%", "<", ">",  "<=", ">=", "==",
					    "!=", "&&", "||", "|", "^", "<<", ">>", "*",  "&"};

	return is_one_of(t, i, words, sizeof words / sizeof *words);
}

/* Returns whether an operand ends at this token, so that an operator after it is binary. */
static bool ends_operand(const struct tokens *t, size_t i)
{
	if (i >= t->n)
		return false;
	return is_name(t, i) || t->v[i].kind == TOKEN_LITERAL || token_at_is(t, i, ")") ||
	       token_at_is(t, i, "]") || is_step_operator(t, i);
}

size_t expression_close(const struct tokens *t, size_t open)
{
	size_t depth = 0;

	for (size_t i = open; i < t->n && i < open + REACH; i++) {
		depth += token_at_is(t, i, "(") || token_at_is(t, i, "[") || token_at_is(t, i, "{");
		depth -= token_at_is(t, i, ")") || token_at_is(t, i, "]") || token_at_is(t, i, "}");
		if (!depth)
			return i;
	}
	return NONE;
}

/* Returns the token of the bracket that opens the one at `close`, or NONE. */
static size_t find_open(const struct tokens *t, size_t close)
{
	size_t depth = 0;

	for (size_t i = close + 1; i-- > 0 && i + REACH > close;) {
		depth += token_at_is(t, i, ")") || token_at_is(t, i, "]") || token_at_is(t, i, "}");
		depth -= token_at_is(t, i, "(") || token_at_is(t, i, "[") || token_at_is(t, i, "{");
		if (!depth)
			return i;
	}
	return NONE;
}

/* Returns the first token of the postfix expression that ends at token `i`, or NONE. */
static size_t postfix_start(const struct tokens *t, size_t i)
{
	while (i < t->n) {
		if (token_at_is(t, i, "]") || token_at_is(t, i, ")")) {
			bool call = token_at_is(t, i, ")");

			i = find_open(t, i);
			if (i == NONE || !i)
				return NONE;
			if (call && !is_name(t, i - 1) && !token_at_is(t, i - 1, ")") &&
			    !token_at_is(t, i - 1, "]"))
				return token_at_is(t, i - 1, ">") ? NONE : i;
			i--;
			continue;
		}
		if (!is_name(t, i))
			return NONE;
		if (i && is_member_operator(t, i - 1))
			i -= 2;
		else if (i > 1 && token_at_is(t, i - 1, "::") && is_name(t, i - 2))
			i -= 2;
		else if (i && token_at_is(t, i - 1, "::"))
			return i - 1;
		else
			return i;
	}
	return NONE;
}

/* Returns the last token of the postfix expression that starts at token `i`, or NONE. */
static size_t postfix_end(const struct tokens *t, size_t i)
{
	if (token_at_is(t, i, "::"))
		i++;
	while (is_name(t, i) && token_at_is(t, i + 1, "::"))
		i += 2;
	if (token_at_is(t, i, "("))
		i = expression_close(t, i);
	else if (!is_name(t, i))
		return NONE;
	while (i != NONE) {
		if (is_member_operator(t, i + 1) && is_name(t, i + 2))
			i += 2;
		else if (token_at_is(t, i + 1, "[") || token_at_is(t, i + 1, "("))
			i = expression_close(t, i + 1);
		else
			return i;
	}
	return NONE;
}

/* Moves the start of an expression over the unary '*' in front of it. */
static size_t include_stars(const struct tokens *t, size_t first)
{
	while (first && token_at_is(t, first - 1, "*") &&
	       !(first > 1 && ends_operand(t, first - 2)))
		first--;
	return first;
}

static void add_expression(struct expressions *out, size_t first, size_t last)
{
	if (first == NONE || last == NONE || last < first || out->n == EXPRESSIONS_MAX)
		return;
	out->v[out->n++] = (struct expression){.first = first, .last = last};
}

static void add_pointer(struct expressions *out, size_t first, size_t last)
{
	size_t n = out->n;

	add_expression(out, first, last);
	if (out->n > n)
		out->v[n].pointer = true;
}

/* Adds the expression that ends before an operator: "*p" in "*p = 1", "*p" in "*p++ = 1". */
static void add_before(const struct tokens *t, size_t op, struct expressions *out)
{
	size_t last = op ? op - 1 : NONE, first;

	if (last != NONE && last && is_step_operator(t, last))
		last--;
	first = last == NONE ? NONE : postfix_start(t, last);
	if (first != NONE)
		add_expression(out, include_stars(t, first), last);
}

/*
 * Returns the last token of the lvalue that starts at token `i`, or NONE: "*p", "*p++", "p->x".
 * Sets *after to the token after all of it.
 */
static size_t unary_end(const struct tokens *t, size_t i, size_t *after)
{
	size_t last;

	while (token_at_is(t, i, "*"))
		i++;
	last = postfix_end(t, i);
	*after = last == NONE ? NONE : last + 1;
	if (last != NONE && is_step_operator(t, last + 1))
		*after = last + 2;
	return last;
}

/* Adds the operand at `i` if it is an lvalue and nothing else. */
static void add_whole_operand(const struct tokens *t, size_t i, struct expressions *out)
{
	static const char *const ends[] = {";", ",", ")", "}", "]", ":", "?"};
	size_t after, last = unary_end(t, i, &after);

	if (last != NONE && is_one_of(t, after, ends, sizeof ends / sizeof *ends))
		add_expression(out, i, last);
}

/* Adds an argument. If its address is passed, a part of it cannot be what is accessed here. */
static void add_argument(struct expressions *out, size_t first, size_t last, bool whole)
{
	size_t n = out->n;

	add_expression(out, first, last);
	if (out->n > n)
		out->v[n].whole = whole;
}

/* Returns whether the function writes what its first argument points to. */
static bool copies_memory(const struct tokens *t, size_t name)
{
	static const char *const words[] = {"memcpy", "memmove", "memset",
					    "strcpy", "strncpy", "strcat"};

	return is_one_of(t, name, words, sizeof words / sizeof *words);
}

/* Adds the arguments of a call that the operation may be about; `open` is its '(' or '{'. */
static void add_arguments(const struct tokens *t, size_t open, enum expression_use use,
			  struct expressions *out)
{
	size_t close = expression_close(t, open), i = open + 1, after, last, n = 0;
	bool copies = copies_memory(t, open - 1);

	while (close != NONE && i < close) {
		bool address = token_at_is(t, i, "&");
		size_t depth = 0;

		last = unary_end(t, i + address, &after);
		if (last != NONE && (after == close || token_at_is(t, after, ","))) {
			/* The caller reads an argument; it cannot write one. */
			if (address || use == USE_READ)
				add_argument(out, i + address, last, address && !copies);
			else if (use == USE_LOCK)
				add_pointer(out, i, last);
			/* memcpy() writes what its first argument points to, and reads the second.
			 */
			if (!address && copies && n == (use == USE_READ)) {
				out->n = 0;
				add_pointer(out, i, last);
				return;
			}
			if (!address && use == USE_LOCK)
				add_expression(out, i, last);
		}
		for (; i < close && (depth || !token_at_is(t, i, ",")); i++) {
			depth += token_at_is(t, i, "(") || token_at_is(t, i, "[") ||
				 token_at_is(t, i, "{");
			depth -= token_at_is(t, i, ")") || token_at_is(t, i, "]") ||
				 token_at_is(t, i, "}");
		}
		i++;
		n++;
	}
}

/* Adds the starts of a chain that end in an index: "a[i]" and "a[i].b[k]" in "a[i].b[k].c". */
static void add_indexed(const struct tokens *t, size_t first, struct expressions *out)
{
	size_t i = first;

	if (token_at_is(t, i, "("))
		i = expression_close(t, i);
	while (i != NONE) {
		if (is_member_operator(t, i + 1) && is_name(t, i + 2)) {
			i += 2;
		} else if (token_at_is(t, i + 1, "(")) {
			i = expression_close(t, i + 1);
		} else if (token_at_is(t, i + 1, "[")) {
			i = expression_close(t, i + 1);
			if (i != NONE && !token_at_is(t, i + 1, "["))
				add_expression(out, first, i);
		} else {
			return;
		}
	}
}

/* The operation is marked at the last token of the member or element [first..last]. */
static void add_element(const struct tokens *t, size_t first, size_t last, enum expression_use use,
			struct expressions *out)
{
	if (first == NONE || last == NONE)
		return;
	if (use == USE_WRITE && !token_at_is(t, last + 1, "=") &&
	    !is_compound_assignment(t, last + 1) && !is_step_operator(t, last + 1) &&
	    !(first && is_step_operator(t, first - 1))) {
		/* "p->in = q->in": a copy is marked at what it copies. */
		if (first && token_at_is(t, first - 1, "="))
			add_before(t, first - 1, out);
		return;
	}
	add_expression(out, first, last);
}

/* A call of a member: "x" in "x.load()", or an argument. */
static void add_member_call(const struct tokens *t, size_t dot, size_t open,
			    enum expression_use use, struct expressions *out)
{
	size_t first = dot ? postfix_start(t, dot - 1) : NONE;

	if (first != NONE && token_at_is(t, dot, "->"))
		add_pointer(out, first, dot - 1);
	add_expression(out, first, dot - 1);
	add_arguments(t, open, use, out);
}

static void find_at_name(const struct tokens *t, size_t at, enum expression_use use,
			 struct expressions *out)
{
	size_t next = at + 1;

	if (at && is_member_operator(t, at - 1)) {
		if (token_at_is(t, next, "("))
			add_member_call(t, at - 1, next, use, out);
		else
			add_element(t, postfix_start(t, at), at, use, out);
		return;
	}
	if (token_at_is(t, next, "(") || (token_at_is(t, next, "{") && use == USE_LOCK)) {
		add_arguments(t, next, use, out);
		if (use == USE_READ && token_at_is(t, next, "("))
			add_indexed(t, at, out);
		return;
	}
	/* "int t = p->x", marked at "t". */
	if (token_at_is(t, next, "=") && use == USE_READ) {
		add_whole_operand(t, next + 1, out);
		return;
	}
	if (use == USE_WRITE &&
	    (token_at_is(t, next, "->") || token_at_is(t, next, ".") || token_at_is(t, next, "[")))
		return;
	add_expression(out, at, at);
	if (use == USE_READ)
		add_indexed(t, at, out);
}

static void find_at_member_operator(const struct tokens *t, size_t at, enum expression_use use,
				    struct expressions *out)
{
	if (!at || !is_name(t, at + 1))
		return;
	if (token_at_is(t, at + 2, "("))
		add_member_call(t, at, at + 2, use, out);
	else
		add_element(t, postfix_start(t, at - 1), at + 1, use, out);
}

static void find_at_assignment(const struct tokens *t, size_t at, enum expression_use use,
			       struct expressions *out)
{
	size_t n = out->n;

	if (use == USE_READ && token_at_is(t, at, "=")) {
		/* A write of a bit-field reads it first. Otherwise only the right side is read. */
		add_before(t, at, out);
		if (out->n > n)
			out->v[n].only_bits = true;
		add_whole_operand(t, at + 1, out);
		return;
	}
	add_before(t, at, out);
}

static void find_at_bracket(const struct tokens *t, size_t at, enum expression_use use,
			    struct expressions *out)
{
	/* "x.load(1)", marked at "(". */
	if (at > 1 && is_name(t, at - 1) && is_member_operator(t, at - 2)) {
		add_member_call(t, at - 2, at, use, out);
	} else if (at && is_name(t, at - 1)) {
		add_arguments(t, at, use, out);
	} else if (use == USE_READ) {
		size_t close = expression_close(t, at);

		add_indexed(t, at, out);
		add_whole_operand(t, at, out);
		/* "(int)p->x", marked at "(". */
		if (close != NONE)
			add_whole_operand(t, close + 1, out);
	}
}

/* The left side of the assignment, or the declared variable, whose value is computed at `at`. */
static void find_result(const struct tokens *t, size_t at, struct expressions *out)
{
	static const char *const ends[] = {";", "{", "}", "return", ","};
	size_t depth = 0;

	for (size_t i = at + 1; i-- > 0 && i + REACH > at;) {
		if (token_at_is(t, i, ")") || token_at_is(t, i, "]"))
			depth++;
		else if (depth && (token_at_is(t, i, "(") || token_at_is(t, i, "[")))
			depth--;
		else if (!depth && is_one_of(t, i, ends, sizeof ends / sizeof *ends))
			return;
		else if (!depth && token_at_is(t, i, "=")) {
			add_before(t, i, out);
			return;
		}
	}
}

void expression_find(const struct tokens *t, size_t at, enum expression_use use,
		     struct expressions *out)
{
	size_t after;

	out->n = 0;
	if (at >= t->n)
		return;
	if (use == USE_RESULT)
		find_result(t, at, out);
	else if (is_member_operator(t, at))
		find_at_member_operator(t, at, use, out);
	else if (token_at_is(t, at, "[") && at)
		add_element(t, postfix_start(t, at - 1), expression_close(t, at), use, out);
	else if (token_at_is(t, at, "=") || is_compound_assignment(t, at))
		find_at_assignment(t, at, use, out);
	else if (is_step_operator(t, at) && at && ends_operand(t, at - 1))
		add_before(t, at, out);
	else if (is_step_operator(t, at))
		add_expression(out, at + 1, unary_end(t, at + 1, &after));
	else if (token_at_is(t, at, "*") && !(at && ends_operand(t, at - 1)))
		add_element(t, at, unary_end(t, at, &after), use, out);
	else if (token_at_is(t, at, ")") && use != USE_READ && find_open(t, at) != NONE)
		find_at_bracket(t, find_open(t, at), use, out); /* "guard(m)", marked at its end */
	else if (token_at_is(t, at, "("))
		find_at_bracket(t, at, use, out);
	else if (token_at_is(t, at, "return") && use == USE_READ)
		add_whole_operand(t, at + 1, out);
	else if (is_binary_operator(t, at) && use == USE_READ) {
		add_before(t, at, out);
		add_expression(out, at + 1, unary_end(t, at + 1, &after));
		/* "(int)*p" */
		if (token_at_is(t, at, "*") && token_at_is(t, at - 1, ")"))
			add_expression(out, at, unary_end(t, at, &after));
	} else if (is_name(t, at))
		find_at_name(t, at, use, out);
}

bool expression_find_object(const struct tokens *t, size_t at, struct expressions *out)
{
	struct expressions found = {.n = 0};
	size_t after;

	if (at && at < t->n && is_name(t, at) && token_at_is(t, at - 1, "->"))
		at--;
	if (token_at_is(t, at, "*") && !(at && ends_operand(t, at - 1)))
		add_expression(&found, at + 1, unary_end(t, at + 1, &after));
	else if (token_at_is(t, at, "[") ||
		 (token_at_is(t, at, "->") && !token_at_is(t, at + 2, "(")))
		add_before(t, at, &found);
	else if (is_name(t, at) && !token_at_is(t, at + 1, "(") &&
		 is_step_operator(t, postfix_end(t, at) + 1))
		add_expression(&found, at, postfix_end(t, at));
	else
		return false;
	*out = found;
	return true;
}

void expression_add_text(const struct tokens *t, const struct expression *e, struct str *out)
{
	bool brackets = e->pointer && token_at_is(t, e->first, "*");

	if (e->pointer)
		str_add(out, brackets ? "*(" : "*");
	for (size_t i = e->first; i <= e->last; i++) {
		bool tight = is_member_operator(t, i) || token_at_is(t, i, "[") ||
			     (i > e->first && is_member_operator(t, i - 1));

		if (i > e->first && t->v[i].spaced && !tight)
			str_addc(out, ' ');
		str_addn(out, t->v[i].s, t->v[i].n);
	}
	if (brackets)
		str_addc(out, ')');
}
