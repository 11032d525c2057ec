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

struct reader *blockspec_open(const char *path, const struct reader_options *options,
			      struct err *err)
{
	struct reader *r;

	if (!spec)
		spec = blockspec_file ? spec_read(blockspec_file, err) : spec_new();
	if (!spec)
		return NULL;
	r = trace_open(path, options, err);
	if (r)
		reader_set_blocks(r, spec_rules(spec));
	return r;
}

/* The names of functions left out after they may have been blocks. */
struct out_names {
	char **v;
	size_t n;
};

static bool is_out(const struct out_names *names, const char *label)
{
	for (size_t i = 0; label && i < names->n; i++)
		if (!strcmp(names->v[i], label))
			return true;
	return false;
}

/* Does it say nothing but that functions are not atomic which are not meant to be? */
static bool blames_only(const struct finding *f, void *names)
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

size_t blockspec_drop(struct reader *r, struct finding_list *findings)
{
	const struct block_left_out *v;
	size_t n = reader_left_out(r, &v), dropped = 0;
	struct out_names names = {.v = mem_alloc(n * sizeof *names.v)};
	struct str s = STR_INIT;

	for (size_t i = 0; i < n; i++)
		if (v[i].reason == BLOCK_WAITS || v[i].reason == BLOCK_SAID_NOT) {
			str_reset(&s);
			names_add_string(reader_names(r), v[i].label, &s);
			names.v[names.n++] = mem_strdup(s.s);
		}
	if (names.n)
		dropped = finding_list_drop(findings, blames_only, &names);
	while (names.n)
		mem_free(names.v[--names.n]);
	mem_free(names.v);
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
	const char *rule;
	unsigned line;
	size_t n, at = 0;
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
	while (blockspec_file && (line = spec_unused(spec, &at, &rule)) != 0)
		fprintf(out, "%sunused rule: %s:%u: %s\n", prefix, blockspec_file, line, rule);
}
