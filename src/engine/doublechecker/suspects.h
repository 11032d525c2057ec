/*
 * What DoubleChecker's first run passes on to its second: which blocks were in a
 * component of the imprecise graph, and whether operations outside blocks were.
 *
 * They are stored in a text file, to which several first runs can add:
 *
 *	# comment
 *	outside
 *	block NAME
 *
 * NAME is the rest of the line: the label of a transaction, as reports show it.
 * \n, \r and \\ stand for a newline, a carriage return and a backslash.
 *
 * Included by: the files of doublechecker/, the command line, the reporter, tests.
 */
#ifndef ATOMSAN_ENGINE_DOUBLECHECKER_SUSPECTS_H
#define ATOMSAN_ENGINE_DOUBLECHECKER_SUSPECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct suspects {
	bool outside;
	char **v; /* labels */
	size_t n, cap;
	uint32_t *slot; /* hash: 1 + index into v */
	size_t nslots;
};

void suspects_free(struct suspects *s);
bool suspects_has(const struct suspects *s, const char *label);
/* Returns false if it is there already. */
bool suspects_add(struct suspects *s, const char *label);

/* Add the suspects of a file. A missing file counts as empty, unless `must` is set. */
int suspects_read(struct suspects *s, const char *path, bool must, struct err *err);
/* Write a file, sorted by label, so that the same set gives the same file. */
int suspects_write(const struct suspects *s, const char *path, struct err *err);

#endif
