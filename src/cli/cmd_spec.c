/*
 * Compares two specifications, and finds rules that match nothing in a program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "spec/spec.h"
#include "symbol/symbol.h"

#include "base/banned.h"

extern const struct command cmd_spec;

static int quiet;

static const struct opt opts[] = {
	OPT_COUNT('q', "quiet", &quiet, "print nothing; the exit code is the answer"),
	OPT_END,
};

struct diff {
	struct spec *spec[2]; /* old, new */
	struct str out;
	char **seen; /* names that were compared */
	size_t n, cap;
};

static const char *const answers[] = {
	[SPEC_DEFAULT] = "atomic",
	[SPEC_OUT] = "not atomic",
	[SPEC_IN] = "atomic, even if it waits",
};

static bool note_seen(struct diff *d, const char *kind, const char *name)
{
	struct str s = STR_INIT;

	str_fmt(&s, "%s %s", kind, name);
	for (size_t i = 0; i < d->n; i++)
		if (!strcmp(d->seen[i], s.s)) {
			str_free(&s);
			return true;
		}
	MEM_GROW(d->seen, d->cap, d->n + 1);
	d->seen[d->n++] = s.s;
	return false;
}

static void add_difference(struct diff *d, const char *kind, const char *name, enum spec_answer was,
			   enum spec_answer is)
{
	if (was == is || note_seen(d, kind, name))
		return;
	str_fmt(&d->out, "%c %s ", is == SPEC_OUT ? '-' : '+', kind);
	str_add_shown(&d->out, name, strlen(name), SIZE_MAX);
	str_fmt(&d->out, ": %s, was %s\n", answers[is], answers[was]);
}

/* Compares the answers for the names in the rules of either. */
static void diff_names(struct diff *d)
{
	struct spec_rule r;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; spec_rule_at(d->spec[side], i, &r); i++) {
			struct names_frame f = {.function = r.plain, .linkage = r.plain};

			if (r.plain && r.what == SPEC_FUNCTION)
				add_difference(d, "function", r.plain,
					       spec_function(d->spec[0], &f),
					       spec_function(d->spec[1], &f));
			else if (r.plain && r.what == SPEC_LABEL)
				add_difference(d, "label", r.plain, spec_label(d->spec[0], r.plain),
					       spec_label(d->spec[1], r.plain));
		}
	}
}

/* Finds the next rule, from *i on, that does not name just one function or label. */
static bool find_wide_rule(const struct spec *s, size_t *i, struct spec_rule *r)
{
	while (spec_rule_at(s, (*i)++, r))
		if (!r->plain || r->what == SPEC_FILE || r->what == SPEC_MODULE)
			return true;
	return false;
}

static bool has_rule(const struct spec *s, const char *text)
{
	struct spec_rule r;
	size_t i = 0;

	while (find_wide_rule(s, &i, &r))
		if (!strcmp(r.text, text))
			return true;
	return false;
}

/* Compares rules with wildcards, or on files and modules: what they match depends on the program.
 */
static void diff_wide(struct diff *d)
{
	size_t i = 0, k = 0, had = d->out.n;
	struct spec_rule r, s;
	bool a, b, moved = false;

	for (int side = 0; side < 2; side++) {
		i = 0;
		while (find_wide_rule(d->spec[side], &i, &r))
			if (!has_rule(d->spec[!side], r.text))
				str_fmt(&d->out, "%c rule %s\n", side ? '+' : '-', r.text);
	}
	if (d->out.n > had)
		return;
	i = k = 0;
	do {
		a = find_wide_rule(d->spec[0], &i, &r);
		b = find_wide_rule(d->spec[1], &k, &s);
		moved |= a != b || (a && strcmp(r.text, s.text) != 0);
	} while (a && b);
	if (moved)
		str_add(&d->out, "  rules with wildcards are in another order\n");
}

static int diff(int argc, char **argv)
{
	struct diff d = {.out = STR_INIT};
	struct err err = {0};
	int rc;

	if (argc != 2)
		return cli_usage(&cmd_spec, "diff takes two specifications");
	d.spec[0] = spec_read(argv[0], &err);
	d.spec[1] = d.spec[0] ? spec_read(argv[1], &err) : NULL;
	if (d.spec[1]) {
		diff_names(&d);
		diff_wide(&d);
	}
	if (err_is_set(&err))
		rc = cli_error("%s", err.text);
	else
		rc = d.out.n ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
	if (rc != EXIT_BAD && !quiet)
		fputs(d.out.s, stdout);
	spec_free(d.spec[0]);
	spec_free(d.spec[1]);
	while (d.n)
		mem_free(d.seen[--d.n]);
	mem_free(d.seen);
	str_free(&d.out);
	return rc;
}

static void check_function(void *arg, const struct names_frame *f)
{
	spec_function(arg, f);
}

static int check(int argc, char **argv)
{
	struct err err = {0};
	struct spec *spec;
	const char *rule;
	unsigned line, found = 0;
	size_t at = 0;
	int rc = 0;

	if (argc < 2)
		return cli_usage(&cmd_spec, "check takes a specification and a program");
	spec = spec_read(argv[0], &err);
	for (int i = 1; spec && i < argc && !rc; i++)
		rc = symbol_functions(argv[i], check_function, spec, &err);
	if (err_is_set(&err)) {
		spec_free(spec);
		return cli_error("%s", err.text);
	}
	while ((line = spec_unused(spec, &at, &rule)) != 0) {
		struct spec_rule r;

		/* Marked blocks have no symbols; only a run shows them. */
		for (size_t i = 0; spec_rule_at(spec, i, &r) && r.line != line; i++)
			;
		if (r.what == SPEC_LABEL)
			continue;
		found++;
		if (!quiet)
			printf("%s:%u: no such function: %s\n", argv[0], line, rule);
	}
	spec_free(spec);
	return found ? EXIT_FINDINGS : EXIT_NOTHING_FOUND;
}

static int spec(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], "diff"))
		return diff(argc - 1, argv + 1);
	if (argc && !strcmp(argv[0], "check"))
		return check(argc - 1, argv + 1);
	return cli_usage(&cmd_spec, argc ? "diff or check, not '%s'" : "diff or check?", argv[0]);
}

const struct command cmd_spec = {
	.name = "spec",
	.synopsis = "diff OLD NEW | check FILE PROGRAM...",
	.summary = "compare two specifications, or find rules that match nothing",
	.opts = opts,
	.run = spec,
};
