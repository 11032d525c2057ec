/*
 * Findings saved as JSON. Any bytes are refused with one sentence or can be printed
 * in every format; printed as JSON, they can be read again and print the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	abort();
}

/* Prints the report. Returns the text, which the caller frees. */
static char *print(const struct report_format *format, const struct report *rep, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);

	if (!out)
		abort();
	format->write(rep, out);
	if (fclose(out))
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_loaded l, again;
	struct err err = {{0}};
	char *first, *second;
	size_t n, m;

	if (json_load(&l, "f", (const char *)data, size, &err)) {
		if (strncmp(err.text, "f:", 2) || strchr(err.text, '\n'))
			complain("not a sentence that says where", err.text);
		if (getenv("FUZZ_EXPECT_EVENTS"))
			complain("a seed does not read", err.text);
		return 0;
	}
	for (size_t i = 0; report_formats[i]; i++)
		for (int v = -1; v < 2; v++) {
			l.rep.verbosity = v;
			free(print(report_formats[i], &l.rep, &n));
		}
	first = print(&json_format, &l.rep, &n);
	if (json_load(&again, "f", first, n, &err))
		complain("its own output is refused", err.text);
	second = print(&json_format, &again.rep, &m);
	if (n != m || memcmp(first, second, n))
		complain("the output changes when it is read and printed again", second);
	free(first);
	free(second);
	json_loaded_free(&l);
	json_loaded_free(&again);
	return 0;
}
