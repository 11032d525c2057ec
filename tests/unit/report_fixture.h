/*
 * Hand-made findings and a report to put them in, shared by the tests of the
 * report formats.
 *
 * Included by: tests/unit/test_report*.c, test_recorded_report.c, after cmocka.h.
 */
#ifndef ATOMSAN_TESTS_REPORT_FIXTURE_H
#define ATOMSAN_TESTS_REPORT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#define N(v) (sizeof(v) / sizeof((v)[0]))

/*
 * A report about one engine's findings, for a test to fill and print. Findings
 * point to the tests' own strings; their arenas are empty.
 */
struct bench {
	struct engine_result result[2];
	struct report rep;
	char *text; /* the last output */
};

static const struct engine_ops frontier = {.name = "frontier", .noun = "atomicity violation"};
static const struct engine_ops velodrome = {.name = "velodrome", .noun = "atomicity violation"};

static inline int setup(void **state)
{
	struct bench *b = mem_zalloc(sizeof *b);

	b->result[0].ops = &frontier;
	b->result[1].ops = &velodrome;
	for (size_t i = 0; i < 2; i++)
		finding_list_init(&b->result[i].findings, false);
	b->rep = (struct report){
		.source = {.trace = "x.std", .events = 120, .threads = 3, .transactions = 9},
		.results = b->result,
		.nresults = 1,
	};
	b->rep.source.variables = 4;
	b->rep.source.locks = 2;
	*state = b;
	return 0;
}

static inline int teardown(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < 2; i++)
		finding_list_free(&b->result[i].findings);
	free(b->text);
	mem_free(b);
	return 0;
}

static inline struct finding *cycle(struct finding_step *steps, size_t n,
				    enum finding_rests_on rests_on)
{
	struct finding *f = finding_new();

	f->kind = "cycle";
	f->rests_on = rests_on;
	f->event = steps[n - 1].event;
	f->transaction = (struct finding_block){
		.thread = steps[n - 1].thread,
		.label = steps[n - 1].label,
		.begin = steps[n - 1].begin,
	};
	f->steps = steps;
	f->nsteps = n;
	return f;
}

static inline struct finding *blamed(struct finding *f, const char *place)
{
	f->transaction.place = place;
	f->blame = f->transaction;
	for (size_t i = 0; i < f->nsteps; i++)
		if (f->steps[i].begin == f->blame.begin)
			f->steps[i].begin_place = place;
	f->refuted = &f->blame.label;
	f->nrefuted = 1;
	return f;
}

static inline void emit(struct bench *b, struct finding *f)
{
	struct finding_sink *sink = &b->result[0].findings.sink;

	finding_seal(f);
	sink->emit(sink, f);
}

static inline const char *print(struct bench *b, const char *format)
{
	size_t n;
	FILE *out;

	free(b->text);
	b->text = NULL;
	out = open_memstream(&b->text, &n);
	assert_non_null(out);
	report_format_by_name(format)->write(&b->rep, out);
	fclose(out);
	return b->text;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

/* A lost update. */
static struct finding_step lost_update[] __attribute__((unused)) = {
	{"T1", 5, "r", "read", "balance", "deposit", 3, "bank.c:12"},
	{"T2", 10, "w", "wrote", "balance", "deposit", 8, "bank.c:14"},
	{"T1", 16, "w", "wrote", "balance", "deposit", 3, "bank.c:14"},
};

/* The same block, found by the lock that it released. */
static struct finding_step lock_order[] __attribute__((unused)) = {
	{"T1", 6, "rel", "released", "m", "deposit", 3, "bank.c:13"},
	{"T2", 9, "acq", "acquired", "m", "deposit", 8, "bank.c:11"},
	{"T2", 11, "rel", "released", "m", "deposit", 8, "bank.c:15"},
	{"T1", 14, "acq", "acquired", "m", "deposit", 3, "bank.c:13"},
};

/* Three transactions, and one thread's operations outside blocks. */
static struct finding_step long_way[] __attribute__((unused)) = {
	{"T1", 21, "w", "wrote", "head", "push", 20, "queue.c:31"},
	{"T2", 24, "r", "read", "head", "steal", 23, "queue.c:58"},
	{"T2", 25, "w", "wrote", "stolen", "steal", 23, "queue.c:60"},
	{"T3", 27, "r", "read", "stolen", NULL, 0, "main.c:77"},
	{"T3", 28, "w", "wrote", "tail", NULL, 0, "main.c:78"},
	{"T1", 30, "r", "read", "tail", "push", 20, "queue.c:35"},
};

/* Goes back in time inside 'debit', so that no block is to blame. */
static struct finding_step no_blame[] __attribute__((unused)) = {
	{"T1", 41, "w", "wrote", "x", "credit", 40, "acct.c:7"},
	{"T2", 44, "r", "read", "x", "debit", 42, "acct.c:22"},
	{"T2", 43, "w", "wrote", "y", "debit", 42, "acct.c:21"},
	{"T1", 45, "r", "read", "y", "credit", 40, "acct.c:8"},
};

static struct finding_step nasty[] __attribute__((unused)) = {
	{"T\"1", 5, "r", "read", "a<b>&\\", "op\"q\"\n\x1b[31m", 3, "\xc3\xa4\xff.c:1"},
	{"T2", 6, "w", "wrote", "\xe5\x8f\xa3\xe5\xba\xa7",
	 "\xe2\x80\xae"
	 "evil",
	 4,
	 "\xc2\x9b"
	 "2J"},
	{"T\"1", 7, "w", "wrote", "a<b>&\\", "op\"q\"\n\x1b[31m", 3, "\xf0\x9f\x92\xa5"},
};

#endif
