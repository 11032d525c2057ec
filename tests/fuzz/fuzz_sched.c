/*
 * Schedule files. Any bytes are refused with one sentence, or what is written of them reads as the
 * same schedule, and its plan fits into a drive file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	abort();
}

static char *print(const struct sched *s, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);

	if (!out)
		abort();
	sched_write(s, out);
	if (fclose(out))
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct drive d;
	struct sched s, again;
	struct err err = {0};
	char *text, *second;
	size_t n, m;

	if (!d.file && drive_open(&d, &err))
		abort();
	if (sched_parse(&s, "f", (const char *)data, size, &err)) {
		if (strncmp(err.text, "f:", 2) != 0 || strchr(err.text, '\n'))
			complain("not a sentence that says where", err.text);
		if (getenv("FUZZ_EXPECT_EVENTS"))
			complain("a seed does not read", err.text);
		sched_free(&s);
		return 0;
	}
	text = print(&s, &n);
	if (sched_parse(&again, "f", text, n, &err))
		complain("what was written does not read", err.text);
	second = print(&again, &m);
	if (n != m || memcmp(text, second, n) != 0)
		complain("it changes when it is written again", second);
	if (sched_plan(&s, &d, &err))
		complain("it has no plan", err.text);
	sched_free(&s);
	sched_free(&again);
	free(text);
	free(second);
	return 0;
}
