/* Findings survive being written as JSON and read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "base/str.h"
#include "report/json.h"

#include "base/banned.h"

/* A finding with a distinct value in every field. */
static void fill(struct bench *b)
{
	static struct finding_frame frames[] = {
		{"get", "/src/bank.c", "/bin/bank", 12, 4, 0x1234, true},
		{NULL, NULL, NULL, 0, 0, 7, false},
	};
	static const char *held[] = {"m", "l (shared)"}, *none[] = {NULL};
	static const char *refuted[] = {"deposit", NULL}, *locks[] = {"a", "b"};
	static struct finding_block blocks[] = {
		{"T1", "deposit", "bank.c:9", 3, .kind = REGION_MARKED, .held = locks, .nheld = 2},
		{"T1", NULL, NULL, 4}};
	static const char *reasons[] = {"read, then written", "seen in this run"};
	static struct finding_step steps[] = {
		{"T1", 5, "r", "read", "balance", "deposit", 3, "bank.c:12", "bank.c:9"},
		{"T2", 10, "w", "wrote", "balance", NULL, 0, NULL},
		{"T1", 16, "odd", NULL, NULL, "deposit", 3, "bank.c:14", "bank.c:9"},
	};
	static uint64_t schedule[] = {1, 10, UINT64_MAX};
	static struct finding_move moves[] = {{10, "T2", "w", "balance", "x:1"}, {3, "T1", "end"}};
	static struct finding_thread threads[] = {{"T1", "T0", {frames, 1}},
						  {"T2", NULL, {NULL, 0}}};
	struct finding *f;

	steps[0].stack = (struct finding_stack){frames, N(frames)};
	steps[0].held = held;
	steps[0].nheld = N(held);
	steps[0].blocks = blocks;
	steps[0].nblocks = N(blocks);
	steps[1].held = none;
	steps[1].blocks = blocks;
	f = blamed(cycle(steps, N(steps), RESTS_ON_LOCKS), "bank.c:9");
	f->status = FINDING_PREDICTED;
	f->refuted = refuted;
	f->nrefuted = N(refuted);
	f->variable = "balance";
	f->allocated = (struct finding_stack){frames, 1};
	f->pattern = "r-w-w";
	f->schedule = schedule;
	f->nschedule = N(schedule);
	f->moves = moves;
	f->nmoves = N(moves);
	f->with = blocks;
	f->nwith = 1;
	f->locks = locks;
	f->nlocks = N(locks);
	f->threads = threads;
	f->nthreads = N(threads);
	f->recorded = true;
	f->count = 3;
	f->rank_class = CLASS_STALE_WRITE;
	f->rank = 2;
	f->reasons = reasons;
	f->nreasons = N(reasons);
	f->region = (struct finding_region){REGION_ROUND, "deposit", "bank.c:9", "loops are"};
	b->result[0].findings.hidden[HIDDEN_ATOMIC] = 3;
	b->result[0].findings.hidden[HIDDEN_SYNCHRONISATION] = 4;
	b->result[0].findings.hidden[HIDDEN_POSSIBLE] = 5;
	b->result[0].findings.hidden[HIDDEN_WEAK] = 6;
	emit(b, f);
	emit(b, cycle(nasty, N(nasty), RESTS_ON_DATA));
	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_NOTHING));
	emit(b, finding_new());
	b->result[0].seconds = 0.25;
	b->result[0].stats[0] = (struct engine_stat){"nodes", 7};
	b->result[0].nstats = 1;
	b->rep.nresults = 2;
	b->rep.source.skipped = 1;
	b->rep.source.error = "x.std:3: it broke";
}

static void load(struct json_loaded *l, const char *text)
{
	struct err err = {{0}};

	if (json_load(l, "f.json", text, strlen(text), &err))
		fail_msg("%s", err.text);
}

static void test_round_trip(void **state)
{
	struct bench *b = *state;
	struct json_loaded l;
	char *before, *after = NULL;
	size_t n;
	FILE *out = open_memstream(&after, &n);

	fill(b);
	before = mem_strdup(print(b, "json"));
	load(&l, before);
	json_format.write(&l.rep, out);
	fclose(out);
	/* Invalid UTF-8 is written as U+FFFD, and read back as that. */
	for (char *bad; (bad = strstr(before, "\\ufffd"));) {
		memcpy(bad, "\xef\xbf\xbd", 3);
		memmove(bad + 3, bad + 6, strlen(bad + 6) + 1);
	}
	for (char *bad; (bad = strstr(before, "\\\\xff"));) {
		memcpy(bad, "\xef\xbf\xbd", 3);
		memmove(bad + 3, bad + 5, strlen(bad + 5) + 1);
	}
	for (char *bad; (bad = strstr(before, "\\\\xc3"));)
		fail_msg("%s", bad);
	assert_string_equal(after, before);
	json_loaded_free(&l);
	mem_free(before);
	free(after);
}

/* A live finding has an order in place of event numbers. */
static void test_live(void **state)
{
	static struct finding_step steps[] = {
		{"T1", 2, "r", "read", "balance", "deposit", 1, "bank.c:12", "bank.c:9"},
		{"T2", 3, "w", "wrote", "balance", NULL, 0, "bank.c:14"},
		{"T1", 4, "w", "wrote", "balance", "deposit", 1, "bank.c:14", "bank.c:9"},
	};
	struct bench *b = *state;
	struct json_loaded l;
	struct finding *f = blamed(cycle(steps, N(steps), RESTS_ON_DATA), "bank.c:9");
	char *text, *json;

	f->live = f->recorded = f->out_of_order = true;
	f->group = 7;
	emit(b, f);
	b->rep.source.trace = NULL;
	b->rep.source.program = "./bank all";
	text = mem_strdup(print(b, "text"));
	json = mem_strdup(print(b, "json"));
	assert_null(strstr(json, "\"event\": 2"));
	load(&l, json);
	assert_true(l.results[0].findings.v[0]->live);
	assert_int_equal(l.results[0].findings.v[0]->group, 7);
	b->rep = l.rep;
	assert_string_equal(print(b, "json"), json);
	assert_string_equal(print(b, "text"), text);
	json_loaded_free(&l);
	mem_free(text);
	mem_free(json);
}

/* Each format prints the same for a loaded report as for the original. */
static void test_forms(void **state)
{
	struct bench *b = *state;
	struct json_loaded l;

	fill(b);
	/* Names that are valid UTF-8, which JSON can represent. */
	finding_free(b->result[0].findings.v[1]);
	b->result[0].findings.v[1] = finding_new();
	load(&l, print(b, "json"));
	for (size_t i = 0; report_formats[i]; i++) {
		char *after = NULL;
		size_t n;
		FILE *out = open_memstream(&after, &n);

		report_formats[i]->write(&l.rep, out);
		fclose(out);
		if (strcmp(report_formats[i]->name, "sarif") &&
		    strcmp(report_formats[i]->name, "html"))
			assert_string_equal(after, print(b, report_formats[i]->name));
		free(after);
	}
	json_loaded_free(&l);
}

static void test_unknown_engine(void **state)
{
	struct json_loaded l;

	(void)state;
	load(&l, "{\"tool\": \"atomsan\", \"format\": 1, \"results\": [{\"engine\": \"novel\"}]}");
	assert_string_equal(l.rep.results[0].ops->name, "novel");
	assert_int_equal(l.rep.results[0].findings.n, 0);
	json_loaded_free(&l);
}

static void test_refused(void **state)
{
#define HEAD        "{\"tool\": \"atomsan\", \"format\": 1, \"results\": "
#define IN(finding) HEAD "[{\"findings\": [\n{" finding "}]}]}"
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"[]", "f.json: not a report that 'atomsan --format=json' wrote"},
		{"{\"tool\": \"tsan\"}", "f.json: not a report that 'atomsan --format=json' wrote"},
		{"{\"tool\": \"atomsan\", \"format\": 2}",
		 "f.json: the report has format 2; this atomsan reads format 1"},
		{"{\"tool\": \"atomsan\", \"format\": 1}", "f.json: 'results' is missing"},
		{HEAD "3}", "f.json:1: 'results' is a number, not a list"},
		{HEAD "[3]}", "f.json:1: 'results' contains a number, not an object"},
		{IN("\"status\": \"seen\""), "f.json:2: 'status' has an unknown value"},
		{IN("\"event\": \"1\""), "f.json:2: 'event' is a string, not a number"},
		{IN("\"event\": 1.5"),
		 "f.json:2: 'event' is a number, not an unsigned 64-bit integer"},
		{IN("\"steps\": [[]]"), "f.json:2: 'steps' contains a list, not an object"},
		{IN("\"steps\": [{\"stack\": [{\"line\": 4294967296}]}]"),
		 "f.json:2: 'line' is a number, not an unsigned 32-bit integer"},
		{IN("\"schedule\": [true]"),
		 "f.json:2: 'schedule' is true or false, not a list of event numbers"},
		{IN("\"locks\": [1]"), "f.json:2: 'locks' is a number, not a list of strings"},
		{IN("\"fingerprint\": \"xyz\""),
		 "f.json:2: 'fingerprint' is a string, not 16 hexadecimal digits"},
		{IN("\"blame\": \"me\""), "f.json:2: 'blame' is a string, not an object"},
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct json_loaded l;
		struct err err = {{0}};

		assert_int_equal(
			json_load(&l, "f.json", cases[i].text, strlen(cases[i].text), &err), -1);
		assert_string_equal(err.text, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
		cmocka_unit_test_setup_teardown(test_live, setup, teardown),
		cmocka_unit_test(test_unknown_engine),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
