#include "spec/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "spec/pattern.h"

#include "base/banned.h"

static const char *const what_names[SPEC_WHATS] = {"function", "file", "module", "label", "region"};

struct rule {
	const char *text;    /* the whole line, without blanks around it */
	const char *pattern; /* as written */
	const char *plain;   /* the text that it matches; NULL: it has wildcards */
	unsigned line;
	enum spec_what what;
	bool include, used;
};

/* A pair of accesses that nothing came between in so many runs. */
struct uncut {
	const char *pair;
	uint64_t runs;
};

struct spec {
	struct block_rules rules; /* first: it is cast to struct spec */
	struct uncut *uncut;
	size_t nuncut, uncut_cap;
	struct rule *v;
	size_t n, cap;
	bool on_functions; /* a rule is about functions, files or modules */
	struct arena arena;
};

/* A pattern may match this many forms of a function's name. */
enum { MAX_FORMS = 5 };

static bool rule_matches(const struct rule *r, const char *text)
{
	return r->plain ? !strcmp(r->plain, text) : pattern_match(r->pattern, text);
}

static bool rule_matches_form(const struct rule *r, const char *const *forms)
{
	for (; *forms; forms++)
		if (rule_matches(r, *forms))
			return true;
	return false;
}

/* The pattern may match the whole path, or any end of it that begins after a slash. */
static bool rule_matches_path(const struct rule *r, const char *path)
{
	while (path) {
		if (rule_matches(r, path))
			return true;
		path = strchr(path, '/');
		path = path ? path + 1 : NULL;
	}
	return false;
}

/* Fills `out`, which is all NULL, with the forms of the name; `buf` holds new strings. */
static void list_forms(const struct names_frame *f, struct str *buf, const char **out)
{
	size_t name, params, n, at[2] = {0};

	if (f->linkage)
		*out++ = f->linkage;
	if (!f->function)
		return;
	*out++ = f->function;
	pattern_split_function(f->function, &name, &params);
	n = strlen(f->function);
	if (name)
		*out++ = f->function + name;
	if (params == n)
		return;
	str_addn(buf, f->function + name, params - name);
	str_addc(buf, 0);
	at[1] = buf->n;
	str_addn(buf, f->function, params);
	for (size_t i = 0; i < (name ? 2 : 1); i++)
		*out++ = buf->s + at[i];
}

/* Returns the flags of block_policy.h that a function has as a start function by its name. */
static unsigned find_start_flags(const struct names_frame *f)
{
	unsigned flags = 0;

	if (f->linkage && pattern_is_library(f->linkage))
		flags |= BLOCK_HANDS_ON;
	if (f->function && pattern_is_outlined(f->function))
		flags |= BLOCK_OUTLINED;
	return flags;
}

/* Does this rule match a function with these forms of its name? */
static bool rule_matches_function(const struct rule *r, const char *const *forms,
				  const struct names_frame *f)
{
	switch (r->what) {
	case SPEC_FUNCTION:
		return rule_matches_form(r, forms);
	case SPEC_FILE:
		return f->file && rule_matches_path(r, f->file);
	case SPEC_MODULE:
		return f->module && rule_matches_path(r, f->module);
	default:
		return false;
	}
}

/* Returns the last rule that matches the function, or NULL; marks all that match as used. */
static const struct rule *find_function_rule(struct spec *s, const struct names_frame *f)
{
	struct str buf = STR_INIT;
	const char *forms[MAX_FORMS + 1] = {0};
	const struct rule *found = NULL;

	list_forms(f, &buf, forms);
	for (size_t i = 0; i < s->n; i++) {
		struct rule *r = &s->v[i];

		if (rule_matches_function(r, forms, f)) {
			r->used = true;
			found = r;
		}
	}
	str_free(&buf);
	return found;
}

bool spec_mentions(const struct spec *s, const struct names_frame *f, unsigned *start)
{
	struct str buf = STR_INIT;
	const char *forms[MAX_FORMS + 1] = {0};
	bool found = false;

	list_forms(f, &buf, forms);
	for (size_t i = 0; i < s->n && !found; i++)
		found = rule_matches_function(&s->v[i], forms, f);
	str_free(&buf);
	*start = BLOCK_ATOMIC | find_start_flags(f);
	return found;
}

static const struct rule *find_label_rule(struct spec *s, const char *label)
{
	const struct rule *found = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].what == SPEC_LABEL && rule_matches(&s->v[i], label)) {
			s->v[i].used = true;
			found = &s->v[i];
		}
	return found;
}

static enum spec_answer rule_answer(const struct rule *r)
{
	if (!r)
		return SPEC_DEFAULT;
	if (!r->include)
		return SPEC_OUT;
	return r->what == SPEC_FUNCTION && r->plain ? SPEC_IN : SPEC_DEFAULT;
}

enum spec_answer spec_function(struct spec *s, const struct names_frame *f)
{
	return rule_answer(find_function_rule(s, f));
}

enum spec_answer spec_label(struct spec *s, const char *label)
{
	return rule_answer(find_label_rule(s, label));
}

bool spec_rule_at(const struct spec *s, size_t i, struct spec_rule *out)
{
	const struct rule *r;

	if (i >= s->n)
		return false;
	r = &s->v[i];
	*out = (struct spec_rule){r->text, r->plain, r->line, r->what};
	return true;
}

/*
 * Does the rule mean start functions, too? A name with wildcards does, but not one that matches
 * every function: such a rule takes back others.
 */
static bool means_start_functions(const struct rule *r)
{
	return r && r->include && r->what == SPEC_FUNCTION && r->pattern[strspn(r->pattern, "*?")];
}

static unsigned decide_block(struct block_rules *rules, const struct names *names, strref label,
			     char kind, bool start)
{
	struct spec *s = (struct spec *)rules;
	const struct names_frame *f = NULL;
	const struct rule *r = NULL;
	unsigned answer = BLOCK_ATOMIC;
	enum spec_answer said;

	if (kind == 'a') {
		r = find_label_rule(s, names->table[NAMES_STRING].text[label] + 2);
	} else if (names->resolver && (start || s->on_functions)) {
		/* Looking names up takes time: only if they are needed. */
		f = names->resolver->function(names->resolver, names, label);
		if (f)
			r = find_function_rule(s, f);
	}
	said = rule_answer(r);
	if (said == SPEC_OUT)
		answer = BLOCK_BY_RULE;
	else if (said == SPEC_IN || (start && means_start_functions(r)))
		answer |= BLOCK_BY_RULE;
	return start && f ? answer | find_start_flags(f) : answer;
}

/* A call hands on if the innermost function there, inlined or not, is the C++ library's. */
static bool call_hands_on(struct block_rules *rules, const struct names *names, strref place)
{
	const struct names_frame *f;

	(void)rules;
	if (!names->resolver || !names->resolver->stack(names->resolver, names, place, &f))
		return true;
	if (!f->inlined)
		return true; /* the function itself, which is the library's */
	if (f->linkage)
		return pattern_is_library(f->linkage);
	/* Inlined, and local to its file: the debug information has no linker name for it. */
	return f->file && strstr(f->file, "/c++/");
}

/* A region is called by its kind and its function: "pair worker". */
static bool excludes_region(struct block_rules *rules, const char *kind, const char *function)
{
	struct spec *s = (struct spec *)rules;
	struct str name = STR_INIT;
	bool excluded = false;

	str_fmt(&name, "%s %s", kind, function ? function : "");
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].what == SPEC_REGION && rule_matches(&s->v[i], name.s)) {
			s->v[i].used = true;
			excluded = !s->v[i].include;
		}
	str_free(&name);
	return excluded;
}

static uint64_t find_uncut(struct block_rules *rules, const char *pair)
{
	const struct spec *s = (struct spec *)rules;
	uint64_t runs = 0;

	for (size_t i = 0; i < s->nuncut; i++)
		if (!strcmp(s->uncut[i].pair, pair) && s->uncut[i].runs > runs)
			runs = s->uncut[i].runs;
	return runs;
}

struct spec *spec_new(void)
{
	struct spec *s = mem_zalloc(sizeof *s);

	s->rules.decide = decide_block;
	s->rules.hands_on_at = call_hands_on;
	s->rules.excludes_region = excludes_region;
	s->rules.uncut = find_uncut;
	return s;
}

void spec_free(struct spec *s)
{
	if (!s)
		return;
	mem_free(s->v);
	mem_free(s->uncut);
	arena_free(&s->arena);
	mem_free(s);
}

struct block_rules *spec_rules(struct spec *s)
{
	return &s->rules;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the length of the word at p, and sets *next to the word after it. */
static size_t split_word(const char *p, const char **next)
{
	size_t n = strcspn(p, " \t\r");

	p += n;
	while (is_blank(*p))
		p++;
	*next = p;
	return n;
}

static bool word_is(const char *p, size_t n, const char *what)
{
	return strlen(what) == n && !strncmp(p, what, n);
}

/* Returns whether `p` begins with "r FILE:LINE " or "w FILE:LINE ", and sets *next to what follows. */
static bool skip_access(const char *p, const char **next)
{
	size_t n;
	const char *colon;

	if ((p[0] != 'r' && p[0] != 'w') || p[1] != ' ')
		return false;
	n = strcspn(p + 2, " ");
	colon = memrchr(p + 2, ':', n);
	if (!colon || colon == p + 2 || colon + 1 == p + 2 + n ||
	    strspn(colon + 1, "0123456789") != (size_t)(p + 2 + n - colon - 1))
		return false;
	*next = p + 2 + n + (p[2 + n] == ' ');
	return true;
}

/* Parses "N r FILE:LINE w FILE:LINE in FUNCTION". Returns 0, or -1 with what is wrong. */
static int parse_uncut(struct spec *s, const char *text, struct str *wrong)
{
	size_t digits = strspn(text, "0123456789");
	const char *pair = text + digits + 1, *p;

	if (!digits || digits > 18 || text[digits] != ' ' || !skip_access(pair, &p) ||
	    !skip_access(p, &p) || strncmp(p, "in ", 3) != 0 || !p[3]) {
		str_add(wrong, "after 'uncut' comes a pair of accesses, as in "
			       "'20 r bank.c:7 w bank.c:8 in deposit'");
		return -1;
	}
	MEM_GROW(s->uncut, s->uncut_cap, s->nuncut + 1);
	s->uncut[s->nuncut++] = (struct uncut){pair, strtoull(text, NULL, 10)};
	return 0;
}

/* Parses a line without blanks around it. Returns 0, or -1 with what is wrong in `wrong`. */
static int parse_rule(struct spec *s, const char *text, struct rule *r, struct str *wrong)
{
	struct str plain = STR_INIT;
	const char *what, *reason;
	size_t n = split_word(text, &what);

	*r = (struct rule){.text = text};
	r->include = word_is(text, n, "include");
	if (!r->include && !word_is(text, n, "exclude")) {
		str_add(wrong, "a rule begins with 'include' or 'exclude', not '");
		str_add_shown(wrong, text, n, 60);
		str_addc(wrong, '\'');
		return -1;
	}
	n = split_word(what, &r->pattern);
	while (r->what < SPEC_WHATS && !word_is(what, n, what_names[r->what]))
		r->what++;
	if (r->what == SPEC_WHATS) {
		str_fmt(wrong,
			"%s what? 'function', 'file', 'module', 'label' or 'region' comes next",
			r->include ? "include" : "exclude");
		if (n) {
			str_add(wrong, ", not '");
			str_add_shown(wrong, what, n, 60);
			str_addc(wrong, '\'');
		}
		return -1;
	}
	if (!*r->pattern) {
		str_fmt(wrong, "which %s? the pattern is missing", what_names[r->what]);
		return -1;
	}
	reason = pattern_error(r->pattern);
	if (reason) {
		str_add(wrong, reason);
		return -1;
	}
	if (!pattern_is_wild(r->pattern, &plain))
		r->plain = arena_strdup(&s->arena, plain.s);
	str_free(&plain);
	return 0;
}

struct spec *spec_parse(const char *path, const char *text, size_t n, struct err *err)
{
	struct spec *s = spec_new();
	const char *end = text + n;
	struct str wrong = STR_INIT;
	unsigned line = 0;

	while (text < end && !err_is_set(err)) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *from = text, *to = stop ? stop : end;
		struct rule r;

		line++;
		text = stop ? stop + 1 : end;
		while (from < to && is_blank(*from))
			from++;
		while (to > from && is_blank(to[-1]))
			to--;
		if (from == to || *from == '#')
			continue;
		if (memchr(from, 0, (size_t)(to - from))) {
			err_fail(err, "%s:%u: a NUL byte", path, line);
		} else if (to - from > 6 && !strncmp(from, "uncut ", 6)) {
			if (parse_uncut(s,
					arena_strndup(&s->arena, from + 6, (size_t)(to - from) - 6),
					&wrong))
				err_fail(err, "%s:%u: %s", path, line, wrong.s);
		} else if (parse_rule(s, arena_strndup(&s->arena, from, (size_t)(to - from)), &r,
				      &wrong)) {
			err_fail(err, "%s:%u: %s", path, line, wrong.s);
		} else {
			r.line = line;
			s->on_functions |= r.what != SPEC_LABEL && r.what != SPEC_REGION;
			MEM_GROW(s->v, s->cap, s->n + 1);
			s->v[s->n++] = r;
		}
	}
	str_free(&wrong);
	if (!err_is_set(err))
		return s;
	spec_free(s);
	return NULL;
}

struct spec *spec_read(const char *path, struct err *err)
{
	struct str text = STR_INIT;
	struct spec *s = NULL;

	if (!file_read(path, &text, err))
		s = spec_parse(path, text.s, text.n, err);
	str_free(&text);
	return s;
}

unsigned spec_unused(const struct spec *s, size_t *at, const char **rule)
{
	while (*at < s->n) {
		const struct rule *r = &s->v[(*at)++];

		if (!r->used) {
			*rule = r->text;
			return r->line;
		}
	}
	return 0;
}

void spec_print_unused(const struct spec *s, const char *path, FILE *out, const char *prefix)
{
	const char *rule;
	unsigned line;
	size_t at = 0;

	while ((line = spec_unused(s, &at, &rule)) != 0)
		fprintf(out, "%sunused rule: %s:%u: %s\n", prefix, path, line, rule);
}

void spec_add_rule(struct str *out, bool include, enum spec_what what, const char *name)
{
	str_fmt(out, "%s %s ", include ? "include" : "exclude", what_names[what]);
	pattern_quote(out, name);
	str_addc(out, '\n');
}

void spec_add_comment(struct str *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		str_add(out, n ? "# " : "#");
		str_addn(out, text, n);
		str_addc(out, '\n');
		text += n + (text[n] == '\n');
	}
}
