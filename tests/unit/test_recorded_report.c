/*
 * Reports about a recorded run. Names, stacks and source come from a fake resolver,
 * findings from the real engines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "report_fixture.h"
#include "base/str.h"
#include "report/show.h"
#include "report/suppress.h"
#include "report/source.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* The program. Its lines are long enough for the columns used below. */
static const char source[] = "/* A bank. */\n"
			     "#include \"bank.h\"\n"
			     "\n"
			     "static long get(struct account *a)\n"
			     "{\n"
			     "\tlong b;\n"
			     "\tpthread_mutex_lock(&bank_lock);\n"
			     "\tb = a->balance;\n"
			     "\tpthread_mutex_unlock(&bank_lock);\n"
			     "\treturn b;\n"
			     "}\n"
			     "\n"
			     "static void set(struct account *a, long b)\n"
			     "{\n"
			     "\tpthread_mutex_lock(&bank_lock);\n"
			     "\ta->balance\t=   b; \033[31m/* \xc3\xa4\xff */\n"
			     "\tpthread_mutex_unlock(&bank_lock);\n"
			     "}\n";

enum { T0, T1, T2 };
enum { BALANCE, LOCAL };
/* Strings, numbered from 1. */
enum { S_NONE, L_DEPOSIT, L_AUDIT, P_BEGIN, P_LOCK, P_GET, P_SET, P_OTHER_SET, P_FORK, P_MALLOC };

static char file[64], library[] = "/opt/lib/libdeep.so.1";

/* The frames of each place; setup fills them in, when the file has a name. */
static struct names_frame get_stack[5], set_stack[4], other_stack[5], fork_stack[2],
	malloc_stack[1];

struct fake {
	struct names_resolver resolver;
	struct names names;
	const char *variable;     /* the name of BALANCE */
	const char *lock, *label; /* NULL: the default */
	bool heap;
	bool named;        /* steps have expressions */
	const char *field; /* if named */
};

static void fake_show(struct names_resolver *r, const struct names *names, enum names_kind kind,
		      uint32_t id, struct str *out)
{
	const struct fake *fake = (const struct fake *)r;

	(void)names;
	if (kind == NAMES_VAR) {
		str_add(out, id == BALANCE ? fake->variable : "stack of thread T1");
	} else if (kind == NAMES_LOCK) {
		str_add(out, fake->lock ? fake->lock : "mutex bank_lock");
	} else if (fake->label && id == L_DEPOSIT) {
		str_add(out, fake->label);
	} else if (id == L_DEPOSIT || id == L_AUDIT) {
		str_add(out, id == L_DEPOSIT ? "deposit" : "audit");
	} else {
		static const int line[] = {
			[P_BEGIN] = 20, [P_LOCK] = 7,    [P_GET] = 8,       [P_SET] = 16,
			[P_FORK] = 30,  [P_MALLOC] = 29, [P_OTHER_SET] = 16};

		str_fmt(out, "%s:%d:4", file, line[id]);
	}
}

static size_t fake_stack(struct names_resolver *r, const struct names *names, strref place,
			 const struct names_frame **frames)
{
	(void)r;
	(void)names;
	switch (place) {
	case P_GET:
		*frames = get_stack;
		return N(get_stack);
	case P_SET:
		*frames = set_stack;
		return N(set_stack);
	case P_OTHER_SET:
		*frames = other_stack;
		return N(other_stack);
	case P_FORK:
		*frames = fork_stack;
		return N(fork_stack);
	case P_MALLOC:
		*frames = malloc_stack;
		return N(malloc_stack);
	default:
		return 0;
	}
}

static const struct names_frame *fake_function(struct names_resolver *r, const struct names *names,
					       strref label)
{
	(void)r;
	(void)names;
	(void)label;
	return NULL;
}

static strref fake_allocated(struct names_resolver *r, const struct names *names, uint32_t var)
{
	(void)names;
	return var == BALANCE && ((const struct fake *)r)->heap ? P_MALLOC : 0;
}

static bool fake_created(struct names_resolver *r, const struct names *names, uint32_t thread,
			 strref *place, uint32_t *creator)
{
	(void)r;
	(void)names;
	*place = P_FORK;
	*creator = T0;
	return thread != T0;
}

static void fake_access(struct names_resolver *r, const struct names *names, uint32_t var,
			strref place, bool write, struct names_access *out)
{
	const struct fake *fake = (const struct fake *)r;

	(void)names;
	(void)write;
	*out = (struct names_access){0};
	if (var != BALANCE || !fake->named)
		return;
	out->expression = place == P_GET ? "acc->balance" : "a->balance";
	out->field = fake->field;
}

static void fake_locate(struct names_resolver *r, const struct names *names, uint32_t lock,
			struct str *out)
{
	(void)names;
	(void)lock;
	if (((const struct fake *)r)->named)
		str_add(out, "heap allocation of 40 bytes, offset 0");
}

static void fake_init(struct fake *fake)
{
	static const char *const strings[] = {"f 1+0x10", "f 1+0x20", "0 1+0x30",
					      "0 1+0x38", "0 1+0x40", "0 1+0x50",
					      "0 1+0x58", "0 1+0x60", "0 1+0x70"};
	char name[8];

	*fake = (struct fake){
		.resolver = {fake_show, fake_stack, fake_function, fake_allocated, fake_created,
			     fake_access, fake_locate},
		.variable = "heap allocation of 24 bytes, offset 8 (allocated at bank.c:29:4)",
		.heap = true,
	};
	names_init(&fake->names);
	fake->names.resolver = &fake->resolver;
	table_intern_any(&fake->names.table[NAMES_NOTE], RECORDED_NOTE, strlen(RECORDED_NOTE));
	for (size_t i = 0; i < N(strings); i++)
		table_intern_any(&fake->names.table[NAMES_STRING], strings[i], strlen(strings[i]));
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof name, "T%d", i);
		table_intern_any(&fake->names.table[NAMES_THREAD], name, 2);
	}
	table_intern_any(&fake->names.table[NAMES_VAR], "h 8 8 24 8", 10);
	table_intern_any(&fake->names.table[NAMES_VAR], "s 1 0x7f00 8", 12);
	table_intern_any(&fake->names.table[NAMES_LOCK], "mutex g 1+0x99 40", 17);
}

static int setup_recorded(void **state)
{
	static char dir[] = "/tmp/atomsan-recorded-XXXXXX";
	struct names_frame get = {"get", "get", file, 8, 10, "/home/me/bank", 0x1234, true};
	struct names_frame deposit = {"deposit", "deposit",       file,   22,
				      11,        "/home/me/bank", 0x1234, false};
	struct names_frame worker = {"worker", "worker",        file,   33,
				     5,        "/home/me/bank", 0x1300, false};
	struct names_frame run = {
		.function = "void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void "
			    "(*&&)())",
		.file = "/usr/include/c++/12/bits/invoke.h",
		.line = 61,
		.column = 36,
		.module = "/home/me/bank",
		.offset = 0x1400,
	};
	FILE *f;

	if (!strstr(dir, "XXXXXX"))
		snprintf(dir, sizeof dir, "/tmp/atomsan-recorded-XXXXXX");
	if (!mkdtemp(dir) || chdir(dir))
		return -1;
	snprintf(file, sizeof file, "%s/bank.c", dir);
	f = fopen(file, "we");
	if (!f)
		return -1;
	fwrite(source, 1, sizeof source - 1, f);
	fclose(f);

	get_stack[0] = get;
	get_stack[1] = deposit;
	get_stack[2] = worker;
	get_stack[3] = run;
	get_stack[4] = (struct names_frame){.module = library, .offset = 0xd44a2};
	deposit.line = 23;
	deposit.offset = 0x1260;
	set_stack[0] = (struct names_frame){"set", "set", file, 16, 4, "/home/me/bank", 0x1100};
	set_stack[1] = deposit;
	set_stack[2] = worker;
	set_stack[3] = run;
	/* The innermost frame is in a system header; some code has no names at all. */
	other_stack[0] = (struct names_frame){"std::__atomic_base<long>::store",
					      NULL,
					      "/usr/include/c++/12/bits/atomic_base.h",
					      464,
					      25,
					      "/home/me/bank",
					      0x1100,
					      true};
	other_stack[1] = set_stack[0];
	other_stack[2] = (struct names_frame){.module = library, .offset = 0xabc};
	other_stack[3] =
		(struct names_frame){.function = "main", .file = "/gone/main.c", .line = 9};
	other_stack[4] = (struct names_frame){.function = "__libc_start_main"};
	fork_stack[0] = (struct names_frame){"main", "main", file, 18, 1, "/home/me/bank", 0x1500};
	fork_stack[1] = (struct names_frame){"_start", "_start", NULL, 0, 0, "/home/me/bank", 0x1};
	malloc_stack[0] = (struct names_frame){"open_account", NULL, file, 4, 0, NULL, 0};
	return setup(state);
}

static int teardown_recorded(void **state)
{
	char dir[sizeof file];

	unlink(file);
	snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(file, '/') - file), file);
	if (chdir("/") || rmdir(dir))
		return -1;
	return teardown(state);
}

/* Run an engine over events in memory. */
static void run(struct bench *b, const struct fake *fake, const char *engine, struct event *ev,
		uint32_t n)
{
	const struct engine_ops *ops = engine_by_name(engine);
	void *e = engine_create(ops, NULL, &b->result[0].findings.sink);
	struct batch batch = {ev, n, 1, &fake->names};
	uint64_t last;

	ops->take(e, &batch);
	while ((last = ops->finish(e)) != 0) {
		batch.n = (uint32_t)last;
		ops->take(e, &batch);
	}
	ops->destroy(e);
	b->result[0].ops = ops;
}

/* clang-format off */
#define EV(t, o, what, at) {.thread = (t), .op = OP_##o, .operand = (what), .place = (at)}
#define BEGIN(t, label)                                                                            \
	{.thread = (t), .op = OP_BEGIN, .operand = (label), .place = P_BEGIN, .outer = OUTER_BEGIN}
#define END(t) {.thread = (t), .op = OP_END, .place = P_BEGIN, .outer = OUTER_END}
/* clang-format on */

static struct event lost[] = {
	EV(T0, FORK, T1, P_FORK),
	EV(T0, FORK, T2, P_FORK),
	BEGIN(T1, L_DEPOSIT),
	EV(T1, ACQUIRE, 0, P_LOCK),
	EV(T1, READ, BALANCE, P_GET),
	EV(T1, RELEASE, 0, P_LOCK),
	BEGIN(T2, L_DEPOSIT),
	EV(T2, ACQUIRE_SHARED, 0, P_LOCK),
	EV(T2, WRITE, BALANCE, P_OTHER_SET),
	EV(T2, RELEASE_SHARED, 0, P_LOCK),
	END(T2),
	EV(T1, WRITE, BALANCE, P_SET),
	END(T1),
};

/* No line except those for scripts is wider than the screen, and none moves the cursor. */
static void assert_fits(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = mem_strndup(text, n);

		if (show_columns(line) > SHOW_WIDTH && !strstr(line, "SUMMARY: "))
			fail_msg("%zu columns: '%s'", show_columns(line), line);
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)line[i] < 0x20)
				fail_msg("control character in '%s'", line);
		mem_free(line);
		text += n + (text[n] == '\n');
	}
}

static void assert_text(struct bench *b, const char *want)
{
	const char *got = print(b, "text");

	assert_fits(got);
	/* cmocka would print only the first kilobyte. */
	if (strcmp(got, want))
		fputs(got, stderr);
	assert_string_equal(got, want);
}

/* clang-format off */
static const char want_text[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' (begun at event 3) is not atomic: between its read\n"
	"  of heap allocation of 24 bytes, offset 8 (event 5) and its write of it\n"
	"  (event 12), thread T2's block 'deposit' wrote it (event 9). These steps\n"
	"  conflict, so no serial order of the blocks explains them.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  * begin(deposit)                              bank.c:20:4\n"
	"  +-->      5  | r([1])                                      bank.c:8:10\n"
	"  |         7  |                      + begin(deposit)       bank.c:20:4\n"
	"  |         9  |                      | w([1])               bank.c:16:4\n"
	"  +---     12  | w([1])  <-- closes the cycle                bank.c:16:4\n"
	"  [1] heap allocation of 24 bytes, offset 8 (allocated at bank.c:29:4)\n"
	"\n"
	"  Read of [1] by thread T1 (event 5, block 'deposit'):\n"
	"    #0 get bank.c:8:10 (inlined)\n"
	"       8 | b = a->balance;\n"
	"         |         ^\n"
	"    #1 deposit bank.c:22:11 (bank+0x1234)\n"
	"    #2 worker bank.c:33:5 (bank+0x1300)\n"
	"    Locks held: mutex bank_lock\n"
	"\n"
	"  Write of [1] by thread T2 (event 9, block 'deposit'):\n"
	"    #0 std::__atomic_base<long>::store\n"
	"       /usr/include/c++/12/bits/atomic_base.h:464:25 (inlined)\n"
	"    #1 set bank.c:16:4 (bank+0x1100)\n"
	"       16 | a->balance =   b; \\x1b[31m/* ä\\xff */\n"
	"          |   ^\n"
	"    #2 ?? (libdeep.so.1+0xabc)\n"
	"    #3 main /gone/main.c:9\n"
	"    Locks held: mutex bank_lock (shared)\n"
	"\n"
	"  Write of [1] by thread T1 (event 12, block 'deposit'):\n"
	"    #0 set bank.c:16:4 (bank+0x1100)\n"
	"       16 | a->balance =   b; \\x1b[31m/* ä\\xff */\n"
	"          |   ^\n"
	"    #1 deposit bank.c:23:11 (bank+0x1260)\n"
	"    #2 worker bank.c:33:5 (bank+0x1300)\n"
	"    Locks held: none\n"
	"\n"
	"  Location is heap allocation of 24 bytes, offset 8, allocated at:\n"
	"    #0 open_account bank.c:4\n"
	"       4 | static long get(struct account *a)\n"
	"\n"
	"  Threads T1, T2 created by T0 at:\n"
	"    #0 main bank.c:18:1 (bank+0x1500)\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3, bank.c:20:4)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:16:4 in deposit\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_text(void **state)
{
	struct bench *b = *state;
	struct fake fake;

	fake_init(&fake);
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	assert_text(b, want_text);
}

/* clang-format off */
static const char want_json_step[] =
	"            {\n"
	"              \"thread\": \"T1\",\n"
	"              \"event\": 12,\n"
	"              \"op\": \"w\",\n"
	"              \"operand\": \"heap allocation of 24 bytes, offset 8 (allocated at bank.c:29:4)\",\n"
	"              \"label\": \"deposit\",\n"
	"              \"place\": \"FILE:16:4\",\n"
	"              \"begin\": 3,\n"
	"              \"stack\": [\n"
	"                {\"function\": \"set\", \"file\": \"FILE\", \"line\": 16, \"column\": 4, \"module\": \"/home/me/bank\", \"offset\": 4352, \"inlined\": false},\n"
	"                {\"function\": \"deposit\", \"file\": \"FILE\", \"line\": 23, \"column\": 11, \"module\": \"/home/me/bank\", \"offset\": 4704, \"inlined\": false},\n"
	"                {\"function\": \"worker\", \"file\": \"FILE\", \"line\": 33, \"column\": 5, \"module\": \"/home/me/bank\", \"offset\": 4864, \"inlined\": false},\n"
	"                {\"function\": \"void std::__invoke_impl<void, void (*)()>(std::__invoke_other, void (*&&)())\", \"file\": \"/usr/include/c++/12/bits/invoke.h\", \"line\": 61, \"column\": 36, \"module\": \"/home/me/bank\", \"offset\": 5120, \"inlined\": false}\n"
	"              ],\n"
	"              \"locks\": [],\n"
	"              \"begin_place\": \"FILE:20:4\",\n"
	"              \"blocks\": null,\n"
	"              \"expression\": null\n"
	"            }\n"
	"          ],\n";
static const char want_json_end[] =
	"          \"locks\": null,\n"
	"          \"allocated\": [\n"
	"            {\"function\": \"open_account\", \"file\": \"FILE\", \"line\": 4, \"column\": null, \"module\": null, \"offset\": 0, \"inlined\": false}\n"
	"          ],\n"
	"          \"threads\": [\n"
	"            {\n"
	"              \"name\": \"T1\",\n"
	"              \"creator\": \"T0\",\n"
	"              \"created\": [\n"
	"                {\"function\": \"main\", \"file\": \"FILE\", \"line\": 18, \"column\": 1, \"module\": \"/home/me/bank\", \"offset\": 5376, \"inlined\": false},\n"
	"                {\"function\": \"_start\", \"file\": null, \"line\": null, \"column\": null, \"module\": \"/home/me/bank\", \"offset\": 1, \"inlined\": false}\n"
	"              ]\n"
	"            },\n"
	"            {\n"
	"              \"name\": \"T2\",\n";
/* clang-format on */

/* The folder differs from run to run. */
static char *masked(const char *text)
{
	struct str b = STR_INIT;

	while (*text) {
		bool here = !strncmp(text, file, strlen(file));

		str_addn(&b, here ? "FILE" : text, here ? 4 : 1);
		text += here ? strlen(file) : 1;
	}
	return b.s;
}

static void test_json(void **state)
{
	struct bench *b = *state;
	struct fake fake;
	char *text;

	fake_init(&fake);
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	text = masked(print(b, "json"));
	assert_has(text, want_json_step);
	assert_has(text, want_json_end);
	assert_has(text, "\"locks\": [\"mutex bank_lock (shared)\"]");
	mem_free(text);
}

/* Steps call the same memory "acc->balance" and "a->balance". */
static void test_named(void **state)
{
	struct bench *b = *state;
	const struct finding *f;
	struct fake fake;

	fake_init(&fake);
	fake.named = true;
	fake.field = "account.balance";
	run(b, &fake, "frontier", lost, N(lost));
	f = b->result[0].findings.v[0];
	assert_string_equal(f->variable, "account.balance");
	assert_string_equal(f->steps[0].operand, "account.balance");
	assert_string_equal(f->steps[2].operand, "account.balance");
	assert_string_equal(f->steps[0].expression, "acc->balance");
	assert_string_equal(f->steps[2].expression, "a->balance");
	print(b, "text");
	assert_has(b->text, "  +-->      5  | r(account.balance) ");
	assert_has(b->text, "  Read of account.balance (acc->balance) by thread T1 (event 5,");
	assert_has(b->text, "  Location of account.balance: heap allocation of 24 bytes, offset 8");
	assert_has(print(b, "json"), "\"expression\": \"a->balance\"\n");
	assert_has(b->text, "{\"name\": \"account.balance\", \"location\": \"heap allocation of "
			    "24 bytes, offset 8 (allocated at bank.c:29:4)\"}");
	names_free(&fake.names);
}

/* The type is not known: the blamed block's first expression is the name of all. */
static void test_named_without_type(void **state)
{
	struct bench *b = *state;
	const struct finding *f;
	struct fake fake;

	fake_init(&fake);
	fake.named = true;
	run(b, &fake, "frontier", lost, N(lost));
	f = b->result[0].findings.v[0];
	assert_string_equal(f->variable, "acc->balance");
	assert_string_equal(f->steps[1].operand, "acc->balance");
	assert_string_equal(f->steps[1].expression, "a->balance");
	names_free(&fake.names);
}

/* A suppression may use the name, the location, and the word of older versions for it. */
static void test_suppress_location(void **state)
{
	static const struct {
		const char *line;
		bool named, located; /* does it match a finding with that name, and without? */
	} cases[] = {{"atomicity:^account.balance$\n", true, false},
		     {"atomicity:^heap allocation of 24 bytes*\n", true, true},
		     {"atomicity:^heap block of 24 bytes*\n", true, true},
		     {"atomicity:^heap block of 25 bytes*\n", false, false}};
	struct bench *b = *state;
	struct fake fake;

	for (int named = 0; named < 2; named++) {
		fake_init(&fake);
		fake.named = named;
		fake.field = "account.balance";
		finding_list_free(&b->result[0].findings);
		run(b, &fake, "frontier", lost, N(lost));
		names_free(&fake.names);
		for (size_t i = 0; i < N(cases); i++) {
			struct err err = {{0}};
			struct suppress *s =
				suppress_parse("x", cases[i].line, strlen(cases[i].line), &err);

			assert_non_null(s);
			assert_int_equal(suppress_matches(s, b->result[0].findings.v[0]),
					 named ? cases[i].named : cases[i].located);
			suppress_free(s);
		}
	}
}

static void test_dot(void **state)
{
	struct bench *b = *state;
	struct fake fake;

	fake_init(&fake);
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	assert_has(print(b, "dot"),
		   "5: r(heap allocation of 24 bytes, offset 8 (allocated at bank.c:29:4))</td>");
}

/* The other engines report the same about their steps. */
static void test_engines(void **state)
{
	static struct event ev[] = {
		EV(T0, FORK, T1, P_FORK),   EV(T0, FORK, T2, P_FORK),
		BEGIN(T1, L_DEPOSIT),       EV(T1, ACQUIRE, 0, P_LOCK),
		EV(T1, READ, 0, P_GET),     EV(T1, RELEASE, 0, P_LOCK),
		EV(T1, WRITE, 0, P_SET),    END(T1),
		EV(T2, ACQUIRE, 0, P_LOCK), EV(T2, WRITE, 0, P_OTHER_SET),
		EV(T2, RELEASE, 0, P_LOCK), EV(T1, WRITE, 0, P_SET),
	};
	/* The number of events used, and the number of locks held at all steps. */
	static const struct {
		const char *engine;
		size_t events, held;
	} cases[] = {{"predict", N(ev) - 1, 2}, {"lockset", N(ev), 1}};
	struct bench *b = *state;

	for (size_t i = 0; i < N(cases); i++) {
		const struct finding *f;
		size_t held_at_all = 0;
		struct fake fake;

		fake_init(&fake);
		run(b, &fake, cases[i].engine, ev, (uint32_t)cases[i].events);
		names_free(&fake.names);
		assert_int_equal(b->result[0].findings.n, 1);
		f = b->result[0].findings.v[0];
		assert_true(f->recorded);
		assert_int_equal(f->allocated.n, 1);
		assert_int_equal(f->nthreads, 2);
		for (size_t k = 0; k < f->nsteps; k++) {
			assert_true(f->steps[k].stack.n >= 4 && f->steps[k].held);
			held_at_all += f->steps[k].nheld;
			if (f->steps[k].nheld)
				assert_string_equal(f->steps[k].held[0], "mutex bank_lock");
		}
		assert_int_equal(held_at_all, cases[i].held);
		print(b, "text");
		assert_fits(b->text);
		assert_has(b->text,
			   "Location is heap allocation of 24 bytes, offset 8, allocated at:\n");
		finding_list_free(&b->result[0].findings);
	}
}

/* The same events without a resolver. */
static void test_no_resolver(void **state)
{
	struct bench *b = *state;
	const struct finding *f;
	struct fake fake;

	fake_init(&fake);
	fake.names.resolver = NULL;
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	f = b->result[0].findings.v[0];
	assert_false(f->recorded);
	assert_int_equal(f->allocated.n + f->nthreads + f->steps[0].stack.n, 0);
	assert_string_equal(f->variable, "h 8 8 24 8");
	assert_has(print(b, "text"),
		   "  Locks held: mutex g 1+0x99 40 at event 5; mutex g 1+0x99 40 (shared) at\n"
		   "    event 9; none at event 12.\n");
	assert_null(strstr(b->text, "#0"));
}

/* A resolver works with any trace. */
static void test_not_recorded(void **state)
{
	struct bench *b = *state;
	const struct finding *f;
	struct fake fake;

	fake_init(&fake);
	table_reset(&fake.names.table[NAMES_NOTE]);
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	f = b->result[0].findings.v[0];
	assert_false(f->recorded);
	assert_int_equal(f->allocated.n + f->nthreads + f->steps[0].stack.n, 0);
}

/* The second heap allocation of a kind has a number; a function's name may contain a slash. */
static void test_odd_names(void **state)
{
	struct bench *b = *state;
	struct finding *f;
	struct fake fake;

	fake_init(&fake);
	fake.variable = "heap allocation of 8 bytes, offset 0 (allocated at f(int) (p+0x1)) #2";
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	f = b->result[0].findings.v[0];
	f->blame.place = "operator/(A, B) (p+0x12)";
	assert_has(print(b, "text"), "heap allocation of 8 bytes, offset 0 #2 (event 5)");
	assert_has(b->text,
		   "  [1] heap allocation of 8 bytes, offset 0 (allocated at f(int) (p+0x1)) #2\n");
	assert_has(b->text, "event 3, operator/(A, B)\n");
	f->blame.place = "/home/a b/c d/bank.c:9:1";
	assert_has(print(b, "text"), ", bank.c:9:1)\n");
}

/* C++ names in the picture, and a lock in an allocation. */
static void test_cxx_names(void **state)
{
	static const struct {
		const char *label, *picture;
	} cases[] = {
		{"bank::deposit(account*, long)", "* begin(bank::deposit) "},
		{"f::operator()(int) const", "* begin(f::operator()) "},
		{"transfer (fast)", "* begin(transfer (fast)) "},
		{"(", "* begin(() "},
		{")", "* begin()) "},
		{" const", "* begin( const) "},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < N(cases); i++) {
		struct fake fake;

		fake_init(&fake);
		fake.label = cases[i].label;
		fake.lock = "mutex in heap allocation of 9 bytes, offset 0 (allocated at f(int) "
			    "(p+0x1))";
		run(b, &fake, "frontier", lost, N(lost));
		names_free(&fake.names);
		assert_has(print(b, "text"), cases[i].picture);
		assert_fits(b->text);
		assert_has(b->text,
			   "    Locks held: mutex in heap allocation of 9 bytes, offset 0\n");
		assert_has(
			b->text,
			"    Locks held: mutex in heap allocation of 9 bytes, offset 0 (shared)\n");
		finding_list_free(&b->result[0].findings);
	}
}

/* The locks change hands. */
static void test_given_up(void **state)
{
	static const char *held[] = {"m"};
	struct finding_frame frame = {.function = "f"};
	struct finding_step steps[N(lost_update)];
	struct bench *b = *state;

	memcpy(steps, lost_update, sizeof steps);
	for (size_t i = 0; i < N(steps); i++) {
		steps[i].stack = (struct finding_stack){&frame, 1};
		steps[i].held = held;
		steps[i].nheld = 1;
	}
	emit(b, blamed(cycle(steps, N(steps), RESTS_ON_DATA), NULL));
	assert_has(print(b, "text"), "  Locks held: the same at each step, released in between.\n");
	steps[1].nheld = 0;
	assert_null(strstr(print(b, "text"), "released in between"));
}

static char *quoted(const char *text, uint32_t line, uint32_t column)
{
	char *out = NULL;
	size_t n;
	FILE *f = fopen(file, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	f = open_memstream(&out, &n);
	assert_non_null(f);
	source_quote(f, 7, file, line, column, false);
	fclose(f);
	return out;
}

static void test_source(void **state)
{
	static const struct {
		const char *text;
		uint32_t line, column;
		const char *want;
	} cases[] = {
		{"a\n\tb = c;\n", 2, 4, "       2 | b = c;\n         |   ^\n"},
		{"a\n\tb = c;\r\n", 2, 0, "       2 | b = c;\n"},
		{"a\n\tb = c;", 2, 99, "       2 | b = c;\n"},
		{"a\n\tb = c;", 2, 1, "       2 | b = c;\n"},
		{"a\n\t \n", 2, 1, ""},
		{"a\n", 2, 1, ""},
		{"a\n", 0, 1, ""},
		{"", 1, 1, ""},
		{"\xc3\xa4 = \xe5\x8f\xa3 + x;", 1, 12,
		 "       1 | \xc3\xa4 = \xe5\x8f\xa3 + x;\n"
		 "         |          ^\n"},
		{"0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 x = y;", 1, 69,
		 "       1 | ..23456789 0123456789 0123456789 x = y;\n"
		 "         |                                    ^\n"},
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		char *got = quoted(cases[i].text, cases[i].line, cases[i].column);

		assert_fits(got);
		assert_string_equal(got, cases[i].want);
		free(got);
	}
	/* Not a regular file. */
	source_quote(stdout, 0, "/", 1, 1, false);
	source_quote(stdout, 0, "/dev/zero", 1, 1, false);
	source_quote(stdout, 0, NULL, 1, 1, false);
}

/* Two variables at each place, as if one access covers what others use as two variables. */
static void test_two_halves(void **state)
{
	static struct event ev[] = {
		BEGIN(T1, L_DEPOSIT),
		EV(T1, READ, BALANCE, P_GET),
		EV(T1, READ, LOCAL, P_GET),
		EV(T2, WRITE, BALANCE, P_OTHER_SET),
		EV(T2, WRITE, LOCAL, P_OTHER_SET),
		EV(T1, WRITE, BALANCE, P_SET),
		EV(T1, WRITE, LOCAL, P_SET),
		END(T1),
	};
	struct bench *b = *state;
	struct fake fake;

	fake_init(&fake);
	run(b, &fake, "frontier", ev, N(ev));
	names_free(&fake.names);
	assert_int_equal(b->result[0].findings.n, 1);
	assert_int_equal(b->result[0].findings.v[0]->count, 2);
	assert_has(print(b, "text"), "  Seen 2 times.\n");
	assert_has(b->text, "\natomsan: 1 atomicity violation (1 block blamed)");
}

/* The fingerprint does not depend on addresses, even if no place is known. */
static void test_fingerprint(void **state)
{
	struct event nowhere[N(lost)];
	uint64_t first = 0;

	memcpy(nowhere, lost, sizeof lost);
	for (size_t i = 0; i < N(nowhere); i++)
		nowhere[i].place = 0;
	for (int k = 0; k < 4; k++) {
		struct bench *b = *state;
		struct fake fake;

		fake_init(&fake);
		fake.variable = k & 1 ? "0x7fff1234" : "0x7ffe5678";
		run(b, &fake, "frontier", k < 2 ? lost : nowhere, N(lost));
		names_free(&fake.names);
		if (k & 1)
			assert_true(b->result[0].findings.v[0]->fingerprint == first);
		first = b->result[0].findings.v[0]->fingerprint;
		finding_list_free(&b->result[0].findings);
	}
}

/* Short names appear in the picture; sources that no longer exist are not quoted. */
static void test_short_names(void **state)
{
	struct bench *b = *state;
	struct fake fake;
	FILE *f;

	fake_init(&fake);
	fake.variable = "account.balance";
	fake.heap = false;
	run(b, &fake, "frontier", lost, N(lost));
	names_free(&fake.names);
	unlink(file);
	print(b, "text");
	assert_fits(b->text);
	assert_has(b->text, "  +-->      5  | r(account.balance) ");
	assert_has(b->text, "  Read of account.balance by thread T1 (event 5, block 'deposit'):\n"
			    "    #0 get bank.c:8:10 (inlined)\n"
			    "    #1 deposit bank.c:22:11 (bank+0x1234)\n");
	assert_null(strstr(b->text, "[1]"));
	assert_null(strstr(b->text, "Location"));
	/* The file was replaced: it has no such line, or the column is outside the line. */
	f = fopen(file, "we");
	assert_non_null(f);
	fputs("\n\n\n\n\n\n\nx", f);
	fclose(f);
	assert_has(print(b, "text"), "    #0 get bank.c:8:10 (inlined)\n       8 | x\n    #1");
	assert_null(strstr(b->text, "^\n"));
}

/* Deep stacks: shared frames are printed once, and -v is needed to see all frames. */
static void test_deep(void **state)
{
	struct finding_frame frame[3][40];
	struct finding_step steps[N(lost_update)];
	struct bench *b = *state;

	memcpy(steps, lost_update, sizeof steps);
	for (size_t i = 0; i < N(steps); i++) {
		for (size_t k = 0; k < N(frame[i]); k++)
			frame[i][k] = (struct finding_frame){.function = "f", .offset = k};
		steps[i].stack = (struct finding_stack){frame[i], N(frame[i])};
	}
	/* T1's second stack differs in its two innermost frames. */
	frame[2][0].function = "g";
	frame[2][1].function = "g";
	emit(b, blamed(cycle(steps, N(steps), RESTS_ON_DATA), NULL));
	print(b, "text");
	assert_fits(b->text);
	assert_has(b->text, "    #15 f (?+0xf)\n    ... and 24 more frames (-v shows them)\n\n");
	assert_has(b->text, "    #0 g\n    #1 g (?+0x1)\n    #2 to #39 the same as at event 5\n\n");
	b->rep.verbosity = 1;
	assert_has(print(b, "text"), "    #39 f (?+0x27)\n\n");
	assert_null(strstr(b->text, "more frames"));
}

/* A cycle with too many steps to print all stacks. */
static void test_many_steps(void **state)
{
	struct finding_frame frame = {.function = "f\033[2J", .file = "a\nb.c", .line = 3};
	static struct finding_step steps[20];
	struct bench *b = *state;

	for (size_t i = 0; i < N(steps); i++)
		steps[i] = (struct finding_step){
			.thread = i % (N(steps) - 1) ? "T2" : "T1",
			.event = 10 + i,
			.op = "w",
			.past = "wrote",
			.operand = i % 2 ? "heap allocation of 4096 bytes, offset 1024" : "x",
			.begin = i % (N(steps) - 1) ? 0 : 1,
			.stack = {&frame, 1},
		};
	emit(b, blamed(cycle(steps, N(steps), RESTS_ON_DATA), NULL));
	print(b, "text");
	assert_fits(b->text);
	assert_has(b->text, "    #0 f\\x1b[2J a\\nb.c:3\n");
	assert_has(b->text, "  ... and the stacks of 13 more steps (-v shows them)\n");
	assert_has(b->text, "  [1] heap allocation of 4096 bytes, offset 1024\n");
	b->rep.verbosity = 1;
	assert_null(strstr(print(b, "text"), "more steps"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup_recorded, teardown_recorded)
	const struct CMUnitTest tests[] = {
		TEST(text),
		TEST(json),
		TEST(dot),
		TEST(engines),
		TEST(no_resolver),
		TEST(two_halves),
		TEST(fingerprint),
		TEST(short_names),
		TEST(deep),
		TEST(many_steps),
		TEST(not_recorded),
		TEST(odd_names),
		TEST(cxx_names),
		TEST(given_up),
		TEST(source),
		TEST(named),
		TEST(named_without_type),
		TEST(suppress_location),
	};

	return cmocka_run_group_tests_name("recorded report", tests, NULL, NULL);
}
