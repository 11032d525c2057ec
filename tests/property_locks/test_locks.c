/*
 * The property test of `lockset`, `deadlock`, `atomizer` and `reduction`: on named cases and random
 * small traces, it compares them with their twins (twin.h, twin_movers.h).
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "drive.h"
#include "random_locks.h"
#include "shrink.h"
#include "twin.h"
#include "twin_movers.h"

#include "base/banned.h"

struct counts {
	uint64_t traces, with_lockset, with_deadlock, long_cycles;
	uint64_t with_atomizer, reduced, with_reduction;
};

struct judge {
	struct contender lockset, deadlock, atomizer, reduction;
	uint64_t seed;
	struct str what; /* errors on the last trace; empty if there were none */
	struct counts *counts;
};

/* Do thread, operation and operand of a finding's step agree with the trace? */
static bool is_right_step(const struct trace *t, const struct finding_step *s, struct str *what)
{
	const struct event *e = &t->ev[s->event - 1];
	char thread[16], operand[16], place[32];
	uint64_t begin = 0;
	unsigned depth = 0;

	snprintf(thread, sizeof thread, "T%u", e->thread);
	snprintf(operand, sizeof operand, "%c%u", op_is_access(e->op) ? 'x' : 'l', e->operand);
	snprintf(place, sizeof place, "%" PRIu64, s->event);
	for (uint64_t i = 0; i < s->event; i++) {
		if (t->ev[i].thread != e->thread)
			continue;
		if (t->ev[i].op == OP_BEGIN && !depth++)
			begin = i + 1;
		if (t->ev[i].op == OP_END)
			depth--;
	}
	if (!depth)
		begin = 0;
	if (strcmp(s->thread, thread) || strcmp(s->operand, operand) || s->begin != begin ||
	    strcmp(s->op, op_info[e->op].spelling) || !s->label != !begin ||
	    !s->place != (t->style == STYLE_LABELS) || (s->place && strcmp(s->place, place))) {
		str_fmt(what, "the step at event %" PRIu64 " is not that event\n", s->event);
		return false;
	}
	return true;
}

static uint32_t count_vars(const struct trace *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		if (op_info[t->ev[i].op].operand == OPERAND_VAR && t->ev[i].operand >= n)
			n = t->ev[i].operand + 1;
	return n;
}

static void judge_lockset(struct judge *j, const struct trace *t, const struct twin *twin)
{
	struct finding_list said;
	uint32_t nvars = count_vars(t);
	size_t expected = 0;

	if (!drive(&j->lockset, t, j->seed, &said, &j->what))
		str_addc(&j->what, '\n');
	for (uint32_t x = 0; x < nvars; x++) {
		const struct finding *mine = NULL;
		uint64_t event = twin_lockset(twin, x);
		char name[16];

		snprintf(name, sizeof name, "x%u", x);
		for (size_t i = 0; i < said.n && !mine; i++)
			if (!strcmp(said.v[i]->variable, name))
				mine = said.v[i];
		expected += event != 0;
		if (!event != !mine || (mine && mine->event != event))
			str_fmt(&j->what, "lockset: %s at event %" PRIu64 ", not %" PRIu64 "\n",
				name, mine ? mine->event : 0, event);
		else if (mine && (mine->nsteps != 2 || mine->steps[1].event != event ||
				  !twin_lockset_other(twin, mine->steps[0].event, event)))
			str_fmt(&j->what, "lockset: %s: the first step is not part of it\n", name);
	}
	if (said.n != expected)
		str_fmt(&j->what, "lockset: %zu findings, not %zu\n", said.n, expected);
	for (size_t i = 0; i < said.n; i++)
		for (size_t k = 0; k < said.v[i]->nsteps; k++)
			is_right_step(t, &said.v[i]->steps[k], &j->what);
	j->counts->with_lockset += said.n > 0;
	drive_free(&said);
}

static uint32_t lock_number(const char *name)
{
	return (uint32_t)strtoul(name + 1, NULL, 10);
}

/* Did the thread of `inner` acquire the lock at `outer`, and hold it until `inner`? */
static bool holds_since(const struct trace *t, const struct twin *twin, uint64_t outer,
			uint64_t inner, uint32_t lock)
{
	const struct event *e = &t->ev[outer - 1], *f = &t->ev[inner - 1];

	if (outer >= inner || e->thread != f->thread || e->operand != lock ||
	    (e->op != OP_ACQUIRE && e->op != OP_ACQUIRE_SHARED))
		return false;
	for (uint64_t i = outer; i < inner; i++)
		if (t->ev[i].thread == e->thread && !twin->held[i][lock])
			return false;
	return true;
}

/* Do the finding's steps prove a deadlock, as docs/engines/deadlock.md defines it? */
static bool is_right_witness(const struct trace *t, const struct twin *twin,
			     const struct finding *f)
{
	uint64_t last = 0;

	if (f->nsteps != 2 * f->nlocks || f->nlocks < 2)
		return false;
	for (size_t i = 0; i < f->nlocks; i++) {
		size_t next = (i + 1) % f->nlocks;
		uint64_t inner = f->steps[2 * i + 1].event;
		uint64_t next_inner = f->steps[2 * next + 1].event;
		uint32_t wants = lock_number(f->locks[next]);
		const struct event *e = &t->ev[inner - 1];
		uint8_t how = twin->held[next_inner - 1][wants];

		if (!holds_since(t, twin, f->steps[2 * i].event, inner, lock_number(f->locks[i])))
			return false;
		if (e->operand != wants || (e->op != OP_ACQUIRE && e->op != OP_ACQUIRE_SHARED) ||
		    !(how == EXCLUSIVELY || (how && e->op == OP_ACQUIRE)))
			return false;
		for (size_t k = 0; k < i; k++) {
			uint64_t other = f->steps[2 * k + 1].event;

			if (!twin_concurrent(twin, inner - 1, other - 1) ||
			    twin_exclude(twin, inner - 1, other - 1))
				return false;
		}
		last = inner > last ? inner : last;
	}
	return f->event == last;
}

/* Wherever it begins. */
static bool is_cycle(const struct finding *f, const struct twin_cycle *c)
{
	bool same = false;

	for (uint32_t shift = 0; shift < c->n && f->nlocks == c->n && !same; shift++) {
		same = true;
		for (uint32_t i = 0; i < c->n; i++)
			same &= lock_number(f->locks[(i + shift) % c->n]) == c->lock[i];
	}
	return same;
}

static void judge_deadlock(struct judge *j, const struct trace *t, const struct twin *twin)
{
	struct twin_cycle *cycles = mem_alloc(TWIN_CYCLES * sizeof *cycles);
	size_t n = twin_deadlocks(twin, cycles);
	struct finding_list said;

	if (!drive(&j->deadlock, t, j->seed, &said, &j->what))
		str_addc(&j->what, '\n');
	if (said.n != n)
		str_fmt(&j->what, "deadlock: %zu cycles, not %zu\n", said.n, n);
	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; k < said.n && !found; k++)
			found = is_cycle(said.v[k], &cycles[i]);
		if (!found)
			str_fmt(&j->what, "deadlock: missed a cycle of %u from l%u to l%u\n",
				cycles[i].n, cycles[i].lock[0], cycles[i].lock[1]);
		j->counts->long_cycles += cycles[i].n > 2;
	}
	for (size_t i = 0; i < said.n; i++) {
		if (!is_right_witness(t, twin, said.v[i]))
			str_fmt(&j->what, "deadlock: finding %zu has steps that cannot deadlock\n",
				i + 1);
		if (i && said.v[i]->nlocks < said.v[i - 1]->nlocks)
			str_add(&j->what, "deadlock: a longer cycle before a shorter one\n");
		for (size_t k = 0; k < said.v[i]->nsteps; k++)
			is_right_step(t, &said.v[i]->steps[k], &j->what);
	}
	j->counts->with_deadlock += n > 0;
	mem_free(cycles);
	drive_free(&said);
}

/* Returns how many findings have this transaction and, if `event` is not 0, this event. */
static size_t count_said(const struct finding_list *said, uint64_t begin, uint64_t event)
{
	size_t n = 0;

	for (size_t i = 0; i < said->n; i++)
		n += said->v[i]->transaction.begin == begin &&
		     (!event || said->v[i]->event == event);
	return n;
}

static size_t count_due(const struct twin_broken *due, size_t n, uint64_t begin)
{
	size_t times = 0;

	for (size_t i = 0; i < n; i++)
		times += due[i].begin == begin;
	return times;
}

/*
 * Compares the findings of `atomizer` with its twin, and only the transactions of `reduction`:
 * trimmed accesses may change the event.
 */
static bool judge_movers(struct judge *j, const struct trace *t, const struct twin *twin,
			 const struct contender *who, bool events)
{
	struct twin_broken *due = mem_alloc((t->n + 1) * sizeof *due);
	size_t n = (events ? twin_atomizer : twin_reduction)(twin, due);
	struct finding_list said;
	bool any = n != SIZE_MAX && n;

	if (!drive(who, t, j->seed, &said, &j->what))
		str_addc(&j->what, '\n');
	if (n != SIZE_MAX && said.n != n)
		str_fmt(&j->what, "%s: %zu transactions, not %zu\n", who->name, said.n, n);
	for (size_t i = 0; i < n && n != SIZE_MAX; i++)
		if (count_said(&said, due[i].begin, events ? due[i].event : 0) !=
		    (events ? 1 : count_due(due, n, due[i].begin)))
			str_fmt(&j->what,
				"%s: the block at event %" PRIu64 " is broken at event %" PRIu64
				", and not so reported\n",
				who->name, due[i].begin, due[i].event);
	for (size_t i = 0; i < said.n; i++) {
		const struct finding *f = said.v[i];

		for (size_t k = 0; k < f->nsteps; k++)
			is_right_step(t, &f->steps[k], &j->what);
		if (!f->pattern || strlen(f->pattern) != 2 * f->nsteps - 1)
			str_fmt(&j->what, "%s: a pattern that is not as long as the steps\n",
				who->name);
	}
	if (!events)
		j->counts->reduced += n != SIZE_MAX;
	mem_free(due);
	drive_free(&said);
	return any;
}

static bool judge_trace(struct judge *j, const struct trace *t)
{
	struct twin twin;

	str_reset(&j->what);
	twin_init(&twin, t->ev, t->n);
	judge_lockset(j, t, &twin);
	judge_deadlock(j, t, &twin);
	j->counts->with_atomizer += judge_movers(j, t, &twin, &j->atomizer, true);
	j->counts->with_reduction += judge_movers(j, t, &twin, &j->reduction, false);
	twin_free(&twin);
	j->counts->traces++;
	return !j->what.n;
}

static bool still_fails(void *arg, const struct trace *t)
{
	struct judge again = *(struct judge *)arg;
	struct counts ignored = {0};
	bool fails;

	again.what = (struct str)STR_INIT;
	again.counts = &ignored;
	fails = !judge_trace(&again, t);
	str_free(&again.what);
	return fails;
}

static void report(struct judge *j, struct trace *t, const char *origin)
{
	struct str text = STR_INIT;

	printf("FAILED: %s, seed %" PRIu64 ":\n%s", origin, j->seed, j->what.s);
	shrink(t, still_fails, j);
	judge_trace(j, t);
	trace_print(t, &text);
	printf("shrunk to %zu events:\n%s%s", t->n, text.s, j->what.s);
	str_free(&text);
}

/* A trace and the expected results: variables with a finding, and lock cycles, by their names. */
struct fixed_case {
	const char *name, *text, *lockset, *deadlock;
};

#define AB "A|acq(l) A|acq(m) A|rel(m) A|rel(l) "
#define BA "B|acq(m) B|acq(l) B|rel(l) B|rel(m) "

static const struct fixed_case fixed_cases[] = {
	{"one thread alone", "A|w(x) A|r(x) A|acq(l) A|w(x) A|rel(l)", "", ""},
	{"two writes, no lock", "A|w(x) B|w(x)", "x0", ""},
	{"written by one, read by others", "A|w(x) B|r(x) C|r(x)", "", ""},
	{"and written again", "A|w(x) B|r(x) A|w(x)", "x0", ""},
	{"always the same lock",
	 "A|acq(l) A|w(x) A|rel(l) B|acq(l) B|w(x) B|rel(l) A|acq(l) A|r(x) A|rel(l)", "", ""},
	{"set up without the lock", "A|w(x) B|acq(l) B|w(x) B|rel(l) A|acq(l) A|w(x) A|rel(l)", "",
	 ""},
	{"another lock", "A|acq(l) A|w(x) A|rel(l) B|acq(m) B|w(x) B|rel(m) A|acq(l) A|w(x)", "x0",
	 ""},
	{"a read without the lock", "A|acq(l) A|w(x) A|rel(l) B|acq(l) B|w(x) B|rel(l) A|r(x)",
	 "x0", ""},
	{"readers share", "A|acq(l) A|w(x) A|rel(l) B|racq(l) B|r(x) B|rrel(l) A|acq(l) A|w(x)", "",
	 ""},
	{"a write under a shared lock", "A|racq(l) A|w(x) A|rrel(l) B|racq(l) B|w(x) B|rrel(l)",
	 "x0", ""},
	{"writers take both locks, readers one of them",
	 "A|acq(l) A|acq(m) A|w(x) A|rel(m) A|rel(l) B|acq(l) B|r(x) B|rel(l) C|acq(m) C|r(x) "
	 "C|rel(m) A|acq(l) A|acq(m) A|w(x)",
	 "", ""},
	{"and then a writer takes one",
	 "A|acq(l) A|acq(m) A|w(x) A|rel(m) A|rel(l) B|acq(l) B|r(x) B|rel(l) C|acq(m) C|r(x) "
	 "C|rel(m) A|acq(l) A|w(x)",
	 "x0", ""},
	{"handed over by fork and join", "A|w(x) A|fork(B) B|w(x) A|join(B) A|w(x)", "", ""},
	{"not joined", "A|w(x) A|fork(B) B|w(x) A|w(x)", "x0", ""},
	{"handed over by a barrier",
	 "A|w(x) B|barrier(b) A|barrier(b) B|w(x) B|barrier(b) A|barrier(b) A|w(x)", "", ""},
	{"no barrier between", "A|barrier(b) B|barrier(b) A|w(x) B|w(x)", "x0", ""},
	{"a barrier that only one has reached", "A|w(x) A|barrier(b) A|r(y) B|barrier(b) B|w(x)",
	 "x0", ""},
	{"updates are atomic", "A|u(x) B|u(x) A|u(x)", "", ""},
	{"beside writes they are not enough", "A|u(x) B|u(x) A|w(x)", "x0", ""},
	{"memory used again", "A|w(x) A|free(x) B|alloc(x) B|w(x)", "", ""},

	{"two locks, two orders", AB BA, "", "l0 l1"},
	{"one order", AB "B|acq(l) B|acq(m)", "", ""},
	{"one thread takes both orders", AB "A|acq(m) A|acq(l)", "", ""},
	{"a gate lock", "A|acq(g) " AB "A|rel(g) B|acq(g) " BA "B|rel(g)", "", ""},
	{"a gate that both share", "A|racq(g) " AB "A|rrel(g) B|racq(g) " BA "B|rrel(g)", "",
	 "l1 l2"},
	{"a gate for one of them", "A|acq(g) " AB "A|rel(g) " BA, "", "l1 l2"},
	{"before the fork", AB "A|fork(B) " BA, "", ""},
	{"after the fork", "A|fork(B) " AB BA, "", "l0 l1"},
	{"after the join", "A|fork(B) " BA "A|join(B) " AB, "", ""},
	{"a barrier between", "A|fork(B) " AB "A|barrier(b) B|barrier(b) " BA, "", ""},
	{"shared both, wanted shared",
	 "A|racq(l) A|racq(m) A|rrel(m) A|rrel(l) B|racq(m) B|racq(l)", "", ""},
	{"held shared, wanted exclusively",
	 "A|racq(l) A|acq(m) A|rel(m) A|rrel(l) B|racq(m) B|acq(l)", "", "l0 l1"},
	{"one of the two waits not", "A|racq(l) A|racq(m) A|rrel(m) A|rrel(l) B|racq(m) B|acq(l)",
	 "", ""},
	{"three locks, three threads", AB "B|acq(m) B|acq(n) B|rel(n) B|rel(m) C|acq(n) C|acq(l)",
	 "", "l0 l1 l2"},
	{"three locks, two threads", AB "B|acq(m) B|acq(n) B|rel(n) B|rel(m) A|acq(n) A|acq(l)", "",
	 ""},
	{"hand over hand",
	 "A|acq(l) A|acq(m) A|rel(l) A|acq(n) A|rel(m) A|rel(n) "
	 "B|acq(n) B|acq(l)",
	 "", ""},
	{"hand over hand, both ways",
	 "A|acq(l) A|acq(m) A|rel(l) A|acq(n) A|rel(m) A|rel(n) B|acq(n) B|acq(m)", "", "l1 l2"},
	{NULL, NULL, NULL, NULL},
};

/* Writes the engines' findings in the form of a fixed case. */
static void sum_up(struct judge *j, const struct trace *t, struct str *lockset,
		   struct str *deadlock)
{
	struct finding_list said;

	drive(&j->lockset, t, 1, &said, &j->what);
	for (size_t i = 0; i < said.n; i++)
		str_fmt(lockset, "%s%s", i ? " " : "", said.v[i]->variable);
	drive_free(&said);
	drive(&j->deadlock, t, 1, &said, &j->what);
	for (size_t i = 0; i < said.n; i++) {
		str_add(deadlock, i ? ", " : "");
		for (size_t k = 0; k < said.v[i]->nlocks; k++)
			str_fmt(deadlock, "%s%s", k ? " " : "", said.v[i]->locks[k]);
	}
	drive_free(&said);
}

static bool run_case(struct judge *j, const struct fixed_case *c)
{
	struct str lockset = STR_INIT, deadlock = STR_INIT;
	struct trace t = {.style = STYLE_BOTH};
	struct err err = {{0}};
	bool ok;

	if (trace_parse(&t, c->text, &err)) {
		fprintf(stderr, "case '%s': %s\n", c->name, err.text);
		exit(2);
	}
	sum_up(j, &t, &lockset, &deadlock);
	ok = !strcmp(lockset.s, c->lockset) && !strcmp(deadlock.s, c->deadlock);
	if (!ok)
		printf("FAILED: case '%s': lockset '%s', not '%s'; deadlock '%s', not '%s'\n",
		       c->name, lockset.s, c->lockset, deadlock.s, c->deadlock);
	for (j->seed = 1; j->seed <= 4 && ok; j->seed++) {
		ok = judge_trace(j, &t);
		if (!ok)
			report(j, &t, c->name);
	}
	str_free(&lockset);
	str_free(&deadlock);
	trace_free(&t);
	return ok;
}

/* Were the traces varied enough to test anything? */
static bool were_varied_enough(const struct counts *c)
{
	double traces = (double)c->traces / 100;
	double lockset = (double)c->with_lockset / traces;
	double deadlock = (double)c->with_deadlock / traces;

	printf("%" PRIu64
	       " traces: %.1f%% with a variable that has no lock, %.1f%% with a deadlock; "
	       "%" PRIu64 " cycles of more than two locks\n",
	       c->traces, lockset, deadlock, c->long_cycles);
	printf("%" PRIu64 " with a block that atomizer breaks; %" PRIu64
	       " judged for reduction, %" PRIu64 " of them broken\n",
	       c->with_atomizer, c->reduced, c->with_reduction);
	if (c->traces < 1000 ||
	    (lockset > 20 && lockset < 80 && deadlock > 5 && deadlock < 80 &&
	     c->long_cycles > c->traces / 100 && c->with_atomizer > c->traces / 50 &&
	     c->with_reduction > c->traces / 100))
		return true;
	printf("FAILED: the traces are too much alike to test anything\n");
	return false;
}

static uint64_t parse_number(const char *s)
{
	char *end;
	uint64_t n = strtoull(s, &end, 10);

	if (!*s || *end) {
		fprintf(stderr, "test_locks: not a number: '%s'\n", s);
		exit(2);
	}
	return n;
}

static const char usage[] = "usage: test_locks [--count N] [--seed S] [--length N]\n";

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"count", required_argument, NULL, 'c'},
		{"seed", required_argument, NULL, 's'},
		{"length", required_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	uint64_t count = 20000, seed = 1, length = 60, passed = 0, failed = 0;
	struct counts counts = {0};
	struct judge j = {.what = STR_INIT, .counts = &counts};
	struct trace t = {0};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'c')
			count = parse_number(optarg);
		else if (c == 's')
			seed = parse_number(optarg);
		else if (c == 'l')
			length = parse_number(optarg);
		else
			return fputs(usage, stderr), 2;
	}
	/* Longer traces could have more lock sets than the engine distinguishes. */
	if (optind != argc || length < 4 || length > 60)
		return fputs(usage, stderr), 2;
	j.lockset = (struct contender){"lockset", engine_by_name("lockset"), NULL};
	j.deadlock = (struct contender){"deadlock", engine_by_name("deadlock"), NULL};
	j.atomizer = (struct contender){"atomizer", engine_by_name("atomizer"), NULL};
	j.reduction = (struct contender){"reduction", engine_by_name("reduction"), NULL};
	if (!j.lockset.ops || !j.deadlock.ops || !j.atomizer.ops || !j.reduction.ops)
		return fputs("test_locks: an engine is missing\n", stderr), 2;
	for (size_t i = 0; fixed_cases[i].name; i++) {
		bool ok = run_case(&j, &fixed_cases[i]);

		passed += ok;
		failed += !ok;
	}
	counts = (struct counts){0};
	for (j.seed = seed; j.seed - seed < count && !failed; j.seed++) {
		random_locks(&t, j.seed, (unsigned)length);
		if (judge_trace(&j, &t)) {
			passed++;
			continue;
		}
		failed++;
		report(&j, &t, "random trace");
	}
	if (!failed && count)
		failed += !were_varied_enough(&counts);
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	trace_free(&t);
	str_free(&j.what);
	return failed ? 1 : 0;
}
