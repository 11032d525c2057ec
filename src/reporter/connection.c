#include "reporter/reporter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "base/str.h"
#include "report/color.h"
#include "reporter/reporter_impl.h"
#include "symbol/symbol.h"
#include "trace/recorded.h"

#include "base/banned.h"

enum { READ_SIZE = 1 << 18, WAIT_FOR_PROGRAM_MS = 5000, STRANGER_BYTES_MAX = 1 << 17 };

/* --- begin and end of a connection --- */

static struct reporter_process *process_of(struct block_rules *rules)
{
	return (struct reporter_process *)((char *)rules -
					   offsetof(struct reporter_process, rules));
}

/*
 * The specification decides, except for functions that were left out: a recording may begin after
 * the function has waited.
 */
static unsigned decide(struct block_rules *rules, const struct names *names, strref label,
		       char kind, bool start)
{
	struct reporter_process *p = process_of(rules);
	struct block_rules *spec = spec_rules(p->spec);

	if (p->out_names.n && kind != 'a') {
		struct str name = STR_INIT;
		bool out;

		names_add_string(names, label, &name);
		out = left_out_has(&p->out_names, name.s);
		str_free(&name);
		p->left_out |= out;
		if (out)
			return BLOCK_BY_RULE;
	}
	return spec->decide(spec, names, label, kind, start);
}

static bool hands_on_at(struct block_rules *rules, const struct names *names, strref place)
{
	struct block_rules *spec = spec_rules(process_of(rules)->spec);

	return spec->hands_on_at(spec, names, place);
}

struct reporter_process *reporter_connect(struct reporter *s, int fd, pid_t pid)
{
	struct reporter_process *p = mem_zalloc(sizeof *p);

	p->session = s;
	p->fd = fd;
	p->pid = pid;
	p->out = s->o.out;
	p->run = p->passed = p->family = -1;
	p->verbosity = s->o.verbosity;
	p->command = mem_strdup("");
	p->rules = (struct block_rules){.decide = decide, .hands_on_at = hands_on_at};
	p->spec = s->o.spec;
	if (!p->spec) {
		p->spec = spec_new();
		p->own_spec = true;
	}
	names_init(&p->names);
	raw_names_init(&p->raw, &p->names);
	str_add(&p->raw.text, RECORDED_NOTE);
	raw_names_note(&p->raw);
	if (!s->resolver)
		s->resolver = symbol_resolver_new();
	p->resolver = p->names.resolver = symbol_resolver_share(s->resolver);
	return p;
}

void reporter_distrust(struct reporter_process *p)
{
	p->stranger = true;
}

/* Returns the number of the process at the other end; 0 if that is not known, or is this one. */
static pid_t peer_of(const struct reporter_process *p)
{
	struct ucred who = {0};
	socklen_t size = sizeof who;
	bool known = !getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &who, &size);

	return known && who.pid != getpid() ? who.pid : 0;
}

/*
 * The connection has ended. If its family may have more to say, keep the file; of very many such
 * families, the last ones.
 */
static void leave_family(struct reporter_process *p)
{
	struct reporter *s = p->session;
	size_t i = s->nfamilies % REPORTER_FAMILIES;

	if (p->family < 0)
		return;
	if (s->nfamilies >= REPORTER_FAMILIES)
		reporter_close_family(s, i);
	s->family[i] = p->family;
	s->nfamilies++;
}

static void add_open_findings(struct reporter_process *p, uint32_t thread, bool all);

void reporter_disconnect(struct reporter_process *p)
{
	add_open_findings(p, 0, true);
	predict_from_run(p);
	reporter_end_process(p);
	leave_family(p);
	if (p->fd >= 0)
		close(p->fd);
	if (p->own_out)
		close(p->out);
	if (p->passed >= 0)
		close(p->passed);
	for (size_t i = 0; i < p->nmodules; i++)
		mem_free((char *)p->module[i].text);
	if (p->own_spec)
		spec_free(p->spec);
	raw_names_free(&p->raw);
	names_free(&p->names);
	symbol_resolver_free(p->resolver);
	map_free(&p->keys);
	map_free(&p->included);
	left_out_free(&p->out_names);
	mem_free(p->module);
	mem_free(p->bytes);
	mem_free(p->command);
	mem_free(p->log_path);
	mem_free(p->kinds);
	mem_free(p->entries);
	mem_free(p->held);
	mem_free(p->open);
	mem_free(p->out_pcs);
	mem_free(p);
}

int reporter_descriptor(const struct reporter_process *p)
{
	return p->fd;
}

/* --- HELLO --- */

static void read_spec(struct reporter_process *p, const char *path)
{
	struct err err = {0};
	struct spec *spec;

	if (p->session->o.spec)
		return; /* --spec wins */
	spec = spec_read(path, &err);
	if (!spec) {
		note("%s; the default decides which blocks are meant to be atomic", err.text);
		return;
	}
	spec_free(p->spec);
	p->spec = spec;
}

static void take_option(struct reporter_process *p, const char *key, const char *value,
			const char **color)
{
	if (!strcmp(key, "log_path") && *value) {
		mem_free(p->log_path);
		p->log_path = mem_strdup(value);
	} else if (!strcmp(key, "suppressions") && *value) {
		p->suppress = reporter_suppressions(p->session, value);
	} else if (!strcmp(key, "spec") && *value) {
		read_spec(p, value);
	} else if (!strcmp(key, "color")) {
		*color = value;
	} else if (!strcmp(key, "predict")) {
		p->session->predicts |= !strcmp(value, "1");
	} else if (!strcmp(key, "skeleton")) {
		p->skeleton = !strcmp(value, "1");
		p->session->skeleton |= p->skeleton;
	} else if (!strcmp(key, "engine")) {
		p->doublechecker |= !strcmp(value, "doublechecker");
	} else if (!strcmp(key, "first_run") && *value) {
		p->doublechecker = true;
		p->first = reporter_suspects(p->session, value, false);
	} else if (!strcmp(key, "second_run") && *value) {
		p->doublechecker = true;
		p->second = reporter_suspects(p->session, value, true);
	} else if (!strcmp(key, "verbosity") && p->session->o.each) {
		p->verbosity = strtol(value, NULL, 10) > 0;
	}
}

/*
 * Opens LOG_PATH.PID. The name can be guessed, so a link is not followed, and a file that is there
 * already is used only if it belongs to this user alone: the process may have had a reporter
 * before. Returns the descriptor, or -1 with a sentence in `err`.
 */
static int create_log(const char *path, struct err *err)
{
	static const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
	int fd = open(path, flags | O_CREAT | O_EXCL, 0600);
	struct stat st;

	if (fd < 0 && errno == EEXIST) {
		fd = open(path, flags | O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
				st.st_uid != geteuid())) {
			close(fd);
			return err_fail(err, "%s: this is not a file of this program", path);
		}
	}
	return fd < 0 ? err_sys(err, "%s", path) : fd;
}

/* Opens the log for the findings, unless the command line names a file. */
static void open_log(struct reporter_process *p)
{
	struct str path = STR_INIT;
	struct err err = {0};
	int fd;

	if (!p->log_path || p->session->o.own_file || p->session->o.format != &text_format)
		return;
	if (!strcmp(p->log_path, "stderr") || !strcmp(p->log_path, "stdout")) {
		p->out = p->log_path[3] == 'o' ? 1 : 2;
		return;
	}
	str_fmt(&path, "%s.%d", p->log_path, (int)p->pid);
	fd = create_log(path.s, &err);
	if (fd < 0) {
		note("%s; the findings are printed here", err.text);
	} else {
		p->out = fd;
		p->own_out = true;
	}
	str_free(&path);
}

static int take_hello(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct reporter *s = p->session;
	const char *color = NULL, *end;
	struct live_hello h;
	char *text, *line;
	size_t len;

	if (n < sizeof h)
		return err_fail(err, "it sent a HELLO of %zu bytes", n);
	memcpy(&h, body, sizeof h);
	if (h.version != LIVE_VERSION)
		return err_fail(
			err,
			"it was linked by another atomsan (its messages have version %u, not %u): "
			"link it again",
			h.version, LIVE_VERSION);
	if (p->stranger && (!s->o.token || strlen(s->o.token) != LIVE_TOKEN ||
			    memcmp(s->o.token, h.token, LIVE_TOKEN) != 0))
		return -1; /* any user can connect: no note */
	p->stranger = false;
	s->greeted = true;
	body += sizeof h;
	n -= sizeof h;
	p->greeted = true;
	p->pid = (pid_t)h.pid;

	end = memchr(body, 0, n);
	len = end ? (size_t)(end - body) : n;
	text = mem_strndup(body, len);
	for (line = text; *line;) {
		char *stop = line + strcspn(line, "\n"), *next = *stop ? stop + 1 : stop;
		char *is = memchr(line, '=', (size_t)(stop - line));

		*stop = 0;
		if (is) {
			*is = 0;
			take_option(p, line, is + 1, &color);
		}
		line = next;
	}
	if (end && (size_t)(end - body) + 1 < n) {
		struct str command = STR_INIT, shown = STR_INIT;

		for (const char *c = end + 1; c < body + n; c++)
			if (*c || c + 1 < body + n)
				str_addc(&command, *c ? *c : ' ');
		str_add_shown(&shown, command.s, command.n, 4096);
		mem_free(p->command);
		p->command = mem_strdup(shown.s);
		str_free(&command);
		str_free(&shown);
	}
	s->doublechecker |= p->doublechecker;
	if (!s->program)
		s->program = mem_strdup(p->command);
	open_log(p);
	if (color_decide(s->o.color ? s->o.color : color, p->out, &p->color))
		color_decide(NULL, p->out, &p->color);
	mem_free(text);
	return 0;
}

/* --- the other messages --- */

static int take_module(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct reader_module m;

	if (n <= sizeof m.bias || n > 1 << 16)
		return err_fail(err, "it sent a MODULE of %zu bytes", n);
	memcpy(&m.bias, body, sizeof m.bias);
	m.len = strnlen(body + sizeof m.bias, n - sizeof m.bias);
	m.text = mem_strndup(body + sizeof m.bias, m.len);
	MEM_GROW(p->module, p->module_cap, p->nmodules + 1);
	p->module[p->nmodules++] = m;
	/* Another module may have been at these addresses before. */
	map_free(&p->raw.places);
	map_free(&p->raw.labels);
	raw_names_module(&p->raw, m.bias, m.text, m.len);
	return 0;
}

/* Sends bytes. If the program does not take them, it is gone or misbehaves. */
static int send_all(struct reporter_process *p, const char *bytes, size_t n, struct err *err)
{
	size_t done = 0;

	while (done < n) {
		ssize_t put = send(p->fd, bytes + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		struct pollfd wait = {.fd = p->fd, .events = POLLOUT};

		if (put > 0)
			done += (size_t)put;
		else if (put < 0 && errno == EAGAIN && poll(&wait, 1, WAIT_FOR_PROGRAM_MS) > 0)
			continue;
		else if (put >= 0 || errno != EINTR)
			return put < 0 && (errno == EPIPE || errno == ECONNRESET)
				       ? 0 /* it has gone; what it sent before is still read */
				       : err_fail(err, "it does not read its answers");
	}
	return 0;
}

/* Sends an answer, for which the program waits. */
static int send_answer(struct reporter_process *p, uint32_t type, const void *body, uint32_t n,
		       struct err *err)
{
	struct live_head head = {type, n};
	struct str bytes = STR_INIT;
	int rc;

	str_addn(&bytes, (const char *)&head, sizeof head);
	str_addn(&bytes, body, n);
	rc = send_all(p, bytes.s, bytes.n, err);
	str_free(&bytes);
	return rc;
}

static int take_ask(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct block_rules *rules = spec_rules(p->spec);
	struct live_answer a;
	struct live_ask q;

	if (n < sizeof q || n > sizeof q + LIVE_LABEL_MAX)
		return err_fail(err, "it sent an ASK of %zu bytes", n);
	memcpy(&q, body, sizeof q);
	p->session->asks++;
	if (q.kind != 'f' && q.kind != 's' && q.kind != 'm' && q.kind != 'a')
		return err_fail(err, "it sent an ASK about a function of kind %d", q.kind);
	if (n > sizeof q && q.kind != 'a')
		return err_fail(err, "it sent an ASK of %zu bytes", n);
	a.decide =
		rules->decide(rules, &p->names,
			      raw_names_label(&p->raw, q.kind, q.pc, body + sizeof q, n - sizeof q),
			      q.kind, q.start);
	if (q.kind != 'a' &&
	    (a.decide & (BLOCK_BY_RULE | BLOCK_ATOMIC)) == (BLOCK_BY_RULE | BLOCK_ATOMIC))
		map_set(&p->included, q.pc, 1);
	if (p->second) {
		struct str name = STR_INIT;

		names_add_string(
			&p->names,
			raw_names_label(&p->raw, q.kind, q.pc, body + sizeof q, n - sizeof q),
			&name);
		a.decide |= suspects_has(p->second, name.s) ? BLOCK_SUSPECTED : 0;
		str_free(&name);
	}
	/* This matters only for a start function, and needs names, which are expensive. */
	a.hands_on = !q.start ||
		     rules->hands_on_at(rules, &p->names, raw_names_place(&p->raw, 0, q.call));
	return send_answer(p, LIVE_ANSWER, &a, sizeof a, err);
}

/* The functions that no rule mentions, as they are collected. */
struct unruled {
	const struct spec *spec;
	uint64_t base; /* of the module */
	struct live_unruled *v;
	size_t n, cap;
	bool ended; /* a rule mentions the function after the last stretch */
};

/* Adds a function to the last stretch of functions, or begins another one. */
static void add_unruled(void *arg, uint64_t begin, uint64_t end, const struct names_frame *f)
{
	enum { PADDING = 64 }; /* between two functions */
	struct unruled *u = arg;
	struct live_unruled *last = u->n ? &u->v[u->n - 1] : NULL;
	uint64_t low = u->base + begin, high = u->base + end;
	unsigned start;

	if (high <= low || (last && low < last->low))
		return;
	if (spec_mentions(u->spec, f, &start)) {
		/* Not even a part of it may be in a stretch. */
		if (last && last->high > low)
			last->high = low;
		u->ended = true;
		return;
	}
	if (!last || u->ended || low < u->base || low > last->high + PADDING ||
	    last->decide[1] != start) {
		MEM_GROW(u->v, u->cap, u->n + 1);
		u->v[u->n++] = (struct live_unruled){low, high, {BLOCK_ATOMIC, start}};
		u->ended = false;
	} else if (last->high < high) {
		last->high = high;
	}
}

static int compare_modules(const void *a, const void *b)
{
	const struct raw_module *x = a, *y = b;

	return (x->base > y->base) - (x->base < y->base);
}

static int take_unruled(struct reporter_process *p, size_t n, struct err *err)
{
	struct unruled u = {.spec = p->spec};
	struct raw_module *modules;
	int rc;

	if (n)
		return err_fail(err, "it sent an UNRULED of %zu bytes", n);
	modules = mem_alloc((p->raw.nmodules + 1) * sizeof *modules);
	if (p->raw.nmodules)
		memcpy(modules, p->raw.module, p->raw.nmodules * sizeof *modules);
	qsort(modules, p->raw.nmodules, sizeof *modules, compare_modules);
	for (size_t i = 0; i < p->raw.nmodules; i++) {
		u.base = modules[i].base;
		symbol_resolver_functions(p->resolver, &p->names, modules[i].number, add_unruled,
					  &u);
	}
	rc = send_answer(p, LIVE_ANSWERS, u.v, (uint32_t)(u.n * sizeof *u.v), err);
	mem_free(u.v);
	mem_free(modules);
	return rc;
}

/*
 * Finds the names of the functions that were left out. This is put off until they are needed: most
 * programs have no findings, and then their symbols are never read.
 */
static void name_left_out(struct reporter_process *p)
{
	struct str name = STR_INIT;

	if (!p->nout_pcs)
		return;
	for (size_t i = 0; i < p->nout_pcs; i++) {
		uint64_t pc = p->out_pcs[i] & ~LIVE_SAID_NOT;

		if (pc == p->out_pcs[i] && map_get(&p->included, pc) != MAP_NONE)
			continue;
		str_reset(&name);
		names_add_string(&p->names, raw_names_label(&p->raw, 'f', pc, NULL, 0), &name);
		left_out_add(&p->out_names, name.s);
		left_out_add(&p->session->out, name.s);
	}
	p->nout_pcs = 0;
	str_free(&name);
	findings_drop_left_out(p);
}

static int take_finding(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct finding_message m;
	struct live_shown shown;
	struct live_finding head;
	struct finding **v;
	size_t nv;
	bool excluded;

	if (finding_message_parse(&m, body, n, err))
		return -1;
	name_left_out(p);
	v = explain_finding(p, &m, &nv, &excluded);
	head = m.head;
	p->session->finding_bytes += m.recording_bytes;
	finding_message_free(&m);
	p->session->mistaken += !v;
	if (v && head.open && !head.answer) {
		MEM_GROW(p->open, p->open_cap, p->nopen + 1);
		p->open[p->nopen++] = (struct reporter_open){head, v, nv, excluded};
		return 0;
	}
	shown.findings = v && findings_add(p, &head, v, nv, excluded) > 0;
	mem_free(v);
	return head.answer ? send_answer(p, LIVE_SHOWN, &shown, sizeof shown, err) : 0;
}

/* Adds the findings that waited for the end of this thread's transaction, or of all threads'. */
static void add_open_findings(struct reporter_process *p, uint32_t thread, bool all)
{
	size_t kept = 0;

	if (p->nopen)
		name_left_out(p);
	for (size_t i = 0; i < p->nopen; i++) {
		struct reporter_open *o = &p->open[i];

		if (!all && o->head.thread != thread) {
			p->open[kept++] = *o;
			continue;
		}
		findings_add(p, &o->head, o->v, o->n, o->excluded);
		mem_free(o->v);
	}
	p->nopen = kept;
}

static int take_settled(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct live_settled s;

	if (n != sizeof s)
		return err_fail(err, "it sent a SETTLED of %zu bytes", n);
	memcpy(&s, body, sizeof s);
	add_open_findings(p, s.thread, false);
	return 0;
}

static int take_again(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct live_again a;

	if (n != sizeof a)
		return err_fail(err, "it sent an AGAIN of %zu bytes", n);
	memcpy(&a, body, sizeof a);
	findings_add_repeats(p, a.key, a.times);
	return 0;
}

static int take_suspect(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct str name = STR_INIT;
	struct live_suspect s;

	if (n < sizeof s)
		return err_fail(err, "it sent a SUSPECT of %zu bytes", n);
	memcpy(&s, body, sizeof s);
	if (s.kind > LIVE_SUSPECT_OUTSIDE || !p->first)
		return err_fail(err, "it sent a SUSPECT of kind %u in this run", s.kind);
	if (s.kind == LIVE_SUSPECT_FUNCTION)
		names_add_string(&p->names, raw_names_label(&p->raw, 'f', s.pc, NULL, 0), &name);
	else if (s.kind == LIVE_SUSPECT_LABEL)
		str_addn(&name, body + sizeof s, strnlen(body + sizeof s, n - sizeof s));
	else
		p->first->outside = true;
	if (name.n)
		suspects_add(p->first, name.s);
	str_free(&name);
	return 0;
}

static int take_left_out(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	if (n % sizeof *p->out_pcs)
		return err_fail(err, "it sent a LEFT_OUT of %zu bytes", n);
	MEM_GROW(p->out_pcs, p->out_pcs_cap, p->nout_pcs + n / sizeof *p->out_pcs);
	if (n)
		memcpy(p->out_pcs + p->nout_pcs, body, n);
	p->nout_pcs += n / sizeof *p->out_pcs;
	if (p->nentries || p->verbosity > 0)
		name_left_out(p);
	return 0;
}

static int take_outside(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct block_rules *rules = spec_rules(p->spec);
	struct live_outside v[LIVE_OUTSIDE_MAX];
	struct str name = STR_INIT;

	if (n % sizeof *v || n > sizeof v)
		return err_fail(err, "it sent an OUTSIDE of %zu bytes", n);
	memcpy(v, body, n);
	for (size_t i = 0; i < n / sizeof *v; i++) {
		strref label = raw_names_label(&p->raw, 's', v[i].pc, NULL, 0);

		str_reset(&name);
		names_add_string(&p->names, label, &name);
		/* What a rule excludes is not meant to be checked. */
		if (!(rules->decide(rules, &p->names, label, 's', true) & BLOCK_BY_RULE) &&
		    !rules->excludes_region(rules, region_kind_names[REGION_PAIR], name.s))
			outside_add(&p->session->outside, name.s, v[i].accesses);
	}
	str_free(&name);
	return 0;
}

/* Adds the name of the lock at an address. */
static void add_lock_name(struct reporter_process *p, uint64_t address, struct str *to)
{
	struct raw_memory *memory = raw_memory_new(1);
	uint32_t id;

	str_reset(&p->raw.text);
	str_fmt(&p->raw.text, "%s ", raw_lock_names[RAW_MUTEX]);
	raw_names_add_memory(&p->raw, memory, address, 1);
	id = raw_names_next(&p->raw, NAMES_LOCK);
	p->resolver->show(p->resolver, &p->names, NAMES_LOCK, id, to);
	raw_memory_free(memory);
}

/* Adds "deposit() at bank.c:10:3". */
static void add_place_name(struct reporter_process *p, uint64_t pc, struct str *to)
{
	strref place = raw_names_place(&p->raw, 0, pc);
	const struct names_frame *f = NULL;

	if (p->resolver->stack(p->resolver, &p->names, place, &f) && f->function)
		str_fmt(to, "%s() at ", f->function);
	names_add_string(&p->names, place, to);
}

static int take_lock(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	static const struct {
		const char *before, *between, *after;
	} sentence[LIVE_LOCK_USES] = {
		[LIVE_LOCK_OF_OTHER] = {"a thread unlocked ",
					" although another thread held it, in ",
					": it protects nothing then"},
		[LIVE_LOCK_OF_NONE] = {"a thread unlocked ", " although no thread held it, in ",
				       ""},
		[LIVE_LOCK_AT_END] = {"a thread ended while it held ", ", locked in ",
				      ": no other thread can lock it any more"},
		[LIVE_LOCK_AT_EXIT] = {"the program ended while it held ", ", locked in ", ""},
	};
	enum { SENTENCES = 100 };
	struct reporter *s = p->session;
	struct str text = STR_INIT;
	struct live_lock v;
	size_t i = 0;

	if (n != sizeof v)
		return err_fail(err, "it sent a LOCK of %zu bytes", n);
	memcpy(&v, body, sizeof v);
	if (v.use >= LIVE_LOCK_USES)
		return err_fail(err, "it sent a LOCK of use %u", v.use);
	str_add(&text, sentence[v.use].before);
	add_lock_name(p, v.address, &text);
	str_add(&text, sentence[v.use].between);
	add_place_name(p, v.pc, &text);
	str_add(&text, sentence[v.use].after);
	while (i < s->nlock_use && strcmp(s->lock_use[i].text, text.s) != 0)
		i++;
	if (i == s->nlock_use && i < SENTENCES) {
		MEM_GROW(s->lock_use, s->lock_use_cap, i + 1);
		s->lock_use[s->nlock_use++] =
			(struct reporter_lock_use){mem_strdup(text.s), v.use == LIVE_LOCK_AT_EXIT};
	}
	str_free(&text);
	return 0;
}

static int take_end(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	struct live_end *t = &p->session->total, e;
	struct live_shown shown;

	if (n != sizeof e)
		return err_fail(err, "it sent an END of %zu bytes", n);
	memcpy(&e, body, sizeof e);
	add_open_findings(p, 0, true);
	if (!p->ended) {
		t->transactions += e.transactions;
		t->edges += e.edges;
		t->cycles += e.cycles;
		t->searched += e.searched;
		t->evicted += e.evicted;
		t->kinds_counted += e.kinds_counted;
		t->times_counted += e.times_counted;
		t->threads += e.threads;
		t->idg_edges += e.idg_edges;
		t->components += e.components;
		t->passed_on += e.passed_on;
		t->accesses_passed_on += e.accesses_passed_on;
		t->logged += e.logged;
		t->lost += e.lost;
		t->pooled += e.pooled;
		t->max_alive = e.max_alive > t->max_alive ? e.max_alive : t->max_alive;
	}
	p->ended = true;
	predict_from_run(p);
	/* Print now, before the program ends and the shell prints its prompt. */
	reporter_end_process(p);
	shown.findings = findings_counted(p);
	return send_answer(p, LIVE_SHOWN, &shown, sizeof shown, err);
}

static int take_incomplete(struct reporter_process *p, const char *body, size_t n, struct err *err)
{
	if (n > LIVE_REASON_MAX)
		return err_fail(err, "it sent an INCOMPLETE of %zu bytes", n);
	reporter_mark_incomplete(p->session, "process %d: %.*s", (int)p->pid, (int)n, body);
	return 0;
}

static int take_family(struct reporter_process *p, size_t n, struct err *err)
{
	if (n || p->family >= 0)
		return err_fail(err, n ? "it sent a FAMILY of %zu bytes" : "it sent FAMILY twice",
				n);
	p->family = p->passed;
	p->passed = -1;
	return 0;
}

static int take_message(struct reporter_process *p, uint32_t type, const char *body, size_t n,
			struct err *err)
{
	if ((type == LIVE_HELLO) == p->greeted)
		return err_fail(err,
				p->greeted ? "it sent HELLO twice" : "it did not send HELLO first");
	/* A process counts when it has more to say than who it is. */
	if (!p->number && type != LIVE_HELLO && type != LIVE_MODULE && type != LIVE_FAMILY)
		p->number = ++p->session->nprocesses;
	switch (type) {
	case LIVE_HELLO:
		return take_hello(p, body, n, err);
	case LIVE_MODULE:
		return take_module(p, body, n, err);
	case LIVE_ASK:
		return take_ask(p, body, n, err);
	case LIVE_UNRULED:
		return take_unruled(p, n, err);
	case LIVE_FINDING:
		return take_finding(p, body, n, err);
	case LIVE_AGAIN:
		return take_again(p, body, n, err);
	case LIVE_LEFT_OUT:
		return take_left_out(p, body, n, err);
	case LIVE_RUN:
		return predict_take_run(p, n, err);
	case LIVE_SETTLED:
		return take_settled(p, body, n, err);
	case LIVE_END:
		return take_end(p, body, n, err);
	case LIVE_SUSPECT:
		return take_suspect(p, body, n, err);
	case LIVE_OUTSIDE:
		return take_outside(p, body, n, err);
	case LIVE_LOCK:
		return take_lock(p, body, n, err);
	case LIVE_FAMILY:
		return take_family(p, n, err);
	case LIVE_INCOMPLETE:
		return take_incomplete(p, body, n, err);
	default:
		return err_fail(err, "it sent a message of type %u", type);
	}
}

/* Serves the messages that have been received completely. */
static int take_messages(struct reporter_process *p, struct err *err)
{
	size_t at = 0;
	int rc = 0;

	while (!rc && p->n - at >= sizeof(struct live_head)) {
		struct live_head head;

		memcpy(&head, p->bytes + at, sizeof head);
		if (p->stranger && head.bytes > STRANGER_BYTES_MAX)
			return -1;
		if (head.bytes > LIVE_BYTES_MAX)
			return err_fail(err, "it sent a message of %u bytes", head.bytes);
		if (p->n - at - sizeof head < head.bytes)
			break;
		rc = take_message(p, head.type, p->bytes + at + sizeof head, head.bytes, err);
		at += sizeof head + head.bytes;
	}
	memmove(p->bytes, p->bytes + at, p->n - at);
	p->n -= at;
	return rc;
}

/* Keeps the first descriptor that came with a message, and closes the others. */
static void take_descriptors(struct reporter_process *p, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			if (p->passed < 0)
				p->passed = fd;
			else
				close(fd);
		}
	}
}

/* As read(), from the connection to its buffer. */
static ssize_t receive_bytes(struct reporter_process *p)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec part = {p->bytes + p->n, p->cap - p->n};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof control};
	ssize_t n = recvmsg(p->fd, &m, MSG_CMSG_CLOEXEC);

	if (n > 0)
		take_descriptors(p, &m);
	return n;
}

/*
 * The connection has ended. If the process has not, and its recording is still to be read, it has
 * closed all of its files, or executes another program. Then wait for its end: returns true.
 */
static bool wait_for_process(struct reporter_process *p)
{
	struct pollfd end = {.events = POLLIN};
	pid_t pid = peer_of(p);

	if (p->ended || p->run < 0 || pid <= 0)
		return false;
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0)
		return false;
	if (poll(&end, 1, 0)) {
		close(end.fd);
		return false;
	}
	close(p->fd);
	p->fd = end.fd;
	p->outlives = true;
	return true;
}

bool reporter_serve(struct reporter_process *p)
{
	struct err err = {0};
	ssize_t n;
	int rc;

	if (p->outlives) {
		struct pollfd end = {.fd = p->fd, .events = POLLIN};

		return poll(&end, 1, -1) < 0 && errno == EINTR;
	}
	/* Read what is there, whatever length the message claims. */
	MEM_GROW(p->bytes, p->cap, p->n + READ_SIZE);
	n = receive_bytes(p);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0) {
		if (p->n && p->greeted && !p->ended)
			reporter_mark_incomplete(p->session,
						 "process %d ended in the middle of a message",
						 (int)p->pid);
		return wait_for_process(p);
	}
	p->n += (size_t)n;
	rc = take_messages(p, &err);
	/* Any user can connect: what a stranger sends is not worth a word. */
	if (err_is_set(&err) && !p->stranger) {
		note("the connection to process %d was closed: %s", (int)p->pid, err.text);
		reporter_mark_incomplete(p->session, "the connection to process %d was closed: %s",
					 (int)p->pid, err.text);
	}
	return !rc;
}
