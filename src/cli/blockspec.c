#include "cli/blockspec.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/trace_open.h"
#include "spec/spec.h"
#include "trace/blocks.h"

#include "base/banned.h"

const char *blockspec_file;
static struct spec *spec; /* of this process: readers point to it */

struct spec *blockspec_read(struct err *err)
{
	if (!spec)
		spec = blockspec_file ? spec_read(blockspec_file, err) : spec_new();
	return spec;
}

struct reader *blockspec_open(const char *path, const struct reader_options *options,
			      struct err *err)
{
	struct reader *r;

	if (!blockspec_read(err))
		return NULL;
	r = trace_open(path, options, err);
	if (r)
		reader_set_blocks(r, spec_rules(spec));
	return r;
}

static bool is_out(const struct blockspec_names *names, const char *label)
{
	for (size_t i = 0; label && i < names->n; i++)
		if (!strcmp(names->v[i], label))
			return true;
	return false;
}

bool blockspec_blames_only(const struct finding *f, const struct blockspec_names *names)
{
	for (size_t i = 0; i < f->nrefuted; i++)
		if (!is_out(names, f->refuted[i]))
			return false;
	if (f->nrefuted)
		return true;
	if (f->blame.thread)
		return is_out(names, f->blame.label);
	/* A cycle that no transaction is to blame for stands; other engines speak of one. */
	return f->kind && strcmp(f->kind, "cycle") != 0 && is_out(names, f->transaction.label);
}

void blockspec_names_add(struct blockspec_names *names, const char *name)
{
	if (is_out(names, name))
		return;
	MEM_GROW(names->v, names->cap, names->n + 1);
	names->v[names->n++] = mem_strdup(name);
}

void blockspec_names_free(struct blockspec_names *names)
{
	while (names->n)
		mem_free(names->v[--names->n]);
	mem_free(names->v);
	*names = (struct blockspec_names){0};
}

static bool blames_only(const struct finding *f, void *names)
{
	return blockspec_blames_only(f, names);
}

size_t blockspec_drop(struct reader *r, struct finding_list *findings)
{
	const struct block_left_out *v;
	size_t n = reader_left_out(r, &v), dropped = 0;
	struct blockspec_names names = {0};
	struct str s = STR_INIT;

	for (size_t i = 0; i < n; i++)
		if (v[i].reason == BLOCK_WAITS || v[i].reason == BLOCK_SAID_NOT) {
			str_reset(&s);
			names_add_string(reader_names(r), v[i].label, &s);
			blockspec_names_add(&names, s.s);
		}
	if (names.n)
		dropped = finding_list_drop(findings, blames_only, &names);
	blockspec_names_free(&names);
	str_free(&s);
	return dropped;
}

static void tell_left_out(const struct names *names, const struct block_left_out *b, FILE *out,
			  const char *prefix)
{
	static const char *const why[BLOCK_REASONS] = {
		[BLOCK_IS_MAIN] = "the program starts with it",
		[BLOCK_IS_START] = "a thread starts with it",
		[BLOCK_SAID_NOT] = "the source says that it is not atomic",
		[BLOCK_WAITS] = "waits, joins, creates threads or passes a barrier",
	};
	struct str name = STR_INIT, shown = STR_INIT;

	names_add_string(names, b->label, &name);
	str_add_shown(&shown, name.s, name.n, SIZE_MAX);
	fprintf(out, "%sleft out: %s (%s", prefix, shown.s, why[b->reason]);
	if (b->reason != BLOCK_IS_MAIN)
		fprintf(out, "; %llu time%s", (unsigned long long)b->times,
			b->times == 1 ? "" : "s");
	fputs(")\n", out);
	str_free(&name);
	str_free(&shown);
}

void blockspec_tell(struct reader *r, FILE *out, const char *prefix, bool verbose)
{
	const struct block_left_out *v;
	size_t n;
	uint64_t cut;

	if (!reader_is_recorded(r)) {
		if (blockspec_file)
			cli_note("%s: not a recorded run, so all of its blocks count and --spec "
				 "changes nothing",
				 reader_path(r));
		return;
	}
	if (!verbose)
		return;
	n = reader_left_out(r, &v);
	for (size_t i = 0; i < n; i++)
		tell_left_out(reader_names(r), &v[i], out, prefix);
	cut = reader_blocks_cut(r);
	if (cut)
		fprintf(out, "%scut short: blocks that are marked or included (%llu time%s)\n",
			prefix, (unsigned long long)cut, cut == 1 ? "" : "s");
	blockspec_tell_unused(out, prefix);
}

void blockspec_tell_unused(FILE *out, const char *prefix)
{
	const char *rule;
	unsigned line;
	size_t at = 0;

	while (blockspec_file && spec && (line = spec_unused(spec, &at, &rule)) != 0)
		fprintf(out, "%sunused rule: %s:%u: %s\n", prefix, blockspec_file, line, rule);
}
