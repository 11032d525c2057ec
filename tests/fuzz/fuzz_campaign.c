/*
 * The files of campaigns: definitions, results of runs, merged files. Any bytes are refused with
 * one sentence, or merging them twice gives the same as once, and the merged file can be merged
 * again. That this gives the same, too, holds for files that a worker wrote, and tests/campaign
 * tests it; a file whose parts contradict each other may be described differently.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "campaign/view.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void complain(const char *what, const char *detail)
{
	fprintf(stderr, "%s: %s\n", what, detail);
	abort();
}

static void check_sentence(const struct err *err)
{
	if (strncmp(err->text, "f:", 2) || strchr(err->text, '\n'))
		complain("not a sentence that says where", err->text);
	if (getenv("FUZZ_EXPECT_EVENTS"))
		complain("a seed does not read", err->text);
}

/* Merges the texts and returns the merged file, which the caller frees. */
static char *print(const char *a, const char *b, size_t *n, struct err *err)
{
	struct merge m = {0};
	char *text = NULL;
	struct str overview = STR_INIT;
	struct view v;
	FILE *out;

	if (merge_add_text(&m, "f", a, strlen(a), err) ||
	    (b && merge_add_text(&m, "f", b, strlen(b), err))) {
		merge_free(&m);
		return NULL;
	}
	view_begin(&v, &m);
	view_rank(&v, true);
	view_add_overview(&v, &overview);
	view_add_spec(&v, &overview);
	str_free(&overview);
	for (size_t i = 0; i < v.rep.nresults; i++) {
		v.results[i].findings.selected = false;
		memset(v.results[i].findings.hidden, 0, sizeof v.results[i].findings.hidden);
	}
	out = open_memstream(&text, n);
	if (!out)
		abort();
	json_format.write(&v.rep, out);
	if (fclose(out))
		abort();
	view_free(&v);
	merge_free(&m);
	return text;
}

static void fuzz_definition(const char *text, size_t size)
{
	struct campaign c = {.path = "c"};
	struct err err = {{0}};

	if (campaign_parse(&c, "f", text, size, &err))
		check_sentence(&err);
	else
		campaign_free(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = mem_alloc(size + 1), *once, *twice, *again;
	struct err err = {{0}};
	size_t n;

	memcpy(text, data, size);
	text[size] = 0;
	if (memmem(text, size, "campaign_format", 15)) {
		fuzz_definition(text, size);
		mem_free(text);
		return 0;
	}
	once = print(text, NULL, &n, &err);
	if (!once) {
		check_sentence(&err);
		mem_free(text);
		return 0;
	}
	twice = print(text, text, &n, &err);
	if (!twice || strcmp(once, twice) != 0)
		complain("merging it twice gives something else", twice ? twice : err.text);
	again = print(once, text, &n, &err);
	if (!again)
		complain("the merged file cannot be merged", err.text);
	free(once);
	free(twice);
	free(again);
	mem_free(text);
	return 0;
}
