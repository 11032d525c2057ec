/* The exact text of the report for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "base/str.h"
#include "report/show.h"

#include "base/banned.h"

/*
 * No line is wider than the screen, whatever its bytes, except the lines that users copy or
 * scripts read. No line ends in a space.
 */
static void assert_fits(const char *text)
{
	static const char copied[] = "  To suppress it: ", script[] = "SUMMARY: ";

	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = mem_strndup(text, n);

		if ((show_columns(line) > SHOW_WIDTH &&
		     strncmp(line, copied, strlen(copied)) != 0 && !strstr(line, script)) ||
		    (n && line[n - 1] == ' '))
			fail_msg("%zu columns: '%s'", show_columns(line), line);
		for (size_t i = 0; i < n; i++)
			if ((unsigned char)line[i] < 0x20 && line[i] != '\033')
				fail_msg("control character in '%s'", line);
		mem_free(line);
		text += n + (text[n] == '\n');
	}
}

static void assert_text(struct bench *b, const char *want)
{
	const char *got = print(b, "text");

	assert_fits(got);
	assert_string_equal(got, want);
}

/* clang-format off */
static const char want_lost_update[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' (begun at event 3) is not atomic: between its read\n"
	"  of balance (event 5) and its write of balance (event 16), thread T2's block\n"
	"  'deposit' wrote balance (event 10). These steps conflict, so no serial order\n"
	"  of the blocks explains them.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  * begin(deposit)                              bank.c:9\n"
	"  +-->      5  | r(balance)                                  bank.c:12\n"
	"  |         8  |                      + begin(deposit)\n"
	"  |        10  |                      | w(balance)           bank.c:14\n"
	"  +---     16  | w(balance)  <-- closes the cycle            bank.c:14\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3, bank.c:9); nested\n"
	"    blocks that are not atomic either: 'inner'\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:14 in deposit\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_lost_update(void **state)
{
	static const char *refuted[] = {"deposit", "inner"};
	struct bench *b = *state;
	struct finding *f = blamed(cycle(lost_update, N(lost_update), RESTS_ON_DATA), "bank.c:9");

	f->refuted = refuted;
	f->nrefuted = N(refuted);
	emit(b, f);
	assert_text(b, want_lost_update);
	b->rep.verbosity = -1;
	assert_text(b, "SUMMARY: AtomSan: atomicity violation bank.c:14 in deposit\n");
}

/* clang-format off */
static const char want_group[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' (begun at event 3) is not atomic: between its read\n"
	"  of balance (event 5) and its write of balance (event 16), thread T2's block\n"
	"  'deposit' wrote balance (event 10). These steps conflict, so no serial order\n"
	"  of the blocks explains them.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  * begin(deposit)                              bank.c:9\n"
	"  +-->      5  | r(balance)                                  bank.c:12\n"
	"  |         8  |                      + begin(deposit)\n"
	"  |        10  |                      | w(balance)           bank.c:14\n"
	"  +---     16  | w(balance)  <-- closes the cycle            bank.c:14\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3, bank.c:9)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  Seen 3 times.\n"
	"  Also closes a cycle at event 14: acq(m) bank.c:13 (lock order)\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:14 in deposit\n"
	"==================\n"
	"==================\n"
	"WARNING: AtomSan: atomicity violation among 2 transactions (observed)\n"
	"  No serial order of these 2 transactions explains the run:\n"
	"    'credit' (T1) before 'debit' (T2): w(x) at event 41, then r(x) at event 44\n"
	"    'debit' (T2) before 'credit' (T1): w(y) at event 43, then r(y) at event 45\n"
	"  No single block is to blame: each of them could run without interruption, but\n"
	"  together they form a cycle.\n"
	"\n"
	"        event  T1                    T2\n"
	"           40  + begin(credit)\n"
	"  +-->     41  | w(x)                                     acct.c:7\n"
	"  |        42  |                     + begin(debit)\n"
	"  |        43  |                     | w(y)               acct.c:21\n"
	"  |        44  |                     | r(x)               acct.c:22\n"
	"  +---     45  | r(y)  <-- closes the cycle               acct.c:8\n"
	"\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^credit$\n"
	"SUMMARY: AtomSan: atomicity violation acct.c:8 in credit\n"
	"==================\n"
	"\n"
	"  block               begins at  seen  status\n"
	"  deposit             bank.c:9      4  observed\n"
	"  credit, not blamed                1  observed\n"
	"\n"
	"atomsan: 2 atomicity violations (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_group(void **state)
{
	struct bench *b = *state;

	/* The finding by lock order came first, but the one by data is shown. */
	emit(b, blamed(cycle(lock_order, N(lock_order), RESTS_ON_LOCKS), "bank.c:9"));
	for (int i = 0; i < 3; i++)
		emit(b, blamed(cycle(lost_update, N(lost_update), RESTS_ON_DATA), "bank.c:9"));
	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_DATA));
	assert_text(b, want_group);
}

/* clang-format off */
static const char want_locks_only[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' (begun at event 3) is not atomic: between its\n"
	"  release of m (event 6) and its acquire of m (event 14), thread T2's block\n"
	"  'deposit' acquired m (event 9) and released m (event 11). These steps\n"
	"  conflict, so no serial order of the blocks explains them.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  * begin(deposit)\n"
	"  +-->      6  | rel(m)                                      bank.c:13\n"
	"  |         8  |                      + begin(deposit)\n"
	"  |         9  |                      | acq(m)               bank.c:11\n"
	"  |        11  |                      | rel(m)               bank.c:15\n"
	"  +---     14  | acq(m)  <-- closes the cycle                bank.c:13\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3)\n"
	"  Rests on lock order only: every cycle needs a lock operation; the data\n"
	"  accesses alone fit a serial order.\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:13 in deposit\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_locks_only(void **state)
{
	struct bench *b = *state;

	emit(b, blamed(cycle(lock_order, N(lock_order), RESTS_ON_LOCKS), NULL));
	assert_text(b, want_locks_only);
}

/* clang-format off */
static const char want_long_way[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'push' (observed)\n"
	"  Thread T1's block 'push' (begun at event 20) is not atomic: between its write\n"
	"  of head (event 21) and its read of tail (event 30), thread T2's block 'steal'\n"
	"  read head (event 24) and wrote stolen (event 25), then thread T3 read stolen\n"
	"  (event 27), then wrote tail (event 28). These steps conflict, so no serial\n"
	"  order of the blocks explains them.\n"
	"\n"
	"        event  T1                T2                 T3\n"
	"           20  * begin(push)                                        queue.c:29\n"
	"  +-->     21  | w(head)                                            queue.c:31\n"
	"  |        23  |                 + begin(steal)\n"
	"  |        24  |                 | r(head)                          queue.c:58\n"
	"  |        25  |                 | w(stolen)                        queue.c:60\n"
	"  |        27  |                                      r(stolen)     main.c:77\n"
	"  |        28  |                                      w(tail)       main.c:78\n"
	"  +---     30  | r(tail)  <-- closes the cycle                      queue.c:35\n"
	"\n"
	"  * Blamed: block 'push' (thread T1, begun at event 20, queue.c:29)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^push$\n"
	"SUMMARY: AtomSan: atomicity violation queue.c:35 in push\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_long_way(void **state)
{
	struct bench *b = *state;

	emit(b, blamed(cycle(long_way, N(long_way), RESTS_ON_DATA), "queue.c:29"));
	assert_text(b, want_long_way);
}

/* clang-format off */
static const char want_no_blame[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation among 2 transactions (observed)\n"
	"  No serial order of these 2 transactions explains the run:\n"
	"    'credit' (T1) before 'debit' (T2): w(x) at event 41, then r(x) at event 44\n"
	"    'debit' (T2) before 'credit' (T1): w(y) at event 43, then r(y) at event 45\n"
	"  No single block is to blame: each of them could run without interruption, but\n"
	"  together they form a cycle.\n"
	"\n"
	"        event  T1                    T2\n"
	"           40  + begin(credit)\n"
	"  +-->     41  | w(x)                                     acct.c:7\n"
	"  |        42  |                     + begin(debit)\n"
	"  |        43  |                     | w(y)               acct.c:21\n"
	"  |        44  |                     | r(x)               acct.c:22\n"
	"  +---     45  | r(y)  <-- closes the cycle               acct.c:8\n"
	"\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^credit$\n"
	"SUMMARY: AtomSan: atomicity violation acct.c:8 in credit\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (no single block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_no_blame(void **state)
{
	struct bench *b = *state;

	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_DATA));
	assert_text(b, want_no_blame);
}

/* clang-format off */
static const char want_predicted[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (predicted)\n"
	"  Thread T1's block 'deposit' (begun at event 3) may not be atomic: between its\n"
	"  read of balance (event 5) and its write of balance (event 8), thread T2 can\n"
	"  write balance (event 20). The locks of this run allow this order.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  + begin(deposit)\n"
	"  +-->      5  | r(balance)                              bank.c:12\n"
	"  |        20  |                        w(balance)\n"
	"  +---      8  | w(balance)  <-- would close the cycle   bank.c:14\n"
	"\n"
	"  Schedule that shows it (event numbers): 1-6, 18, 20, 7-8\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:14 in deposit\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation in 120 events, 3 threads\n";
/* clang-format on */

static void test_predicted(void **state)
{
	static struct finding_step steps[] = {
		{"T1", 5, "r", "read", "balance", "deposit", 3, "bank.c:12"},
		{"T2", 20, "w", "wrote", "balance", NULL, 0, NULL},
		{"T1", 8, "w", "wrote", "balance", "deposit", 3, "bank.c:14"},
	};
	static uint64_t schedule[] = {1, 2, 3, 4, 5, 6, 18, 20, 7, 8};
	struct bench *b = *state;
	struct finding *f = cycle(steps, N(steps), RESTS_ON_NOTHING);

	f->status = FINDING_PREDICTED;
	f->kind = "pattern";
	f->pattern = "r-w-w";
	f->schedule = schedule;
	f->nschedule = N(schedule);
	emit(b, f);
	assert_text(b, want_predicted);
}

/* The words for each operation in a sentence. */
static void test_words(void **state)
{
	static const struct {
		const char *op, *past, *want_first, *want_other;
	} ops[] = {
		{"r", "read", "its read of x", "thread T2 read x"},
		{"w", "wrote", "its write of x", "thread T2 wrote x"},
		{"u", "updated", "its update of x", "thread T2 updated x"},
		{"acq", "acquired", "its acquire of x", "thread T2 acquired x"},
		{"rel", "released", "its release of x", "thread T2 released x"},
		{"racq", "acquired (shared)", "its shared acquire of x", "T2 acquired x (shared)"},
		{"rrel", "released (shared)", "its shared release of x", "T2 released x (shared)"},
		{"fork", "forked", "its fork of x", "thread T2 forked x"},
		{"join", "joined", "its join of x", "thread T2 joined x"},
		{"new", NULL, "its new(x)", "thread T2 did new(x)"},
	};
	struct bench *b = *state;

	for (size_t i = 0; i < N(ops); i++) {
		struct finding_step steps[] = {
			{"T1", 2, ops[i].op, ops[i].past, "x", NULL, 1, NULL},
			{"T2", 3, ops[i].op, ops[i].past, "x", NULL, 0, NULL},
			{"T1", 4, ops[i].op, ops[i].past, "x", NULL, 1, NULL},
		};
		struct str flat = STR_INIT;

		emit(b, blamed(cycle(steps, N(steps), RESTS_ON_DATA), NULL));
		/* Lines may break anywhere, so compare without newlines. */
		for (const char *c = print(b, "text"); *c; c++) {
			str_addc(&flat, *c == '\n' ? ' ' : *c);
			if (*c == '\n')
				c += strspn(c + 1, " ");
		}
		assert_has(flat.s, ops[i].want_first);
		assert_has(flat.s, ops[i].want_other);
		assert_has(flat.s, "Thread T1's block at event 1 is not atomic");
		str_free(&flat);
		finding_list_free(&b->result[0].findings);
	}
}

#define LONG "a_very_long_name_that_no_line_can_hold_together_with_anything_else_on_it"

/* clang-format off */
static const char want_long_names[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block\n"
	"    'f_a_very_long_name_that_no_line_can_ho..' (observed)\n"
	"  Thread a_very_long_name_that_..'s block\n"
	"  'f_a_very_long_name_that_no_line_can_ho..' (begun at event 12345670) is not\n"
	"  atomic: between its read of v_a_very_long_name_that_no_line_can_ho..\n"
	"  (event 12345678) and its write of v_a_very_long_name_that_no_line_can_ho..\n"
	"  (event 12345690), thread a_very_long_name_that_..'s block\n"
	"  'g_a_very_long_name_that_no_line_can_ho..' wrote\n"
	"  v_a_very_long_name_that_no_line_can_ho.. (event 12345679), then\n"
	"  thread a_very_long_name_that_..'s block\n"
	"  'h_a_very_long_name_that_no_line_can_ho..' read\n"
	"  v_a_very_long_name_that_no_line_can_ho.. (event 12345680), then\n"
	"  thread a_very_long_name_that_.. read v_a_very_long_name_that_no_line_can_ho..\n"
	"  (event 12345681). These steps conflict, so no serial order of the blocks\n"
	"  explains them.\n"
	"\n"
	"           event  a_very_l..  a_very_l..  a_very_lo..  a_very_lo..\n"
	"        12345600              + begin(..\n"
	"        12345601              |           + begin(h..\n"
	"        12345670  * begin(..  |           |                         .._it/a.c:10\n"
	"  +-->  12345678  | r(v_a_..  |           |                         .._it/a.c:12\n"
	"  |     12345679  |           | w(v_a_..  |                         ..n_it/b.c:7\n"
	"  |     12345680  |                       | r(v_a_v..               ..n_it/c.c:9\n"
	"  |     12345681  |                                      r(v_a_v..  .._it/d.c:10\n"
	"  +---  12345690  | w(v_a_..  <-- closes the cycle                  .._it/a.c:14\n"
	"\n"
	"  * Blamed: block 'f_a_very_long_name_that_no_line_can_ho..'\n"
	"    (thread a_very_long_name_that_.., begun at event 12345670,\n"
	"    .._no_line_can_hold_together_with_anything_else_on_it/a.c:10); nested blocks\n"
	"    that are not atomic either: 'i_a_very_long_name_that_no_line_can_ho..', an\n"
	"    unnamed block\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^f_" LONG "$\n"
	"SUMMARY: AtomSan: atomicity violation /src/" LONG "/a.c:14 in f_" LONG "\n"
	"==================\n"
	"==================\n"
	"WARNING: AtomSan: atomicity violation among 2 transactions (observed)\n"
	"  No serial order of these 2 transactions explains the run:\n"
	"    'credit' (T1) before 'debit' (T2): w(x) at event 41, then r(x) at event 44\n"
	"    'debit' (T2) before 'credit' (T1): w(y) at event 43, then r(y) at event 45\n"
	"  No single block is to blame: each of them could run without interruption, but\n"
	"  together they form a cycle.\n"
	"\n"
	"        event  T1                    T2\n"
	"           40  + begin(credit)\n"
	"  +-->     41  | w(x)                                     acct.c:7\n"
	"  |        42  |                     + begin(debit)\n"
	"  |        43  |                     | w(y)               acct.c:21\n"
	"  |        44  |                     | r(x)               acct.c:22\n"
	"  +---     45  | r(y)  <-- closes the cycle               acct.c:8\n"
	"\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^credit$\n"
	"SUMMARY: AtomSan: atomicity violation acct.c:8 in credit\n"
	"==================\n"
	"\n"
	"  block                           begins at                       seen  status\n"
	"  f_a_very_long_name_that_no_l..  ..h_anything_else_on_it/a.c:10     1  observed\n"
	"  credit, not blamed                                                 1  observed\n"
	"\n"
	"atomsan: 2 atomicity violations (1 block blamed) in 120 events, 3 threads\n"
	"atomsan: the trace broke off; this report covers only the events before that\n";
/* clang-format on */

static void test_long_names(void **state)
{
	static struct finding_step steps[] = {
		{LONG "1", 12345678, "r", "read", "v_" LONG, "f_" LONG, 12345670,
		 "/src/" LONG "/a.c:12"},
		{LONG "2", 12345679, "w", "wrote", "v_" LONG, "g_" LONG, 12345600,
		 "/src/" LONG "/b.c:7"},
		{LONG "3", 12345680, "r", "read", "v_" LONG, "h_" LONG, 12345601,
		 "/src/" LONG "/c.c:9"},
		{LONG "4", 12345681, "r", "read", "v_" LONG, NULL, 0, "/src/" LONG "/d.c:10"},
		{LONG "1", 12345690, "w", "wrote", "v_" LONG, "f_" LONG, 12345670,
		 "/src/" LONG "/a.c:14"},
	};
	static const char *refuted[] = {"f_" LONG, "i_" LONG, NULL};
	struct bench *b = *state;
	struct finding *f = blamed(cycle(steps, N(steps), RESTS_ON_DATA), "/src/" LONG "/a.c:10");

	f->refuted = refuted;
	f->nrefuted = N(refuted);
	emit(b, f);
	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_DATA));
	b->rep.source.error = "/src/" LONG "/" LONG ".std:3: bad";
	assert_text(b, want_long_names);
	/* SUMMARY lines have complete names, for scripts. */
	b->rep.verbosity = -1;
	assert_string_equal(print(b, "text"),
			    "SUMMARY: AtomSan: atomicity violation /src/" LONG "/a.c:14 in f_" LONG
			    "\nSUMMARY: AtomSan: atomicity violation acct.c:8 in credit\n");
}

/* clang-format off */
static const char want_ten_threads[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'main_loop' (observed)\n"
	"  Thread T0's block 'main_loop' (begun at event 1) is not atomic: between its\n"
	"  write of odd (event 2) and its read of even (event 101), thread T1's block\n"
	"  'helper' read odd (event 11) and wrote even (event 12), then thread T2's block\n"
	"  'helper' read even (event 21) and wrote odd (event 22), then 6 other\n"
	"  transactions ran, then thread T9's block 'helper' read odd (event 91) and\n"
	"  wrote even (event 92). These steps conflict, so no serial order of the blocks\n"
	"  explains them.\n"
	"\n"
	"     event  thread  block      step     place      link to previous step\n"
	"  *      2  T0      main_loop  w(odd)   pool.c:40\n"
	"        11  T1      helper     r(odd)   pool.c:40  conflicts on odd\n"
	"        12  T1      helper     w(even)  pool.c:40  same block\n"
	"        21  T2      helper     r(even)  pool.c:40  conflicts on even\n"
	"        22  T2      helper     w(odd)   pool.c:40  same block\n"
	"        31  T3      helper     r(odd)   pool.c:40  conflicts on odd\n"
	"        32  T3      helper     w(even)  pool.c:40  same block\n"
	"        41  T4      helper     r(even)  pool.c:40  conflicts on even\n"
	"        42  T4      helper     w(odd)   pool.c:40  same block\n"
	"        51  T5      helper     r(odd)   pool.c:40  conflicts on odd\n"
	"        52  T5      helper     w(even)  pool.c:40  same block\n"
	"        61  T6      helper     r(even)  pool.c:40  conflicts on even\n"
	"        62  T6      helper     w(odd)   pool.c:40  same block\n"
	"        71  T7      helper     r(odd)   pool.c:40  conflicts on odd\n"
	"        72  T7      helper     w(even)  pool.c:40  same block\n"
	"        81  T8      helper     r(even)  pool.c:40  conflicts on even\n"
	"        82  T8      helper     w(odd)   pool.c:40  same block\n"
	"        91  T9      helper     r(odd)   pool.c:40  conflicts on odd\n"
	"        92  T9      helper     w(even)  pool.c:40  same block\n"
	"  *    101  T0      main_loop  r(even)  pool.c:40  conflicts on even\n"
	"\n"
	"  * Blamed: block 'main_loop' (thread T0, begun at event 1, pool.c:12)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^main_loop$\n"
	"SUMMARY: AtomSan: atomicity violation pool.c:40 in main_loop\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_ten_threads(void **state)
{
	static const char *const threads[] = {"T0", "T1", "T2", "T3", "T4",
					      "T5", "T6", "T7", "T8", "T9"};
	static struct finding_step steps[21];
	struct bench *b = *state;
	size_t n = 0;

	for (size_t i = 0; i <= 10; i++) {
		struct finding_step s = {
			.thread = threads[i % 10],
			.op = "r",
			.past = "read",
			.label = i % 10 ? "helper" : "main_loop",
			.begin = i % 10 ? 10 * i : 1,
			.place = "pool.c:40",
		};

		if (i) {
			s.event = 10 * i + 1;
			s.operand = i % 2 ? "odd" : "even";
			steps[n++] = s;
		}
		s.event = 10 * i + 2;
		s.op = "w";
		s.past = "wrote";
		s.operand = i % 2 ? "even" : "odd";
		if (i < 10)
			steps[n++] = s;
	}
	emit(b, blamed(cycle(steps, n, RESTS_ON_DATA), "pool.c:12"));
	assert_text(b, want_ten_threads);
}

/* Of very many steps the middle is left out unless -v asks for it. */
static void test_thousand_steps(void **state)
{
	static struct finding_step steps[1000];
	struct bench *b = *state;

	for (size_t i = 0; i < N(steps); i++)
		steps[i] = (struct finding_step){
			.thread = i % (N(steps) - 1) == 0 ? "T1"
				  : i % 2                 ? "T2"
							  : "T3",
			.event = 10 + i,
			.op = "w",
			.past = "wrote",
			.operand = "x",
			.begin = i % (N(steps) - 1) == 0 ? 1 : 0,
		};
	emit(b, blamed(cycle(steps, N(steps), RESTS_ON_DATA), NULL));
	assert_has(print(b, "text"),
		   "        33  T2      -          w(x)         conflicts on x\n"
		   "       ...  968 steps left out (-v shows them)\n"
		   "      1002  T3      -          w(x)         conflicts on x\n");
	assert_fits(b->text);
	b->rep.verbosity = 1;
	assert_has(print(b, "text"), "       500  T3 ");
	assert_fits(b->text);
}

/* Fork, join and program order on a cycle without a blamed block. */
static void test_ties(void **state)
{
	static struct finding_step steps[] = {
		{"T1", 2, "fork", "forked", "T2", "a", 1, NULL},
		{"T2", 3, "r", "read", "x", "b", 3, NULL},
		{"T2", 9, "w", "wrote", "x", NULL, 0, NULL},
		{"T1", 10, "join", "joined", "T2", "a", 1, NULL},
	};
	struct bench *b = *state;
	const char *text;

	emit(b, cycle(steps, N(steps), RESTS_ON_DATA));
	text = print(b, "text");
	assert_fits(text);
	assert_has(text, "    'a' (T1) before 'b' (T2): fork(T2) at event 2\n"
			 "    'b' (T2) before event 9 (T2): same thread\n"
			 "    event 9 (T2) before 'a' (T1): join(T2) at event 10\n");
}

/* clang-format off */
static const char want_little[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' is not atomic (event 16): other transactions must\n"
	"  come after one part of it and before another:\n"
	"    'deposit' (T2) before 'deposit' (T1): w(balance) at event 10, then\n"
	"        w(balance) at event 16\n"
	"\n"
	"    event  T2                     T1\n"
	"        3                         * begin(deposit)\n"
	"        8  + begin(deposit)       |\n"
	"       10  | w(balance)           |                      bank.c:14\n"
	"       16                         | w(balance)           bank.c:14\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:14 in deposit\n"
	"==================\n"
	"==================\n"
	"WARNING: AtomSan: unprotected variable balance (observed)\n"
	"  This finding is about balance.\n"
	"  To suppress it: atomicity:^balance$\n"
	"SUMMARY: AtomSan: unprotected variable balance\n"
	"==================\n"
	"==================\n"
	"WARNING: AtomSan: atomicity violation (observed)\n"
	"  No serial order of the transactions explains the run.\n"
	"  No single block is to blame: each of them could run without interruption, but\n"
	"  together they form a cycle.\n"
	"SUMMARY: AtomSan: atomicity violation\n"
	"==================\n"
	"==================\n"
	"WARNING: AtomSan: finding (observed)\n"
	"  This was found.\n"
	"SUMMARY: AtomSan: finding\n"
	"==================\n"
	"==================\n"
	"WARNING: AtomSan: atomicity violation (observed)\n"
	"  This was found; these steps show it:\n"
	"\n"
	"    event  ?\n"
	"        0    ?\n"
	"        0    ?\n"
	"        0    ?\n"
	"\n"
	"SUMMARY: AtomSan: atomicity violation\n"
	"==================\n"
	"\n"
	"  block                  begins at  seen  status\n"
	"  deposit                              1  observed\n"
	"  balance                              1  observed\n"
	"  (no name), not blamed                1  observed\n"
	"  (no name)                            1  observed\n"
	"  (no name)                            1  observed\n"
	"\n"
	"atomsan: 5 atomicity violations in 120 events, 3 threads\n";
/* clang-format on */

/* Two steps, no steps, and nothing at all. */
static void test_little(void **state)
{
	struct bench *b = *state;
	struct finding *f;

	emit(b, blamed(cycle(lost_update + 1, 2, RESTS_ON_DATA), NULL));
	f = finding_new();
	f->kind = "lockset";
	f->variable = "balance";
	emit(b, f);
	f = finding_new();
	f->kind = "cycle";
	emit(b, f);
	emit(b, finding_new());
	f = finding_new();
	f->steps = (struct finding_step[3]){{0}};
	f->nsteps = 3;
	f->kind = "reduction";
	f->transaction.thread = "T1";
	emit(b, f);
	assert_text(b, want_little);
	b->rep.verbosity = 1;
	b->rep.color = true;
	print(b, "text");
}

/* clang-format off */
static const char want_nasty[] =
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'op\"q\"\\n\\x1b[31m' (observed)\n"
	"  Thread T\"1's block 'op\"q\"\\n\\x1b[31m' (begun at event 3) is not atomic: between\n"
	"  its read of a<b>&\\ (event 5) and its write of a<b>&\\ (event 7), thread T2's\n"
	"  block '\\u202eevil' wrote 口座 (event 6). These steps conflict, so no serial\n"
	"  order of the blocks explains them.\n"
	"\n"
	"        event  T\"1                           T2\n"
	"            3  * begin(op\"q\"\\n\\x1b[31m)                               x\\ty\n"
	"            4  |                             + begin(\\u202eevil)\n"
	"  +-->      5  | r(a<b>&\\)                   |                        ä\\xff.c:1\n"
	"  |         6  |                             | w(口座)                \\x9b2J\n"
	"  +---      7  | w(a<b>&\\)  <-- closes the cycle                      💥\n"
	"\n"
	"  * Blamed: block 'op\"q\"\\n\\x1b[31m' (thread T\"1, begun at event 3, x\\ty)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^op\"q\"**[31m$\n"
	"SUMMARY: AtomSan: atomicity violation 💥 in op\"q\"\\n\\x1b[31m\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n";
/* clang-format on */

static void test_nasty_names(void **state)
{
	struct bench *b = *state;

	emit(b, blamed(cycle(nasty, N(nasty), RESTS_ON_DATA), "x\ty"));
	assert_text(b, want_nasty);
}

/* clang-format off */
static const char want_broke_off[] =
	"atomsan: no atomicity violation in 120 events, 9 transactions, 3 threads\n"
	"atomsan: 1 impossible event was skipped\n"
	"atomsan: the trace broke off; this report covers only the events before that\n";
/* clang-format on */

static void test_nothing_found(void **state)
{
	struct bench *b = *state;

	assert_text(b,
		    "atomsan: no atomicity violation in 120 events, 9 transactions, 3 threads\n");
	b->rep.source.skipped = 1;
	b->rep.source.error = "x.std:121: unknown operation 'q'";
	assert_text(b, want_broke_off);
	b->rep.verbosity = -1;
	assert_text(b, "");
	/* The trace broke off before the first event: nothing is printed. */
	b->rep.verbosity = 0;
	b->rep.source.events = 0;
	b->rep.source.skipped = 0;
	assert_text(b, "");
	b->rep.source.error = NULL;
	assert_text(b, "atomsan: no atomicity violation in 0 events, 9 transactions, 3 threads\n");
}

/* clang-format off */
static const char want_two_engines[] =
	"[frontier]\n"
	"==================\n"
	"WARNING: AtomSan: atomicity violation in block 'deposit' (observed)\n"
	"  Thread T1's block 'deposit' (begun at event 3) is not atomic: between its read\n"
	"  of balance (event 5) and its write of balance (event 16), thread T2's block\n"
	"  'deposit' wrote balance (event 10). These steps conflict, so no serial order\n"
	"  of the blocks explains them.\n"
	"\n"
	"        event  T1                     T2\n"
	"            3  * begin(deposit)                              bank.c:9\n"
	"  +-->      5  | r(balance)                                  bank.c:12\n"
	"  |         8  |                      + begin(deposit)\n"
	"  |        10  |                      | w(balance)           bank.c:14\n"
	"  +---     16  | w(balance)  <-- closes the cycle            bank.c:14\n"
	"\n"
	"  * Blamed: block 'deposit' (thread T1, begun at event 3, bank.c:9)\n"
	"  Rests on data: the cycle uses no lock operation.\n"
	"  To suppress it: atomicity:^deposit$\n"
	"SUMMARY: AtomSan: atomicity violation bank.c:14 in deposit\n"
	"==================\n"
	"\n"
	"atomsan: 1 atomicity violation (1 block blamed) in 120 events, 3 threads\n"
	"  frontier: 0.250 seconds, nodes 7, edges 11\n"
	"\n"
	"[velodrome]\n"
	"atomsan: no atomicity violation in 120 events, 9 transactions, 3 threads\n"
	"  velodrome: 0.250 seconds, nodes 7, edges 11\n";
/* clang-format on */

static void test_two_engines(void **state)
{
	struct bench *b = *state;

	b->rep.nresults = 2;
	b->rep.verbosity = 1;
	for (size_t i = 0; i < 2; i++) {
		b->result[i].seconds = 0.25;
		b->result[i].stats[0] = (struct engine_stat){"nodes", 7};
		b->result[i].stats[1] = (struct engine_stat){"edges", 11};
		b->result[i].nstats = 2;
	}
	emit(b, blamed(cycle(lost_update, N(lost_update), RESTS_ON_DATA), "bank.c:9"));
	assert_text(b, want_two_engines);
}

static void test_color(void **state)
{
	struct bench *b = *state;
	struct str plain = STR_INIT;
	char *text;

	emit(b, blamed(cycle(long_way, N(long_way), RESTS_ON_DATA), "queue.c:29"));
	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_DATA));
	b->rep.color = true;
	text = mem_strdup(print(b, "text"));
	assert_has(text, "\033[1;31mWARNING");
	for (const char *c = text; *c; c++) {
		if (*c == '\033')
			c = strchr(c, 'm');
		else
			str_addc(&plain, *c);
	}
	/* Colour changes nothing else. */
	b->rep.color = false;
	assert_string_equal(print(b, "text"), plain.s);
	assert_null(strchr(b->text, '\033'));
	mem_free(text);
	str_free(&plain);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(lost_update), TEST(group),          TEST(locks_only),  TEST(long_way),
		TEST(no_blame),    TEST(predicted),      TEST(words),       TEST(long_names),
		TEST(ten_threads), TEST(thousand_steps), TEST(ties),        TEST(little),
		TEST(nasty_names), TEST(nothing_found),  TEST(two_engines), TEST(color),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
