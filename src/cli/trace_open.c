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

void trace_close(struct reader *r)
{
	struct names_resolver *resolver;
	const char *const *warning;
	size_t n;

	if (!r)
		return;
	resolver = reader_resolver(r);
	n = symbol_resolver_warnings(resolver, &warning);
	for (size_t i = 0; i < n; i++)
		cli_note("%s", warning[i]);
	reader_close(r);
	symbol_resolver_free(resolver);
}
