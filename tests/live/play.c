/*
 * Plays the part of the runtime towards a reporter, exactly as trace/live_format.h defines it: it
 * sends what the runtime would have sent if the recorded run had been checked as it ran.
 *
 *	play [OPTION...] RECORDING
 *
 * RECORDING is a raw recording (ATOMSAN_OPTIONS=record=FILE). For each cycle in it, play sends a
 * FINDING with the recording up to the access that closed the cycle, which is its last unit. It
 * finds that unit by bisection, by running the engine on parts of the recording, and so does not
 * rely on the reader to know which event came from which unit.
 *
 *	--live=ATOMSAN            start `ATOMSAN live`, as a program without `atomsan run` does;
 *	                          otherwise connect to reporter=@NAME in ATOMSAN_OPTIONS
 *	--save=FILE               write the messages to FILE instead, and get no answers
 *	--option=KEY=VALUE        send this option in HELLO
 *	--findings=N              send at most N findings
 *	--ask=ADDRESS[k]          send ASK for an address relative to the load address, and print
 *	                          the answer; k, the kind, is f (the default), s or m
 *	--left-out=ADDRESS        send LEFT_OUT for a function, after the findings
 *	--left-out-first=ADDRESS  the same before the findings
 *	--again=N                 report that each finding was found N times more
 *	--evict                   send only the last unit of each recording
 *	--modules-inside          send the modules in each FINDING, instead of MODULE messages
 *	--wait                    wait for SHOWN, and print it
 *	--twice                   fork first, and play in both processes, one after the other
 *	--print=TEXT              print TEXT on standard output, as a program would
 *	--kill                    die without END
 *	--status=N                print the answer to END, and exit with N
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/raw_builder.h"
#include "engine/engine.h"
#include "spec/spec.h"
#include "symbol/symbol.h"
#include "trace/blocks.h"
#include "trace/live_format.h"
#include "trace/raw_file.h"
#include "trace/reader.h"

#include "base/banned.h"

static void die(const char *what)
{
	fprintf(stderr, "play: %s\n", what);
	exit(99);
}

/* --- the recording --- */

struct unit {
	struct raw_item item;
	uint32_t thread;
};

static struct raw_file file;
static struct unit *units;
static size_t nunits, units_cap;

static int compare_times(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	if (x->item.time != y->item.time)
		return x->item.time > y->item.time ? 1 : -1;
	if (x->thread != y->thread)
		return x->thread > y->thread ? 1 : -1;
	return x < y ? -1 : 1;
}

static void read_units(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err err = {0};
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st))
		die("the recording is not there");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED || raw_file_open(&file, map, (size_t)st.st_size, &err))
		die(err_is_set(&err) ? err.text : "mmap");
	if (file.nthreads > RAW_BUILD_THREADS)
		die("too many threads");
	for (uint32_t t = 0; t < file.nthreads; t++) {
		struct raw_cursor c;
		struct unit u = {.thread = t};

		raw_cursor_init(&c, &file.threads[t]);
		while (raw_cursor_next(&c, &u.item)) {
			MEM_GROW(units, units_cap, nunits + 1);
			units[nunits++] = u;
		}
	}
	/* Units of one thread and one time keep their order: compare_times compares their
	 * addresses. */
	qsort(units, nunits, sizeof *units, compare_times);
}

static void put_unit(struct raw_build *b, const struct unit *u)
{
	const struct raw_item *i = &u->item;
	uint32_t aux = i->aux;

	raw_words(b, u->thread, (uint64_t)RAW_TIME << 48, i->time);
	raw_words(b, u->thread, (uint64_t)RAW_PC_HIGH << 48 | i->pc >> 32, 0);
	raw_put(b, u->thread, 0, i->op, i->address, aux, (uint32_t)i->pc);
	switch (i->op) {
	case RAW_START:
	case RAW_READ_RANGE:
	case RAW_WRITE_RANGE:
	case RAW_ALLOC:
	case RAW_FORGET:
		raw_words(b, u->thread, i->size, 0);
		break;
	case RAW_LABEL:
	case RAW_MODULE:
	case RAW_NAME:
		for (uint32_t k = 0; k < aux; k++) {
			uint64_t w[2] = {0};

			if (16u * k < i->text_len)
				memcpy(w, i->text + 16 * k,
				       i->text_len - 16 * k < 16 ? i->text_len - 16 * k : 16);
			raw_words(b, u->thread, w[0], w[1]);
		}
		break;
	default:
		break;
	}
}

/* Writes units [from, to) as a recording, with modules or without. */
static void write_units(size_t from, size_t to, bool modules, struct str *out)
{
	static struct raw_build b;
	size_t in_chunk[RAW_BUILD_THREADS] = {0};

	raw_build_init(&b);
	b.command = "played";
	for (size_t i = from; i < to; i++) {
		uint32_t t = units[i].thread;

		if (units[i].item.op == RAW_MODULE && !modules)
			continue;
		if (++in_chunk[t] % 8000 == 0)
			raw_cut_chunk(&b, t);
		put_unit(&b, &units[i]);
	}
	raw_assemble(&b, out);
	raw_build_free(&b);
}

/* Returns how many cycles the first n units close. */
static uint64_t count_closings(size_t n)
{
	struct names_resolver *resolver = symbol_resolver_new();
	struct reader_options ropt = {.unfinished = true, .rewindable = true};
	struct engine_result res;
	struct spec *spec = spec_new();
	struct str bytes = STR_INIT;
	struct err err = {0};
	struct reader *r;
	uint64_t closings;
	int fd = memfd_create("play", MFD_CLOEXEC);

	write_units(0, n, true, &bytes);
	if (fd < 0 || pwrite(fd, bytes.s, bytes.n, 0) != (ssize_t)bytes.n)
		die("memfd");
	r = reader_open_fd(fd, "played", &ropt, &err);
	if (!r)
		die(err.text);
	reader_set_resolver(r, resolver);
	reader_set_blocks(r, spec_rules(spec));
	if (engine_run(engine_by_name("frontier"), NULL, r, true, NULL, &res, &err))
		die(err.text);
	closings = res.stats[0].value;
	engine_result_free(&res);
	reader_close(r);
	symbol_resolver_free(resolver);
	spec_free(spec);
	str_free(&bytes);
	return closings;
}

/* Returns the least n, not below `from`, such that the first n units close at least k cycles. */
static size_t find_closing(uint64_t k, size_t from)
{
	size_t lo = from, hi = nunits;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (count_closings(mid) >= k)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* --- the connection --- */

static int sock = -1;
static bool hears = true; /* whether there is a reporter that answers */

static void send_bytes(const void *p, size_t n)
{
	const char *at = p;

	while (n) {
		ssize_t done = hears ? send(sock, at, n, MSG_NOSIGNAL) : write(sock, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			fprintf(stderr, "play: the reporter has hung up\n");
			exit(98);
		}
		at += done;
		n -= (size_t)done;
	}
}

static void send_message(uint32_t type, const struct str *body)
{
	struct live_head h = {type, (uint32_t)body->n};

	send_bytes(&h, sizeof h);
	send_bytes(body->s, body->n);
}

static void receive_bytes(void *p, size_t n)
{
	char *at = p;

	while (n) {
		ssize_t got = recv(sock, at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			fprintf(stderr, "play: the reporter has hung up\n");
			exit(98);
		}
		at += got;
		n -= (size_t)got;
	}
}

static void receive_answer(uint32_t type, void *body, uint32_t n)
{
	struct live_head h;

	memset(body, 0, n);
	if (!hears)
		return;
	receive_bytes(&h, sizeof h);
	if (h.type != type || h.bytes != n)
		die("another answer than expected");
	receive_bytes(body, n);
}

static void connect_to_reporter(void)
{
	const char *options = getenv("ATOMSAN_OPTIONS");
	const char *name = options ? strstr(options, "reporter=") : NULL;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n;

	if (!name)
		die("ATOMSAN_OPTIONS has no reporter=");
	name = strchr(name, '@');
	n = strcspn(name, "\"':#");
	memcpy(a.sun_path + 1, name + 1, n - 1);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)))
		die("cannot connect");
}

static pid_t start_live(const char *atomsan)
{
	int fd[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		die("socketpair");
	pid = fork();
	if (!pid) {
		dup2(fd[1], 0);
		execl(atomsan, atomsan, "live", (char *)NULL);
		_exit(97);
	}
	close(fd[1]);
	sock = fd[0];
	return pid;
}

/* --- the play --- */

enum { LIST_MAX = 32 };
static struct {
	const char *live, *save, *ask[LIST_MAX], *print;
	struct str options;
	uint64_t left_out[LIST_MAX], left_out_first[LIST_MAX];
	size_t nask, nleft_out, nleft_out_first;
	uint64_t findings, again;
	bool evict, inside, wait, twice, kill;
	int status;
} o = {.findings = 1000, .options = STR_INIT};

static uint64_t bias; /* load bias of the program itself */

static void send_hello(void)
{
	struct live_hello h = {LIVE_VERSION, (uint32_t)getpid()};
	struct str body = STR_INIT;

	str_addn(&body, (const char *)&h, sizeof h);
	str_addn(&body, o.options.s, o.options.n);
	str_addn(&body, "\0./played\0word", 14);
	send_message(LIVE_HELLO, &body);
	str_free(&body);
}

static void send_modules(void)
{
	bool first = true;

	for (size_t i = 0; i < nunits; i++) {
		const struct raw_item *u = &units[i].item;
		struct str body = STR_INIT;

		if (u->op != RAW_MODULE)
			continue;
		if (first)
			bias = u->address;
		first = false;
		str_addn(&body, (const char *)&u->address, sizeof u->address);
		str_addn(&body, u->text, u->text_len);
		if (!o.inside)
			send_message(LIVE_MODULE, &body);
		str_free(&body);
	}
}

static void send_ask(const char *what)
{
	struct live_ask q = {.kind = 'f'};
	struct live_answer a;
	struct str body = STR_INIT;
	char *end;

	q.pc = bias + strtoull(what, &end, 16);
	q.call = q.pc;
	if (*end)
		q.kind = *end;
	q.start = q.kind == 's';
	str_addn(&body, (const char *)&q, sizeof q);
	send_message(LIVE_ASK, &body);
	str_free(&body);
	receive_answer(LIVE_ANSWER, &a, sizeof a);
	printf("answer: %u %u\n", a.decide, a.hands_on);
}

static void send_left_out(const uint64_t *v, size_t n)
{
	struct str body = STR_INIT;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t pc = bias + v[i];

		str_addn(&body, (const char *)&pc, sizeof pc);
	}
	send_message(LIVE_LEFT_OUT, &body);
	str_free(&body);
}

/*
 * Adds up to three steps: the last accesses to the address of the last unit. Of consecutive
 * accesses by one thread, only the last counts.
 */
static void add_steps(size_t n, struct str *body)
{
	const struct raw_item *last = &units[n - 1].item;
	struct live_step steps[3];
	uint32_t k = 3;

	for (size_t i = n; i-- > 0 && k;) {
		const struct raw_item *u = &units[i].item;

		if (u->address != last->address || u->op < RAW_READ || u->op > RAW_UPDATE ||
		    (k < 3 && steps[k].thread == units[i].thread))
			continue;
		steps[--k] = (struct live_step){.address = u->address,
						.pc = u->pc,
						.time = u->time,
						.thread = units[i].thread,
						.op = (uint8_t)u->op,
						.aux = (uint8_t)u->aux};
	}
	str_addn(body, (const char *)(steps + k), (3 - k) * sizeof *steps);
}

/* Makes the bytes of the body from `from` on a section, by inserting its head before them. */
static void close_section(struct str *body, size_t from, enum live_section_kind kind)
{
	struct live_section head = {kind, (uint32_t)(body->n - from)};
	struct str content = STR_INIT;

	str_addn(&content, body->s + from, body->n - from);
	body->n = from;
	str_addn(body, (const char *)&head, sizeof head);
	str_addn(body, content.s, content.n);
	str_free(&content);
}

static void add_modules(struct str *body)
{
	for (size_t i = 0; i < nunits; i++) {
		const struct raw_item *u = &units[i].item;
		struct live_text t = {u->address, (uint32_t)u->text_len, 0};

		if (u->op != RAW_MODULE)
			continue;
		str_addn(body, (const char *)&t, sizeof t);
		str_addn(body, u->text, u->text_len);
		while (body->n % 8)
			str_addc(body, 0);
	}
}

static void send_finding(size_t n, uint64_t key)
{
	struct live_finding f = {
		.key = key, .thread = units[n - 1].thread, .answer = o.wait, .evicted = o.evict};
	struct str body = STR_INIT, raw = STR_INIT;
	struct live_shown shown;
	size_t at;

	str_addn(&body, (const char *)&f, sizeof f);
	at = body.n;
	add_steps(n, &body);
	close_section(&body, at, LIVE_SECTION_STEPS);
	if (o.inside) {
		at = body.n;
		add_modules(&body);
		close_section(&body, at, LIVE_SECTION_MODULES);
	}
	write_units(o.evict ? n - 1 : 0, n, false, &raw);
	at = body.n;
	str_addn(&body, raw.s, raw.n);
	close_section(&body, at, LIVE_SECTION_RECORDING);
	send_message(LIVE_FINDING, &body);
	str_free(&body);
	str_free(&raw);
	if (o.wait) {
		receive_answer(LIVE_SHOWN, &shown, sizeof shown);
		printf("shown: %llu\n", (unsigned long long)shown.findings);
	}
	if (o.again) {
		struct live_again a = {key, o.again};

		str_addn(&body, (const char *)&a, sizeof a);
		send_message(LIVE_AGAIN, &body);
		str_free(&body);
	}
}

static void play_recording(void)
{
	struct live_end e = {.transactions = 10, .threads = (uint32_t)file.nthreads};
	struct str body = STR_INIT;
	struct live_shown shown;
	uint64_t closings, key = 0;
	size_t at = 0;

	send_hello();
	send_modules();
	for (size_t i = 0; i < o.nask; i++)
		send_ask(o.ask[i]);
	if (o.print) {
		puts(o.print);
		fflush(stdout);
	}
	send_left_out(o.left_out_first, o.nleft_out_first);
	closings = o.findings ? count_closings(nunits) : 0;
	while (key < closings && key < o.findings) {
		at = find_closing(key + 1, at);
		send_finding(at, ++key);
		key = count_closings(at); /* one unit may close several */
	}
	send_left_out(o.left_out, o.nleft_out);
	fflush(stdout);
	if (o.kill)
		raise(SIGKILL);
	str_addn(&body, (const char *)&e, sizeof e);
	send_message(LIVE_END, &body);
	str_free(&body);
	receive_answer(LIVE_SHOWN, &shown, sizeof shown);
	if (hears)
		printf("standing: %llu\n", (unsigned long long)shown.findings);
}

int main(int argc, char **argv)
{
	static const struct option table[] = {
		{"live", 1, NULL, 'l'},
		{"save", 1, NULL, 's'},
		{"option", 1, NULL, 'o'},
		{"findings", 1, NULL, 'n'},
		{"ask", 1, NULL, 'q'},
		{"left-out", 1, NULL, 'x'},
		{"left-out-first", 1, NULL, 'X'},
		{"again", 1, NULL, 'a'},
		{"evict", 0, NULL, 'e'},
		{"modules-inside", 0, NULL, 'm'},
		{"wait", 0, NULL, 'w'},
		{"twice", 0, NULL, 't'},
		{"print", 1, NULL, 'p'},
		{"kill", 0, NULL, 'k'},
		{"status", 1, NULL, 'S'},
		{0},
	};
	pid_t child = -1;
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) >= 0) {
		switch (c) {
		case 'l':
			o.live = optarg;
			break;
		case 's':
			o.save = optarg;
			break;
		case 'o':
			str_fmt(&o.options, "%s\n", optarg);
			break;
		case 'n':
			o.findings = strtoull(optarg, NULL, 10);
			break;
		case 'q':
			o.ask[o.nask++ % LIST_MAX] = optarg;
			break;
		case 'x':
			o.left_out[o.nleft_out++ % LIST_MAX] = strtoull(optarg, NULL, 16);
			break;
		case 'X':
			o.left_out_first[o.nleft_out_first++ % LIST_MAX] =
				strtoull(optarg, NULL, 16);
			break;
		case 'a':
			o.again = strtoull(optarg, NULL, 10);
			break;
		case 'e':
			o.evict = true;
			break;
		case 'm':
			o.inside = true;
			break;
		case 'w':
			o.wait = true;
			break;
		case 't':
			o.twice = true;
			break;
		case 'p':
			o.print = optarg;
			break;
		case 'k':
			o.kill = true;
			break;
		case 'S':
			o.status = (int)strtol(optarg, NULL, 10);
			break;
		default:
			return 99;
		}
	}
	if (optind != argc - 1)
		die("which recording?");
	read_units(argv[optind]);
	if (o.twice) {
		child = fork();
		if (child)
			waitpid(child, NULL, 0);
	}
	if (o.save) {
		sock = open(o.save, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		hears = false;
	} else if (o.live) {
		child = start_live(o.live);
	} else {
		connect_to_reporter();
	}
	play_recording();
	close(sock);
	if (o.live)
		waitpid(child, NULL, 0);
	return o.status;
}
