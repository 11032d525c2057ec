#include "cli/trace_open.h"

#include "cli/cli.h"
#include "symbol/symbol.h"

#include "base/banned.h"

struct reader *trace_open(const char *path, const struct reader_options *options, struct err *err)
{
	struct reader *r = reader_open(path, options, err);

	if (r)
		reader_set_resolver(r, symbol_resolver_new());
	return r;
}

void trace_close_quietly(struct reader *r)
{
	struct names_resolver *resolver = r ? reader_resolver(r) : NULL;

	if (!r)
		return;
	reader_close(r);
	symbol_resolver_free(resolver);
}

void trace_close(struct reader *r)
{
	const char *const *warning;
	size_t n;

	if (!r)
		return;
	n = symbol_resolver_warnings(reader_resolver(r), &warning);
	for (size_t i = 0; i < n; i++)
		note("%s", warning[i]);
	trace_close_quietly(r);
}
