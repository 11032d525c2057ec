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
	map_free(&r->spots);
	map_free(&r->called);
	map_free(&r->seen);
	*r = (struct regions){0};
}

uint64_t region_hash_of_source(const struct names *names, strref place)
{
	const struct names_frame *f = NULL;
	size_t n = names->resolver ? names->resolver->stack(names->resolver, names, place, &f) : 0;
	uint64_t h = 0;

	for (size_t i = 0; i < n; i++) {
		if (!f[i].line)
			return map_mix(place); /* without debug information a place is a spot */
		h = map_mix(h ^ ((uint64_t)f[i].line << 32 | f[i].column));
		for (const char *c = f[i].file; c && *c; c++)
			h = (h ^ (unsigned char)*c) * 0x100000001b3ull;
		if (!f[i].inlined)
			return h;
	}
	return map_mix(place);
}

/* Finds out in which function a place is, and its spot. */
static void learn_place(struct regions *r, const struct names *names, strref place)
{
	const struct table *strings = &names->table[NAMES_STRING];
	struct region_place *p = &r->place[place];
	struct recorded_place parsed;
	uint64_t hash;

	if (recorded_place(strings->text[place], &parsed) && parsed.parent < strings->n)
		p->call = parsed.parent;
	hash = map_mix(region_hash_of_source(names, place) ^ (uint64_t)p->call << 32);
	p->spot = map_get(&r->spots, hash);
	if (p->spot == MAP_NONE) {
		p->spot = (uint32_t)r->spots.n + 1;
		map_set(&r->spots, hash, p->spot);
	}
}

/* Returns a number for the spot and the operation of an event. */
static uint64_t spot_of(const struct regions *r, const struct event *e)
{
	return (uint64_t)r->place[e->place].spot << 8 | e->op;
}

/* Notes which function the thread calls at a place; 0 for one that has no regions. */
static void note_call(struct regions *r, const struct event *e)
{
	bool is_excluded = e->left_out == LEFT_OUT_BEGIN_EXCLUDED;

	map_set2(&r->called, e->place, e->thread, is_excluded ? 0 : e->operand);
}

static void end_region(struct regions *r, uint32_t thread)
{
	r->thread[thread].id = 0;
}

/* Does the thread come back to a spot that it was at in its open region? */
static bool comes_back(const struct regions *r, const struct event *e)
{
	const struct region *now = &r->thread[e->thread];
	uint64_t spot = spot_of(r, e);

	if (!now->id || map_get2(&r->seen, spot, e->thread) != now->id)
		return false;
	return spot != now->spot || e->operand == now->operand;
}

/* Takes an operation that the function itself does, or a call of a block. */
static void take_own_event(struct regions *r, const struct names *names, const struct event *e,
			   uint64_t event)
{
	struct region *now = &r->thread[e->thread];
	struct region_place *p = &r->place[e->place];
	uint32_t label;
	bool back;

	if (!p->spot)
		learn_place(r, names, e->place);
	label = map_get2(&r->called, p->call, e->thread);
	if (!p->call || label == MAP_NONE || !label) {
		end_region(r, e->thread);
		return;
	}
	back = comes_back(r, e);
	if (!now->id || now->call != p->call || back)
		*now = (struct region){.id = ++r->last,
				       .begin = event,
				       .label = label,
				       .place = e->place,
				       .is_round = back,
				       .call = p->call};
	now->spot = spot_of(r, e);
	now->operand = e->operand;
	map_set2(&r->seen, now->spot, e->thread, now->id);
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
