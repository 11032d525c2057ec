/*
 * What the reports say about a recorded run: names, stacks and source by a
 * resolver made up here, findings by the real engines.
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

#include "base/banned.h"

/* The program: its lines are at least as long as the numbers used below. */
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
/* Strings, from 1. */
enum { S_NONE, L_DEPOSIT, L_AUDIT, P_BEGIN, P_LOCK, P_GET, P_SET, P_OTHER_SET, P_FORK, P_MALLOC };

static char file[64], library[] = "/opt/lib/libdeep.so.1";

/* What each place is; filled in by setup, where the file has its name. */
static struct names_frame get_stack[5], set_stack[4], other_stack[5], fork_stack[2],
	malloc_stack[1];

struct fake {
	struct names_resolver resolver;
	struct names names;
	const char *variable; /* what BALANCE is called */
	bool heap;
};

static void fake_show(struct names_resolver *r, const struct names *names, enum names_kind kind,
		      uint32_t id, struct str *out)
{
	const struct fake *fake = (const struct fake *)r;

	(void)names;
	if (kind == NAMES_VAR) {
		str_add(out, id == BALANCE ? fake->variable : "stack of thread T1");
	} else if (kind == NAMES_LOCK) {
		str_add(out, "mutex bank_lock");
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

static void fake_init(struct fake *fake)
{
	static const char *const strings[] = {"f 1+0x10", "f 1+0x20", "0 1+0x30",
					      "0 1+0x38", "0 1+0x40", "0 1+0x50",
					      "0 1+0x58", "0 1+0x60", "0 1+0x70"};
	char name[8];

	*fake = (struct fake){
		.resolver = {fake_show, fake_stack, fake_function, fake_allocated, fake_created},
		.variable = "heap block of 24 bytes, offset 8 (allocated at bank.c:29:4)",
		.heap = true,
	};
	names_init(&fake->names);
	fake->names.resolver = &fake->resolver;
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
	get_stack[4] = run;
	deposit.line = 23;
	deposit.offset = 0x1260;
	set_stack[0] = (struct names_frame){"set", "set", file, 16, 4, "/home/me/bank", 0x1100};
	set_stack[1] = deposit;
	set_stack[2] = worker;
	set_stack[3] = run;
	/* The inside of the system's header comes first; and there is code without any names. */
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

/* An engine over events in memory. */
static void run(struct bench *b, const struct fake *fake, const char *engine, struct event *ev,
		uint32_t n)
{
	const struct engine_ops *ops = engine_by_name(engine);
	struct engine_options options = {0};
	void *e = ops->create(&options, &b->result[0].findings.sink);
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

#define BEGIN(t, label)                                                                            \
	{                                                                                          \
		t, label, P_BEGIN, OP_BEGIN, OUTER_BEGIN, 0, 0                                     \
	}
#define END(t)                                                                                     \
	{                                                                                          \
		t, 0, P_BEGIN, OP_END, OUTER_END, 0, 0                                             \
	}
#define EV(t, op, what, place)                                                                     \
	{                                                                                          \
		t, what, place, OP_##op, OUTER_NONE, 0, 0                                          \
	}

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

/* No line is longer than the screen is wide, and nothing in it moves the cursor. */
static void assert_fits(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = mem_strndup(text, n);

		if (show_columns(line) > SHOW_WIDTH)
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
	/* cmocka would show a kilobyte of it. */
	if (strcmp(got, want))
		fputs(got, stderr);
	assert_string_equal(got, want);
}

/* clang-format off */
static const char want_text[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' (begun at event 3) is not atomic: between its read\n"
	"  of heap block of 24 bytes, offset 8 (event 5) and its write of it (event 12),\n"
	"  thread T2's block 'deposit' wrote it (event 9). The steps conflict: no\n"
	"  equivalent run leaves the block undisturbed.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  * begin(deposit)                              bank.c:20:4\n"
	"  +-->      5  | r([1])                                      bank.c:8:10\n"
	"  |         7  |                      + begin(deposit)       bank.c:20:4\n"
	"  |         9  |                      | w([1])               bank.c:16:4\n"
	"  +---     12  | w([1])  <-- closes the cycle                bank.c:16:4\n"
	"  [1] heap block of 24 bytes, offset 8 (allocated at bank.c:29:4)\n"
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
	"  Location is heap block of 24 bytes, offset 8, allocated at:\n"
	"    #0 open_account bank.c:4\n"
	"       4 | static long get(struct account *a)\n"
	"\n"
	"  Threads T1, T2 created by T0 at:\n"
	"    #0 main bank.c:18:1 (bank+0x1500)\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3, bank.c:20:4)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
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

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup_recorded, teardown_recorded)
	const struct CMUnitTest tests[] = {
		TEST(text),
	};

	return cmocka_run_group_tests_name("recorded report", tests, NULL, NULL);
}
