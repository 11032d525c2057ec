#include "report/suppress.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "report/show.h"
#include "report/stack.h"
#include "report/step.h"

#include "base/banned.h"

static const char type[] = "atomicity";

struct line {
	const char *text, *pattern;
	unsigned number;
	bool used;
};

struct suppress {
	char *path;
	struct line *v;
	size_t n, cap;
	struct arena arena;
};

/* Does the pattern, whose only special character is '*', match the whole of text[0..n)? */
static bool match_glob(const char *p, size_t np, const char *t, size_t n)
{
	size_t i = 0, k = 0, star = SIZE_MAX, from = 0;

	/* Backtrack only to the last star: everything before it has matched. */
	while (k < n) {
		if (i < np && p[i] == '*') {
			star = ++i;
			from = k;
		} else if (i < np && p[i] == t[k]) {
			i++;
			k++;
		} else if (star != SIZE_MAX) {
			i = star;
			k = ++from;
		} else {
			return false;
		}
	}
	while (i < np && p[i] == '*')
		i++;
	return i == np;
}

bool suppress_pattern(const char *p, const char *name)
{
	size_t np = strlen(p);
	bool start = *p == '^', end;
	struct str whole = STR_INIT;
	bool found;

	p += start;
	np -= start;
	end = np && p[np - 1] == '$';
	np -= end;
	if (!start)
		str_addc(&whole, '*');
	str_addn(&whole, p, np);
	if (!end)
		str_addc(&whole, '*');
	found = match_glob(whole.s, whole.n, name, strlen(name));
	str_free(&whole);
	return found;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Parse a line without surrounding blanks that is no comment. On failure `wrong` says why. */
static int parse_line(const char *text, struct line *l, struct str *wrong)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);

	if (!colon || n != strlen(type) || strncmp(text, type, n) != 0) {
		str_fmt(wrong, "a suppression must begin with '%s:', not '", type);
		str_add_shown(wrong, text, n, 60);
		str_addc(wrong, '\'');
		return -1;
	}
	l->text = text;
	l->pattern = colon + 1;
	while (is_blank(*l->pattern))
		l->pattern++;
	if (!l->pattern[strspn(l->pattern, "^*$")]) {
		str_add(wrong,
			*l->pattern ? "this pattern matches everything" : "the pattern is missing");
		return -1;
	}
	return 0;
}

struct suppress *suppress_parse(const char *path, const char *text, size_t n, struct err *err)
{
	struct suppress *s = mem_zalloc(sizeof *s);
	const char *end = text + n;
	struct str wrong = STR_INIT;
	unsigned number = 0;

	s->path = mem_strdup(path);
	while (text < end && !err_is_set(err)) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *from = text, *to = stop ? stop : end;
		struct line l = {0};

		l.number = ++number;
		text = stop ? stop + 1 : end;
		while (from < to && is_blank(*from))
			from++;
		while (to > from && is_blank(to[-1]))
			to--;
		if (from == to || *from == '#')
			continue;
		if (memchr(from, 0, (size_t)(to - from))) {
			err_fail(err, "%s:%u: a NUL byte", path, number);
		} else if (parse_line(arena_strndup(&s->arena, from, (size_t)(to - from)), &l,
				      &wrong)) {
			err_fail(err, "%s:%u: %s", path, number, wrong.s);
		} else {
			MEM_GROW(s->v, s->cap, s->n + 1);
			s->v[s->n++] = l;
		}
	}
	str_free(&wrong);
	if (!err_is_set(err))
		return s;
	suppress_free(s);
	return NULL;
}

struct suppress *suppress_read(const char *path, struct err *err)
{
	struct str text = STR_INIT;
	struct suppress *s = NULL;

	if (!file_read(path, &text, err))
		s = suppress_parse(path, text.s, text.n, err);
	str_free(&text);
	return s;
}

void suppress_free(struct suppress *s)
{
	if (!s)
		return;
	mem_free(s->path);
	mem_free(s->v);
	arena_free(&s->arena);
	mem_free(s);
}

const char *suppress_path(const struct suppress *s)
{
	return s->path;
}

static bool matches_name(const struct line *l, const char *name)
{
	return name && suppress_pattern(l->pattern, name);
}

static bool matches_stack(const struct line *l, const struct finding_stack *stack)
{
	for (size_t i = 0; i < stack->n; i++)
		if (matches_name(l, stack->v[i].function) || matches_name(l, stack->v[i].file) ||
		    matches_name(l, stack->v[i].module))
			return true;
	return false;
}

/* Older versions called an allocation a heap block. */
static bool matches_location(const struct line *l, const char *location)
{
	static const char now[] = "heap allocation of ";
	const char *at = location ? strstr(location, now) : NULL;
	struct str old = STR_INIT;
	bool found = matches_name(l, location);

	if (found || !at)
		return found;
	str_addn(&old, location, (size_t)(at - location));
	str_fmt(&old, "heap block of %s", at + strlen(now));
	found = matches_name(l, old.s);
	str_free(&old);
	return found;
}

/* A variable may be named by what the source calls it, and by where it is. */
static bool matches_variable(const struct line *l, const struct finding *f)
{
	if (!f->variable)
		return false;
	for (size_t i = 0; i < f->nmemory; i++)
		if (step_same_name(f->memory[i].name, f->variable) &&
		    matches_location(l, f->memory[i].location))
			return true;
	return matches_location(l, f->variable);
}

static bool matches_finding(const struct line *l, const struct finding *f)
{
	if (matches_name(l, f->blame.label) || matches_name(l, f->transaction.label) ||
	    matches_variable(l, f))
		return true;
	for (size_t i = 0; i < f->nrefuted; i++)
		if (matches_name(l, f->refuted[i]))
			return true;
	for (size_t i = 0; i < f->nlocks; i++)
		if (matches_location(l, f->locks[i]))
			return true;
	for (size_t i = 0; i < f->nwith; i++)
		if (matches_name(l, f->with[i].label))
			return true;
	for (size_t i = 0; i < f->nsteps; i++) {
		const struct finding_step *s = &f->steps[i];

		if (matches_name(l, s->label) || matches_stack(l, &s->stack) ||
		    (!s->stack.n && matches_name(l, s->place)))
			return true;
	}
	return false;
}

bool suppress_matches(struct suppress *s, const struct finding *f)
{
	bool found = false;

	for (size_t i = 0; s && i < s->n; i++)
		if (matches_finding(&s->v[i], f))
			found = s->v[i].used = true;
	return found;
}

unsigned suppress_unused(const struct suppress *s, size_t *at, const char **line)
{
	while (*at < s->n) {
		const struct line *l = &s->v[(*at)++];

		if (!l->used) {
			*line = l->text;
			return l->number;
		}
	}
	return 0;
}

void suppress_print_unused(const struct suppress *s, FILE *out, const char *prefix)
{
	const char *text;
	unsigned line;
	size_t at = 0;

	while (s && (line = suppress_unused(s, &at, &text)) != 0)
		fprintf(out, "%sunused suppression: %s:%u: %s\n", prefix, suppress_path(s), line,
			text);
}

/* Is it a function of the step's stack? Then a line with its name matches. */
static bool is_on_stack(const struct finding_step *s, const char *function)
{
	for (size_t i = 0; s && function && i < s->stack.n; i++)
		if (s->stack.v[i].function && !strcmp(s->stack.v[i].function, function))
			return true;
	return false;
}

/* The name that identifies the finding best, or NULL. */
static const char *best_name(const struct finding *f)
{
	const struct finding_step *last = f->nsteps ? &f->steps[f->nsteps - 1] : NULL;
	const struct finding_frame *own = last ? stack_own_frame(&last->stack) : NULL;

	if (is_on_stack(last, f->region.name))
		return f->region.name;
	if (f->blame.label)
		return f->blame.label;
	if (f->transaction.label)
		return f->transaction.label;
	/* An operation outside blocks: its function, else what it is about or its place. */
	if (own && own->function)
		return own->function;
	for (size_t i = 0; last && i < last->stack.n; i++)
		if (last->stack.v[i].function)
			return last->stack.v[i].function;
	if (f->nlocks)
		return f->locks[0];
	return f->variable ? f->variable : last ? last->place : NULL;
}

void suppress_add_line(struct str *out, const struct finding *f)
{
	const char *name = best_name(f);
	struct str safe = STR_INIT;

	if (!name || !name[strspn(name, "^*$")])
		return;
	show_add(&safe, name, SIZE_MAX, SHOW_CUT_TAIL);
	str_fmt(out, "%s:^", type);
	if (!strcmp(safe.s, name))
		str_add(out, name);
	/* The line must be printable, so '*' stands for control characters. */
	else
		for (; *name; name++)
			str_addc(out, *name < ' ' || *name == 0x7f ? '*' : *name);
	str_addc(out, '$');
	str_free(&safe);
}
