/*
 * The property test of the precise engines: on random small traces, it compares
 * them with the twin and with each other. See README.md.
 *
 * Random traces are judged in a child process, so that an engine that crashes or
 * hangs is reported, and its trace shrunk, like any other failure.
 */
#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/doublechecker/options.h"
#include "engine/precise/options.h"
#include "cases.h"
#include "isolate.h"
#include "random_trace.h"
#include "self_test.h"
#include "two_runs.h"

#include "base/banned.h"

struct options {
	uint64_t count, seed, length;
	uint64_t failures;  /* number of failures after which to stop */
	const char *engine; /* NULL: all */
	const char *trace;
	bool print, self_test;
};

/* What the worker has done. If the worker dies, its parent continues from here. */
struct progress {
	uint64_t seed; /* seed of the current trace */
	size_t who;    /* index of the contender that is running */
	bool done;     /* whether all traces have been judged */
	uint64_t passed, failed;
	struct judge_counts counts;
};

static const char usage[] =
	"usage: test_precise [--count N] [--seed S] [--length N] [--engine NAME] [--failures N]\n"
	"       test_precise --seed S --print      the trace of a seed\n"
	"       test_precise --trace FILE          judge this trace\n"
	"       test_precise --self-test           can this test fail?\n";

static uint64_t parse_number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (!*s || *end) {
		fprintf(stderr, "test_precise: not a number: '%s'\n", s);
		exit(2);
	}
	return n;
}

static void parse_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{"length", required_argument, NULL, 'l'},
		{"engine", required_argument, NULL, 'e'},
		{"failures", required_argument, NULL, 'f'},
		{"help", no_argument, NULL, 'h'},
		{"trace", required_argument, NULL, 't'},
		{"print", no_argument, NULL, 'p'},
		{"self-test", no_argument, NULL, 'S'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->count = parse_number(optarg);
			break;
		case 's':
			o->seed = parse_number(optarg);
			break;
		case 'l':
			o->length = parse_number(optarg);
			break;
		case 'f':
			o->failures = parse_number(optarg);
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case 'e':
			o->engine = optarg;
			break;
		case 't':
			o->trace = optarg;
			break;
		case 'p':
			o->print = true;
			break;
		case 'S':
			o->self_test = true;
			break;
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if (optind != argc || !o->failures || o->length < 4 || o->length > 4000) {
		fputs(usage, stderr);
		exit(2);
	}
}

/* Every engine that is judged, with each option that makes it run other code. */
static const struct contender contenders[] = {
	{.name = "velodrome"},
	{.name = "velodrome without merge",
	 .options = &(const struct velodrome_options){.no_merge = true}},
	{.name = "frontier"},
	{.name = "doublechecker"},
	{.name = "doublechecker, every access in the logs",
	 .options = &(const struct doublechecker_options){.log_repeats = true}},
	{.name = "doublechecker, three variables a block",
	 .options = &(const struct doublechecker_options){.icd_block = 3, .log_repeats = true}},
	{.name = "doublechecker, hardly any memory",
	 .options = &(const struct doublechecker_options){.log_budget = 100}},
	{.name = "doublechecker in two runs", .ops = &engine_two_runs},
};
static_assert(sizeof contenders / sizeof contenders[0] <= CONTENDERS_MAX, "room for all");

/* Adds the contenders whose name begins with the word `engine`; NULL: all of them. */
static void add_contenders(struct judge *j, const char *engine)
{
	for (size_t i = 0; i < sizeof contenders / sizeof contenders[0]; i++) {
		const char *name = contenders[i].name;
		size_t n = strcspn(name, " ,");
		char *word = mem_strndup(name, n);

		if (!engine || !strcmp(engine, word)) {
			j->who[j->n] = contenders[i];
			if (!contenders[i].ops)
				j->who[j->n].ops = engine_by_name(word);
			j->n++;
		}
		mem_free(word);
		/* A missing engine must not pass as a correct one. */
		if (j->n && !j->who[j->n - 1].ops) {
			fprintf(stderr, "test_precise: there is no engine '%s'\n", name);
			exit(2);
		}
	}
	if (!j->n) {
		fprintf(stderr, "test_precise: '%s' is not judged here\n", engine);
		exit(2);
	}
}

/* Prints the failure, the shrunk trace, each contender's verdict, and how to run it again. */
static void report(struct judge *j, struct trace *t, uint64_t seed, struct verdict *v,
		   const char *origin)
{
	struct str text = STR_INIT, account = STR_INIT;
	struct judge again = *j;
	struct verdict ignored = {.what = STR_INIT};

	printf("FAILED: %s, seed %" PRIu64 ": %s: %s: %s\n", origin, seed, j->who[v->who].name,
	       failure_name[v->failure], v->what.s);
	fflush(stdout);
	isolate_shrink(j, t, seed, v);
	trace_print(t, &text);
	printf("shrunk to %zu events: %s: %s: %s\n%s", t->n, j->who[v->who].name,
	       failure_name[v->failure], v->what.s, text.s);
	if (v->failure != FAIL_CRASH) {
		again.account = &account;
		judge_trace(&again, t, seed, &ignored);
		printf("%s", account.s);
	}
	printf("again: --seed %" PRIu64 " --count 1, or this text with --trace\n", seed);
	fflush(stdout);
	str_free(&text);
	str_free(&account);
	str_free(&ignored.what);
}

/* Does each contender have a finding at the case's later event that rests on data? */
static bool all_find_later(struct judge *j, const struct fixed_case *c, const struct trace *t)
{
	bool all = true;

	for (size_t i = 0; i < j->n; i++) {
		struct str what = STR_INIT;
		struct finding_list said;
		bool found = false;

		drive(&j->who[i], t, 1, &said, &what);
		for (size_t k = 0; k < said.n; k++)
			found |= said.v[k]->event == c->later_data &&
				 said.v[k]->rests_on == RESTS_ON_DATA;
		drive_free(&said);
		str_free(&what);
		if (!found)
			printf("FAILED: case '%s': %s: no later finding at event %" PRIu64
			       " that rests on data\n",
			       c->name, j->who[i].name, c->later_data);
		all &= found;
	}
	return all;
}

static bool run_case(struct judge *j, const struct fixed_case *c)
{
	struct verdict v = {.what = STR_INIT};
	struct trace t = {0};
	bool ok = true;

	/* Several seeds, for different sizes of batches. */
	for (uint64_t seed = 1; seed <= 8 && ok; seed++) {
		case_trace(c, &t);
		t.style = (enum trace_style)(seed % STYLE_COUNT);
		isolate_judge(j, &t, seed, &v);
		ok = !v.failure;
		if (v.failure && v.failure != FAIL_CRASH) /* again, for the sentence */
			judge_trace(j, &t, seed, &v);
		if (!ok)
			report(j, &t, seed, &v, c->name);
	}
	if (ok && c->later_data)
		ok = all_find_later(j, c, &t);
	trace_free(&t);
	str_free(&v.what);
	return ok;
}

/* Judges the random traces from p->seed on. */
static void judge_seeds(const struct options *o, struct judge *j, struct progress *p)
{
	struct verdict v = {.what = STR_INIT};
	struct trace t = {0};

	j->running = &p->who;
	j->counts = p->counts;
	for (; p->seed - o->seed < o->count && p->failed < o->failures; p->seed++) {
		alarm(ISOLATE_SECONDS);
		random_trace(&t, p->seed, (unsigned)o->length);
		judge_trace(j, &t, p->seed, &v);
		alarm(0);
		p->counts = j->counts;
		p->passed += !v.failure;
		if (v.failure) {
			report(j, &t, p->seed, &v, "random trace");
			p->failed++;
		}
	}
	p->done = true;
	trace_free(&t);
	str_free(&v.what);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Were the traces varied enough to test anything? With too few traces, assume that they were. */
static bool were_varied_enough(const struct judge_counts *c)
{
	double bad = percent(c->violations, c->traces);

	printf("%" PRIu64 " traces, %.1f%% not serializable; of those %.1f%% with blame, %.1f%% on "
	       "locks only; %" PRIu64 " findings, %.1f%% with blame\n",
	       c->traces, bad, percent(c->blamed, c->violations),
	       percent(c->on_locks, c->violations), c->findings,
	       percent(c->findings_blamed, c->findings));
	if (c->traces < 1000)
		return true;
	if (bad < 20 || bad > 80 || c->blamed == c->violations || !c->blamed || !c->on_locks) {
		printf("FAILED: the traces are too much alike to test anything\n");
		return false;
	}
	return true;
}

/* Reports the trace at which the worker died, and skips it. */
static void report_death(const struct options *o, struct judge *j, struct progress *p)
{
	struct verdict v = {.failure = FAIL_CRASH, .who = p->who, .what = STR_INIT};
	struct trace t = {0};

	p->failed++;
	if (p->done) {
		printf("FAILED: after the last trace (a leak?)\n");
		return;
	}
	random_trace(&t, p->seed, (unsigned)o->length);
	str_add(&v.what, "did not come back");
	report(j, &t, p->seed, &v, "random trace");
	p->seed++;
	trace_free(&t);
	str_free(&v.what);
}

static void supervise(const struct options *o, struct judge *j, struct progress *p)
{
	while (!p->done && p->failed < o->failures) {
		int status;
		pid_t child;

		fflush(NULL);
		child = fork();
		if (child < 0) {
			perror("fork");
			exit(2);
		}
		if (!child) {
			judge_seeds(o, j, p);
			exit(0);
		}
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) || !p->done)
			report_death(o, j, p);
	}
}

static int run_all(const struct options *o)
{
	struct progress *p = isolate_shared(sizeof *p);
	struct str wrong = STR_INIT;
	struct judge j = {0};

	add_contenders(&j, o->engine);
	p->failed = cases_check_twin(&wrong);
	printf("%s", wrong.s);
	str_free(&wrong);
	for (size_t i = 0; fixed_cases[i].name && p->failed < o->failures; i++) {
		if (run_case(&j, &fixed_cases[i]))
			p->passed++;
		else
			p->failed++;
	}
	p->seed = o->seed;
	supervise(o, &j, p);
	if (!were_varied_enough(&p->counts) && !p->failed)
		p->failed++;
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", p->passed, p->failed);
	return p->failed ? 1 : 0;
}

static int judge_file(const struct options *o)
{
	struct judge j = {0};
	struct verdict v = {.what = STR_INIT};
	struct str account = STR_INIT, text = STR_INIT;
	struct err err = {{0}};
	struct trace t = {0};
	FILE *f = fopen(o->trace, "r");
	int c;

	if (!f) {
		perror(o->trace);
		return 2;
	}
	while ((c = getc(f)) != EOF)
		str_addc(&text, (char)c);
	fclose(f);
	if (trace_parse(&t, text.s, &err)) {
		fprintf(stderr, "%s: %s\n", o->trace, err.text);
		return 2;
	}
	add_contenders(&j, o->engine);
	j.account = &account;
	judge_trace(&j, &t, o->seed, &v);
	printf("%s", account.s);
	if (v.failure)
		printf("FAILED: %s: %s: %s\n", j.who[v.who].name, failure_name[v.failure],
		       v.what.s);
	str_free(&account);
	str_free(&text);
	str_free(&v.what);
	trace_free(&t);
	return v.failure ? 1 : 0;
}

static int print_seed(const struct options *o)
{
	struct str text = STR_INIT;
	struct trace t = {0};

	random_trace(&t, o->seed, (unsigned)o->length);
	trace_print(&t, &text);
	fputs(text.s, stdout);
	str_free(&text);
	trace_free(&t);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = {.count = 20000, .seed = 1, .length = 60, .failures = 1};

	parse_options(&o, argc, argv);
	if (o.self_test)
		return self_test();
	if (o.print)
		return print_seed(&o);
	if (o.trace)
		return judge_file(&o);
	return run_all(&o);
}
