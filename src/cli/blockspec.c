#include "cli/blockspec.h"

#include "base/str.h"
#include "cli/cli.h"
#include "cli/trace_open.h"
#include "spec/spec.h"
#include "trace/blocks.h"

#include "base/banned.h"

const char *blockspec_file;
static struct spec *spec; /* the one of this process; readers point to it */

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

static void print_left_out(const struct names *names, const struct block_left_out *b, FILE *out,
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

void blockspec_print(struct reader *r, FILE *out, const char *prefix, bool verbose)
{
	const struct block_left_out *v;
	size_t n;
	uint64_t cut;

	if (!reader_is_recorded(r)) {
		if (blockspec_file)
			note("%s: this is not a recorded run, so all of its blocks count and "
			     "--spec changes nothing",
			     reader_path(r));
		return;
	}
	if (!verbose)
		return;
	n = reader_left_out(r, &v);
	for (size_t i = 0; i < n; i++)
		print_left_out(reader_names(r), &v[i], out, prefix);
	cut = reader_blocks_cut(r);
	if (cut)
		fprintf(out, "%scut short: blocks that are marked or included (%llu time%s)\n",
			prefix, (unsigned long long)cut, cut == 1 ? "" : "s");
	if (blockspec_file && spec)
		spec_print_unused(spec, blockspec_file, out, prefix);
}
