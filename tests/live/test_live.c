/*
 * Runs the reporter inside this process on streams of messages that are made by hand, cut off or
 * damaged. The reporter must either serve a stream or print one sentence, and never do anything
 * else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit/raw_builder.h"
#include "base/note.h"
#include "reporter/reporter.h"
#include "trace/live_format.h"

#include "base/banned.h"

#define N(v) (sizeof(v) / sizeof((v)[0]))

/* --- note(), replaced: it counts the sentences and keeps the last --- */

static int said;
static char last_said[1024];

static void count_note(const char *fmt, va_list ap)
{
	said++;
	vsnprintf(last_said, sizeof last_said, fmt, ap);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	count_note(fmt, ap);
	va_end(ap);
}

/* --- messages --- */

enum { DEPOSIT = 0x1000, WORKER = 0x2000, HELPER = 0x4000, BALANCE = 0x9000 };

static void add_message(struct str *out, uint32_t type, const void *body, size_t n)
{
	struct live_head h = {type, (uint32_t)n};

	str_addn(out, (const char *)&h, sizeof h);
	str_addn(out, body, n);
}

static void add_hello(struct str *out, const char *options)
{
	struct live_hello h = {LIVE_VERSION, 4321};
	struct str body = STR_INIT;

	str_addn(&body, (const char *)&h, sizeof h);
	str_add(&body, options);
	str_addn(&body, "\0./bank\0all", 11);
	add_message(out, LIVE_HELLO, body.s, body.n);
	str_free(&body);
}

static void add_module(struct str *out)
{
	static const char text[] = "65536 - /nowhere/bank";
	struct str body = STR_INIT;
	uint64_t bias = 0;

	str_addn(&body, (const char *)&bias, sizeof bias);
	str_add(&body, text);
	add_message(out, LIVE_MODULE, body.s, body.n);
	str_free(&body);
}

static void add_ask(struct str *out, uint64_t pc, char kind)
{
	struct live_ask q = {.pc = pc, .call = pc + 8, .kind = kind, .start = kind == 's'};

	add_message(out, LIVE_ASK, &q, sizeof q);
}

/* T1 reads, T2 writes, T1 writes the same address; T1's accesses are in one run of `function`. */
static void make_recording(struct str *raw, uint32_t function, uint64_t address)
{
	static struct raw_build b;

	raw_build_init(&b);
	for (uint32_t t = 1; t < 3; t++) {
		raw_put_size(&b, t, 1, RAW_START, 0x100000 * t, 4096, 0);
		raw_put(&b, t, 2, RAW_CALL, WORKER, 0, 0x3000);
		raw_put(&b, t, 3, RAW_CALL, function, 0, WORKER + 8);
	}
	raw_put(&b, 1, 10, RAW_READ, address, 4, function + 4);
	raw_put(&b, 2, 20, RAW_WRITE, address, 4, function + 8);
	raw_put(&b, 1, 30, RAW_WRITE, address, 4, function + 8);
	/* The other thread continues, and closes a cycle of its own. */
	raw_put(&b, 2, 30, RAW_READ, address, 4, function + 12);
	raw_put(&b, 2, 31, RAW_RETURN, 0, 0, 0);
	raw_assemble(&b, raw);
	raw_build_free(&b);
}

static bool is_open; /* whether the transaction of a finding is open */
/*
 * What the program knows about the next finding: its block and whether that is blamed; and whether
 * its first step was evicted from the history (`gone`) or kept separately.
 */
static struct known {
	uint64_t block;
	uint32_t blamed;
	bool gone, kept;
} known;

static void add_section(struct str *body, enum live_section_kind kind, const void *p, size_t n)
{
	struct live_section head = {kind, (uint32_t)n};

	str_addn(body, (const char *)&head, sizeof head);
	str_addn(body, p, n);
}

static struct str facts = STR_INIT; /* sections of the next findings */

static void add_finding(struct str *out, uint64_t key, uint32_t function, bool answer, bool whole)
{
	struct live_step steps[] = {{BALANCE, function + 4, 10, 1, RAW_READ, 4, 0, 0, {0}},
				    {BALANCE, function + 8, 20, 2, RAW_WRITE, 4, 0, 0, {0}},
				    {BALANCE, function + 8, 30, 1, RAW_WRITE, 4, 0, 0, {0}}};
	struct live_finding f = {key,
				 1,
				 answer,
				 !whole || known.gone,
				 .open = is_open,
				 .block = known.block,
				 .begin = WORKER + 8,
				 .blamed = known.blamed};
	struct str body = STR_INIT, raw = STR_INIT;

	if (known.gone)
		steps[0] = (struct live_step){.thread = 1, .evicted = 1};
	if (known.kept)
		steps[0] = (struct live_step){.address = BALANCE,
					      .pc = function + 4,
					      .time = 10,
					      .thread = 1,
					      .op = RAW_RELEASE,
					      .kept = 1,
					      .calls = {HELPER + 8, WORKER + 8, 0x3000}};
	str_addn(&body, (const char *)&f, sizeof f);
	add_section(&body, LIVE_SECTION_STEPS, steps, sizeof steps);
	str_addn(&body, facts.s, facts.n);
	make_recording(&raw, function, BALANCE);
	add_section(&body, LIVE_SECTION_RECORDING, raw.s, whole ? raw.n : 0);
	add_message(out, LIVE_FINDING, body.s, body.n);
	str_free(&raw);
	str_free(&body);
}

static void add_again(struct str *out, uint64_t key, uint64_t times)
{
	struct live_again a = {key, times};

	add_message(out, LIVE_AGAIN, &a, sizeof a);
}

static void add_left_out(struct str *out, uint64_t pc)
{
	add_message(out, LIVE_LEFT_OUT, &pc, sizeof pc);
}

static void add_end(struct str *out)
{
	struct live_end e = {.transactions = 7, .threads = 3};

	add_message(out, LIVE_END, &e, sizeof e);
}

/* --- a session --- */

struct bench {
	struct reporter *session;
	struct reporter_options options;
	FILE *file;         /* the reporter's output */
	struct str answers; /* the reporter's answers to the program */
	struct str text;
};

static int setup(void **state)
{
	struct bench *b = mem_zalloc(sizeof *b);

	b->file = tmpfile();
	b->options = (struct reporter_options){
		.format = &text_format, .out = fileno(b->file), .verdict = true};
	b->answers = b->text = (struct str)STR_INIT;
	said = 0;
	*last_said = 0;
	*state = b;
	return 0;
}

static void stop_session(struct bench *b)
{
	char buf[4096];
	ssize_t n;
	off_t at = 0;

	reporter_end(b->session);
	str_reset(&b->text);
	while ((n = pread(fileno(b->file), buf, sizeof buf, at)) > 0) {
		str_addn(&b->text, buf, (size_t)n);
		at += n;
	}
}

static int teardown(void **state)
{
	struct bench *b = *state;

	if (b->session)
		reporter_free(b->session);
	fclose(b->file);
	str_free(&b->answers);
	str_free(&b->text);
	mem_free(b);
	return 0;
}

/* Connects a process that sends these bytes and ends, and collects the answers to it. */
static void play_process(struct bench *b, const char *bytes, size_t n)
{
	struct reporter_process *p;
	char buf[4096];
	int fd[2], flags;
	ssize_t got;

	if (!b->session)
		b->session = reporter_new(&b->options);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	flags = fcntl(fd[0], F_GETFL);
	fcntl(fd[0], F_SETFL, flags | O_NONBLOCK);
	p = reporter_connect(b->session, fd[1], 4321);
	while (n) {
		ssize_t put = send(fd[0], bytes, n < 4000 ? n : 4000, MSG_NOSIGNAL);

		assert_true(put > 0);
		bytes += put;
		n -= (size_t)put;
		if (!reporter_serve(p))
			break;
	}
	if (!n) {
		shutdown(fd[0], SHUT_WR);
		while (reporter_serve(p))
			;
	}
	while ((got = recv(fd[0], buf, sizeof buf, 0)) > 0)
		str_addn(&b->answers, buf, (size_t)got);
	close(fd[0]);
	reporter_disconnect(p);
}

static void play_and_stop_session(struct bench *b, const struct str *s)
{
	play_process(b, s->s, s->n);
	stop_session(b);
}

static uint64_t get_answer(const struct bench *b, size_t i, uint32_t type)
{
	struct live_head h;
	uint64_t value;

	assert_true(b->answers.n >= (i + 1) * 16);
	memcpy(&h, b->answers.s + 16 * i, sizeof h);
	assert_int_equal(h.type, type);
	assert_int_equal(h.bytes, 8);
	memcpy(&value, b->answers.s + 16 * i + 8, sizeof value);
	return value;
}

static size_t count_matches(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

/* --- the tests --- */

static void every_message(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "history_size=4\nverbosity=0\nunknown=x\n");
	add_module(&s);
	add_ask(&s, DEPOSIT, 'f');
	add_finding(&s, 5, DEPOSIT, true, true);
	add_finding(&s, 6, DEPOSIT, true, true);
	add_again(&s, 5, 10);
	add_again(&s, 77, 10);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_int_equal(said, 0);
	assert_int_equal(get_answer(b, 0, LIVE_ANSWER), 1 | 1ull << 32);
	assert_int_equal(get_answer(b, 1, LIVE_SHOWN), 1);
	assert_int_equal(get_answer(b, 2, LIVE_SHOWN), 0); /* known already */
	assert_int_equal(get_answer(b, 3, LIVE_SHOWN), 1);
	assert_int_equal(reporter_findings(b->session), 1);
	assert_int_equal(count_matches(b->text.s, "WARNING"), 1);
	assert_int_equal(count_matches(b->text.s, " seen 12"), 1);
	assert_null(strstr(b->text.s, "event"));
	str_free(&s);
}

/* The report has the steps in the order of time: the middle step is T2's. */
static void picture_without_numbers(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 5, DEPOSIT, false, true);
	play_and_stop_session(b, &s);
	assert_non_null(strstr(b->text.s, "* begin(bank+0x1000)"));
	assert_true(strstr(b->text.s, "| r(") < strstr(b->text.s, "<-- closes the cycle"));
	assert_non_null(strstr(b->text.s, "  To suppress it: atomicity:^bank+0x1000$\n"));
	str_free(&s);
}

static void evicted(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 5, DEPOSIT, true, false);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_int_equal(get_answer(b, 0, LIVE_SHOWN), 1);
	assert_int_equal(get_answer(b, 1, LIVE_SHOWN), 1);
	assert_non_null(strstr(b->text.s, "history_size=N"));
	assert_null(strstr(b->text.s, "Blamed"));
	assert_int_equal(count_matches(b->text.s, "by thread T1"), 2);
	str_free(&s);
}

/* The program knows the block, and may know that it is to blame. */
static void evicted_in_block(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	known = (struct known){DEPOSIT, 0, true};
	add_finding(&s, 5, DEPOSIT, false, false);
	known.blamed = 1;
	add_finding(&s, 6, DEPOSIT, false, false);
	known.gone = false;
	add_finding(&s, 7, DEPOSIT, false, false);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_int_equal(count_matches(b->text.s, "+ begin(bank+0x1000)"), 1);
	assert_int_equal(count_matches(b->text.s, "The block to blame is unknown"), 1);
	assert_int_equal(count_matches(b->text.s, "Unknown operation by thread T1 (block"), 2);
	assert_int_equal(count_matches(b->text.s, "Blamed: block 'bank+0x1000' (thread T1"), 2);
	known = (struct known){0};
	str_free(&s);
}

/* A cycle in the rest of the history is not the one that was closed, and may be none at all. */
static void evicted_and_small(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	known = (struct known){DEPOSIT, 1, true, false};
	add_finding(&s, 5, DEPOSIT, false, true);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_non_null(strstr(b->text.s, "Unknown operation by thread T1 (block"));
	assert_non_null(strstr(b->text.s, "history_size=N"));
	known = (struct known){0};
	str_free(&s);
}

/* The evicted step is an operation on a lock, which was kept separately with its calls. */
static void evicted_kept(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	known = (struct known){DEPOSIT, 1, false, true};
	add_finding(&s, 5, DEPOSIT, false, false);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_null(strstr(b->text.s, "Unknown operation"));
	assert_non_null(strstr(b->text.s, "Release of [1] by thread T1 (block"));
	assert_non_null(strstr(b->text.s, "[1] mutex at bank+0x9000\n"));
	assert_non_null(strstr(b->text.s, "    #0 ?? (bank+0x1003)\n"
					  "    #1 ?? (bank+0x4007)\n"
					  "    #2 ?? (bank+0x2007)\n"
					  "    #3 ?? (bank+0x2fff)\n"));
	known = (struct known){0};
	str_free(&s);
}

static void evicted_left_out(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	known = (struct known){DEPOSIT, 1, true};
	add_left_out(&s, DEPOSIT);
	add_finding(&s, 5, DEPOSIT, true, false);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_int_equal(get_answer(b, 0, LIVE_SHOWN), 0);
	assert_int_equal(reporter_findings(b->session), 0);
	known = (struct known){0};
	str_free(&s);
}

static void left_out(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 5, DEPOSIT, false, true);
	add_finding(&s, 6, DEPOSIT + 0x100, false, true);
	add_left_out(&s, DEPOSIT);
	add_finding(&s, 7, DEPOSIT, true, true); /* was open when it was left out */
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_int_equal(get_answer(b, 0, LIVE_SHOWN), 0);
	assert_int_equal(get_answer(b, 1, LIVE_SHOWN), 1);
	assert_int_equal(reporter_findings(b->session), 1);
	assert_int_equal(count_matches(b->text.s, "do not count"), 1);
	assert_int_equal(count_matches(b->text.s, "WARNING"), 2);
	assert_non_null(strstr(b->text.s, "atomsan: 1 atomicity violation"));
	str_free(&s);
}

static void two_processes(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 5, DEPOSIT, false, true);
	add_end(&s);
	play_process(b, s.s, s.n);
	str_reset(&s);
	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 1, DEPOSIT, false, true);
	add_finding(&s, 2, DEPOSIT + 0x100, false, true);
	add_end(&s);
	play_and_stop_session(b, &s);
	/* The second process has found both. */
	assert_int_equal(get_answer(b, 0, LIVE_SHOWN), 1);
	assert_int_equal(get_answer(b, 1, LIVE_SHOWN), 2);
	assert_int_equal(count_matches(b->text.s, "WARNING"), 2);
	assert_int_equal(count_matches(b->text.s, "atomsan: in process 4321, ./bank all\n"), 1);
	str_free(&s);
}

static void all_of_them(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	b->options.all = true;
	add_hello(&s, "");
	add_finding(&s, 5, DEPOSIT, false, true);
	add_finding(&s, 6, DEPOSIT, false, true);
	play_and_stop_session(b, &s);
	assert_int_equal(reporter_findings(b->session), 2);
	assert_int_equal(count_matches(b->text.s, "WARNING"), 2);
	str_free(&s);
}

static void suppressed(void **state)
{
	static const char line[] = "atomicity:^bank+0x1000$\n";
	struct bench *b = *state;
	struct str s = STR_INIT;
	struct err err = {0};

	b->options.suppress = suppress_parse("mine", line, strlen(line), &err);
	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 5, DEPOSIT, true, true);
	add_again(&s, 5, 3);
	add_end(&s);
	play_and_stop_session(b, &s);
	assert_int_equal(get_answer(b, 0, LIVE_SHOWN), 0);
	assert_int_equal(get_answer(b, 1, LIVE_SHOWN), 0);
	assert_int_equal(reporter_findings(b->session), 0);
	assert_null(strstr(b->text.s, "WARNING"));
	suppress_free(b->options.suppress);
	str_free(&s);
}

static void json(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	b->options.format = &json_format;
	add_hello(&s, "");
	add_module(&s);
	add_finding(&s, 5, DEPOSIT, false, true);
	play_and_stop_session(b, &s);
	assert_non_null(strstr(b->text.s, "\"trace\": null"));
	assert_non_null(strstr(b->text.s, "\"program\": \"./bank all\""));
	assert_int_equal(count_matches(b->text.s, "\"event\": null"), 4);
	assert_int_equal(count_matches(b->text.s, "\"begin\": null"), 5);
	assert_int_equal(count_matches(b->text.s, "\"order\": "), 4);
	assert_int_equal(count_matches(b->text.s, "\"evicted\": false"), 1);
	str_free(&s);
}

static void add_settled(struct str *out, uint32_t thread)
{
	struct live_settled t = {.thread = thread};

	add_message(out, LIVE_SETTLED, &t, sizeof t);
}

/* A finding in an open transaction counts when the transaction has ended, in whatever way. */
static void open_transactions(void **state)
{
	enum { NOT, THIS, OTHER, END };
	static const struct {
		int settled;
		bool left_out;
		size_t shown;
	} v[] = {{NOT, false, 1}, {THIS, false, 1}, {OTHER, false, 1},
		 {END, false, 1}, {THIS, true, 0},  {NOT, true, 0}};
	struct str s = STR_INIT;

	(void)state;
	for (size_t i = 0; i < N(v); i++) {
		void *own;
		struct bench *b;

		setup(&own);
		b = own;
		str_reset(&s);
		add_hello(&s, "");
		add_module(&s);
		is_open = true;
		add_finding(&s, 5, DEPOSIT, false, true);
		is_open = false;
		if (v[i].left_out)
			add_left_out(&s, DEPOSIT);
		if (v[i].settled == THIS || v[i].settled == OTHER)
			add_settled(&s, v[i].settled == THIS ? 1 : 2);
		if (v[i].settled == END)
			add_end(&s);
		play_and_stop_session(b, &s);
		assert_int_equal(said, 0);
		assert_int_equal(count_matches(b->text.s, "WARNING"), v[i].shown);
		assert_int_equal(count_matches(b->text.s, "do not count"), 0);
		teardown(&own);
	}
	str_free(&s);
}

/* An ASK about a marked block contains its label. */
static void labels(void **state)
{
	struct live_ask q = {.pc = 3, .call = 9, .kind = 'a'};
	struct bench *b = *state;
	struct str s = STR_INIT, body = STR_INIT;

	add_hello(&s, "");
	str_addn(&body, (const char *)&q, sizeof q);
	str_add(&body, "a label");
	add_message(&s, LIVE_ASK, body.s, body.n);
	play_and_stop_session(b, &s);
	assert_int_equal(said, 0);
	assert_int_equal(get_answer(b, 0, LIVE_ANSWER) & 1, 1);
	/* An ASK about a function may have no label, and the length of labels is limited. */
	body.s[offsetof(struct live_ask, kind)] = 'f';
	str_reset(&s);
	add_hello(&s, "");
	add_message(&s, LIVE_ASK, body.s, body.n);
	play_process(b, s.s, s.n);
	assert_int_equal(said, 1);
	body.s[offsetof(struct live_ask, kind)] = 'a';
	str_pad(&body, 'x', LIVE_LABEL_MAX);
	str_reset(&s);
	add_hello(&s, "");
	add_message(&s, LIVE_ASK, body.s, body.n);
	play_process(b, s.s, s.n);
	assert_int_equal(said, 2);
	str_free(&s);
	str_free(&body);
}

static void wrong_messages(void **state)
{
	static const struct {
		uint32_t type, bytes;
		const char *wrong;
	} v[] = {
		{0, 0, "it sent a message of type 0"},
		{LIVE_ANSWER, 8, "it sent a message of type 4"},
		{LIVE_SHOWN, 8, "it sent a message of type 6"},
		{LIVE_ANSWERS, 0, "it sent a message of type 15"},
		{LIVE_UNRULED, 8, "it sent an UNRULED of 8 bytes"},
		{LIVE_LOCK, 8, "it sent a LOCK of 8 bytes"},
		{LIVE_OUTSIDE, 8, "it sent an OUTSIDE of 8 bytes"},
		{LIVE_FAMILY + 1, 0, "it sent a message of type 19"},
		{LIVE_FAMILY, 1, "it sent a FAMILY of 1 bytes"},
		{LIVE_INCOMPLETE, 513, "it sent an INCOMPLETE of 513 bytes"},
		{LIVE_SUSPECT, 3, "it sent a SUSPECT of 3 bytes"},
		{LIVE_SUSPECT, 16, "it sent a SUSPECT of kind 0 in this run"},
		{LIVE_HELLO, 8, "it sent HELLO twice"},
		{LIVE_MODULE, 8, "it sent a MODULE of 8 bytes"},
		{LIVE_ASK, 23, "it sent an ASK of 23 bytes"},
		{LIVE_ASK, 24, "it sent an ASK about a function of kind 0"},
		{LIVE_FINDING, 23, "it sent a FINDING of 23 bytes"},
		{LIVE_AGAIN, 15, "it sent an AGAIN of 15 bytes"},
		{LIVE_LEFT_OUT, 7, "it sent a LEFT_OUT of 7 bytes"},
		{LIVE_SETTLED, 7, "it sent a SETTLED of 7 bytes"},
		{LIVE_END, 3, "it sent an END of 3 bytes"},
		{LIVE_RUN, 1, "it sent a RUN of 1 bytes"},
	};
	struct str s = STR_INIT;

	(void)state;
	for (size_t i = 0; i < N(v); i++) {
		static const char zeros[LIVE_REASON_MAX + 1];
		void *own;

		setup(&own);
		str_reset(&s);
		add_hello(&s, "");
		add_message(&s, v[i].type, zeros, v[i].bytes);
		play_process(own, s.s, s.n);
		if (said != 1)
			fail_msg("message %zu: %d notes", i, said);
		if (!strstr(last_said, v[i].wrong))
			fail_msg("says '%s', not '%s'", last_said, v[i].wrong);
		teardown(&own);
	}
	str_free(&s);
}

/* A run after END is refused: the findings have been made. */
static void run_after_end(void **state)
{
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_end(&s);
	add_message(&s, LIVE_RUN, "", 1);
	add_end(&s);
	play_process(*state, s.s, s.n);
	assert_int_equal(said, 1);
	assert_non_null(strstr(last_said, "it sent a RUN after END"));
	str_free(&s);
}

static void wrong_lengths(void **state)
{
	static const struct live_head huge[] = {
		{LIVE_FINDING, UINT32_MAX}, {LIVE_FINDING, LIVE_BYTES_MAX + 1}, {77, UINT32_MAX}};
	struct {
		struct live_finding f;
		struct live_section s;
	} many = {.s = {LIVE_SECTION_STEPS, UINT32_MAX - 7}};
	struct live_hello other = {LIVE_VERSION + 1, 1};
	struct bench *b = *state;
	struct str s = STR_INIT;

	for (size_t i = 0; i < N(huge); i++) {
		said = 0;
		str_reset(&s);
		add_hello(&s, "");
		str_addn(&s, (const char *)&huge[i], sizeof huge[i]);
		play_process(b, s.s, s.n);
		assert_int_equal(said, 1);
		assert_non_null(strstr(last_said, "a message of "));
	}
	str_reset(&s);
	add_hello(&s, "");
	add_message(&s, LIVE_FINDING, &many, sizeof many);
	play_process(b, s.s, s.n);
	assert_non_null(
		strstr(last_said, "a FINDING with a section of kind 1 and 4294967288 bytes"));
	str_reset(&s);
	add_message(&s, LIVE_HELLO, &other, sizeof other);
	play_process(b, s.s, s.n);
	assert_non_null(strstr(last_said, "link it again"));
	str_reset(&s);
	add_end(&s);
	play_process(b, s.s, s.n);
	assert_non_null(strstr(last_said, "it did not send HELLO first"));
	str_free(&s);
}

/* Adds facts to the next finding, for which its recording has no events. */
static void add_facts(void)
{
	struct {
		struct live_origin o;
		uint64_t calls[2];
	} allocation = {{BALANCE - 16, 64, HELPER + 4, 1, 2}, {WORKER + 8, DEPOSIT + 12}},
	  creation = {{2, 0, HELPER + 12, 1, 1}, {WORKER + 16, 0}};
	struct {
		struct live_text t;
		char text[8];
	} label = {{7, 6, 0}, "a mark"};
	struct live_thread thread = {0x100000, 4096, 2, 0, "teller"};
	uint64_t pc = DEPOSIT + 0x100;

	str_reset(&facts);
	add_section(&facts, LIVE_SECTION_ALLOCATIONS, &allocation, sizeof allocation);
	add_section(&facts, LIVE_SECTION_CREATIONS, &creation, sizeof creation - 8);
	add_section(&facts, LIVE_SECTION_LABELS, &label, sizeof label);
	add_section(&facts, LIVE_SECTION_THREADS, &thread, sizeof thread);
	add_section(&facts, LIVE_SECTION_NOT_BLOCKS, &pc, sizeof pc);
}

static void facts_are_used(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	add_facts();
	add_finding(&s, 5, DEPOSIT, false, true);
	add_finding(&s, 6, DEPOSIT + 0x100, true, true); /* no block: no finding */
	add_end(&s);
	str_free(&facts);
	play_and_stop_session(b, &s);
	assert_int_equal(said, 0);
	assert_int_equal(count_matches(b->text.s, "WARNING"), 2);
	assert_int_equal(count_matches(b->text.s, "block 'bank+0x1100'"), 0);
	assert_non_null(strstr(b->text.s, "64 bytes"));
	assert_non_null(strstr(b->text.s, "    #0 ?? (bank+0x4003)\n"
					  "    #1 ?? (bank+0x100b)\n"
					  "    #2 ?? (bank+0x2007)\n"));
	assert_non_null(strstr(b->text.s, "    #0 ?? (bank+0x400b)\n"
					  "    #1 ?? (bank+0x200f)\n"));
	str_free(&s);
}

/* The same if the history is gone and there is no recording at all. */
static void facts_of_evicted(void **state)
{
	struct bench *b = *state;
	struct str s = STR_INIT;

	add_hello(&s, "");
	add_module(&s);
	add_facts();
	add_finding(&s, 5, DEPOSIT, false, false);
	add_end(&s);
	str_free(&facts);
	play_and_stop_session(b, &s);
	assert_int_equal(said, 0);
	assert_non_null(strstr(b->text.s, "    #0 ?? (bank+0x4003)\n"
					  "    #1 ?? (bank+0x100b)\n"
					  "    #2 ?? (bank+0x2007)\n"));
	str_free(&s);
}

/* Sections of any kind and length are accepted, or the reporter prints one sentence. */
static void wrong_sections(void **state)
{
	static const char ones[256] = {[0 ... 255] = 1};
	struct str s = STR_INIT;

	(void)state;
	for (uint32_t kind = 0; kind <= LIVE_SECTIONS; kind++) {
		for (size_t n = 0; n <= sizeof ones; n += n < 40 ? 1 : 8) {
			void *own;

			setup(&own);
			str_reset(&s);
			str_reset(&facts);
			add_section(&facts, kind, ones, n);
			add_hello(&s, "");
			add_finding(&s, 5, DEPOSIT, false, true);
			play_process(own, s.s, s.n);
			if (said > 1)
				fail_msg("%d sentences, at last %s", said, last_said);
			if (!said && (!kind || kind == LIVE_SECTIONS || n % 8))
				fail_msg("kind %u, %zu bytes: taken", kind, n);
			teardown(&own);
		}
	}
	str_free(&facts);
	str_free(&s);
}

static void make_stream(struct str *s)
{
	add_hello(s, "color=always\n");
	add_module(s);
	add_ask(s, DEPOSIT, 's');
	add_facts();
	add_finding(s, 5, DEPOSIT, true, true);
	add_finding(s, 6, DEPOSIT + 0x100, false, false);
	add_again(s, 5, 10);
	add_left_out(s, DEPOSIT);
	add_end(s);
	str_free(&facts);
}

/*
 * A program may be killed at any byte. The reporter prints nothing about it, except that the check
 * is incomplete if a message was cut off: it may have been a finding.
 */
static void cut_off(void **state)
{
	struct str s = STR_INIT;
	size_t recording;
	int cut = 0;

	(void)state;
	make_stream(&s);
	/* Most of the stream is the zeros of a recording. */
	recording = (size_t)((char *)memmem(s.s, s.n, RAW_MAGIC, 8) - s.s) + 512;
	for (size_t n = 0; n<s.n; n += n> recording && n < recording + 11000 ? 61 : 1) {
		void *own;

		setup(&own);
		play_process(own, s.s, n);
		stop_session(own);
		if (said && !strstr(last_said, "ended in the middle of a message"))
			fail_msg("cut off at %zu: %s", n, last_said);
		assert_true(said <= 1);
		cut += said;
		teardown(&own);
	}
	assert_true(cut > 100);
	str_free(&s);
}

/* Any byte may have any value: at most one sentence for each finding, and one for the end. */
static void damaged(void **state)
{
	static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
	struct str s = STR_INIT;

	(void)state;
	make_stream(&s);
	srand(1);
	for (int i = 0; i < 3000; i++) {
		size_t at = (size_t)rand() % (i % 2 ? 1000 : s.n);
		char was = s.s[at];
		void *own;

		s.s[at] = i % 3 ? (char)values[(size_t)rand() % N(values)] : (char)rand();
		setup(&own);
		play_process(own, s.s, s.n);
		stop_session(own);
		if (said > 3)
			fail_msg("byte %zu: %d sentences, at last %s", at, said, last_said);
		teardown(&own);
		s.s[at] = was;
	}
	str_free(&s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(every_message),     TEST(picture_without_numbers),
		TEST(evicted),           TEST(evicted_in_block),
		TEST(evicted_left_out),  TEST(evicted_kept),
		TEST(evicted_and_small), TEST(left_out),
		TEST(two_processes),     TEST(all_of_them),
		TEST(suppressed),        TEST(json),
		TEST(open_transactions), TEST(labels),
		TEST(wrong_messages),    TEST(run_after_end),
		TEST(wrong_lengths),     TEST(facts_are_used),
		TEST(facts_of_evicted),  TEST(wrong_sections),
		TEST(cut_off),           TEST(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
