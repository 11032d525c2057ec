/* Raw recordings of a process, as traces to read. */
#include "reporter/reporter_impl.h"
#include "symbol/symbol.h"

#include "base/banned.h"

struct reader *recording_open(struct reporter_process *p, int fd, const char *name, bool unfinished,
			      struct block_rules *rules, struct err *err)
{
	struct reader_options ropt = {.unfinished = unfinished, .rewindable = true};
	struct reader *reader = reader_open_fd(fd, name, &ropt, err);

	if (!reader)
		return NULL;
	reader_set_resolver(reader, symbol_resolver_share(p->resolver));
	reader_set_blocks(reader, rules);
	return reader;
}

void recording_close(struct reader *reader)
{
	struct names_resolver *resolver = reader_resolver(reader);

	reader_close(reader);
	symbol_resolver_free(resolver);
}
