#include "engine/region.h"

#include "base/mem.h"
#include "trace/recorded.h"

#include "base/banned.h"

void regions_prepare(struct regions *r, const struct batch *b)
{
	const struct table *names = b->names->table;

	r->recorded = recorded_names(b->names);
	if (!r->recorded)
		return;
	MEM_GROW0(r->thread, r->thread_cap, names[NAMES_THREAD].n);
	MEM_GROW0(r->place, r->place_cap, names[NAMES_STRING].n);
}

void regions_free(struct regions *r)
{
	mem_free(r->thread);
	mem_free(r->place);
	map_free(&r->seen);
	*r = (struct regions){0};
}

/* Returns the place of the call of the function that has this place; 0 if it is not known. */
static strref call_of(struct regions *r, const struct names *names, strref place)
{
	const struct table *strings = &names->table[NAMES_STRING];
	struct region_place *p = &r->place[place];
	struct recorded_place parsed;

	if (!p->known) {
		p->known = true;
		if (recorded_place(strings->text[place], &parsed) && parsed.parent < strings->n)
			p->call = parsed.parent;
	}
	return p->call;
}

/* Notes which function is called at a place, and whether it has regions. */
static void note_call(struct regions *r, const struct event *e)
{
	struct region_place *p = &r->place[e->place];

	p->label = e->operand;
	p->is_excluded = e->left_out == LEFT_OUT_BEGIN_EXCLUDED;
}

static void end_region(struct regions *r, uint32_t thread)
{
	r->thread[thread].id = 0;
}

/* Was this place in the thread's open region already? */
static bool is_repeated(const struct regions *r, const struct event *e)
{
	uint32_t id = r->thread[e->thread].id;

	return id && map_get(&r->seen, (uint64_t)e->place << 32 | e->thread) == id;
}

/* Takes an operation that the function itself does, or a call of a block. */
static void take_own_event(struct regions *r, const struct names *names, const struct event *e,
			   uint64_t event)
{
	struct region *now = &r->thread[e->thread];
	strref call = call_of(r, names, e->place);
	const struct region_place *function = &r->place[call];
	bool repeated = is_repeated(r, e);

	if (!call || !function->label || function->is_excluded) {
		end_region(r, e->thread);
		return;
	}
	if (!now->id || now->call != call || repeated)
		*now = (struct region){.id = ++r->last,
				       .begin = event,
				       .label = function->label,
				       .place = e->place,
				       .is_round = repeated,
				       .call = call};
	map_set(&r->seen, (uint64_t)e->place << 32 | e->thread, now->id);
}

void region_take_slow(struct regions *r, const struct batch *b, const struct event *e,
		      uint64_t event)
{
	if (e->place & STRREF_NUMBER)
		return;
	if (e->op == OP_BEGIN || e->left_out == LEFT_OUT_BEGIN ||
	    e->left_out == LEFT_OUT_BEGIN_EXCLUDED)
		note_call(r, e);
	switch (e->op) {
	case OP_FORK:
	case OP_JOIN:
	case OP_WAIT:
	case OP_BARRIER:
		end_region(r, e->thread);
		break;
	case OP_BEGIN:
		if (e->outer == OUTER_BEGIN)
			take_own_event(r, b->names, e, event);
		break;
	case OP_READ:
	case OP_WRITE:
	case OP_UPDATE:
	case OP_ACQUIRE:
	case OP_ACQUIRE_SHARED:
	case OP_RELEASE:
	case OP_RELEASE_SHARED:
		take_own_event(r, b->names, e, event);
		break;
	default:
		break;
	}
}
