/* The findings of a session: kept, counted, printed as they come. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/mem.h"
#include "base/note.h"
#include "base/str.h"
#include "report/shown.h"
#include "reporter/piece.h"
#include "reporter/reporter_impl.h"

#include "base/banned.h"

/* Neither suppressed nor dropped. */
static bool is_counted(const struct reporter_entry *e)
{
	return !e->suppressed && !e->dropped;
}

/* Does it count, and is it shown? */
static bool is_shown(const struct reporter_process *p, const struct reporter_entry *e)
{
	return is_counted(e) && (p->verbosity > 0 || p->session->o.all || !shown_is_hidden(e->f));
}

size_t reporter_findings(const struct reporter *s)
{
	struct finding_list l = findings_collect(s, NULL, true);
	size_t n;

	shown_select(&l, s->o.verbosity > 0 || s->o.all, s->o.all);
	n = shown_count(&l);
	findings_collect_free(&l);
	return n;
}

/*
 * Returns the entry, shown in full in the same output, that says as much about this block as these
 * findings do. If there is none, returns NULL, and these findings will be shown in full.
 */
static struct reporter_entry *find_shown_in_full(struct reporter_process *p,
						 const struct finding **v, size_t n)
{
	struct group g = {.v = v, .n = n};
	const struct finding *best = group_best(&g);
	struct reporter *s = p->session;
	uint32_t output = p->own_out ? 1 + p->number : 1;

	for (size_t i = 0; i < s->nentries && p->verbosity == 0 && !s->o.all; i++)
		if (s->entry[i].full_in == output && is_counted(&s->entry[i]) &&
		    report_text_is_repeat(best, s->entry[i].f)) {
			++(p->own_out ? p->in_one_line
				      : s->in_one_line)[reporter_is_predicted(best)];
			return &s->entry[i];
		}
	for (size_t i = 0; i < s->nentries; i++)
		if (s->entry[i].f == best)
			s->entry[i].full_in = output;
	return NULL;
}

static uint64_t hash_of_cause(const struct finding *f)
{
	struct str cause = STR_INIT;
	uint64_t hash;

	shown_add_cause(&cause, f);
	hash = XXH3_64bits(cause.s, cause.n);
	str_free(&cause);
	return hash;
}

/* Drops the findings whose cause was printed before; returns how many are left. */
static size_t drop_known_causes(struct reporter *s, const struct finding **v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t cause = hash_of_cause(v[i]);

		if (s->o.all || map_get(&s->causes, cause) == MAP_NONE)
			v[kept++] = v[i];
		map_set(&s->causes, cause, 1);
	}
	return kept;
}

static void print_findings(struct reporter_process *p, const struct finding **v, size_t n)
{
	struct report rep = {.color = p->color, .verbosity = p->verbosity};
	struct reporter_entry *full;
	struct piece piece;

	n = drop_known_causes(p->session, v, n);
	if (!n)
		return;
	full = find_shown_in_full(p, v, n);
	if (full && ++full->lines > REPORT_TEXT_LINES)
		return;
	piece_begin(&piece);
	if (p->number > 1 && p->verbosity >= 0 && !full)
		fprintf(piece.out, "atomsan: in process %d, %s\n", (int)p->pid, p->command);
	report_text_finding(&rep, v, n, full != NULL, piece.out);
	if (piece_write(&piece, p->out))
		reporter_rescue_piece(p->session, &piece, p->out);
}

bool reporter_holds_text(const struct reporter_process *p)
{
	return p->nheld > 0;
}

void reporter_print_held(struct reporter_process *p)
{
	const struct finding **v = mem_alloc((p->nheld + 1) * sizeof(struct finding *));
	size_t n = 0;

	for (size_t i = 0; i < p->nheld; i++) {
		struct reporter_entry *e = &p->session->entry[p->held[i]];

		/* It may have been dropped meanwhile. */
		if (is_shown(p, e)) {
			e->printed = true;
			v[n++] = e->f;
		}
	}
	p->nheld = 0;
	print_findings(p, v, n);
	mem_free(v);
}

/* Are they about one execution of a block? The caller knows that the thread is the same. */
static bool is_same_block(const struct finding *a, const struct finding *b)
{
	return !group_order_string(a->transaction.label, b->transaction.label) &&
	       !group_order_string(a->transaction.place, b->transaction.place) &&
	       !a->blame.thread == !b->blame.thread;
}

/* Prints the entries from `from` on, or holds them back if they may be part of a larger story. */
static void print_or_hold(struct reporter_process *p, const struct live_finding *head, size_t from)
{
	struct reporter *s = p->session;
	bool hold = !head->answer, any = false;

	for (size_t i = from; i < s->nentries; i++) {
		any |= is_shown(p, &s->entry[i]);
		hold &= s->entry[i].f->rests_on == RESTS_ON_LOCKS;
	}
	if (!any)
		return;
	p->any_shown = true;
	if (p->nheld && p->held_thread == head->thread &&
	    is_same_block(s->entry[p->held[0]].f, s->entry[from].f)) {
		for (size_t i = from; i < s->nentries; i++)
			s->entry[i].f->group = s->entry[p->held[0]].f->group;
	} else {
		reporter_print_held(p);
		s->ngroups++;
		for (size_t i = from; i < s->nentries; i++)
			s->entry[i].f->group = s->ngroups;
	}
	p->held_thread = head->thread;
	MEM_GROW(p->held, p->held_cap, p->nheld + s->nentries - from);
	for (size_t i = from; i < s->nentries && reporter_prints_text(s); i++)
		p->held[p->nheld++] = (uint32_t)i;
	if (!hold)
		reporter_print_held(p);
}

static struct reporter_entry *add_entry(struct reporter_process *p, struct finding *f)
{
	struct reporter *s = p->session;
	struct reporter_entry *e;

	MEM_GROW(s->entry, s->entry_cap, s->nentries + 1);
	e = &s->entry[s->nentries];
	*e = (struct reporter_entry){.f = f, .in_log = p->own_out};
	e->dropped = left_out_is_all_blamed(&p->out_names, f);
	/* Ask both lists, so that the matching lines of either count as used. */
	e->suppressed = suppress_matches(s->o.suppress, f);
	e->suppressed |= suppress_matches(p->suppress, f);
	if (!s->o.all)
		map_set(&s->known, f->fingerprint, (uint32_t)s->nentries);
	s->nentries++;
	return e;
}

static void count_repeats(struct reporter *s, uint32_t index, uint64_t times)
{
	s->entry[index].f->count += times;
	s->suppressed += s->entry[index].suppressed ? times : 0;
}

size_t findings_add(struct reporter_process *p, const struct live_finding *head, struct finding **v,
		    size_t n, bool excluded)
{
	struct reporter *s = p->session;
	struct reporter_kind kind = {(uint32_t)p->nentries, (uint32_t)n};
	size_t from = s->nentries, added = 0;

	MEM_GROW(p->entries, p->entries_cap, p->nentries + n);
	for (size_t i = 0; i < n; i++) {
		uint32_t index = s->o.all ? MAP_NONE : map_get(&s->known, v[i]->fingerprint);

		if (index != MAP_NONE) {
			count_repeats(s, index, v[i]->count);
			finding_free(v[i]);
		} else {
			struct reporter_entry *e = add_entry(p, v[i]);

			index = (uint32_t)(e - s->entry);
			e->dropped |= excluded;
			s->suppressed += e->suppressed ? v[i]->count : 0;
			added += is_shown(p, e);
		}
		p->entries[p->nentries++] = index;
	}
	map_set(&p->keys, head->key, (uint32_t)p->nkinds);
	MEM_GROW(p->kinds, p->kinds_cap, p->nkinds + 1);
	p->kinds[p->nkinds++] = kind;
	print_or_hold(p, head, from);
	return added;
}

void findings_add_repeats(struct reporter_process *p, uint64_t key, uint64_t times)
{
	uint32_t index = map_get(&p->keys, key);

	if (index == MAP_NONE)
		return; /* no FINDING with this key was received */
	for (uint32_t i = 0; i < p->kinds[index].n; i++)
		count_repeats(p->session, p->entries[p->kinds[index].first + i], times);
}

static void print_dropped(struct reporter_process *p, const char *label)
{
	struct str shown = STR_INIT;
	struct piece piece;

	str_add_shown(&shown, label, strlen(label), 200);
	piece_begin(&piece);
	fprintf(piece.out,
		"atomsan: the findings in block '%s' do not count: the block turned out to wait, "
		"or the source says that it is not atomic\n",
		shown.s);
	if (piece_write(&piece, p->out))
		reporter_rescue_piece(p->session, &piece, p->out);
	str_free(&shown);
}

void findings_drop_left_out(struct reporter_process *p)
{
	struct reporter *s = p->session;
	struct left_out said = {0};

	for (size_t i = 0; i < p->nentries; i++) {
		struct reporter_entry *e = &s->entry[p->entries[i]];
		size_t n = said.n;

		if (e->dropped || !left_out_is_all_blamed(&p->out_names, e->f))
			continue;
		e->dropped = true;
		if (!e->printed || p->verbosity < 0 || !e->f->transaction.label)
			continue;
		left_out_add(&said, e->f->transaction.label);
		if (said.n > n)
			print_dropped(p, e->f->transaction.label);
	}
	left_out_free(&said);
}

struct finding_list findings_collect(const struct reporter *s, const struct reporter_process *p,
				     bool logs)
{
	bool *of_process = mem_zalloc(s->nentries + 1);
	struct finding_list l;

	finding_list_init(&l, true);
	for (size_t i = 0; p && i < p->nentries; i++)
		of_process[p->entries[i]] = true;
	for (size_t i = 0; i < s->nentries; i++)
		if (is_counted(&s->entry[i]) && (!p || of_process[i]) &&
		    (logs || !s->entry[i].in_log))
			l.sink.emit(&l.sink, s->entry[i].f);
	mem_free(of_process);
	return l;
}

void reporter_take(struct reporter *s, struct finding_list *to)
{
	finding_list_init(to, true);
	for (size_t i = 0; i < s->nentries; i++)
		if (is_counted(&s->entry[i])) {
			to->sink.emit(&to->sink, s->entry[i].f);
			s->entry[i].f = finding_new();
		}
}

void findings_collect_free(struct finding_list *l)
{
	l->n = 0;
	finding_list_free(l);
}

size_t findings_counted(const struct reporter_process *p)
{
	const struct reporter *s = p->session;
	bool *seen = mem_zalloc(s->nentries + 1);
	size_t n = 0;

	for (size_t i = 0; i < p->nentries; i++) {
		const struct reporter_entry *e = &s->entry[p->entries[i]];

		if (!seen[p->entries[i]] && is_shown(p, e) && e->f->feasible != FEASIBLE_NO)
			n++;
		seen[p->entries[i]] = true;
	}
	mem_free(seen);
	return n;
}
