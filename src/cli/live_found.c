/* The findings of a session: kept, counted, printed. */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/blockspec.h"
#include "cli/cli.h"
#include "cli/live_impl.h"
#include "cli/printing.h"
#include "cli/suppressing.h"
#include "report/group.h"
#include "symbol/symbol.h"

#include "base/banned.h"

/* --- text, in one piece --- */

struct piece {
	FILE *out;
	char *text;
	size_t n;
};

static void piece_begin(struct piece *p)
{
	*p = (struct piece){0};
	p->out = open_memstream(&p->text, &p->n);
	if (!p->out) {
		cli_error("out of memory");
		exit(EXIT_BAD);
	}
}

/* A terminal or pipe that takes no more now will do so later. */
static void wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	poll(&p, 1, -1);
}

/* As few writes as the system allows, so that nothing of others comes between. */
static int piece_write(struct piece *p, int fd)
{
	size_t done = 0;
	int rc = 0;

	fclose(p->out);
	while (done < p->n && !rc) {
		ssize_t n = write(fd, p->text + done, p->n - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			wait_for(fd);
		else if (errno != EINTR)
			rc = -1;
	}
	free(p->text);
	return rc;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* --- the session --- */

struct suspects *live_found_suspects(struct live *s, const char *path, bool must)
{
	struct live_suspects *x;
	struct err err = {0};

	for (size_t i = 0; i < s->nsuspects; i++)
		if (!strcmp(s->suspects[i]->path, path))
			return &s->suspects[i]->s;
	x = mem_zalloc(sizeof *x);
	x->path = mem_strdup(path);
	x->add = !must;
	MEM_GROW(s->suspects, s->suspects_cap, s->nsuspects + 1);
	s->suspects[s->nsuspects++] = x;
	if (must && suspects_read(&x->s, path, true, &err))
		cli_note("%s; nothing is suspected", err.text);
	return &x->s;
}

struct live *live_new(const struct live_options *options)
{
	struct live *s = mem_zalloc(sizeof *s);

	s->o = *options;
	s->predicts = options->predicts;
	s->since = now();
	s->program = options->program ? mem_strdup(options->program) : NULL;
	if (options->first_run)
		live_found_suspects(s, options->first_run, false);
	return s;
}

void live_free(struct live *s)
{
	for (size_t i = 0; i < s->nentries; i++)
		finding_free(s->entry[i].f);
	for (size_t i = 0; i < s->nsaid; i++)
		mem_free(s->said[i]);
	for (size_t i = 0; i < s->nlists; i++)
		suppress_free(s->lists[i]);
	mem_free(s->entry);
	mem_free(s->said);
	mem_free(s->lists);
	for (size_t i = 0; i < s->nsuspects; i++) {
		mem_free(s->suspects[i]->path);
		suspects_free(&s->suspects[i]->s);
		mem_free(s->suspects[i]);
	}
	mem_free(s->suspects);
	mem_free(s->program);
	raw_map_free(&s->known);
	blockspec_names_free(&s->out);
	mem_free(s);
}

static bool stands(const struct live_entry *e)
{
	return !e->suppressed && !e->dropped;
}

size_t live_findings(const struct live *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nentries; i++)
		n += stands(&s->entry[i]);
	return n;
}

bool live_was_used(const struct live *s)
{
	return s->nprocesses > 0;
}

struct suppress *live_found_list(struct live *s, const char *path)
{
	struct err err = {0};
	struct suppress *list;

	for (size_t i = 0; i < s->nlists; i++)
		if (!strcmp(suppress_path(s->lists[i]), path))
			return s->lists[i];
	/* The command line has read it already. */
	if (s->o.suppress && !strcmp(suppress_path(s->o.suppress), path))
		return NULL;
	list = suppress_read(path, &err);
	if (!list) {
		cli_note("%s; nothing is suppressed by it", err.text);
		return NULL;
	}
	MEM_GROW(s->lists, s->lists_cap, s->nlists + 1);
	s->lists[s->nlists++] = list;
	return list;
}

/* --- one finding --- */

static bool is_text(const struct live *s)
{
	return s->o.format == &text_format;
}

/* Was as much said of this block before, in the same file? That one; NULL: now it is. */
static struct live_entry *told_by(struct live_process *p, const struct finding **v, size_t n)
{
	struct group g = {.v = v, .n = n};
	const struct finding *best = group_best(&g);
	struct live *s = p->session;
	uint32_t where = p->own_out ? 1 + p->number : 1;

	for (size_t i = 0; i < s->nentries && p->verbosity == 0 && !s->o.all; i++)
		if (s->entry[i].whole == where && stands(&s->entry[i]) &&
		    report_text_told(best, s->entry[i].f)) {
			++*(p->own_out ? &p->told : &s->told);
			return &s->entry[i];
		}
	for (size_t i = 0; i < s->nentries; i++)
		if (s->entry[i].f == best)
			s->entry[i].whole = where;
	return NULL;
}

static void print_findings(struct live_process *p, const struct finding **v, size_t n)
{
	struct report rep = {.color = p->color, .verbosity = p->verbosity};
	struct live_entry *told;
	struct piece piece;

	if (!n)
		return;
	told = told_by(p, v, n);
	if (told && ++told->lines > REPORT_TEXT_LINES)
		return;
	piece_begin(&piece);
	if (p->number > 1 && p->verbosity >= 0 && !told)
		fprintf(piece.out, "atomsan: in process %d, %s\n", (int)p->pid, p->command);
	report_text_finding(&rep, v, n, told != NULL, piece.out);
	if (piece_write(&piece, p->out) && p->out != 2)
		cli_note("%s", strerror(errno));
}

bool live_holds(const struct live_process *p)
{
	return p->nheld > 0;
}

void live_let_go(struct live_process *p)
{
	const struct finding **v = mem_alloc((p->nheld + 1) * sizeof(struct finding *));
	size_t n = 0;

	for (size_t i = 0; i < p->nheld; i++) {
		struct live_entry *e = &p->session->entry[p->held[i]];

		/* It may have turned out to be none. */
		if (stands(e)) {
			e->printed = true;
			v[n++] = e->f;
		}
	}
	p->nheld = 0;
	print_findings(p, v, n);
	mem_free(v);
}

/* Of one run of a block, as far as can be told: the same thread was still there. */
static bool is_same_block(const struct finding *a, const struct finding *b)
{
	return !group_order_string(a->transaction.label, b->transaction.label) &&
	       !group_order_string(a->transaction.place, b->transaction.place) &&
	       !a->blame.thread == !b->blame.thread;
}

/* Print entries [from, end), or hold them back where they may be part of a larger story. */
static void show(struct live_process *p, const struct live_finding *head, size_t from)
{
	struct live *s = p->session;
	bool locks = !head->answer, any = false;

	for (size_t i = from; i < s->nentries; i++) {
		any |= stands(&s->entry[i]);
		locks &= s->entry[i].f->rests_on == RESTS_ON_LOCKS;
	}
	if (!any)
		return;
	p->any_shown = true;
	if (p->nheld && p->held_thread == head->thread &&
	    is_same_block(s->entry[p->held[0]].f, s->entry[from].f)) {
		for (size_t i = from; i < s->nentries; i++)
			s->entry[i].f->group = s->entry[p->held[0]].f->group;
	} else {
		live_let_go(p);
		s->ngroups++;
		for (size_t i = from; i < s->nentries; i++)
			s->entry[i].f->group = s->ngroups;
	}
	p->held_thread = head->thread;
	MEM_GROW(p->held, p->held_cap, p->nheld + s->nentries - from);
	for (size_t i = from; i < s->nentries && is_text(s); i++)
		p->held[p->nheld++] = (uint32_t)i;
	if (!locks)
		live_let_go(p);
}

static struct live_entry *add_entry(struct live_process *p, struct finding *f)
{
	struct live *s = p->session;
	struct live_entry *e;

	MEM_GROW(s->entry, s->entry_cap, s->nentries + 1);
	e = &s->entry[s->nentries];
	*e = (struct live_entry){.f = f, .in_log = p->own_out};
	e->dropped = blockspec_blames_only(f, &p->out_names);
	/* Each list is asked: a line of either has been of use. */
	e->suppressed = suppress_matches(s->o.suppress, f);
	e->suppressed |= suppress_matches(p->suppress, f);
	if (!s->o.all)
		raw_map_put(&s->known, f->fingerprint, 0, (uint32_t)s->nentries);
	s->nentries++;
	return e;
}

static void count(struct live *s, uint32_t index, uint64_t times)
{
	s->entry[index].f->count += times;
	s->suppressed += s->entry[index].suppressed ? times : 0;
}

size_t live_found(struct live_process *p, const struct live_finding *head, struct finding **v,
		  size_t n, bool excluded)
{
	struct live *s = p->session;
	struct live_kind kind = {(uint32_t)p->nentries, (uint32_t)n};
	size_t from = s->nentries, fresh = 0;

	MEM_GROW(p->entries, p->entries_cap, p->nentries + n);
	for (size_t i = 0; i < n; i++) {
		uint32_t index =
			s->o.all ? RAW_MAP_NONE : raw_map_get(&s->known, v[i]->fingerprint, 0);

		if (index != RAW_MAP_NONE) {
			count(s, index, v[i]->count);
			finding_free(v[i]);
		} else {
			struct live_entry *e = add_entry(p, v[i]);

			index = (uint32_t)(e - s->entry);
			e->dropped |= excluded;
			s->suppressed += e->suppressed ? v[i]->count : 0;
			fresh += stands(e);
		}
		p->entries[p->nentries++] = index;
	}
	raw_map_put(&p->keys, head->key, 0, (uint32_t)p->nkinds);
	MEM_GROW(p->kinds, p->kinds_cap, p->nkinds + 1);
	p->kinds[p->nkinds++] = kind;
	show(p, head, from);
	return fresh;
}

void live_found_again(struct live_process *p, uint64_t key, uint64_t times)
{
	uint32_t index = raw_map_get(&p->keys, key, 0);

	if (index == RAW_MAP_NONE)
		return; /* of a finding that we were not told about */
	for (uint32_t i = 0; i < p->kinds[index].n; i++)
		count(p->session, p->entries[p->kinds[index].first + i], times);
}

static void say_dropped(struct live_process *p, const char *label)
{
	struct str shown = STR_INIT;
	struct piece piece;

	str_add_shown(&shown, label, strlen(label), 200);
	piece_begin(&piece);
	fprintf(piece.out,
		"atomsan: what was found in block '%s' does not count: it turned out to wait, or "
		"says that it is not atomic\n",
		shown.s);
	piece_write(&piece, p->out);
	str_free(&shown);
}

void live_found_left_out(struct live_process *p)
{
	struct live *s = p->session;
	struct blockspec_names said = {0};

	for (size_t i = 0; i < p->nentries; i++) {
		struct live_entry *e = &s->entry[p->entries[i]];
		size_t n = said.n;

		if (e->dropped || !blockspec_blames_only(e->f, &p->out_names))
			continue;
		e->dropped = true;
		if (!e->printed || p->verbosity < 0 || !e->f->transaction.label)
			continue;
		blockspec_names_add(&said, e->f->transaction.label);
		if (said.n > n)
			say_dropped(p, e->f->transaction.label);
	}
	blockspec_names_free(&said);
}

/* --- what stands --- */

/* Those of a process, or of all (NULL), that stand; they stay the session's. */
static struct finding_list collect(const struct live *s, const struct live_process *p, bool logs)
{
	bool *of_process = mem_zalloc(s->nentries + 1);
	struct finding_list l;

	finding_list_init(&l, true);
	for (size_t i = 0; p && i < p->nentries; i++)
		of_process[p->entries[i]] = true;
	for (size_t i = 0; i < s->nentries; i++)
		if (stands(&s->entry[i]) && (!p || of_process[i]) && (logs || !s->entry[i].in_log))
			l.sink.emit(&l.sink, s->entry[i].f);
	mem_free(of_process);
	return l;
}

static void collect_free(struct finding_list *l)
{
	l->n = 0;
	finding_list_free(l);
}

size_t live_found_standing(const struct live_process *p)
{
	struct finding_list l = collect(p->session, p, true);
	size_t n = l.n;

	collect_free(&l);
	return n;
}

static void add_stat(struct engine_result *res, const char *name, uint64_t value)
{
	res->stats[res->nstats++] = (struct engine_stat){name, value};
}

static void fill(const struct live *s, struct engine_result *res, struct report *rep)
{
	uint64_t dropped = 0, suppressed = 0, evicted = 0;

	for (size_t i = 0; i < s->nentries; i++) {
		dropped += s->entry[i].dropped;
		suppressed += s->entry[i].suppressed;
		evicted += s->entry[i].f->evicted;
	}
	res->ops = engine_by_name(s->predicts ? "predict" : "frontier");
	res->seconds = now() - s->since;
	add_stat(res, "processes", s->nprocesses);
	add_stat(res, "edges", s->total.edges);
	add_stat(res, "cycles", s->total.cycles);
	add_stat(res, "findings_left_out", dropped);
	add_stat(res, "findings_suppressed", suppressed);
	add_stat(res, "findings_evicted", evicted);
	if (s->total.kinds_counted)
		add_stat(res, "kinds_counted_only", s->total.kinds_counted);
	if (s->doublechecker) {
		res->ops = engine_by_name("doublechecker");
		add_stat(res, "idg_edges", s->total.idg_edges);
		add_stat(res, "components", s->total.components);
		add_stat(res, "transactions_passed_on", s->total.passed_on);
		add_stat(res, "accesses_passed_on", s->total.accesses_passed_on);
		add_stat(res, "accesses_logged", s->total.logged);
		add_stat(res, "nodes_max_alive", s->total.max_alive);
		add_stat(res, "nodes_pooled", s->total.pooled);
		add_stat(res, "components_not_replayed", s->total.lost);
		add_stat(res, "replays_mistaken", s->mistaken);
	}
	rep->source = (struct report_source){
		.program = s->program ? s->program : "",
		.threads = s->total.threads,
		.transactions = s->total.transactions,
	};
	rep->results = res;
	rep->nresults = 1;
}

/* What could not be found out about names, each sentence once. */
static void tell_warnings(struct live_process *p, FILE *out)
{
	struct live *s = p->session;
	const char *const *warning;
	size_t n = symbol_resolver_warnings(p->resolver, &warning);

	for (size_t i = 0; i < n && p->any_shown; i++) {
		size_t k = 0;

		while (k < s->nsaid && strcmp(s->said[k], warning[i]) != 0)
			k++;
		if (k < s->nsaid)
			continue;
		MEM_GROW(s->said, s->said_cap, s->nsaid + 1);
		s->said[s->nsaid++] = mem_strdup(warning[i]);
		fprintf(out, "atomsan: %s\n", warning[i]);
	}
}

/* Add to the files of first runs what was suspected; others may have done so meanwhile. */
static void write_suspects(struct live *s, int verbosity, FILE *out)
{
	for (size_t i = 0; i < s->nsuspects; i++) {
		struct live_suspects *x = s->suspects[i];
		struct err err = {0};

		if (!x->add)
			continue;
		x->add = false;
		if (suspects_read(&x->s, x->path, false, &err) ||
		    suspects_write(&x->s, x->path, &err))
			fprintf(out, "atomsan: %s\n", err.text);
		else if (verbosity >= 0)
			fprintf(out, "atomsan: %s names %zu suspected block%s%s\n", x->path, x->s.n,
				x->s.n == 1 ? "" : "s",
				x->s.outside ? ", and operations outside of blocks" : "");
	}
}

/* What is not about findings that are shown. */
static void tell_rest(struct live *s, int verbosity, FILE *out)
{
	size_t suppressed = 0;

	for (size_t i = 0; i < s->nentries; i++)
		suppressed += s->entry[i].suppressed;
	write_suspects(s, verbosity, out);
	if (verbosity < 0)
		return;
	if (s->total.lost)
		fprintf(out,
			"atomsan: %llu suspicious group%s of blocks could not be checked: what "
			"they did was overwritten (history_size=6 keeps more)\n",
			(unsigned long long)s->total.lost, s->total.lost == 1 ? "" : "s");
	if (s->total.kinds_counted)
		fprintf(out,
			"atomsan: %llu more kind%s of cycles in blocks with many %s only counted, "
			"seen %llu time%s; --all looks at each\n",
			(unsigned long long)s->total.kinds_counted,
			s->total.kinds_counted == 1 ? "" : "s",
			s->total.kinds_counted == 1 ? "was" : "were",
			(unsigned long long)s->total.times_counted,
			s->total.times_counted == 1 ? "" : "s");
	if (suppressed)
		fprintf(out, "atomsan: %zu finding%s suppressed, seen %llu time%s\n", suppressed,
			suppressed == 1 ? "" : "s", (unsigned long long)s->suppressed,
			s->suppressed == 1 ? "" : "s");
	suppressing_tell(s->o.suppress, out, "atomsan: ");
	for (size_t i = 0; i < s->nlists; i++)
		suppressing_tell(s->lists[i], out, "atomsan: ");
	if (verbosity < 1)
		return;
	for (size_t i = 0; i < s->out.n; i++) {
		struct str name = STR_INIT;

		str_add_shown(&name, s->out.v[i], strlen(s->out.v[i]), SIZE_MAX);
		fprintf(out,
			"atomsan: left out: %s (waits, joins, creates threads or passes a barrier, "
			"or "
			"says that it is not atomic)\n",
			name.s);
		str_free(&name);
	}
	blockspec_tell_unused(out, "atomsan: ");
}

void live_found_end(struct live_process *p)
{
	struct live *s = p->session;
	bool alone = s->o.each && !p->own_out;
	struct engine_result res = {0};
	struct report rep = {.color = p->color, .verbosity = p->verbosity};
	struct piece piece;

	live_let_go(p);
	if (p->summed_up || !p->greeted)
		return;
	piece_begin(&piece);
	if ((alone || p->own_out) && is_text(s)) {
		p->summed_up = true;
		res.findings = collect(s, p, true);
		fill(s, &res, &rep);
		if (res.findings.n || p->verbosity > 0 || (s->o.verdict && p->verbosity >= 0))
			report_text_end(&rep, p->own_out ? p->told : s->told, piece.out);
		collect_free(&res.findings);
	}
	if (p->verbosity >= 0)
		tell_warnings(p, piece.out);
	if (s->o.each)
		tell_rest(s, p->verbosity, piece.out);
	piece_write(&piece, is_text(s) ? p->out : 2);
}

int live_end(struct live *s)
{
	struct engine_result res = {0};
	struct report rep = {.verbosity = s->o.verbosity};
	struct piece piece, notes;
	/* All that there is to predict from comes at the end. */
	bool killed = s->predicts && s->nprocesses && !s->ended;
	int rc;

	if (s->o.each)
		return 0;
	res.findings = collect(s, NULL, !is_text(s));
	fill(s, &res, &rep);
	printing_color(s->o.color, s->o.out, &rep.color);
	piece_begin(&piece);
	if (!is_text(s))
		s->o.format->write(&rep, piece.out);
	else if (res.findings.n ||
		 (s->o.verdict && s->nprocesses && s->o.verbosity >= 0 && !killed))
		report_text_end(&rep, s->told, piece.out);
	rc = piece_write(&piece, s->o.out);
	collect_free(&res.findings);
	piece_begin(&notes);
	if (killed && s->o.verbosity >= 0)
		fputs("atomsan: nothing is predicted: the program did not come to its end\n",
		      notes.out);
	tell_rest(s, s->o.verbosity, notes.out);
	piece_write(&notes, 2);
	return rc;
}
