#include "runtime/report/snapshot.h"

#include <string.h>

#include "engine/precise/order.h"
#include "runtime/blocks/block_policy.h"
#include "runtime/link/modules.h"
#include "runtime/history/origins.h"
#include "runtime/report/conflict_set.h"
#include "runtime/shadow/time.h"

#include "base/banned.h"

static void *out_room(struct snapshot_part *o, size_t bytes)
{
	char *at;

	if (!o->failed && o->n + bytes > o->cap) {
		size_t cap = o->cap ? o->cap : 1 << 16;
		char *grown;

		while (cap < o->n + bytes)
			cap *= 2;
		grown = rt_pages(cap);
		if (grown) {
			if (o->n)
				memcpy(grown, o->p, o->n);
			rt_pages_free(o->p, o->cap);
			o->p = grown;
			o->cap = cap;
		}
		o->failed = !grown;
	}
	if (o->failed)
		return NULL;
	at = o->p + o->n;
	o->n += bytes;
	return at;
}

static void out_unit(struct snapshot_part *o, uint64_t what, uint64_t when)
{
	uint64_t *u = out_room(o, sizeof(struct raw_unit));

	if (u) {
		u[0] = what;
		u[1] = when;
	}
}

/* --- sections --- */

/* Returns where the section begins, for section_close(). */
static size_t section_open(struct snapshot_part *o, enum live_section_kind kind)
{
	size_t at = o->n;
	struct live_section *s = out_room(o, sizeof *s);

	if (s)
		*s = (struct live_section){kind, 0};
	return at;
}

static void section_close(struct snapshot_part *o, size_t at)
{
	struct live_section *s = (struct live_section *)(o->p + at);

	if (!o->failed)
		s->bytes = (uint32_t)(o->n - at - sizeof *s);
}

static void out_text(struct snapshot_part *o, uint64_t number, const char *text, size_t n)
{
	size_t padded = (n + 7) & ~7ul;
	struct live_text *t = out_room(o, sizeof *t + padded);

	if (!t)
		return;
	*t = (struct live_text){number, (uint32_t)n, 0};
	memset(t + 1, 0, padded);
	memcpy(t + 1, text, n);
}

static void out_module(uint64_t bias, const char *text, size_t n, void *o)
{
	out_text(o, bias, text, n);
}

static void out_origin(struct snapshot_part *o, const struct live_origin *origin,
		       const struct history_stack *stack)
{
	uint32_t n = stack->n < HISTORY_STACK ? stack->n : HISTORY_STACK;
	struct live_origin *to = out_room(o, sizeof *to + n * sizeof(uint64_t));
	uint64_t *calls = (uint64_t *)(to + 1);

	if (!to)
		return;
	*to = *origin;
	to->ncalls = n;
	for (uint32_t i = 0; i < n; i++)
		calls[i] = stack->v[i].caller;
}

/* --- chunks --- */

struct chunk_at {
	size_t start;
};

static struct chunk_at chunk_open(struct snapshot_part *o, uint32_t thread, uint32_t number,
				  uint64_t base, uint64_t pc_high)
{
	struct chunk_at at = {o->n};
	struct raw_chunk *c = out_room(o, sizeof *c);

	if (c)
		*c = (struct raw_chunk){RAW_CHUNK_MAGIC, thread, number, 0, base, pc_high};
	return at;
}

/* Chunks begin at pages, and are not too large for readers. */
static void chunk_close(struct snapshot_part *o, struct chunk_at at)
{
	size_t pad = -o->n & (RAW_PAGE - 1);

	out_room(o, pad); /* fresh pages: zero */
	if (!o->failed)
		((struct raw_chunk *)(o->p + at.start))->bytes = (uint32_t)(o->n - at.start);
}

/* A return address as the low half, behind the unit that changes the high one. */
static uint64_t out_pc(struct snapshot_part *o, uint64_t *high, uintptr_t pc)
{
	if ((pc ^ *high) >> 32) {
		*high = pc & ~0xffffffffull;
		out_unit(o, unit_what(RAW_PC_HIGH, pc >> 32, 0), 0);
	}
	return (uint64_t)pc << 32;
}

/* Allocations that a report may want, as indices of those that are known: see find_blocks(). */
static uint32_t block[ORIGINS_ALLOCATIONS], nblocks;

/*
 * Accesses that are not in the histories, since they repeated others: an edge came from them, so it
 * is known that they were, what they touched and when. They are told at their place: the thread
 * keeps the last ones, and others are told as if done at the beginning of the function.
 *
 * Of those that are older than what is told of their thread the time says nothing about the clock.
 * But whoever has an edge from them, or from something that came later in their thread, comes
 * behind.
 */
enum { REPEATS = 1 << 13 };
struct repeat {
	uint64_t word;
	uintptr_t address; /* of the cell; 0: not memory */
	uint64_t before;   /* its clock is below this */
	bool told;
};
/* With the histories held. */
static struct repeat repeats[REPEATS];
static uint32_t nrepeats;

static bool writes(enum raw_op op)
{
	return op != RAW_READ && op != RAW_READ_RANGE;
}

/* Is this the access that the edge came from? One of a line may have come later: see owned_line.h.
 */
static bool is_repeat(const struct repeat *r, const struct history_walk *w, uint32_t slot)
{
	uintptr_t first = r->address + (uintptr_t)__builtin_ctzll(r->word & SHADOW_BYTES);

	return shadow_slot(r->word) == slot && w->time >= word_time(r->word) &&
	       writes(w->op) == !!(r->word & SHADOW_WRITE) && first >= w->address &&
	       first < w->address + w->size;
}

/* Which chunks of a history are told: from the one that holds the clock `from`. */
struct span {
	uint32_t oldest;
	bool far; /* it goes back so far */
};

/* What is told begins at `wide`, as far as that is there; a report needs it from `from` on. */
struct reach {
	uint64_t from, wide;
	const struct cycle *cycle;
	bool whole; /* else it begins with the chunk of the first step, or is the last chunk */
};

/*
 * The clock may stand still while a thread fills many chunks. So a thread on the cycle is told from
 * its first step on, by its own time, and from where it is not dead.
 */
static uint64_t first_step(const struct cycle *c, uint32_t slot)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < c->n; i++)
		if (step_slot(c->step[i]) == slot && (uint64_t)step_index(c->step[i]) < first)
			first = (uint64_t)step_index(c->step[i]);
	return first;
}

static struct span small_span_of(const struct history *h, const struct cycle *c)
{
	struct span s = {h->at, false};
	uint64_t oldest = h->serial;
	uint32_t k;

	for (uint32_t i = 0; i < c->n; i++)
		if (step_slot(c->step[i]) == h->slot &&
		    history_chunk_of(h, (uint64_t)step_index(c->step[i]), &k) &&
		    h->chunk[k].serial && h->chunk[k].serial < oldest) {
			oldest = h->chunk[k].serial;
			s.oldest = k;
		}
	return s;
}

static struct span span_of(const struct history *h, struct reach reach)
{
	struct span s = {h->at, false};
	uint32_t k = h->at;
	uint64_t first = first_step(reach.cycle, h->slot),
		 dead = __atomic_load_n(&slot_public[h->slot].dead, __ATOMIC_ACQUIRE);

	if (!reach.whole)
		return small_span_of(h, reach.cycle);
	for (uint32_t i = 0; i < h->nchunks; i++) {
		const struct history_chunk *c = &h->chunk[k];
		uint64_t serial = __atomic_load_n(&c->serial, __ATOMIC_ACQUIRE);

		if (!serial)
			break;
		s.oldest = k;
		/* What was done when it began may be in the one before it. Or it is the first. */
		s.far = (c->clock <= reach.from && c->base < first) || serial == 1;
		if ((c->clock <= reach.wide && c->base < first && c->base <= dead) || serial == 1)
			break;
		k = (k + h->nchunks - 1) % h->nchunks;
	}
	return s;
}

#define EACH_CHUNK(k, h, span)                                                                     \
	for (uint32_t k = (span).oldest, last_ = 0; !last_;                                        \
	     last_ = k == (h)->at, k = (k + 1) % (h)->nchunks)

static void collect_repeats(const struct history *h, struct span span)
{
	struct history_walk w;

	EACH_CHUNK(k, h, span)
	{
		if (!history_walk(&w, h, k))
			continue;
		while (history_walk_next(&w))
			if (w.op == (enum raw_op)HISTORY_EDGE && nrepeats < REPEATS &&
			    (w.address || !history_for_replay))
				repeats[nrepeats++] = (struct repeat){
					w.size, w.address,
					history_for_replay ? UINT64_MAX : w.clock, !w.address};
	}
}

static uint64_t word_order(uint64_t word)
{
	return word >> SHADOW_TIME_SHIFT; /* by slot, then time */
}

/* Heap sort: it needs no memory, and has no bad case. */
static void sift(size_t i, size_t n)
{
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		struct repeat swap = repeats[i];

		child += child + 1 < n &&
			 word_order(repeats[child].word) < word_order(repeats[child + 1].word);
		if (word_order(swap.word) >= word_order(repeats[child].word))
			return;
		repeats[i] = repeats[child];
		repeats[child] = swap;
	}
}

static void sort_repeats(void)
{
	for (size_t i = nrepeats / 2; i-- > 0;)
		sift(i, nrepeats);
	for (size_t n = nrepeats; n > 1; n--) {
		struct repeat last = repeats[n - 1];

		repeats[n - 1] = repeats[0];
		repeats[0] = last;
		sift(0, n - 1);
	}
	for (size_t i = nrepeats; i-- > 1;)
		if (shadow_slot(repeats[i - 1].word) == shadow_slot(repeats[i].word) &&
		    repeats[i - 1].before > repeats[i].before)
			repeats[i - 1].before = repeats[i].before;
}

/* The first one of a slot. */
static uint32_t first_repeat(uint32_t slot)
{
	uint32_t low = 0, high = nrepeats;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (shadow_slot(repeats[middle].word) < slot)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(uint32_t i, uint32_t slot)
{
	return i < nrepeats && shadow_slot(repeats[i].word) == slot;
}

/* Times go up in both. With an edge a stretch is over. */
static void drop_told(const struct history *h, struct span span)
{
	enum { LATELY = 64 };
	uint32_t i = first_repeat(h->slot), end = i;
	struct history_walk w;

	EACH_CHUNK(k, h, span)
	{
		if (!history_walk(&w, h, k))
			continue;
		while (is_of(i, h->slot) && history_walk_next(&w)) {
			if (w.op == (enum raw_op)HISTORY_EDGE)
				while (is_of(i, h->slot) && word_time(repeats[i].word) < w.time)
					i++;
			while (is_of(end, h->slot) && word_time(repeats[end].word) <= w.time)
				end++;
			if (!history_is_access(w.op))
				continue;
			if (end > i + LATELY)
				i = end - LATELY;
			for (uint32_t j = i; j < end; j++)
				repeats[j].told =
					repeats[j].told || is_repeat(&repeats[j], &w, h->slot);
		}
	}
}

struct put {
	struct snapshot_part *o;
	uint64_t base, pc_high;
};

static void put(struct put *p, enum raw_op op, uint64_t address, uint32_t aux, uint64_t clock,
		uintptr_t pc)
{
	if ((clock - p->base) >> 32) {
		p->base = clock;
		out_unit(p->o, unit_what(RAW_TIME, 0, 0), clock);
	}
	pc = (uintptr_t)(out_pc(p->o, &p->pc_high, pc) >> 32);
	out_unit(p->o, unit_what(op, address, aux), (clock - p->base) | (uint64_t)pc << 32);
}

static uintptr_t place_of(const struct history *h, const struct repeat *r, uintptr_t function)
{
	const struct rt_repeat *last =
		&slot_public[h->slot].repeat[r->address >> 3 & (RT_REPEATS - 1)];

	return last->word == r->word && (last->address & ~7ul) == r->address ? last->pc : function;
}

/* The repeats of this thread before a time, from `*next` on. */
static void put_repeats(struct put *p, const struct history *h, uint32_t *next, uint64_t time,
			uint64_t clock, uintptr_t function)
{
	for (; is_of(*next, h->slot) && word_time(repeats[*next].word) < time; ++*next) {
		struct repeat *r = &repeats[*next];
		uint64_t bytes = r->word & SHADOW_BYTES;
		uint32_t first = (uint32_t)__builtin_ctzll(bytes);

		if (r->told)
			continue;
		r->told = true;
		put(p, r->word & SHADOW_WRITE ? RAW_WRITE : RAW_READ, r->address + first,
		    (uint32_t)(64 - __builtin_clzll(bytes)) - first,
		    clock < r->before ? clock : r->before - 1, place_of(h, r, function));
	}
}

/*
 * How much is told of a history: units from before the cycle was closed, by their clock, and those
 * up to the thread's last step of it, whatever their clock. The thread's own last unit is what
 * closed it, and is told to be the last of all.
 */
struct until {
	uint64_t clock;
	uint64_t time; /* 0: it has no step */
	uint64_t last; /* 0: not the thread that closed it; else the clock of its last unit */
	const uint64_t *stop; /* behind what closed it, where more was done since; NULL: nothing */
};

/*
 * What is done with memory that no cycle can pass through is left out, but for steps. All that was
 * done with other memory is told: how an access is cut into parts depends on it.
 */
static bool is_needed(const struct history *h, const struct history_walk *w, const struct cycle *c)
{
	if (!history_is_access(w->op) || conflict_set_has(w->address, w->size))
		return true;
	for (uint32_t i = 0; i < c->n; i++)
		if (step_slot(c->step[i]) == h->slot && (uint64_t)step_index(c->step[i]) == w->time)
			return true;
	return false;
}

/*
 * The units of one chunk of a history. False: it was overwritten meanwhile, and `overwritten` is
 * set.
 */
static bool overwritten; /* with the histories held */
enum { DEEP = 1 << 10 };
static bool out_chunk(struct snapshot_part *o, const struct history *h, uint32_t k, uint32_t number,
		      uint32_t *repeat, const struct until *until, const struct cycle *c,
		      bool *told_fork)
{
	static uintptr_t function[DEEP];
	uint64_t serial = __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE), clock;
	size_t before = o->n, depth = 0;
	struct history_walk w;
	struct chunk_at at;
	struct put p = {o, 0, 0};
	bool first = number == 0;
	/*
	 * What is dead is on no cycle, and the words that would put it in order may be gone: it is
	 * told as if it had been before all else, which harms nobody. (What the transaction
	 * reaches stays alive as long as it is open.)
	 */
	uint64_t dead = __atomic_load_n(&slot_public[h->slot].dead, __ATOMIC_ACQUIRE);

	if (!history_walk(&w, h, k)) {
		overwritten = true;
		return false;
	}
	p.base = clock = h->chunk[k].base < dead ? 0 : w.clock;
	at = chunk_open(o, h->thread, number, p.base, 0);
	while (history_walk_next(&w) &&
	       (w.clock < until->clock || w.time <= until->time || until->last)) {
		if (until->stop &&
		    (w.clock > until->clock || (w.clock == until->clock && w.u > until->stop)))
			break;
		put_repeats(&p, h, repeat, w.time, clock, depth ? function[(depth - 1) % DEEP] : 0);
		clock = w.time < dead ? 0 : w.clock;
		if (until->last && !until->stop && k == h->at && w.u >= w.end)
			clock = until->last;
		if (w.op == RAW_CALL)
			function[depth++ % DEEP] = w.address;
		else if (w.op == RAW_RETURN && depth)
			depth--;
		/* How things stood is known from the chunk before. */
		if ((w.prologue && !first) || w.op == (enum raw_op)HISTORY_EDGE ||
		    !is_needed(h, &w, c))
			continue;
		put(&p, w.op, w.address, w.aux, clock, w.pc);
		if (w.op == RAW_READ_RANGE || w.op == RAW_WRITE_RANGE || w.op == RAW_ALLOC ||
		    w.op == RAW_FORGET)
			out_unit(o, w.size, 0);
		if (w.op == RAW_FORK)
			told_fork[w.address % ORIGINS_CREATIONS] = true;
	}
	if (k == h->at && !until->last)
		put_repeats(&p, h, repeat, UINT64_MAX, clock,
			    depth ? function[(depth - 1) % DEEP] : 0);
	if (k != h->at && __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE) != serial) {
		o->n = before;
		overwritten = true;
		return false;
	}
	chunk_close(o, at);
	return true;
}

static void out_thread(struct snapshot_part *facts, uint32_t number, const struct history *h,
		       bool left_start)
{
	struct live_thread *t = out_room(facts, sizeof *t);
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

static void out_history(struct snapshot *o, const struct history *h, struct span span,
			const struct until *until, const struct cycle *c, bool *told_fork)
{
	uint32_t number = 0, repeat = first_repeat(h->slot);
	bool left_start = false;

	EACH_CHUNK(k, h, span)
	{
		bool left = h->chunk[k].left_start;

		if (out_chunk(&o->recording, h, k, number, &repeat, until, c, told_fork)) {
			left_start = number ? left_start : left;
			number++;
		}
	}
	out_thread(&o->facts, h->thread, h, left_start);
}

static void out_header(struct snapshot_part *o)
{
	struct raw_header *h = out_room(o, RAW_PAGE);

	if (!h)
		return;
	memcpy(h->magic, RAW_MAGIC, sizeof h->magic);
	h->version = RAW_VERSION;
	h->closed = 1;
}

static void out_labels(struct snapshot_part *facts)
{
	size_t section = section_open(facts, LIVE_SECTION_LABELS), n;
	uint32_t number;
	const char *text;

	for (uint32_t i = 0; origins_label_at(i, &number, &text, &n); i++)
		if (number)
			out_text(facts, number, text, n);
	section_close(facts, section);
}

/* The functions that were no blocks before this clock; the histories show the later ones. */
static void out_not_blocks(struct snapshot_part *facts, uint64_t before)
{
	static uint64_t v[4096];
	size_t n = block_policy_left_out(v, sizeof v / sizeof *v, before);
	size_t section = section_open(facts, LIVE_SECTION_NOT_BLOCKS);
	uint64_t *to = out_room(facts, n * sizeof *v);

	if (to)
		memcpy(to, v, n * sizeof *v);
	section_close(facts, section);
}

/* Where threads were created, unless the histories show it. */
static void out_creations(struct snapshot_part *facts, const bool *told_fork)
{
	size_t section = section_open(facts, LIVE_SECTION_CREATIONS);

	for (uint32_t i = 0; i < ORIGINS_CREATIONS; i++) {
		const struct origins_creation *c = origins_creation_at(i);

		if (c->pc && !told_fork[i])
			out_origin(facts,
				   &(struct live_origin){
					   .address = c->id, .pc = c->pc, .thread = c->creator},
				   &c->stack);
	}
	section_close(facts, section);
}

static void out_allocations(struct snapshot_part *facts)
{
	size_t section = section_open(facts, LIVE_SECTION_ALLOCATIONS);

	for (uint32_t i = 0; i < nblocks; i++) {
		struct origins_allocation a;

		if (origins_allocation_at(block[i], &a))
			out_origin(facts,
				   &(struct live_origin){.address = a.address,
							 .size = a.size,
							 .pc = a.pc,
							 .thread = a.thread},
				   &a.stack);
	}
	section_close(facts, section);
}

/* The facts that belong to no thread's history. */
static void out_facts(struct snapshot_part *facts, uint64_t from, const bool *told_fork)
{
	size_t section = section_open(facts, LIVE_SECTION_MODULES);

	modules_each(out_module, facts);
	section_close(facts, section);
	out_labels(facts);
	out_not_blocks(facts, from);
	out_creations(facts, told_fork);
	out_allocations(facts);
}

/* Did it do anything from this time on, or anything that may still be on a cycle? */
static bool lived(const struct history *h, struct reach reach)
{
	if (!h->owner && !h->chunk[h->at].serial)
		return false; /* it was forgotten */
	return h->owner || h->last_clock >= reach.wide ||
	       h->last_time > __atomic_load_n(&slot_public[h->slot].dead, __ATOMIC_ACQUIRE);
}

/*
 * May it be on a cycle of this transaction? What is dead is on none. Else the transaction reaches
 * it, or it happened behind something that the transaction did, by a way that is not in the order:
 * then the clock went up. What is in a transaction that is still open is told as well: without the
 * locks the order may be another.
 */
static bool matters(const struct history *h, const struct history_walk *w, uint64_t dead,
		    const struct cycle *c)
{
	return w->time >= dead &&
	       (h->slot >= c->nreach || w->time >= c->reach[h->slot] || w->clock >= c->clock);
}

static void touch(const struct history *h, struct span span, const struct cycle *c, bool written)
{
	uint64_t dead = __atomic_load_n(&slot_public[h->slot].dead, __ATOMIC_ACQUIRE);
	struct history_walk w;

	EACH_CHUNK(k, h, span)
	{
		if (!history_walk(&w, h, k))
			continue;
		while (history_walk_next(&w))
			if (history_is_access(w.op) && writes(w.op) == written &&
			    matters(h, &w, dead, c))
				(written ? conflict_set_add_write
					 : conflict_set_add_read)(h->slot, w.address, w.size);
			else if (!written && history_is_on_lock(w.op))
				conflict_set_add_lock(w.address);
	}
}

static void touch_repeats(bool written)
{
	for (uint32_t i = 0; i < nrepeats; i++) {
		const struct repeat *r = &repeats[i];

		if (r->address && !!(r->word & SHADOW_WRITE) == written && !word_is_dead(r->word))
			(written ? conflict_set_add_write
				 : conflict_set_add_read)(shadow_slot(r->word), r->address, 8);
	}
}

static void find_shared(struct reach reach)
{
	conflict_set_begin();
	for (int written = 1; written >= 0; written--) {
		for (struct history *h = NULL; (h = history_next(h)) != NULL;)
			if (lived(h, reach))
				touch(h, span_of(h, reach), reach.cycle, written);
		touch_repeats(written);
	}
}

/* Is something in it that a report may want a name for: a step, a lock, memory that is shared? */
static bool is_wanted(uintptr_t address, size_t size, const struct cycle *c,
		      const struct live_step *steps)
{
	enum { LARGE = 1 << 16 }; /* there are few of them, and it takes long to ask */

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

/* Of a program with many blocks of memory only those few are told. */
static void find_blocks(const struct cycle *c, const struct live_step *steps)
{
	uintptr_t address;
	size_t size;

	nblocks = 0;
	for (uint32_t i = 0; i < origins_allocations(); i++)
		if (origins_extent_at(i, &address, &size) &&
		    (!steps || is_wanted(address, size, c, steps)))
			block[nblocks++] = i;
}

/*
 * Transactions on the cycle began before their steps, and which of several cycles was closed first
 * depends on what others did since: all is told that is not dead in one of these threads.
 */
static uint64_t alive_since(const struct cycle *c, uint64_t from)
{
	for (uint32_t i = 0; i < c->n; i++) {
		uint32_t slot = step_slot(c->step[i]);
		const struct history *h = history_of_slot(slot);
		uint64_t dead = __atomic_load_n(&slot_public[slot].dead, __ATOMIC_ACQUIRE);

		for (uint32_t k = h ? h->at : 0, n = h ? h->nchunks : 0; n; n--) {
			if (!__atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE))
				break;
			if (h->chunk[k].clock < from)
				from = h->chunk[k].clock;
			if (h->chunk[k].base <= dead)
				break;
			k = (k + h->nchunks - 1) % h->nchunks;
		}
	}
	return from;
}

static struct until until_of(const struct history *h, const struct cycle *c,
			     const struct live_step *steps)
{
	struct until u = {.clock = steps[c->n - 1].time};

	for (uint32_t i = 0; i < c->n; i++) {
		if (step_slot(c->step[i]) == h->slot && (uint64_t)step_index(c->step[i]) > u.time)
			u.time = (uint64_t)step_index(c->step[i]);
		if (h->owner == &rt_self && steps[i].time >= u.last)
			u.last = steps[i].time + 1;
	}
	return u;
}

static struct until until_found(const struct history *h, const struct report_found *f)
{
	struct until u = {.clock = f->until};

	if (h == f->history) {
		u.last = f->until + 1;
		u.stop = f->last;
	}
	return u;
}

bool snapshot_take(struct snapshot *o, bool whole, uint64_t from, const struct cycle *c,
		   const struct live_step *steps, const struct report_found *f)
{
	static bool told_fork[ORIGINS_CREATIONS]; /* with the histories held */
	struct reach reach = {from, whole ? alive_since(c, from) : from, c, whole};
	bool far = true, first = false;
	size_t threads;

	memset(told_fork, 0, sizeof told_fork);
	overwritten = false;
	history_report_begin();
	out_header(&o->recording);
	nrepeats = 0;
	for (struct history *h = NULL; (h = history_next(h)) != NULL;)
		if (lived(h, reach)) {
			struct span span = span_of(h, reach);

			far &= span.far;
			collect_repeats(h, span);
		}
	sort_repeats();
	/* A replay tells its steps in another way. */
	if (!f)
		find_shared(reach);
	find_blocks(c, f ? NULL : steps);
	for (struct history *h = NULL; nrepeats && (h = history_next(h)) != NULL;)
		if (lived(h, reach))
			drop_told(h, span_of(h, reach));
	threads = section_open(&o->facts, LIVE_SECTION_THREADS);
	for (struct history *h = NULL; (h = history_next(h)) != NULL;)
		if (lived(h, reach)) {
			struct until until = f ? until_found(h, f) : until_of(h, c, steps);
			struct span span = span_of(h, reach);

			far &= span.far; /* threads go on */
			out_history(o, h, span, &until, c, told_fork);
			first |= !h->thread;
		}
	if (!first)
		out_thread(&o->facts, 0, NULL, false);
	section_close(&o->facts, threads);
	out_facts(&o->facts, from, told_fork);
	conflict_set_end();
	history_report_end();
	if (!o->recording.failed)
		((struct raw_header *)o->recording.p)->end = o->recording.n;
	return far && !overwritten;
}
