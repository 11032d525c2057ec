/*
 * The facts from before a recording begins (struct reader_facts). They make no events.
 *
 * A raw recording cannot contain such facts. They are treated as if they were in the recording at
 * time 0: modules and functions that are not blocks at the beginning of a pass, the others before
 * the units of their thread.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "trace/raw_impl.h"

#include "base/banned.h"

/* Adds a fact about a thread. If the thread has no units, thread 0's units come after it. */
static void add_fact(struct raw *a, uint32_t thread, enum raw_fact_kind kind, size_t index)
{
	bool has_units = thread < a->nthreads && a->file.threads[thread].n;

	a->fact[a->nfacts++] = (struct raw_fact){has_units ? thread : 0, kind, (uint32_t)index};
}

static int compare_facts(const void *a, const void *b)
{
	const struct raw_fact *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static void add_label(struct raw *a, const struct reader_label *l)
{
	map_set(&a->label_texts, l->number, (uint32_t)a->nlabels);
	MEM_GROW(a->label, a->labels_cap, a->nlabels + 1);
	a->label[a->nlabels].text = l->text;
	a->label[a->nlabels++].len = l->len;
}

static void add_allocation_bounds(struct raw *a, const struct reader_origin *o)
{
	raw_memory_add_boundary(a->memory, o->address);
	if (o->size < 1 << 16)
		raw_memory_add_boundary(a->memory, o->address + o->size);
}

void raw_facts_prepare(struct reader *r)
{
	const struct reader_facts *f = r->facts;
	struct raw *a = r->state;

	if (!f)
		return;
	a->fact = mem_alloc((f->nthreads + f->ncreations + f->nallocations) * sizeof *a->fact);
	for (size_t i = 0; i < f->nlabels; i++)
		add_label(a, &f->labels[i]);
	for (size_t i = 0; i < f->nthreads; i++)
		if (f->threads[i].number < a->nthreads)
			add_fact(a, f->threads[i].number, FACT_THREAD, i);
	for (size_t i = 0; i < f->ncreations; i++)
		if (f->creations[i].address < a->nthreads && f->creations[i].thread < a->nthreads)
			add_fact(a, f->creations[i].thread, FACT_CREATION, i);
	for (size_t i = 0; i < f->nallocations; i++) {
		add_allocation_bounds(a, &f->allocations[i]);
		add_fact(a, f->allocations[i].thread, FACT_ALLOCATION, i);
	}
	if (a->nfacts)
		qsort(a->fact, a->nfacts, sizeof *a->fact, compare_facts);
}

void raw_facts_begin(struct reader *r)
{
	const struct reader_facts *f = r->facts;
	struct raw *a = r->state;

	a->facts_taken = 0;
	if (!f)
		return;
	for (size_t i = 0; i < f->nmodules; i++)
		raw_names_module(&a->names, f->modules[i].bias, f->modules[i].text,
				 f->modules[i].len);
	for (size_t i = 0; i < f->nnot_blocks; i++)
		blocks_leave_out(r, raw_names_label(&a->names, 'f', f->not_blocks[i], "", 0));
}

/* Returns the place of an origin: its whole stack. */
static strref make_origin_place(struct raw *a, const struct reader_origin *o)
{
	strref place = 0;

	for (size_t i = 0; i < o->ncalls; i++)
		place = raw_names_place(&a->names, place, o->calls[i]);
	return raw_names_place(&a->names, place, o->pc);
}

static void take_thread(struct raw *a, const struct reader_thread *t)
{
	if (t->stack_size)
		raw_set_stack(a, t->number, t->stack, t->stack_size);
	a->thread[t->number].started |= t->left_start;
	if (t->name_len)
		raw_note_thread(a, t->number, t->name, t->name_len);
}

static void take_creation(struct raw *a, const struct reader_origin *o)
{
	struct raw_thread_state *t = &a->thread[o->address];

	t->creator = o->thread;
	t->created = make_origin_place(a, o);
	raw_note_thread(a, (uint32_t)o->address, "", 0);
}

static void take_allocation(struct raw *a, const struct reader_origin *o)
{
	raw_memory_alloc(a->memory, o->address, o->size, make_origin_place(a, o));
}

void raw_facts_apply(struct reader *r, uint64_t time, uint32_t thread)
{
	const struct reader_facts *f = r->facts;
	struct raw *a = r->state;

	for (; a->facts_taken < a->nfacts; a->facts_taken++) {
		const struct raw_fact *next = &a->fact[a->facts_taken];

		if (!time && next->at > thread)
			break;
		switch (next->kind) {
		case FACT_THREAD:
			take_thread(a, &f->threads[next->index]);
			break;
		case FACT_CREATION:
			take_creation(a, &f->creations[next->index]);
			break;
		case FACT_ALLOCATION:
			take_allocation(a, &f->allocations[next->index]);
			break;
		}
	}
}
