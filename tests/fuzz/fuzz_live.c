/*
 * The messages of a checked program to the reporter. Bytes after a first byte 0xff are sent as they
 * are; any others are a recipe for messages: a type, a length, and the bytes from which a message
 * of that type is made, with a valid recording in each finding. The reporter must serve any stream,
 * or print one sentence and close the connection.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/note.h"
#include "raw_recipe.h"
#include "reporter/reporter.h"
#include "trace/live_format.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- the notes --- */

static int said;

static void check_sentence(const char *fmt, va_list ap)
{
	char text[2048];

	said++;
	vsnprintf(text, sizeof text, fmt, ap);
	if (strchr(text, '\n')) {
		fprintf(stderr, "more than one line: %s\n", text);
		abort();
	}
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	check_sentence(fmt, ap);
	va_end(ap);
}

/* --- the stream --- */

static void add_message(struct str *out, uint32_t type, const char *body, size_t n)
{
	struct live_head h = {type, (uint32_t)n};

	str_addn(out, (const char *)&h, sizeof h);
	if (n)
		str_addn(out, body, n);
}

/* Adds a message of `want` bytes: as many of the n bytes as fit, then zeros. */
static void add_fixed(struct str *out, uint32_t type, const uint8_t *p, size_t n, size_t want)
{
	char body[128] = {0};

	memcpy(body, p, n < want ? n : want);
	add_message(out, type, body, want);
}

static void add_hello(struct str *out, const uint8_t *p, size_t n)
{
	struct live_hello h = {.version = LIVE_VERSION, .pid = 77};
	struct str body = STR_INIT;

	str_addn(&body, (const char *)&h, sizeof h);
	str_addn(&body, (const char *)p, n);
	/* No file of this machine may be read or written. */
	for (char *s = body.s + sizeof h; s < body.s + body.n; s++)
		if (*s == '/' || *s == '_' || (*s == 'p' && s[1] == 'e'))
			*s = '.';
	add_message(out, LIVE_HELLO, body.s, body.n);
	str_free(&body);
}

static void add_section(struct str *body, enum live_section_kind kind, const void *p, size_t n)
{
	struct live_section head = {kind, (uint32_t)n};

	str_addn(body, (const char *)&head, sizeof head);
	if (n)
		str_addn(body, p, n);
}

static void add_origin(struct str *body, enum live_section_kind kind, const uint8_t *p)
{
	struct {
		struct live_origin o;
		uint64_t calls[2];
	} v = {{.address = kind == LIVE_SECTION_CREATIONS ? p[1] % 9 : recipe_places[p[1] % 8],
		.size = p[2],
		.pc = 0x1000u + p[3] % 16,
		.thread = p[4] % 9,
		.ncalls = p[5] % 3},
	       {0x1000u + p[6] % 16, 0x1000u + p[7] % 16}};

	add_section(body, kind, &v, sizeof v.o + v.o.ncalls * sizeof *v.calls);
}

/* One section of facts, of any kind, made of 8 bytes. */
static void add_fact(struct str *body, const uint8_t *p)
{
	enum live_section_kind kind = p[0] % (LIVE_SECTIONS + 1);
	uint64_t pc = 0x1000u + p[1] % 16;
	struct live_thread thread = {
		recipe_places[p[1] % 8], p[2], p[3] % 9, p[4] & 1, {(char)p[5]}};
	struct {
		struct live_text t;
		char text[8];
	} text = {{p[1], p[2] % 9, 0}, {(char)p[3], (char)p[4], (char)p[5], (char)p[6]}};

	switch (kind) {
	case LIVE_SECTION_MODULES:
	case LIVE_SECTION_LABELS:
		add_section(body, kind, &text, sizeof text);
		break;
	case LIVE_SECTION_NOT_BLOCKS:
		add_section(body, kind, &pc, sizeof pc);
		break;
	case LIVE_SECTION_THREADS:
		add_section(body, kind, &thread, sizeof thread);
		break;
	case LIVE_SECTION_CREATIONS:
	case LIVE_SECTION_ALLOCATIONS:
		add_origin(body, kind, p);
		break;
	default:
		add_section(body, kind, p, 8);
		break;
	}
}

static void add_finding(struct str *out, const uint8_t *p, size_t n)
{
	struct live_finding f = {.evicted = 1};
	struct live_step steps[4] = {0};
	uint32_t nsteps = 0, nfacts = 0;
	struct str body = STR_INIT, raw = STR_INIT;
	struct raw_build *b = mem_alloc(sizeof *b);
	uint32_t clock = 1000;
	size_t at = 4;

	if (n >= 4) {
		f.key = p[0];
		f.thread = p[1] % 4;
		nsteps = p[2] % 5;
		nfacts = p[2] / 5 % 8;
		f.answer = p[3] & 1;
		f.evicted = p[3] >> 1 & 1;
		f.marked = p[3] >> 2 & 1;
		f.blamed = p[3] >> 3 & 1;
		f.block = p[3] >> 4;
	}
	str_addn(&body, (const char *)&f, sizeof f);
	for (uint32_t i = 0; i < nsteps; i++, at += 8)
		if (at + 8 <= n)
			steps[i] = (struct live_step){recipe_places[p[at] % 8] + p[at + 1],
						      0x1000u + p[at + 2] % 16,
						      1000u + p[at + 3],
						      p[at + 4] % 9,
						      p[at + 5],
						      p[at + 6],
						      p[at + 7] & 1,
						      p[at + 7] >> 1 & 1,
						      {p[at + 7] >> 2, p[at + 6]}};
	add_section(&body, LIVE_SECTION_STEPS, steps, nsteps * sizeof *steps);
	for (; nfacts && at + 8 <= n; nfacts--, at += 8)
		add_fact(&body, p + at);
	raw_build_init(b);
	for (; at + RECIPE_STEP <= n; at += RECIPE_STEP)
		recipe_add(b, p + at, &clock);
	raw_assemble(b, &raw);
	add_section(&body, LIVE_SECTION_RECORDING, raw.s, raw.n);
	add_message(out, LIVE_FINDING, body.s, body.n);
	raw_build_free(b);
	mem_free(b);
	str_free(&raw);
	str_free(&body);
}

static void follow_recipe(struct str *out, const uint8_t *p, size_t size)
{
	while (size >= 3) {
		uint32_t type = p[0] & 0x0f;
		size_t n = p[1] | (size_t)p[2] << 8;
		bool plain = p[0] & 0x80;

		p += 3;
		size -= 3;
		n = n < size ? n : size;
		if (plain)
			add_message(out, type, (const char *)p, n);
		else if (type == LIVE_HELLO)
			add_hello(out, p, n);
		else if (type == LIVE_FINDING)
			add_finding(out, p, n);
		else if (type == LIVE_ASK)
			add_fixed(out, type, p, n, sizeof(struct live_ask));
		else if (type == LIVE_AGAIN)
			add_fixed(out, type, p, n, sizeof(struct live_again));
		else if (type == LIVE_SETTLED)
			add_fixed(out, type, p, n, sizeof(struct live_settled));
		else if (type == LIVE_END)
			add_fixed(out, type, p, n, sizeof(struct live_end));
		else
			add_message(out, type, (const char *)p,
				    type == LIVE_LEFT_OUT ? n / 8 * 8 : n);
		p += n;
		size -= n;
	}
}

/* Returns the number of messages that are findings; each may cause a sentence. */
static int count_findings(const struct str *s)
{
	int n = 0;

	for (size_t at = 0; at + sizeof(struct live_head) <= s->n;) {
		struct live_head h;

		memcpy(&h, s->s + at, sizeof h);
		n += h.type == LIVE_FINDING;
		at += sizeof h + h.bytes;
	}
	return n;
}

static void play(struct reporter *session, const struct str *s)
{
	int fd[2];
	struct reporter_process *p;
	size_t at = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		abort();
	p = reporter_connect(session, fd[1], 77);
	while (at < s->n) {
		char answers[4096];
		ssize_t put =
			send(fd[0], s->s + at, s->n - at < 8192 ? s->n - at : 8192, MSG_NOSIGNAL);

		if (put <= 0)
			abort();
		at += (size_t)put;
		if (!reporter_serve(p))
			break;
		while (recv(fd[0], answers, sizeof answers, MSG_DONTWAIT) > 0)
			;
	}
	if (at == s->n) {
		shutdown(fd[0], SHUT_WR);
		while (reporter_serve(p))
			;
	}
	close(fd[0]);
	reporter_disconnect(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int out = -1;
	struct reporter_options options = {.format = size % 2 ? &text_format : &json_format};
	struct str s = STR_INIT;
	struct reporter *session;

	if (out < 0)
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	options.out = out;
	options.verdict = true;
	if (size && data[0] == 0xff)
		str_addn(&s, (const char *)data + 1, size - 1);
	else
		follow_recipe(&s, data, size);
	said = 0;
	session = reporter_new(&options);
	play(session, &s);
	reporter_end(session);
	if (said > count_findings(&s) + 2) {
		fprintf(stderr, "%d sentences\n", said);
		abort();
	}
	if (getenv("FUZZ_EXPECT_EVENTS") && (said || !reporter_findings(session))) {
		fprintf(stderr, "no finding, or %d sentences\n", said);
		abort();
	}
	reporter_free(session);
	str_free(&s);
	return 0;
}
