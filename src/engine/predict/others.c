#include "engine/predict/others.h"

#include "base/mem.h"

#include "base/banned.h"

/* An access as a witness has it. */
struct form {
	uint32_t thread, var;
	strref place;
	bool reads, writes;
};

static struct form form_of(const struct witnesses *w, const struct witness *x, bool second)
{
	const struct witness_entry *entry = &w->entry[x->entry];
	uint8_t op = second ? x->op2 : x->op1;
	bool is_second_var =
		entry->role != WITNESS_ONE && second != (bool)(x->flags & WITNESS_REVERSED);

	return (struct form){.thread = entry->thread,
			     .var = is_second_var ? entry->var2 : entry->var,
			     .place = second ? x->place2 : x->place1,
			     .reads = op == OP_READ || op == OP_UPDATE,
			     .writes = op != OP_READ};
}

/*
 * Returns the position of the nearest access of this form: with `back`, the last before `from`,
 * else the first at `from` or after it. UINT64_MAX: none is near.
 */
static uint64_t find_near(struct model *m, const struct form *form, uint64_t from, bool back)
{
	const struct model_thread *t = &m->thread[form->thread];
	strref place = model_place(m, form->place);
	size_t i = model_access_at(t, from);

	for (size_t k = 0; k < OTHERS_SEARCH && (back ? i > 0 : i < t->naccesses); k++) {
		const struct model_access *a = &t->access[back ? --i : i++];

		m->steps++;
		if (a->var == form->var && a->place == place && a->reads == form->reads &&
		    a->writes == form->writes)
			return a->at;
	}
	return UINT64_MAX;
}

/* Returns a transaction like `tx` that has the event at a position. */
static uint32_t add_tx(struct witnesses *w, const struct model *m, uint32_t tx, uint32_t thread,
		       uint64_t position, bool in_region)
{
	const struct model_block *block = model_block_at(&m->thread[thread], position);
	struct witness_tx other = w->tx[tx];

	if (other.begin && in_region)
		other.begin = model_event(m, thread, position);
	else if (other.begin && block)
		other.begin = model_event(m, thread, block->begin);
	MEM_GROW(w->tx, w->tx_cap, w->ntx + 1);
	w->tx[w->ntx] = other;
	return (uint32_t)w->ntx++;
}

static uint32_t add_witness(struct witnesses *w, struct witness x)
{
	x.next = WITNESS_NONE;
	MEM_GROW(w->v, w->cap, w->n + 1);
	w->v[w->n] = x;
	return (uint32_t)w->n++;
}

/*
 * Add two accesses like those of witness `id`, with the second nearest to an event; WITNESS_NONE:
 * none.
 */
static uint32_t add_two(struct witnesses *w, struct model *m, uint32_t id, uint64_t event,
			bool back)
{
	struct witness x = w->v[id];
	struct form first = form_of(w, &x, false), second = form_of(w, &x, true);
	const struct model_thread *t = &m->thread[first.thread];
	bool in_region = x.flags & WITNESS_IN_REGION;
	uint64_t e1, e2;

	e2 = find_near(m, &second, model_first_from(m, first.thread, event), back);
	if (e2 == UINT64_MAX)
		return WITNESS_NONE;
	e1 = find_near(m, &first, e2, true);
	if (e1 == UINT64_MAX)
		return WITNESS_NONE;
	/* They must be in one region, which ends when the thread waits; or in one block. */
	if (in_region ? model_next_sync(t, e1) < e2
		      : !model_block_at(t, e2) || model_block_at(t, e1) != model_block_at(t, e2))
		return WITNESS_NONE;
	x.e1 = x.cut = model_event(m, first.thread, e1);
	x.e2 = model_event(m, first.thread, e2);
	if (x.e1 == w->v[id].e1 && x.e2 == w->v[id].e2)
		return WITNESS_NONE;
	x.tx = add_tx(w, m, x.tx, first.thread, e1, in_region);
	return add_witness(w, x);
}

/* Add one access like that of witness `id`, nearest to an event; WITNESS_NONE: none. */
static uint32_t add_one(struct witnesses *w, struct model *m, uint32_t id, uint64_t event,
			bool back)
{
	struct witness x = w->v[id];
	struct form form = form_of(w, &x, true);
	const struct model_thread *t = &m->thread[form.thread];
	uint64_t f = find_near(m, &form, model_first_from(m, form.thread, event), back);

	if (f == UINT64_MAX || !w->tx[x.tx].begin != !model_block_at(t, f))
		return WITNESS_NONE;
	x.e2 = model_event(m, form.thread, f);
	if (x.e2 == w->v[id].e2)
		return WITNESS_NONE;
	x.tx = add_tx(w, m, x.tx, form.thread, f, false);
	return add_witness(w, x);
}

size_t others_find(struct witnesses *w, struct model *m, const struct candidate *c,
		   struct candidate out[OTHERS_MAX])
{
	struct witness pair = w->v[c->pair], single = w->v[c->single];
	size_t n = 0;

	for (int back = 1; back >= 0; back--) {
		uint64_t near_f = back && single.e1 ? single.e1 : single.e2;
		uint64_t near_pair = back ? pair.e1 : pair.e2;
		uint32_t id = add_two(w, m, c->pair, near_f, back);

		if (id != WITNESS_NONE)
			out[n++] = (struct candidate){id, c->single, c->look};
		id = (single.e1 ? add_two : add_one)(w, m, c->single, near_pair, back);
		if (id != WITNESS_NONE)
			out[n++] = (struct candidate){c->pair, id, c->look};
	}
	return n;
}
