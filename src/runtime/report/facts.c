#include "runtime/report/facts.h"

#include <string.h>

#include "runtime/blocks/block_policy.h"
#include "runtime/history/origins.h"
#include "runtime/link/modules.h"
#include "runtime/report/conflict_set.h"

#include "base/banned.h"

/* The chosen allocations, by their entries in the table of origins.h. */
static uint32_t chosen[ORIGINS_ALLOCATIONS], nchosen;

/* --- records --- */

size_t facts_open(struct snapshot_part *facts, enum live_section_kind kind)
{
	size_t section = facts->n;
	struct live_section *s = part_room(facts, sizeof *s);

	if (s)
		*s = (struct live_section){kind, 0};
	return section;
}

void facts_close(struct snapshot_part *facts, size_t section)
{
	struct live_section *s = (struct live_section *)(facts->p + section);

	if (!facts->failed)
		s->bytes = (uint32_t)(facts->n - section - sizeof *s);
}

static void put_text(struct snapshot_part *facts, uint64_t number, const char *text, size_t n)
{
	size_t padded = (n + 7) & ~7ul;
	struct live_text *t = part_room(facts, sizeof *t + padded);

	if (!t)
		return;
	*t = (struct live_text){number, (uint32_t)n, 0};
	memset(t + 1, 0, padded);
	memcpy(t + 1, text, n);
}

static void put_module(uint64_t bias, const char *text, size_t n, void *facts)
{
	put_text(facts, bias, text, n);
}

static void put_origin(struct snapshot_part *facts, const struct live_origin *origin,
		       const struct history_stack *stack)
{
	uint32_t n = stack->n < HISTORY_STACK ? stack->n : HISTORY_STACK;
	struct live_origin *to = part_room(facts, sizeof *to + n * sizeof(uint64_t));
	uint64_t *calls;

	if (!to)
		return;
	*to = *origin;
	to->ncalls = n;
	calls = (uint64_t *)(to + 1);
	for (uint32_t i = 0; i < n; i++)
		calls[i] = stack->v[i].caller;
}

void facts_put_thread(struct snapshot_part *facts, uint32_t number, const struct history *h,
		      bool left_start)
{
	struct live_thread *t = part_room(facts, sizeof *t);
	const char *name = origins_name_of(number);

	if (!t)
		return;
	*t = (struct live_thread){.number = number, .left_start = left_start};
	if (h) {
		t->stack = h->stack_low;
		t->stack_bytes = h->stack_high - h->stack_low;
	}
	if (name)
		memcpy(t->name, name, strnlen(name, sizeof t->name));
}

/* --- allocations --- */

/* Is there anything in this allocation that a report may want a name for? */
static bool is_wanted(uintptr_t address, size_t size, const struct cycle *c,
		      const struct live_step *steps)
{
	enum { LARGE = 1 << 16 }; /* large ones are few, and a search in them takes long */

	if (size >= LARGE || conflict_set_has(address, size))
		return true;
	for (uint32_t i = 0; i < c->n; i++)
		if (steps[i].address - address < size)
			return true;
	for (uint32_t i = 0; i < c->nclosing; i++)
		if (c->closing[i].address + 7 - address < size + 7)
			return true;
	return false;
}

void facts_choose_allocations(const struct cycle *c, const struct live_step *steps)
{
	uintptr_t address;
	size_t size;

	nchosen = 0;
	for (uint32_t i = 0; i < origins_allocations(); i++)
		if (origins_extent_at(i, &address, &size) &&
		    (!steps || is_wanted(address, size, c, steps)))
			chosen[nchosen++] = i;
}

static void put_allocations(struct snapshot_part *facts)
{
	size_t section = facts_open(facts, LIVE_SECTION_ALLOCATIONS);

	for (uint32_t i = 0; i < nchosen; i++) {
		struct origins_allocation a;

		if (origins_allocation_at(chosen[i], &a))
			put_origin(facts,
				   &(struct live_origin){.address = a.address,
							 .size = a.size,
							 .pc = a.pc,
							 .thread = a.thread},
				   &a.stack);
	}
	facts_close(facts, section);
}

/* --- the other sections --- */

static void put_modules(struct snapshot_part *facts)
{
	size_t section = facts_open(facts, LIVE_SECTION_MODULES);

	modules_each(put_module, facts);
	facts_close(facts, section);
}

static void put_labels(struct snapshot_part *facts)
{
	size_t section = facts_open(facts, LIVE_SECTION_LABELS), n;
	uint32_t number;
	const char *text;

	for (uint32_t i = 0; origins_label_at(i, &number, &text, &n); i++)
		if (number)
			put_text(facts, number, text, n);
	facts_close(facts, section);
}

/* Write the functions that were no blocks before this clock; the recording shows later ones. */
static void put_not_blocks(struct snapshot_part *facts, uint64_t before)
{
	static uint64_t v[4096];
	size_t n = block_policy_left_out(v, sizeof v / sizeof *v, before);
	size_t section = facts_open(facts, LIVE_SECTION_NOT_BLOCKS);
	uint64_t *to = part_room(facts, n * sizeof *v);

	for (size_t i = 0; i < n && to; i++)
		to[i] = v[i] & ~LIVE_SAID_NOT;
	facts_close(facts, section);
}

static void put_creations(struct snapshot_part *facts, const bool *copied_fork)
{
	size_t section = facts_open(facts, LIVE_SECTION_CREATIONS);

	for (uint32_t i = 0; i < ORIGINS_CREATIONS; i++) {
		const struct origins_creation *c = origins_creation_at(i);

		if (c->pc && !copied_fork[i])
			put_origin(facts,
				   &(struct live_origin){
					   .address = c->id, .pc = c->pc, .thread = c->creator},
				   &c->stack);
	}
	facts_close(facts, section);
}

void facts_put_process(struct snapshot_part *facts, uint64_t from, const bool *copied_fork)
{
	put_modules(facts);
	put_labels(facts);
	put_not_blocks(facts, from);
	put_creations(facts, copied_fork);
	put_allocations(facts);
}
