#include "report/left_out.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "report/rank.h"
#include "trace/blocks.h"

#include "base/banned.h"

bool left_out_has(const struct left_out *names, const char *name)
{
	for (size_t i = 0; name && i < names->n; i++)
		if (!strcmp(names->v[i], name))
			return true;
	return false;
}

void left_out_add(struct left_out *names, const char *name)
{
	if (left_out_has(names, name))
		return;
	MEM_GROW(names->v, names->cap, names->n + 1);
	names->v[names->n++] = mem_strdup(name);
}

void left_out_free(struct left_out *names)
{
	while (names->n)
		mem_free(names->v[--names->n]);
	mem_free(names->v);
	*names = (struct left_out){0};
}

bool left_out_is_all_blamed(const struct left_out *names, const struct finding *f)
{
	/* Regions are parts of functions that are left out. */
	if (f->region.kind >= REGION_STRETCH)
		return false;
	for (size_t i = 0; i < f->nrefuted; i++)
		if (!left_out_has(names, f->refuted[i]))
			return false;
	if (f->nrefuted)
		return true;
	if (f->blame.thread)
		return left_out_has(names, f->blame.label);
	/*
	 * A cycle that no transaction is to blame for stands. The other kinds of findings are about
	 * one transaction.
	 */
	return f->kind && strcmp(f->kind, "cycle") != 0 &&
	       left_out_has(names, f->transaction.label);
}

static bool is_region_excluded(struct reader *r, const struct finding *f)
{
	return reader_excludes_region(r, region_kind_names[f->region.kind], f->region.name);
}

struct drop {
	struct left_out names;
	struct reader *reader;
};

static bool is_dropped(const struct finding *f, void *arg)
{
	const struct drop *d = arg;

	return left_out_is_all_blamed(&d->names, f) ||
	       (f->region.kind >= REGION_STRETCH && is_region_excluded(d->reader, f));
}

size_t left_out_drop(struct reader *r, struct finding_list *findings)
{
	const struct block_left_out *v;
	size_t n = reader_left_out(r, &v), dropped;
	struct drop d = {.reader = r};
	struct str s = STR_INIT;

	for (size_t i = 0; i < n; i++)
		if (v[i].reason == BLOCK_WAITS || v[i].reason == BLOCK_SAID_NOT) {
			str_reset(&s);
			names_add_string(reader_names(r), v[i].label, &s);
			left_out_add(&d.names, s.s);
		}
	dropped = finding_list_drop(findings, is_dropped, &d);
	left_out_free(&d.names);
	str_free(&s);
	return dropped;
}

static bool is_in_excluded_region(const struct finding *f, void *reader)
{
	return f->region.kind && is_region_excluded(reader, f);
}

size_t left_out_drop_regions(struct reader *r, struct finding_list *findings)
{
	for (size_t i = 0; i < findings->n; i++)
		rank_classify(findings->v[i]);
	return finding_list_drop(findings, is_in_excluded_region, r);
}
