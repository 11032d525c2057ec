#include "reporter/reporter.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/output_file.h"
#include "base/str.h"
#include "report/color.h"
#include "report/shown.h"
#include "reporter/piece.h"
#include "reporter/reporter_impl.h"
#include "symbol/symbol.h"

#include "base/banned.h"

/* --- the session --- */

struct suspects *reporter_suspects(struct reporter *s, const char *path, bool must)
{
	struct reporter_suspects *x;
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
		note("%s; no block is suspected", err.text);
	return &x->s;
}

struct reporter *reporter_new(const struct reporter_options *options)
{
	struct reporter *s = mem_zalloc(sizeof *s);

	s->o = *options;
	s->predicts = options->predicts;
	s->skeleton = options->skeleton;
	s->since = clock_seconds();
	s->program = options->program ? mem_strdup(options->program) : NULL;
	if (options->first_run)
		reporter_suspects(s, options->first_run, false);
	return s;
}

void reporter_free(struct reporter *s)
{
	for (size_t i = 0; i < s->nfamilies && i < REPORTER_FAMILIES; i++)
		reporter_close_family(s, i);
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
	mem_free(s->incomplete);
	map_free(&s->known);
	map_free(&s->causes);
	left_out_free(&s->out);
	outside_free(&s->outside);
	symbol_resolver_free(s->resolver);
	for (size_t i = 0; i < s->nlock_use; i++)
		mem_free(s->lock_use[i].text);
	mem_free(s->lock_use);
	mem_free(s);
}

bool reporter_was_used(const struct reporter *s)
{
	return s->greeted;
}

bool reporter_has_finished(const struct reporter_process *p)
{
	return p->ended;
}

struct suppress *reporter_suppressions(struct reporter *s, const char *path)
{
	struct err err = {0};
	struct suppress *list;

	for (size_t i = 0; i < s->nlists; i++)
		if (!strcmp(suppress_path(s->lists[i]), path))
			return s->lists[i];
	/* The command line has already read it. */
	if (s->o.suppress && !strcmp(suppress_path(s->o.suppress), path))
		return NULL;
	list = suppress_read(path, &err);
	if (!list) {
		note("%s; it suppresses nothing", err.text);
		return NULL;
	}
	MEM_GROW(s->lists, s->lists_cap, s->nlists + 1);
	s->lists[s->nlists++] = list;
	return list;
}

/* --- the summary --- */

static void add_stat(struct engine_result *res, const char *name, uint64_t value)
{
	assert(res->nstats < ENGINE_STATS_MAX);
	res->stats[res->nstats++] = (struct engine_stat){name, value};
}

/* The results of a session: what was found, and if the processes predict, what was predicted. */
struct summary {
	struct engine_result results[2];
	struct report report;
};

/* Fills in the first result, or of a prediction both, with the findings of a process or of all. */
static void take_findings(const struct reporter *s, const struct reporter_process *p, bool logs,
			  bool verbose, struct summary *to)
{
	struct finding_list l = findings_collect(s, p, logs);

	for (size_t i = 0; i < 2; i++)
		finding_list_init(&to->results[i].findings, true);
	for (size_t i = 0; i < l.n; i++) {
		bool predicted = s->predicts && reporter_is_predicted(l.v[i]);
		struct finding_sink *sink = &to->results[predicted].findings.sink;

		sink->emit(sink, l.v[i]);
	}
	findings_collect_free(&l);
	for (size_t i = 0; i < 2; i++)
		shown_select(&to->results[i].findings, verbose || s->o.all, s->o.all);
}

static void fill_figures(const struct reporter *s, struct engine_result *res)
{
	uint64_t dropped = 0, suppressed = 0, evicted = 0;

	for (size_t i = 0; i < s->nentries; i++) {
		dropped += s->entry[i].dropped;
		suppressed += s->entry[i].suppressed;
		evicted += s->entry[i].f->evicted;
	}
	res->ops = engine_by_name("frontier");
	res->seconds = clock_seconds() - s->since;
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
	add_stat(res, "cycles_searched", s->total.searched);
	add_stat(res, "finding_bytes", s->finding_bytes);
	add_stat(res, "functions_asked", s->asks);
}

/* Sums up the findings of a process, or of all (NULL); summary_free() frees it. */
static void summary_init(struct summary *sum, const struct reporter *s,
			 const struct reporter_process *p, bool logs)
{
	int verbosity = p ? p->verbosity : s->o.verbosity;

	*sum = (struct summary){
		.report = {.results = sum->results, .nresults = 1, .verbosity = verbosity}};
	take_findings(s, p, logs, verbosity > 0, sum);
	fill_figures(s, &sum->results[0]);
	sum->report.source = (struct report_source){
		.program = s->program ? s->program : "",
		.threads = s->total.threads,
		.transactions = s->total.transactions,
		.error = s->incomplete,
		.skeleton = p ? p->skeleton : s->skeleton,
	};
	if (!s->predicts)
		return;
	fill_figures(s, &sum->results[1]);
	sum->results[1].ops = engine_by_name("predict");
	sum->report.nresults = 2;
}

/* Prints the end of a text. Most runs show nothing: then it is about the prediction alone. */
static void summary_print(const struct summary *sum, const size_t in_one_line[2], FILE *out)
{
	for (size_t i = 0; i < sum->report.nresults; i++) {
		struct report one = sum->report;

		one.results += i;
		one.nresults = 1;
		if (i + 1 == sum->report.nresults || finding_list_shown(&one.results->findings))
			report_text_end(&one, in_one_line[i], out);
	}
}

static void summary_free(struct summary *sum)
{
	for (size_t i = 0; i < 2; i++)
		findings_collect_free(&sum->results[i].findings);
}

static bool summary_shows_findings(const struct summary *sum)
{
	return finding_list_shown(&sum->results[0].findings) ||
	       finding_list_shown(&sum->results[1].findings);
}

/* Prints what could not be found out about names: each sentence once in the session. */
static void print_warnings(struct reporter_process *p, FILE *out)
{
	struct reporter *s = p->session;
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

/* Adds the suspected blocks to the files of first runs; others may have added some meanwhile. */
static void write_suspects(struct reporter *s, int verbosity, FILE *out)
{
	for (size_t i = 0; i < s->nsuspects; i++) {
		struct reporter_suspects *x = s->suspects[i];
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

/* Prints what there is to say besides the findings and their summary. */
static void print_notes(struct reporter *s, int verbosity, FILE *out)
{
	size_t suppressed = 0;

	for (size_t i = 0; i < s->nentries; i++)
		suppressed += s->entry[i].suppressed;
	write_suspects(s, verbosity, out);
	if (verbosity < 0)
		return;
	if (s->total.lost)
		fprintf(out,
			"atomsan: %llu suspicious group%s of blocks could not be checked: the "
			"history of their accesses was overwritten (history_size=6 keeps more)\n",
			(unsigned long long)s->total.lost, s->total.lost == 1 ? "" : "s");
	if (s->total.kinds_counted)
		fprintf(out,
			"atomsan: blocks that are reported above were interrupted in %llu more "
			"way%s, "
			"%llu time%s, which %s only counted (--all examines them)\n",
			(unsigned long long)s->total.kinds_counted,
			s->total.kinds_counted == 1 ? "" : "s",
			(unsigned long long)s->total.times_counted,
			s->total.times_counted == 1 ? "" : "s",
			s->total.kinds_counted == 1 ? "was" : "were");
	for (size_t i = 0; i < s->nlock_use; i++)
		if (!s->lock_use[i].minor || verbosity > 0)
			fprintf(out, "atomsan: %s\n", s->lock_use[i].text);
	if (suppressed)
		fprintf(out, "atomsan: %zu finding%s suppressed, seen %llu time%s\n", suppressed,
			suppressed == 1 ? "" : "s", (unsigned long long)s->suppressed,
			s->suppressed == 1 ? "" : "s");
	suppress_print_unused(s->o.suppress, out, "atomsan: ");
	for (size_t i = 0; i < s->nlists; i++)
		suppress_print_unused(s->lists[i], out, "atomsan: ");
	if (verbosity < 1)
		return;
	for (size_t i = 0; i < s->out.n; i++) {
		struct str name = STR_INIT;

		str_add_shown(&name, s->out.v[i], strlen(s->out.v[i]), SIZE_MAX);
		fprintf(out,
			"atomsan: left out: %s (waits, joins, creates threads or passes a "
			"barrier, or the source says that it is not atomic)\n",
			name.s);
		str_free(&name);
	}
	if (s->o.spec_path)
		spec_print_unused(s->o.spec, s->o.spec_path, out, "atomsan: ");
}

void reporter_end_process(struct reporter_process *p)
{
	struct reporter *s = p->session;
	bool alone = s->o.each && !p->own_out;
	struct summary sum;
	struct piece piece;

	reporter_print_held(p);
	if (p->summed_up || !p->greeted)
		return;
	piece_begin(&piece);
	if ((alone || p->own_out) && reporter_prints_text(s)) {
		p->summed_up = true;
		summary_init(&sum, s, p, true);
		sum.report.color = p->color;
		if (summary_shows_findings(&sum) || p->verbosity > 0 ||
		    (s->o.verdict && p->verbosity >= 0))
			summary_print(&sum, p->own_out ? p->in_one_line : s->in_one_line,
				      piece.out);
		summary_free(&sum);
	}
	if (p->verbosity >= 0)
		print_warnings(p, piece.out);
	if (s->o.each)
		print_notes(s, p->verbosity, piece.out);
	if (piece_write(&piece, reporter_prints_text(s) ? p->out : 2))
		reporter_rescue_piece(s, &piece, p->out);
}

void reporter_mark_incomplete(struct reporter *s, const char *fmt, ...)
{
	char text[LIVE_REASON_MAX + 256];
	struct str shown = STR_INIT;
	va_list args;

	if (s->incomplete)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	str_add_shown(&shown, text, strlen(text), SIZE_MAX);
	s->incomplete = mem_strdup(shown.s);
	str_free(&shown);
}

/* Reads the number that a family's file has; 0 if the program sent another file. */
static uint32_t read_unreported(int fd)
{
	struct live_family family;

	return pread(fd, &family, sizeof family, 0) == (ssize_t)sizeof family ? family.unreported
									      : 0;
}

void reporter_close_family(struct reporter *s, size_t i)
{
	if (s->family[i] < 0)
		return;
	s->unreported += read_unreported(s->family[i]);
	close(s->family[i]);
	s->family[i] = -1;
}

const char *reporter_incomplete(struct reporter *s)
{
	for (size_t i = 0; i < s->nfamilies && i < REPORTER_FAMILIES; i++)
		reporter_close_family(s, i);
	if (s->unreported)
		reporter_mark_incomplete(s, "%llu process%s could not reach the reporter",
					 (unsigned long long)s->unreported,
					 s->unreported == 1 ? "" : "es");
	return s->incomplete;
}

void reporter_rescue_piece(struct reporter *s, struct piece *piece, int fd)
{
	/* If standard error was closed, the user does not want the text. */
	if (fd != 2) {
		note("writing the findings failed: %s; they follow here", strerror(errno));
		if (write(2, piece->text, piece->n) < 0)
			s->unwritten = true;
		s->unwritten = true;
	}
	piece_free(piece);
}

/* Writes a report that is not text, or the end of a text. Returns -1 if that fails. */
static int write_end(struct reporter *s, const struct report *rep, struct piece *piece)
{
	struct output_file file;
	struct report again = *rep;
	struct err err = {0};
	int rc;

	if (!s->o.path) {
		rc = piece_write(piece, s->o.out);
		if (rc)
			err_sys(&err, "writing the report failed");
	} else {
		piece_finish(piece);
		rc = output_file_open(&file, s->o.path, &err);
		if (!rc) {
			rc = output_file_write(&file, piece->text, piece->n, &err);
			rc |= output_file_close(&file, !rc, &err);
		}
	}
	if (!rc || (s->o.out == 2 && !s->o.path)) {
		piece_free(piece);
		return rc;
	}
	note("%s; the findings follow as text", err.text);
	if (reporter_prints_text(s)) {
		rc = write(2, piece->text, piece->n) < 0 ? -1 : rc;
	} else {
		again.color = false;
		text_format.write(&again, stderr);
	}
	piece_free(piece);
	return -1;
}

/* Nothing was found: say which accesses in functions that are no blocks were not checked. */
static void print_unchecked(const struct reporter *s, FILE *out)
{
	struct str text = STR_INIT;

	if (s->o.verbosity < 0 || !reporter_prints_text(s))
		return;
	outside_describe(&s->outside, &text);
	if (text.n)
		fprintf(out, "atomsan: %s: %s\n", text.s,
			s->predicts ? "without --regions, they are"
				    : "'atomsan run --predict' looks there, too");
	str_free(&text);
}

int reporter_end(struct reporter *s)
{
	const char *why = s->o.verdict ? reporter_incomplete(s) : NULL;
	struct piece piece, notes;
	struct summary sum;
	bool found;
	int rc;

	if (s->o.each)
		return 0;
	summary_init(&sum, s, NULL, !reporter_prints_text(s));
	color_decide(s->o.color, s->o.out, &sum.report.color);
	piece_begin(&piece);
	if (!reporter_prints_text(s))
		s->o.format->write(&sum.report, piece.out);
	else if (summary_shows_findings(&sum) ||
		 (s->o.verdict && s->greeted && s->o.verbosity >= 0 && !why))
		summary_print(&sum, s->in_one_line, piece.out);
	if (why && reporter_prints_text(s))
		fprintf(piece.out, "atomsan: the check is incomplete: %s\n", why);
	rc = write_end(s, &sum.report, &piece);
	if (why && (!reporter_prints_text(s) || s->o.out != 2))
		note("the check is incomplete: %s", why);
	found = summary_shows_findings(&sum);
	summary_free(&sum);
	piece_begin(&notes);
	if (!found)
		print_unchecked(s, notes.out);
	print_notes(s, s->o.verbosity, notes.out);
	piece_write(&notes, 2);
	piece_free(&notes);
	return rc || s->unwritten ? -1 : 0;
}
