#include "base/opt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

int opt_number(const char *s, uint64_t *value)
{
	static const struct {
		char suffix;
		uint64_t times;
	} units[] = {{'k', 1000}, {'m', 1000000}, {'g', 1000000000}};
	unsigned long long v;
	char *end;

	if (*s < '0' || *s > '9')
		return -1;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno)
		return -1;
	for (size_t i = 0; *end && i < sizeof units / sizeof *units; i++) {
		if ((*end | 0x20) != units[i].suffix)
			continue;
		if (v > UINT64_MAX / units[i].times)
			return -1;
		v *= units[i].times;
		end++;
		break;
	}
	*value = v;
	return *end ? -1 : 0;
}

bool opt_next(struct opt_walk *w, struct opt *o)
{
	for (;;) {
		const struct opt *row = w->next++;

		switch (row->kind) {
		case OPT_KIND_TABLE:
			*w = (struct opt_walk){row->table, w->next, row->value};
			break;
		case OPT_KIND_END:
			if (!w->after)
				return false;
			w->next = w->after;
			w->after = NULL;
			break;
		case OPT_KIND_STOP:
			break;
		default:
			*o = *row;
			if (w->after)
				o->value = w->base + (size_t)row->value;
			return true;
		}
	}
}

static bool find_name(const struct opt *opts, const char *s, size_t n, struct opt *o)
{
	struct opt_walk w = {.next = opts};

	while (opt_next(&w, o))
		if (strlen(o->name) == n && !memcmp(o->name, s, n))
			return true;
	return false;
}

static bool find_letter(const struct opt *opts, char c, struct opt *o)
{
	struct opt_walk w = {.next = opts};

	while (opt_next(&w, o))
		if (o->letter && o->letter == c)
			return true;
	return false;
}

static bool takes_value(const struct opt *o)
{
	return o->kind == OPT_KIND_STR || o->kind == OPT_KIND_U64;
}

static int set_value(const struct opt *o, const char *value, struct err *err)
{
	switch (o->kind) {
	case OPT_KIND_FLAG:
		*(bool *)o->value = true;
		return 0;
	case OPT_KIND_COUNT:
		++*(int *)o->value;
		return 0;
	case OPT_KIND_STR:
		*(const char **)o->value = value;
		return 0;
	default:
		if (o->kind == OPT_KIND_U64_OR_1 && !value)
			value = "1";
		if (!value || opt_number(value, o->value))
			return err_fail(err, "--%s takes a number, not '%s'", o->name,
					value ? value : "");
		return 0;
	}
}

/* Parse --name, --name=value or --name value; returns how many words it used, or -1. */
static int parse_long(const struct opt *opts, int left, char **argv, struct err *err)
{
	const char *s = argv[0] + 2, *eq = strchr(s, '=');
	size_t n = eq ? (size_t)(eq - s) : strlen(s);
	struct opt found, *o = &found;

	if (!find_name(opts, s, n, o))
		return err_fail(err, "unknown option '--%.*s'", (int)n, s);
	if (!takes_value(o)) {
		if (eq && o->kind != OPT_KIND_U64_OR_1)
			return err_fail(err, "--%s takes no value", o->name);
		return set_value(o, eq ? eq + 1 : NULL, err) ? -1 : 1;
	}
	if (eq)
		return set_value(o, eq + 1, err) ? -1 : 1;
	if (left < 2)
		return err_fail(err, "--%s needs a value (%s)", o->name, o->arg);
	return set_value(o, argv[1], err) ? -1 : 2;
}

/* Parse -q, -qv, -oFILE or -o FILE; returns the same. */
static int parse_short(const struct opt *opts, int left, char **argv, struct err *err)
{
	for (const char *s = argv[0] + 1; *s; s++) {
		struct opt found, *o = &found;

		if (!find_letter(opts, *s, o))
			return err_fail(err, "unknown option '-%c'", *s);
		if (!takes_value(o)) {
			if (set_value(o, NULL, err))
				return -1;
			continue;
		}
		if (s[1])
			return set_value(o, s + 1, err) ? -1 : 1;
		if (left < 2)
			return err_fail(err, "-%c needs a value (%s)", *s, o->arg);
		return set_value(o, argv[1], err) ? -1 : 2;
	}
	return 1;
}

int opt_parse(const struct opt *opts, int argc, char **argv, struct err *err)
{
	bool stop = false;
	int words = 0;

	for (const struct opt *o = opts; o->kind != OPT_KIND_END; o++)
		stop |= o->kind == OPT_KIND_STOP;
	for (int i = 0; i < argc;) {
		char *s = argv[i];
		int used = 1;

		if (s[0] != '-' || !s[1]) {
			if (stop) {
				while (i < argc)
					argv[words++] = argv[i++];
				break;
			}
			argv[words++] = s;
		} else if (!strcmp(s, "--")) {
			while (++i < argc)
				argv[words++] = argv[i];
			break;
		} else {
			used = s[1] == '-' ? parse_long(opts, argc - i, argv + i, err)
					   : parse_short(opts, argc - i, argv + i, err);
			if (used < 0)
				return -1;
		}
		i += used;
	}
	if (words < argc)
		argv[words] = NULL;
	return words;
}

void opt_print(const struct opt *opts, FILE *out)
{
	struct opt_walk w = {.next = opts};
	struct opt found, *o = &found;

	while (opt_next(&w, o)) {
		char left[64];

		snprintf(left, sizeof left, "%c%c%s --%s%s%s", o->letter ? '-' : ' ',
			 o->letter ? o->letter : ' ', o->letter ? "," : " ", o->name,
			 !o->arg                        ? ""
			 : o->kind == OPT_KIND_U64_OR_1 ? "[="
							: "=",
			 o->arg ? o->arg : "");
		if (o->kind == OPT_KIND_U64_OR_1)
			snprintf(left + strlen(left), sizeof left - strlen(left), "]");
		fprintf(out, "  %-28s %s\n", left, o->help);
	}
}
