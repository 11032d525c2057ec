#include "spec/pattern.h"

#include <string.h>

#include "base/banned.h"

/* p is just after the '[' of a class. Returns its ']', or NULL if there is none. */
static const char *find_class_end(const char *p)
{
	p += *p == '!' || *p == '^';
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p : NULL;
}

const char *pattern_error(const char *p)
{
	for (; *p; p++) {
		if (*p == '\\') {
			if (!*++p)
				return "the pattern ends in a '\\'";
		} else if (*p == '[') {
			p = find_class_end(p + 1);
			if (!p)
				return "a '[' without its ']' (write '\\[' for the character)";
		}
	}
	return NULL;
}

bool pattern_is_wild(const char *p, struct str *plain)
{
	str_reset(plain);
	for (; *p; p++) {
		if (strchr("*?[", *p))
			return true;
		if (*p == '\\')
			p++;
		str_addc(plain, *p);
	}
	return false;
}

/* Matches one character or class of the pattern with c; sets *next to the rest of the pattern. */
static bool match_char(const char *p, char c, const char **next)
{
	const unsigned char ch = (unsigned char)c;
	const char *end;
	bool negated, in = false;

	*next = p + 1;
	if (*p == '?')
		return true;
	if (*p == '\\') {
		*next = p + 2;
		return p[1] == c;
	}
	if (*p != '[')
		return *p == c;
	end = find_class_end(p + 1);
	*next = end + 1;
	p++;
	negated = *p == '!' || *p == '^';
	p += negated;
	while (p < end) {
		unsigned char from, to;

		p += *p == '\\';
		from = to = (unsigned char)*p++;
		if (*p == '-' && p + 1 < end) {
			p++;
			p += *p == '\\';
			to = (unsigned char)*p++;
		}
		in |= from <= ch && ch <= to;
	}
	return in != negated;
}

bool pattern_match(const char *p, const char *t)
{
	const char *star = NULL, *from = NULL, *next;

	/* Only the last star needs another try: everything before it has matched. */
	while (*t) {
		if (*p == '*') {
			star = ++p;
			from = t;
		} else if (*p && match_char(p, *t, &next)) {
			p = next;
			t++;
		} else if (star) {
			p = star;
			t = ++from;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

void pattern_quote(struct str *out, const char *text)
{
	const char *begin = text;

	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			str_addc(out, '?'); /* a rule is one line */
		else if (*text == ' ' && (text == begin || !text[1]))
			str_add(out, "[ ]"); /* blanks around a pattern are ignored */
		else {
			if (strchr("*?[\\", *text))
				str_addc(out, '\\');
			str_addc(out, *text);
		}
	}
}

/* Returns whether `word` is at text[at] and is a whole word: not "operator" in "my_operators". */
static bool is_word_at(const char *text, size_t at, const char *word)
{
	static const char ident[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";
	size_t n = strlen(word);

	return !strncmp(text + at, word, n) && !(at && strchr(ident, text[at - 1])) &&
	       !(text[at + n] && strchr(ident, text[at + n]));
}

void pattern_split_function(const char *text, size_t *name, size_t *params)
{
	const char *clone = strstr(text, " [clone ");
	size_t end = clone ? (size_t)(clone - text) : strlen(text), i = end;
	int depth = 0;

	/* The last pair of parentheses has the parameters. */
	*name = 0;
	*params = end;
	while (i > 0 && text[i - 1] != ')')
		i--;
	while (i > 0) {
		char c = text[--i];

		depth += (c == ')') - (c == '(');
		if (!depth) {
			*params = i;
			break;
		}
	}
	/* What is left of "operator()" is "operator": then there were no parameters. */
	if (*params >= 8 && is_word_at(text, *params - 8, "operator"))
		*params = end;
	depth = 0;
	for (i = 0; i < *params; i++) {
		if (!depth && is_word_at(text, i, "operator"))
			break; /* any characters may follow */
		depth += text[i] && strchr("<({[", text[i]) ? 1 : 0;
		depth -= text[i] && strchr(">)}]", text[i]) ? 1 : 0;
		if (!depth && text[i] == ' ')
			*name = i + 1;
	}
}

bool pattern_is_library(const char *s)
{
	if (strncmp(s, "_Z", 2))
		return false;
	s += 2;
	/* Prefixes of nested, local and static names, and qualifiers of member functions. */
	s += strspn(s, "ZNKVrROL");
	/* Names that begin with __ are reserved: __gnu_cxx, __cxxabiv1, __gthread_once(). */
	return !strncmp(s, "St", 2) || !strncmp(s + strspn(s, "0123456789"), "__", 2);
}

/* gcc: f._omp_fn.0; clang: .omp_outlined..1, .omp_outlined._debug__, .omp_task_entry. */
bool pattern_is_outlined(const char *s)
{
	return strstr(s, "._omp_fn.") || strstr(s, "omp_outlined") || !strncmp(s, ".omp", 4);
}
