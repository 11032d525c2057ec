/* The formats that programs read, and what all formats are built on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report_fixture.h"
#include "base/str.h"
#include "report/json_emit.h"
#include "report/show.h"

#include "base/banned.h"

/* Do quotes and brackets match, with nothing outside? A bug in the emitter would break that. */
static void assert_balanced(const char *json)
{
	char open[64];
	size_t depth = 0;

	for (const char *c = json; *c; c++) {
		if (*c == '"') {
			for (c++; *c != '"'; c++) {
				assert_true((unsigned char)*c >= 0x20);
				c += *c == '\\';
			}
		} else if (*c == '{' || *c == '[') {
			assert_true(depth < N(open));
			open[depth++] = *c;
		} else if (*c == '}' || *c == ']') {
			assert_true(depth > 0);
			assert_int_equal(open[--depth], *c == '}' ? '{' : '[');
		}
	}
	assert_int_equal(depth, 0);
}

/* clang-format off */
static const char want_json[] =
	"{\n"
	"  \"tool\": \"atomsan\",\n"
	"  \"version\": \"0.1.0\",\n"
	"  \"format\": 1,\n"
	"  \"source\": {\"trace\": \"x.std\", \"events\": 120, \"threads\": 3, \"transactions\": 9, \"variables\": 4, \"locks\": 2, \"skipped\": 0, \"error\": null},\n"
	"  \"results\": [\n"
	"    {\n"
	"      \"engine\": \"frontier\",\n"
	"      \"verdict\": \"violation\",\n"
	"      \"stats\": {\"seconds\": 0.01, \"nodes\": 7},\n"
	"      \"findings\": [\n"
	"        {\n"
	"          \"status\": \"observed\",\n"
	"          \"kind\": \"cycle\",\n"
	"          \"rests_on\": \"data\",\n"
	"          \"event\": 16,\n"
	"          \"transaction\": {\"thread\": \"T1\", \"label\": \"deposit\", \"begin\": 3, \"place\": \"bank.c:9\"},\n"
	"          \"blame\": {\"thread\": \"T1\", \"label\": \"deposit\", \"begin\": 3, \"refuted\": [\"deposit\"], \"place\": \"bank.c:9\"},\n"
	"          \"variable\": \"balance\",\n"
	"          \"pattern\": \"r-w-w\",\n"
	"          \"steps\": [\n"
	"            {\"thread\": \"T1\", \"event\": 5, \"op\": \"r\", \"operand\": \"balance\", \"label\": \"deposit\", \"place\": \"bank.c:12\", \"begin\": 3, \"stack\": null, \"locks\": null, \"begin_place\": \"bank.c:9\", \"blocks\": null},\n"
	"            {\"thread\": \"T2\", \"event\": 10, \"op\": \"w\", \"operand\": \"balance\", \"label\": \"deposit\", \"place\": \"bank.c:14\", \"begin\": 8, \"stack\": null, \"locks\": null, \"begin_place\": null, \"blocks\": null},\n"
	"            {\"thread\": \"T1\", \"event\": 16, \"op\": \"w\", \"operand\": \"balance\", \"label\": \"deposit\", \"place\": \"bank.c:14\", \"begin\": 3, \"stack\": null, \"locks\": null, \"begin_place\": \"bank.c:9\", \"blocks\": null}\n"
	"          ],\n"
	"          \"schedule\": [1, 2, 5],\n"
	"          \"fingerprint\": \"0000000000009f3c\",\n"
	"          \"count\": 1,\n"
	"          \"with\": null,\n"
	"          \"locks\": null,\n"
	"          \"allocated\": null,\n"
	"          \"threads\": null,\n"
	"          \"recorded\": false,\n"
	"          \"schedule_events\": null,\n"
	"          \"title\": \"atomicity violation in block 'deposit' (observed)\",\n"
	"          \"story\": [\n"
	"            \"Thread T1's block 'deposit' (begun at event 3) is not atomic: between its read of balance (event 5) and its write of balance (event 16), thread T2's block 'deposit' wrote balance (event 10). These steps conflict, so no serial order of the blocks explains them.\"\n"
	"          ],\n"
	"          \"rank\": null,\n"
	"          \"reasons\": null,\n"
	"          \"region\": null,\n"
	"          \"class\": null,\n"
	"          \"feasible\": null,\n"
	"          \"changed_reads\": null\n"
	"        },\n"
	"        {\n"
	"          \"status\": \"confirmed\",\n"
	"          \"kind\": null,\n"
	"          \"rests_on\": null,\n"
	"          \"event\": 0,\n"
	"          \"transaction\": null,\n"
	"          \"blame\": null,\n"
	"          \"variable\": null,\n"
	"          \"pattern\": null,\n"
	"          \"steps\": [],\n"
	"          \"schedule\": null,\n"
	"          \"fingerprint\": \"ffffffffffffffff\",\n"
	"          \"count\": 1,\n"
	"          \"with\": null,\n"
	"          \"locks\": null,\n"
	"          \"allocated\": null,\n"
	"          \"threads\": null,\n"
	"          \"recorded\": false,\n"
	"          \"schedule_events\": null,\n"
	"          \"title\": \"finding (confirmed)\",\n"
	"          \"story\": [\n"
	"            \"This was found.\"\n"
	"          ],\n"
	"          \"rank\": null,\n"
	"          \"reasons\": null,\n"
	"          \"region\": null,\n"
	"          \"class\": null,\n"
	"          \"feasible\": null,\n"
	"          \"changed_reads\": null\n"
	"        }\n"
	"      ],\n"
	"      \"hidden\": {\"atomic_variable\": 0, \"synchronisation\": 0, \"possible\": 0, \"weak\": 0},\n"
	"      \"reason\": null\n"
	"    },\n"
	"    {\n"
	"      \"engine\": \"velodrome\",\n"
	"      \"verdict\": \"pass\",\n"
	"      \"stats\": {\"seconds\": 0},\n"
	"      \"findings\": [],\n"
	"      \"hidden\": {\"atomic_variable\": 0, \"synchronisation\": 0, \"possible\": 0, \"weak\": 0},\n"
	"      \"reason\": null\n"
	"    }\n"
	"  ]\n"
	"}\n";
/* clang-format on */

static void test_json(void **state)
{
	static uint64_t schedule[] = {1, 2, 5};
	struct bench *b = *state;
	struct finding *f = blamed(cycle(lost_update, N(lost_update), RESTS_ON_DATA), "bank.c:9");

	f->variable = "balance";
	f->pattern = "r-w-w";
	f->schedule = schedule;
	f->nschedule = N(schedule);
	emit(b, f);
	f = finding_new();
	f->status = FINDING_CONFIRMED;
	emit(b, f);
	b->result[0].findings.v[0]->fingerprint = 0x9f3c;
	b->result[0].findings.v[1]->fingerprint = UINT64_MAX;
	b->result[0].seconds = 0.01;
	b->result[0].stats[0] = (struct engine_stat){"nodes", 7};
	b->result[0].nstats = 1;
	b->rep.nresults = 2;
	assert_string_equal(print(b, "json"), want_json);
	assert_balanced(b->text);
}

/* Hostile names, and no names at all. */
static void test_json_little(void **state)
{
	struct bench *b = *state;
	struct finding_step nothing[2] = {{0}};

	emit(b, blamed(cycle(nasty, N(nasty), RESTS_ON_DATA), "x\ty"));
	emit(b, cycle(nothing, N(nothing), RESTS_ON_NOTHING));
	assert_has(
		print(b, "json"),
		"{\"thread\": \"T\\\"1\", \"event\": 5, \"op\": \"r\", "
		"\"operand\": \"a<b>&\\\\\", \"label\": \"op\\\"q\\\"\\n\\u001b[31m\", "
		"\"place\": \"\xc3\xa4\\ufffd.c:1\", \"begin\": 3, "
		"\"stack\": null, \"locks\": null, \"begin_place\": \"x\\ty\", \"blocks\": null}");
	assert_has(b->text,
		   "{\"thread\": null, \"event\": 0, \"op\": null, \"operand\": null, "
		   "\"label\": null, \"place\": null, \"begin\": null, "
		   "\"stack\": null, \"locks\": null, \"begin_place\": null, \"blocks\": null}");
	assert_balanced(b->text);
}

static void test_json_emit(void **state)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	struct json_emit j = JSON_EMIT_INIT(out);

	(void)state;
	json_emit_open(&j, NULL, '[', JSON_LINES);
	json_emit_open(&j, NULL, '{', JSON_LINES);
	json_emit_close(&j);
	json_emit_open(&j, NULL, '[', JSON_ONE_LINE);
	json_emit_bool(&j, NULL, true);
	json_emit_open(&j, NULL, '{', JSON_LINES); /* still on one line */
	json_emit_double(&j, "a", 1.5);
	json_emit_double(&j, "b", 1.0 / 0.0);
	json_emit_close(&j);
	json_emit_close(&j);
	json_emit_str(&j, NULL, "\xed\xa0\x80 \xc0\x80 \xf4\x90\x80\x80 \xe2\x82");
	json_emit_str(&j, NULL, "\t\x01\x7f\xe2\x82\xac");
	json_emit_close(&j);
	fclose(out);
	assert_string_equal(text, "[\n  {},\n  [true, {\"a\": 1.5, \"b\": null}],\n"
				  "  \"\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd "
				  "\\ufffd\\ufffd\\ufffd\\ufffd \\ufffd\\ufffd\",\n"
				  "  \"\\t\\u0001\\u007f\xe2\x82\xac\"\n]\n");
	free(text);
}

/* clang-format off */
static const char want_dot[] =
	"// frontier, fingerprint 0000000000000001\n"
	"digraph cycle_1 {\n"
	"\tgraph [fontname=\"Helvetica\", fontsize=11, nodesep=0.9, ranksep=0.8];\n"
	"\tnode [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n"
	"\tedge [fontname=\"Helvetica\", fontsize=10, arrowsize=0.8];\n"
	"\tt0 [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\">\n"
	"\t\t<tr><td align=\"left\" colspan=\"2\"><b>T1: push</b> <font color=\"gray40\">from event 20, not atomic</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">21: w(head)</td><td align=\"right\"><font color=\"gray40\">queue.c:31</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">30: r(tail)</td><td align=\"right\"><font color=\"gray40\">queue.c:35</font></td></tr>\n"
	"\t</table>>, color=\"firebrick\", penwidth=2.5];\n"
	"\tt1 [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\">\n"
	"\t\t<tr><td align=\"left\" colspan=\"2\"><b>T2: steal</b> <font color=\"gray40\">from event 23</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">24: r(head)</td><td align=\"right\"><font color=\"gray40\">queue.c:58</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">25: w(stolen)</td><td align=\"right\"><font color=\"gray40\">queue.c:60</font></td></tr>\n"
	"\t</table>>];\n"
	"\tt2 [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\">\n"
	"\t\t<tr><td align=\"left\" colspan=\"2\"><b>T3</b></td></tr>\n"
	"\t\t<tr><td align=\"left\">27: r(stolen)</td><td align=\"right\"><font color=\"gray40\">main.c:77</font></td></tr>\n"
	"\t</table>>];\n"
	"\tt3 [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\">\n"
	"\t\t<tr><td align=\"left\" colspan=\"2\"><b>T3</b></td></tr>\n"
	"\t\t<tr><td align=\"left\">28: w(tail)</td><td align=\"right\"><font color=\"gray40\">main.c:78</font></td></tr>\n"
	"\t</table>>];\n"
	"\tt0 -> t1 [label=<&#160;&#160;w(head) &#8594; r(head)&#160;&#160;>];\n"
	"\tt1 -> t2 [label=<&#160;&#160;w(stolen) &#8594; r(stolen)&#160;&#160;>];\n"
	"\tt2 -> t3 [label=<&#160;&#160;same thread&#160;&#160;>, color=gray60, fontcolor=gray60];\n"
	"\tt3 -> t0 [label=<&#160;&#160;w(tail) &#8594; r(tail)&#160;&#160;>, style=dashed];\n"
	"}\n"
	"// frontier, fingerprint 0000000000000002\n"
	"digraph cycle_2 {\n"
	"\tgraph [fontname=\"Helvetica\", fontsize=11, nodesep=0.9, ranksep=0.8];\n"
	"\tnode [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n"
	"\tedge [fontname=\"Helvetica\", fontsize=10, arrowsize=0.8];\n"
	"\tt0 [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\">\n"
	"\t\t<tr><td align=\"left\" colspan=\"2\"><b>T1: credit</b> <font color=\"gray40\">from event 40</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">41: w(x)</td><td align=\"right\"><font color=\"gray40\">acct.c:7</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">45: r(y)</td><td align=\"right\"><font color=\"gray40\">acct.c:8</font></td></tr>\n"
	"\t</table>>];\n"
	"\tt1 [label=<<table border=\"0\" cellborder=\"0\" cellspacing=\"0\" cellpadding=\"2\">\n"
	"\t\t<tr><td align=\"left\" colspan=\"2\"><b>T2: debit</b> <font color=\"gray40\">from event 42</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">43: w(y)</td><td align=\"right\"><font color=\"gray40\">acct.c:21</font></td></tr>\n"
	"\t\t<tr><td align=\"left\">44: r(x)</td><td align=\"right\"><font color=\"gray40\">acct.c:22</font></td></tr>\n"
	"\t</table>>];\n"
	"\tt0 -> t1 [label=<&#160;&#160;w(x) &#8594; r(x)&#160;&#160;>];\n"
	"\tt1 -> t0 [label=<&#160;&#160;w(y) &#8594; r(y)&#160;&#160;>, style=dashed];\n"
	"}\n";
/* clang-format on */

static void test_dot(void **state)
{
	struct bench *b = *state;

	assert_string_equal(print(b, "dot"),
			    "digraph none {\n\tlabel=\"no atomicity violation\";\n}\n");
	emit(b, blamed(cycle(long_way, N(long_way), RESTS_ON_DATA), "queue.c:29"));
	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_DATA));
	for (size_t i = 0; i < 2; i++)
		b->result[0].findings.v[i]->fingerprint = i + 1;
	assert_string_equal(print(b, "dot"), want_dot);
}

/* Graphviz accepts it, even with hostile names. */
static void test_dot_drawn(void **state)
{
	static struct finding_step empty[] = {{"", 1, "", "", "", "", 1, ""}};
	struct bench *b = *state;
	FILE *dot;

	emit(b, blamed(cycle(nasty, N(nasty), RESTS_ON_DATA), NULL));
	emit(b, cycle(no_blame, N(no_blame), RESTS_ON_DATA));
	emit(b, cycle(empty, N(empty), RESTS_ON_DATA));
	emit(b, finding_new());
	assert_has(print(b, "dot"), "<b>T&quot;1: op&quot;q&quot; &#xfffd;[31m</b>");
	assert_has(b->text, "5: r(a&lt;b&gt;&amp;\\)");
	if (system("command -v dot >/dev/null 2>&1"))
		skip();
	dot = popen("dot -Tsvg 2>&1 >/dev/null | grep . && exit 1; exit 0", "w");
	assert_non_null(dot);
	fputs(print(b, "dot"), dot);
	assert_int_equal(pclose(dot), 0);
}

static void test_formats(void **state)
{
	(void)state;
	assert_string_equal(report_formats[0]->name, "text");
	assert_string_equal(report_format_by_name("json")->name, "json");
	assert_string_equal(report_format_by_name("dot")->name, "dot");
	assert_null(report_format_by_name("tex"));
	assert_null(report_format_by_name(""));
}

static void assert_shown(const char *s, size_t max, enum show_cut cut, const char *want)
{
	struct str b = STR_INIT;

	show_add(&b, s, max, cut);
	assert_string_equal(b.s, want);
	str_free(&b);
}

static void test_show(void **state)
{
	(void)state;
	assert_shown("deposit", 7, SHOW_CUT_TAIL, "deposit");
	assert_shown("deposit", 6, SHOW_CUT_TAIL, "depo..");
	assert_shown("bank.c:14", 6, SHOW_CUT_HEAD, "..c:14");
	assert_shown("deposit", 1, SHOW_CUT_TAIL, ".");
	assert_shown("deposit", 0, SHOW_CUT_HEAD, "");
	/* Each takes two columns: one that straddles the boundary is dropped. */
	assert_shown("\xe5\x8f\xa3\xe5\xba\xa7\xe5\x8f\xa3", 5, SHOW_CUT_TAIL, "\xe5\x8f\xa3..");
	assert_shown("\xe5\x8f\xa3\xe5\xba\xa7\xe5\x8f\xa3", 5, SHOW_CUT_HEAD, "..\xe5\x8f\xa3");
	assert_shown("\xff\n\x01\xe2\x80\xae", 80, SHOW_CUT_TAIL, "\\xff\\n\\x01\\u202e");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(json),      TEST(json_little), TEST(json_emit), TEST(dot),
		TEST(dot_drawn), TEST(formats),     TEST(show),
	};

	return cmocka_run_group_tests_name("report forms", tests, NULL, NULL);
}
