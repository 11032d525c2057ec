#include "report/left_out.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
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

static bool is_all_blamed(const struct finding *f, void *names)
{
	return left_out_is_all_blamed(names, f);
}

size_t left_out_drop(struct reader *r, struct finding_list *findings)
{
	const struct block_left_out *v;
	size_t n = reader_left_out(r, &v), dropped = 0;
	struct left_out names = {0};
	struct str s = STR_INIT;

	for (size_t i = 0; i < n; i++)
		if (v[i].reason == BLOCK_WAITS || v[i].reason == BLOCK_SAID_NOT) {
			str_reset(&s);
			names_add_string(reader_names(r), v[i].label, &s);
			left_out_add(&names, s.s);
		}
	if (names.n)
		dropped = finding_list_drop(findings, is_all_blamed, &names);
	left_out_free(&names);
	str_free(&s);
	return dropped;
}
