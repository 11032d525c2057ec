/*
 * The precise half of DoubleChecker, in the program: a component's transactions are
 * replayed from the histories, in the order of their clocks, through the check
 * that the engines use (engine/precise/precise.h). What closes a cycle there is reported
 * with the histories around it (report.h), from which the reporter finds
 * it again and tells who is to blame. A component without one is only counted.
 *
 * Most of what a long transaction does is of no interest to anybody else. So a component is read
 * twice: the first time for which memory several threads have to do with, and one writes; then
 * only accesses of such memory are taken out and put in order.
 *
 * A variable is a set of bytes of 8 that every access of the component touches as a
 * whole. Fork and join are a write and a read of a variable of their own.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/precise/precise.h"
#include "runtime/doublechecker/icd.h"
#include "runtime/os/options.h"
#include "runtime/report/report.h"

#include "base/banned.h"

/* One at a time. */
static uint32_t lock;
static struct precise precise;
static bool started;

/* An operation of a component. */
struct unit {
	const struct history *history;
	const uint64_t *at; /* in it */
	uint64_t address, size, clock;
	uintptr_t pc;
	uint32_t thread, part;
	uint8_t op, aux; /* op: RAW_BEGIN and RAW_END are the part's own */
	bool not_held;
};
static struct unit *units, *sorted;
static size_t nunits, units_cap, sorted_cap;
enum { UNITS_MAX = 1 << 19, CELLS_MAX = 1 << 18 };

/* --- variables --- */

enum kind { DATA, LOCK, FORK, EXIT };
struct cell {
	uint64_t key;
	uint32_t number; /* of its first variable */
	uint32_t stamp;  /* the replay it is of */
	uint8_t class[8];
	uint8_t classes;
};
static struct cell *cells; /* open addressing */
static uint32_t ncells, cells_cap, stamp;
static uint32_t nvars, nlocks;
static bool too_large;

static uint64_t key_of(enum kind kind, uint64_t address)
{
	return (kind == DATA ? address >> 3 : address) << 2 | (uint64_t)kind;
}

static struct cell *find(uint64_t key)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (cells_cap - 1);

	while (cells[i].stamp == stamp && cells[i].key != key)
		i = (i + 1) & (cells_cap - 1);
	return &cells[i];
}

static void grow(void)
{
	struct cell *old = cells;
	uint32_t cap = cells_cap;

	cells_cap = cap ? 2 * cap : 1 << 10;
	cells = mem_zalloc(cells_cap * sizeof *cells);
	for (uint32_t i = 0; i < cap; i++)
		if (old[i].stamp == stamp)
			*find(old[i].key) = old[i];
	mem_free(old);
}

static struct cell *make(enum kind kind, uint64_t address)
{
	struct cell *c;

	if (2 * (ncells + 1) > cells_cap)
		grow();
	c = find(key_of(kind, address));
	if (c->stamp == stamp)
		return c;
	*c = (struct cell){.key = key_of(kind, address), .stamp = stamp, .classes = 1};
	if (kind == LOCK) {
		c->number = nlocks++;
	} else {
		c->number = nvars;
		nvars += 8;
	}
	too_large |= ++ncells > CELLS_MAX;
	return c;
}

/* Bytes that some access touches, and others that it does not, are not of one class. */
static void split(struct cell *c, uint32_t bytes)
{
	uint8_t to[8];

	memset(to, 0xff, sizeof to);
	for (int i = 0; i < 8; i++) {
		uint8_t is = c->class[i];
		bool all = true;

		if (!(bytes >> i & 1))
			continue;
		for (int k = 0; k < 8; k++)
			all &= c->class[k] != is || bytes >> k & 1;
		if (!all && to[is] == 0xff)
			to[is] = c->classes++;
	}
	for (int i = 0; i < 8; i++)
		if (bytes >> i & 1 && to[c->class[i]] != 0xff)
			c->class[i] = to[c->class[i]];
}

static uint32_t bytes_at(uintptr_t at, uintptr_t end)
{
	uintptr_t stop = (at | 7) + 1;

	return 0xffu << (at & 7) & 0xffu >> (stop > end ? stop - end : 0);
}

static bool is_access(uint8_t op)
{
	return op >= RAW_READ && op <= RAW_WRITE_RANGE;
}

/* What a unit that is no access speaks of. */
static struct cell *object(const struct unit *u)
{
	if (u->op >= RAW_ACQUIRE && u->op <= RAW_SEM_POST)
		return make(LOCK, u->address);
	return make(u->op == RAW_FORK || u->size == ICD_BORN ? FORK : EXIT, u->address);
}

static void prepare(const struct unit *u)
{
	uintptr_t end = u->address + u->size;

	if (is_access(u->op))
		for (uintptr_t at = u->address; at < end && !too_large; at = (at | 7) + 1)
			split(make(DATA, at), bytes_at(at, end));
	else if ((u->op >= RAW_ACQUIRE && u->op <= RAW_SEM_POST) || u->op == RAW_FORK ||
		 u->op == RAW_JOIN || u->op == HISTORY_EDGE)
		object(u);
}

/* --- who has to do with what --- */

/*
 * By 64 bytes of memory: the replay it is of; whether it is written; whether threads are several;
 * the first of them. Memory that falls together is only looked at more closely than need be.
 */
enum { SHARED_SHIFT = 6, SHARED_BITS = 15 };
#define SHARED_WRITTEN (1ull << 31)
#define SHARED_SEVERAL (1ull << 30)
static uint64_t shared[1 << SHARED_BITS];
static uint64_t naccesses, first_clock;

static uint64_t *shared_at(uintptr_t address)
{
	return &shared[(address >> SHARED_SHIFT) * 0x9e3779b97f4a7c15ull >> (64 - SHARED_BITS)];
}

static void share(uint8_t op, uintptr_t address, uint64_t size, uint32_t thread)
{
	uint64_t written = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHARED_WRITTEN;
	uintptr_t block = (1ul << SHARED_SHIFT) - 1;

	for (uintptr_t at = address; at < address + size; at = (at | block) + 1) {
		uint64_t *s = shared_at(at);

		if (*s >> 32 != stamp)
			*s = (uint64_t)stamp << 32 | thread;
		else if ((*s & (SHARED_SEVERAL - 1)) != thread)
			*s |= SHARED_SEVERAL;
		*s |= written;
	}
}

static bool is_shared(uintptr_t address, uint64_t size)
{
	uint64_t both = SHARED_WRITTEN | SHARED_SEVERAL;
	uintptr_t block = (1ul << SHARED_SHIFT) - 1;

	for (uintptr_t at = address; at < address + size; at = (at | block) + 1) {
		uint64_t s = *shared_at(at);

		if (s >> 32 == stamp && (s & both) == both)
			return true;
	}
	return false;
}

/* --- the units of a component --- */

static void add_unit(struct unit u)
{
	MEM_GROW(units, units_cap, nunits + 1);
	units[nunits++] = u;
	too_large |= nunits > UNITS_MAX;
}

/* Does it matter for the order of transactions? */
static bool counts(enum raw_op op)
{
	return is_access((uint8_t)op) || (op >= RAW_ACQUIRE && op <= RAW_SEM_POST) ||
	       op == RAW_FORK || op == RAW_JOIN || op == RAW_ALLOC || op == RAW_FORGET;
}

/* The first time only who shares what; false: some of it was overwritten. */
static bool read_part(const struct icd_part *p, uint32_t thread, uint32_t number, bool first_time)
{
	const struct history *h = p->history;
	size_t first = nunits;
	bool not_held = false, far = false;
	uint64_t oldest = 0;

	/* From the oldest chunk on; times go up. */
	for (uint32_t i = 1; i <= h->nchunks && !too_large; i++) {
		uint32_t k = (h->at + i) % h->nchunks;
		uint64_t serial = __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE);
		struct history_walk w;

		if (!serial || h->chunk[k].base >= p->to)
			continue;
		/* The next one begins before this part: nothing of it is in here. */
		if (k != h->at) {
			uint32_t next = (k + 1) % h->nchunks;

			if (h->chunk[next].serial == serial + 1 && h->chunk[next].base < p->from)
				continue;
		}
		if (!history_walk(&w, h, k))
			continue;
		if (!oldest) {
			oldest = serial;
			far = serial == 1 || h->chunk[k].base <= p->from;
		}
		for (;;) {
			const uint64_t *at;

			if (!history_walk_next(&w) || w.time >= p->to)
				break;
			at = w.u;
			if (w.prologue || w.time < p->from)
				continue;
			if (w.op == (enum raw_op)HISTORY_EDGE) {
				if (w.address)
					continue;
				not_held = w.size == ICD_NOT_HELD;
				if (not_held)
					continue;
			} else if (!counts(w.op)) {
				continue;
			}
			if (first_time) {
				if (w.clock < first_clock)
					first_clock = w.clock;
				if (is_access((uint8_t)w.op)) {
					naccesses++;
					share((uint8_t)w.op, w.address, w.size, thread);
				}
				continue;
			}
			if (is_access((uint8_t)w.op) && !is_shared(w.address, w.size))
				continue;
			add_unit((struct unit){h, at, w.address, w.size, w.clock, w.pc, thread,
					       number, (uint8_t)w.op, (uint8_t)w.aux, not_held});
			if (w.op == (enum raw_op)HISTORY_EDGE)
				units[nunits - 1].address = p->thread;
			not_held = false;
		}
		if (k != h->at && __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE) != serial)
			return false;
	}
	/* It begins with its first unit and ends with its last. */
	if (!p->outside && nunits > first) {
		struct unit begin = units[first], end = units[nunits - 1];

		begin.op = RAW_BEGIN;
		end.op = RAW_END;
		add_unit(end);
		add_unit(end);
		memmove(&units[first + 1], &units[first], (nunits - first - 2) * sizeof *units);
		units[first] = begin;
	}
	return far;
}

/* Where what is sorted already ends. */
static size_t run_end(const struct unit *v, size_t at)
{
	if (at == nunits)
		return at;
	while (++at < nunits && v[at - 1].clock <= v[at].clock)
		;
	return at;
}

/* By clock, and the order within a thread stays. Each thread's are sorted: few runs to merge. */
static void sort(void)
{
	struct unit *from = units, *to;

	MEM_GROW(sorted, sorted_cap, nunits);
	to = sorted;
	while (nunits && run_end(from, 0) < nunits) {
		struct unit *swap = from;
		size_t at = 0;

		while (at < nunits) {
			size_t middle = run_end(from, at), end = run_end(from, middle);
			size_t a = at, b = middle;

			for (size_t k = at; k < end; k++)
				to[k] = b == end || (a < middle && from[a].clock <= from[b].clock)
						? from[a++]
						: from[b++];
			at = end;
		}
		from = to;
		to = swap;
	}
	if (from != units)
		memcpy(units, from, nunits * sizeof *units);
}

/* Parts by thread, then time; they are few, or nearly sorted. */
static void sort_parts(struct icd_part *v, uint32_t n)
{
	for (uint32_t gap = n / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < n; i++) {
			struct icd_part p = v[i];
			uint32_t k = i;

			for (; k >= gap &&
			       (v[k - gap].thread > p.thread ||
				(v[k - gap].thread == p.thread && v[k - gap].from > p.from));
			     k -= gap)
				v[k] = v[k - gap];
			v[k] = p;
		}
}

/* --- the replay --- */

/* For precise.c; an event is the number of its unit, and one. */
void closings_add(struct closings *c, uint64_t event, uint64_t begin, uint32_t thread)
{
	if (c->n && c->v[c->n - 1].event == event)
		return;
	MEM_GROW(c->v, c->cap, c->n + 1);
	c->v[c->n++] = (struct closing){event, begin, thread};
}

static void give(const struct unit *u, enum op op, uint32_t operand)
{
	struct event e = {.thread = u->thread, .op = (uint8_t)op, .operand = operand};

	if (op == OP_BEGIN)
		e.outer = OUTER_BEGIN;
	if (op == OP_END)
		e.outer = OUTER_END;
	precise_one(&precise, &e, (uint64_t)(u - units) + 1);
}

static void give_access(const struct unit *u, enum op op)
{
	uintptr_t end = u->address + u->size;

	for (uintptr_t at = u->address; at < end; at = (at | 7) + 1) {
		const struct cell *c = find(key_of(DATA, at));
		uint32_t bytes = bytes_at(at, end), given = 0;

		for (int i = 0; i < 8; i++)
			if (bytes >> i & 1 && !(given >> c->class[i] & 1)) {
				given |= 1u << c->class[i];
				give(u, op, c->number + c->class[i]);
			}
	}
}

static void forget_cell(const struct cell *c)
{
	if (c->stamp == stamp && (c->key & 3) == DATA)
		memset(&precise.var[c->number], 0, 8 * sizeof *precise.var);
}

/* Other memory than before. */
static void forget(const struct unit *u)
{
	uintptr_t end = u->address + u->size;

	if (u->size / 8 < cells_cap) {
		for (uintptr_t at = u->address; at < end; at += 8)
			forget_cell(find(key_of(DATA, at)));
		return;
	}
	for (uint32_t i = 0; i < cells_cap; i++)
		if (cells[i].key >= key_of(DATA, u->address) && cells[i].key < key_of(DATA, end))
			forget_cell(&cells[i]);
}

static void replay_unit(const struct unit *u)
{
	switch (u->op) {
	case RAW_READ:
	case RAW_READ_RANGE:
		give_access(u, OP_READ);
		break;
	case RAW_WRITE:
	case RAW_WRITE_RANGE:
		give_access(u, OP_WRITE);
		break;
	case RAW_UPDATE:
		give_access(u, OP_UPDATE);
		break;
	case RAW_SEM_POST:
		if (u->not_held)
			give(u, OP_ACQUIRE, object(u)->number);
		give(u, OP_RELEASE, object(u)->number);
		break;
	case RAW_ACQUIRE:
	case RAW_SEM_WAIT:
		give(u, OP_ACQUIRE, object(u)->number);
		break;
	case RAW_RELEASE:
		give(u, OP_RELEASE, object(u)->number);
		break;
	case RAW_ACQUIRE_SHARED:
		give(u, OP_ACQUIRE_SHARED, object(u)->number);
		break;
	case RAW_RELEASE_SHARED:
		give(u, OP_RELEASE_SHARED, object(u)->number);
		break;
	case RAW_FORK:
		give(u, OP_WRITE, object(u)->number);
		break;
	case RAW_JOIN:
		give(u, OP_READ, object(u)->number);
		break;
	case HISTORY_EDGE:
		give(u, u->size == ICD_BORN ? OP_READ : OP_WRITE, object(u)->number);
		break;
	case RAW_ALLOC:
	case RAW_FORGET:
		forget(u);
		break;
	case RAW_BEGIN:
		give(u, OP_BEGIN, 0);
		break;
	case RAW_END:
		give(u, OP_END, 0);
		break;
	default:
		break;
	}
}

static bool touch(const struct unit *a, const struct unit *b)
{
	if (is_access(a->op) != is_access(b->op))
		return false;
	return is_access(a->op)
		       ? a->address < b->address + b->size && b->address < a->address + a->size
		       : a->address == b->address;
}

static void fill(struct live_step *s, const struct unit *u)
{
	*s = (struct live_step){.address = u->address,
				.pc = u->pc,
				.time = u->clock,
				.thread = u->history->thread,
				.op = u->op,
				.aux = u->aux};
}

/* Cycles that were reported when their component was smaller, by where they were closed. */
enum { TOLD = 1 << 12 };
static const uint64_t *told[TOLD];
static uint64_t told_clock[TOLD];

static bool is_told(const struct unit *u)
{
	size_t i = (uintptr_t)u->at * 0x9e3779b97f4a7c15ull >> 52;

	if (told[i] == u->at && told_clock[i] == u->clock)
		return true;
	told[i] = u->at;
	told_clock[i] = u->clock;
	return false;
}

static void set_found(struct report_found *f, const struct closing *c, const struct icd_part *parts)
{
	const struct unit *last = &units[c->event - 1], *u = last;

	*f = (struct report_found){
		.history = last->history,
		.thread = last->history->thread,
		.last = last->at,
		.from = first_clock,
		.until = last->clock,
		.size = last->size,
		.block = parts[last->part].block,
	};
	/* Whom it comes after. */
	while (u > units && (u->thread == last->thread || !touch(u, last)))
		u--;
	fill(&f->steps[0], u);
	fill(&f->steps[1], last);
}

/* Everything is held still while it is read; false: some of it is gone. */
static bool read_all(struct icd_part *parts, uint32_t n, bool first_time)
{
	bool whole = true;
	uint32_t thread = 0;

	history_hold();
	for (uint32_t i = 0; i < n && whole; i++) {
		thread += i && parts[i].thread != parts[i - 1].thread;
		whole = parts[i].history && parts[i].history->thread == parts[i].thread &&
			read_part(&parts[i], thread, i, first_time) && !too_large;
	}
	history_let_go();
	return whole;
}

/* What was found, and how many. */
static struct report_found *replay(struct icd_found *f, size_t *nfound)
{
	struct report_found *found;
	bool whole;

	if (!started)
		precise_init(&precise);
	started = true;
	stamp++;
	nunits = 0;
	ncells = nvars = nlocks = 0;
	too_large = false;
	naccesses = 0;
	first_clock = UINT64_MAX;
	if (!cells)
		grow();
	sort_parts(f->part, f->n);
	whole = read_all(f->part, f->n, true) && read_all(f->part, f->n, false);
	for (size_t i = 0; i < nunits && whole; i++)
		prepare(&units[i]);
	if (!whole || too_large) {
		__atomic_fetch_add(&report_counts.lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	sort();
	precise_room(&precise, nvars, nlocks, f->n);
	precise.closings.n = 0;
	report_counts.accesses += naccesses;
	for (size_t i = 0; i < nunits; i++)
		replay_unit(&units[i]);
	if (!precise.closings.n)
		return NULL;
	found = mem_alloc(precise.closings.n * sizeof *found);
	for (size_t i = 0; i < precise.closings.n; i++) {
		const struct closing *c = &precise.closings.v[i];

		if (is_told(&units[c->event - 1]))
			continue;
		__atomic_fetch_add(&report_counts.cycles, 1, __ATOMIC_RELAXED);
		set_found(&found[(*nfound)++], c, f->part);
	}
	return found;
}

void icd_replay(struct rt_thread *t, struct icd_found *f)
{
	struct report_found *found;
	size_t n = 0;

	rt_lock_ranked(&lock, RT_REPLAY);
	found = replay(f, &n);
	rt_unlock(&lock);
	for (size_t i = 0; i < n; i++)
		report_found(t, &found[i]);
	mem_free(found);
}

void icd_replay_child(void)
{
	lock = 0;
}
