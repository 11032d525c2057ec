#include "engine/doublechecker/filter.h"

#include "base/mem.h"
#include "base/str.h"

#include "base/banned.h"

enum verdict { UNKNOWN, PASSES, SKIPPED };

/* Labels, in a hash. The text is kept, since the names may be freed when it is needed. */
struct label {
	strref label;
	bool used, told;
	enum verdict verdict;
	char *text;
};

struct filter {
	const struct suspects *in;
	struct suspects *out;
	struct label *slot;
	size_t nslots, n;
	struct {
		bool open, skip;
	} * thread;
	size_t thread_cap;
	struct event *ev;
	size_t ev_cap;
};

struct filter *filter_new(const struct suspects *in, struct suspects *out)
{
	struct filter *f = mem_zalloc(sizeof *f);

	f->in = in;
	f->out = out;
	f->nslots = 64;
	f->slot = mem_zalloc(f->nslots * sizeof *f->slot);
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nslots; i++)
		mem_free(f->slot[i].text);
	mem_free(f->slot);
	mem_free(f->thread);
	mem_free(f->ev);
	mem_free(f);
}

static struct label *find_label(const struct filter *f, strref label)
{
	size_t at = (size_t)(label * 0x9e3779b97f4a7c15ull >> 32) & (f->nslots - 1);

	while (f->slot[at].used && f->slot[at].label != label)
		at = (at + 1) & (f->nslots - 1);
	return &f->slot[at];
}

static void grow_labels(struct filter *f)
{
	struct label *old = f->slot;
	size_t n = f->nslots;

	f->nslots *= 2;
	f->slot = mem_zalloc(f->nslots * sizeof *f->slot);
	for (size_t i = 0; i < n; i++)
		if (old[i].used)
			*find_label(f, old[i].label) = old[i];
	mem_free(old);
}

static struct label *label_of(struct filter *f, const struct event *begin,
			      const struct names *names)
{
	struct label *l = find_label(f, event_label(begin));
	struct str text = STR_INIT;

	if (l->used)
		return l;
	if (++f->n * 2 > f->nslots) {
		grow_labels(f);
		l = find_label(f, event_label(begin));
	}
	names_add_string(names, event_label(begin), &text);
	l->used = true;
	l->label = event_label(begin);
	l->text = mem_strdup(text.s);
	l->verdict = !f->in || suspects_has(f->in, text.s) ? PASSES : SKIPPED;
	str_free(&text);
	return l;
}

void filter_suspect(struct filter *f, strref label)
{
	struct label *l = find_label(f, label);

	if (l->used && !l->told)
		suspects_add(f->out, l->text);
	l->told = true;
}

const struct event *filter_take(struct filter *f, const struct batch *b)
{
	MEM_GROW0(f->thread, f->thread_cap, b->names->table[NAMES_THREAD].n);
	MEM_GROW(f->ev, f->ev_cap, b->n);
	for (uint32_t i = 0; i < b->n; i++) {
		struct event e = b->ev[i];
		bool skip;

		if (e.outer == OUTER_BEGIN) {
			f->thread[e.thread].open = true;
			f->thread[e.thread].skip = label_of(f, &e, b->names)->verdict == SKIPPED;
		}
		skip = f->thread[e.thread].open ? f->thread[e.thread].skip
						: f->in && !f->in->outside;
		if (e.outer == OUTER_END)
			f->thread[e.thread].open = false;
		if (skip && e.op != OP_FORK && e.op != OP_JOIN) {
			e.op = OP_NONE;
			e.outer = OUTER_NONE;
		}
		f->ev[i] = e;
	}
	return f->ev;
}

void filter_rewind(struct filter *f)
{
	for (size_t i = 0; i < f->thread_cap; i++)
		f->thread[i].open = false;
}
