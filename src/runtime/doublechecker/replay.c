/*
 * The precise half of DoubleChecker, inside the program. The transactions of a
 * component are replayed from the histories, in the order of their clocks, through
 * the check that the engines use (engine/precise/precise.h). An operation that closes
 * a cycle there is reported with the histories around it (report.h). The reporter
 * finds the cycle again in these and decides which block is to blame. A component
 * without a cycle is only counted.
 *
 * Most memory that a long transaction accesses is accessed by no other thread. So a
 * component is read twice. The first pass finds the memory that several threads
 * access and one writes; the second one takes only accesses of such memory, and
 * sorts them.
 *
 * Every 8 bytes of memory are divided into variables: a variable is a set of these
 * bytes that each access of the component touches as a whole or not at all. A fork
 * and a join are a write and a read of a variable of their own.
 */
#include <string.h>

#include "base/mem.h"
#include "engine/precise/precise.h"
#include "runtime/doublechecker/icd.h"
#include "runtime/os/options.h"
#include "runtime/report/report.h"

#include "base/banned.h"

static uint32_t lock; /* of all that follows: one component is replayed at a time */
static struct precise precise;
static bool started;

/* An operation of a component: a unit of a history, decoded. */
struct operation {
	const struct history *history;
	const uint64_t *at; /* the unit */
	uint64_t address, size, clock;
	uintptr_t pc;
	uint32_t thread, part;
	uint8_t op, aux; /* op: RAW_BEGIN and RAW_END are the part's, not the history's */
	bool not_held;   /* a semaphore post without the semaphore */
};
static struct operation *ops, *sorted;
static size_t nops, ops_cap, sorted_cap;
enum { OPERATIONS_MAX = 1 << 19, OBJECTS_MAX = 1 << 18 };

/* --- variables --- */

/* What operations are about: 8 bytes of memory, a lock, or the begin or end of a thread. */
enum kind { DATA, LOCK, FORK, EXIT };
struct object {
	uint64_t key;
	uint32_t number;  /* of its first variable; of a lock, its own */
	uint32_t stamp;   /* the replay that it belongs to */
	uint8_t class[8]; /* DATA, by byte: the number of its variable, from 0 */
	uint8_t classes;  /* variables in use */
};
static struct object *objects; /* a hash table with open addressing */
static uint32_t nobjects, objects_cap;
static uint32_t stamp; /* the number of the current replay */
static uint32_t nvars, nlocks;
static bool too_large;

static uint64_t key_of(enum kind kind, uint64_t address)
{
	return (kind == DATA ? address >> 3 : address) << 2 | (uint64_t)kind;
}

/* Returns the slot of the table that has the key, or in which it belongs. */
static struct object *find_slot(uint64_t key)
{
	uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (objects_cap - 1);

	while (objects[i].stamp == stamp && objects[i].key != key)
		i = (i + 1) & (objects_cap - 1);
	return &objects[i];
}

static void grow_objects(void)
{
	struct object *old = objects;
	uint32_t cap = objects_cap;

	objects_cap = cap ? 2 * cap : 1 << 10;
	objects = mem_zalloc(objects_cap * sizeof *objects);
	for (uint32_t i = 0; old && i < cap; i++)
		if (old[i].stamp == stamp)
			*find_slot(old[i].key) = old[i];
	mem_free(old);
}

static struct object *get_object(enum kind kind, uint64_t address)
{
	struct object *c;

	if (2 * (nobjects + 1) > objects_cap)
		grow_objects();
	c = find_slot(key_of(kind, address));
	if (c->stamp == stamp)
		return c;
	*c = (struct object){.key = key_of(kind, address), .stamp = stamp, .classes = 1};
	if (kind == LOCK) {
		c->number = nlocks++;
	} else {
		c->number = nvars;
		nvars += 8;
	}
	too_large |= ++nobjects > OBJECTS_MAX;
	return c;
}

/* An access touches `bytes`: divide every variable that it touches only in part. */
static void split_variables(struct object *c, uint32_t bytes)
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

/* Returns the bytes of the 8 at `at` that lie in [at, end), a bit each. */
static uint32_t bytes_at(uintptr_t at, uintptr_t end)
{
	uintptr_t stop = (at | 7) + 1;

	return 0xffu << (at & 7) & 0xffu >> (stop > end ? stop - end : 0);
}

static bool is_access(uint8_t op)
{
	return op >= RAW_READ && op <= RAW_WRITE_RANGE;
}

/* Returns the object of an operation that is no access. */
static struct object *object_of(const struct operation *u)
{
	if (u->op >= RAW_ACQUIRE && u->op <= RAW_SEM_POST)
		return get_object(LOCK, u->address);
	return get_object(u->op == RAW_FORK || u->size == ICD_BORN ? FORK : EXIT, u->address);
}

/* Number what the operation is about. All are numbered before the first is replayed. */
static void number_variables(const struct operation *u)
{
	uintptr_t end = u->address + u->size;

	if (is_access(u->op))
		for (uintptr_t at = u->address; at < end && !too_large; at = (at | 7) + 1)
			split_variables(get_object(DATA, at), bytes_at(at, end));
	else if ((u->op >= RAW_ACQUIRE && u->op <= RAW_SEM_POST) || u->op == RAW_FORK ||
		 u->op == RAW_JOIN || u->op == HISTORY_EDGE)
		object_of(u);
}

/* --- memory that several threads access --- */

/*
 * By 64 bytes of memory, hashed: the number of the replay in the high half; SHARED_WRITTEN;
 * SHARED_SEVERAL, if more than one thread accesses it; the first thread. If memory that is not
 * shared has the same hash as shared memory, it is replayed needlessly, which does no harm.
 */
enum { SHARED_SHIFT = 6, SHARED_BITS = 15 };
#define SHARED_WRITTEN (1ull << 31)
#define SHARED_SEVERAL (1ull << 30)
static uint64_t shared[1 << SHARED_BITS];
static uint64_t naccesses, first_clock; /* accesses in the component; its lowest clock */

static uint64_t *shared_at(uintptr_t address)
{
	return &shared[(address >> SHARED_SHIFT) * 0x9e3779b97f4a7c15ull >> (64 - SHARED_BITS)];
}

static void note_access(uint8_t op, uintptr_t address, uint64_t size, uint32_t thread)
{
	uint64_t written = op == RAW_READ || op == RAW_READ_RANGE ? 0 : SHARED_WRITTEN;
	uintptr_t last_byte = (1ul << SHARED_SHIFT) - 1;

	for (uintptr_t at = address; at < address + size; at = (at | last_byte) + 1) {
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
	uintptr_t last_byte = (1ul << SHARED_SHIFT) - 1;

	for (uintptr_t at = address; at < address + size; at = (at | last_byte) + 1) {
		uint64_t s = *shared_at(at);

		if (s >> 32 == stamp && (s & both) == both)
			return true;
	}
	return false;
}

/* --- the operations of a component --- */

static void add_operation(struct operation u)
{
	MEM_GROW(ops, ops_cap, nops + 1);
	ops[nops++] = u;
	too_large |= nops > OPERATIONS_MAX;
}

/* Can the operation order transactions, or end the life of a variable? */
static bool is_relevant(enum raw_op op)
{
	return is_access((uint8_t)op) || (op >= RAW_ACQUIRE && op <= RAW_SEM_POST) ||
	       op == RAW_FORK || op == RAW_JOIN || op == RAW_ALLOC || op == RAW_FORGET;
}

/*
 * Read a part's operations from its history. The first time, only note which memory is shared.
 * Returns false if some of the part was overwritten.
 */
static bool read_part(const struct icd_part *p, uint32_t thread, uint32_t number, bool first_time)
{
	const struct history *h = p->history;
	size_t first = nops;
	bool not_held = false, reaches_back = false;
	uint64_t oldest = 0;

	/* From the oldest chunk on: times only grow. */
	for (uint32_t i = 1; i <= h->nchunks && !too_large; i++) {
		uint32_t k = (h->at + i) % h->nchunks;
		uint64_t serial = __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE);
		struct history_walk w;

		if (!serial || h->chunk[k].base >= p->to)
			continue;
		/* The next chunk begins before the part: nothing of the part is in this one. */
		if (k != h->at) {
			uint32_t next = (k + 1) % h->nchunks;

			if (h->chunk[next].serial == serial + 1 && h->chunk[next].base < p->from)
				continue;
		}
		if (!history_walk(&w, h, k))
			continue;
		if (!oldest) {
			oldest = serial;
			reaches_back = serial == 1 || h->chunk[k].base <= p->from;
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
			} else if (!is_relevant(w.op)) {
				continue;
			}
			if (first_time) {
				if (w.clock < first_clock)
					first_clock = w.clock;
				if (is_access((uint8_t)w.op)) {
					naccesses++;
					note_access((uint8_t)w.op, w.address, w.size, thread);
				}
				continue;
			}
			if (is_access((uint8_t)w.op) && !is_shared(w.address, w.size))
				continue;
			add_operation((struct operation){h, at, w.address, w.size, w.clock, w.pc,
							 thread, number, (uint8_t)w.op,
							 (uint8_t)w.aux, not_held});
			if (w.op == (enum raw_op)HISTORY_EDGE)
				ops[nops - 1].address = p->thread;
			not_held = false;
		}
		if (k != h->at && __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE) != serial)
			return false;
	}
	/* The block begins with its first operation and ends with its last. */
	if (!p->outside && nops > first) {
		struct operation begin = ops[first], end = ops[nops - 1];

		begin.op = RAW_BEGIN;
		end.op = RAW_END;
		add_operation(end);
		add_operation(end);
		memmove(&ops[first + 1], &ops[first], (nops - first - 2) * sizeof *ops);
		ops[first] = begin;
	}
	return reaches_back;
}

/* Returns the end of the sorted run that begins at `at`. */
static size_t run_end(const struct operation *v, size_t at)
{
	if (at == nops)
		return at;
	while (++at < nops && v[at - 1].clock <= v[at].clock)
		;
	return at;
}

/*
 * Sort by clock, stably, so that each thread's order stays: a merge sort of the runs that are
 * there. They are few, since each thread's operations are sorted.
 */
static void sort_operations(void)
{
	struct operation *from = ops, *to;

	MEM_GROW(sorted, sorted_cap, nops);
	to = sorted;
	while (nops && run_end(from, 0) < nops) {
		struct operation *swap = from;
		size_t at = 0;

		while (at < nops) {
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
	if (from != ops)
		memcpy(ops, from, nops * sizeof *ops);
}

/* Sort the parts by thread, then time (Shell sort: they are few, or nearly sorted). */
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

/* Called by precise.c. An event's number is 1 + the index of its operation. */
void closings_add(struct closings *c, uint64_t event, uint64_t begin, uint32_t thread)
{
	if (c->n && c->v[c->n - 1].event == event)
		return;
	MEM_GROW(c->v, c->cap, c->n + 1);
	c->v[c->n++] = (struct closing){event, begin, thread};
}

static void feed_event(const struct operation *u, enum op op, uint32_t operand)
{
	struct event e = {.thread = u->thread, .op = (uint8_t)op, .operand = operand};

	if (op == OP_BEGIN)
		e.outer = OUTER_BEGIN;
	if (op == OP_END)
		e.outer = OUTER_END;
	precise_one(&precise, &e, (uint64_t)(u - ops) + 1);
}

static void feed_access(const struct operation *u, enum op op)
{
	uintptr_t end = u->address + u->size;

	for (uintptr_t at = u->address; at < end; at = (at | 7) + 1) {
		const struct object *c = find_slot(key_of(DATA, at));
		uint32_t bytes = bytes_at(at, end), fed = 0;

		RT_ASSERT(c->stamp == stamp);
		for (int i = 0; i < 8; i++)
			if (bytes >> i & 1 && !(fed >> c->class[i] & 1)) {
				fed |= 1u << c->class[i];
				feed_event(u, op, c->number + c->class[i]);
			}
	}
}

static void forget_variables(const struct object *c)
{
	if (c->stamp == stamp && (c->key & 3) == DATA)
		memset(&precise.var[c->number], 0, 8 * sizeof *precise.var);
}

/* The memory was allocated anew: its variables have had no accesses. */
static void forget_memory(const struct operation *u)
{
	uintptr_t end = u->address + u->size;

	if (u->size / 8 < objects_cap) {
		for (uintptr_t at = u->address; at < end; at += 8)
			forget_variables(find_slot(key_of(DATA, at)));
		return;
	}
	for (uint32_t i = 0; i < objects_cap; i++)
		if (objects[i].key >= key_of(DATA, u->address) &&
		    objects[i].key < key_of(DATA, end))
			forget_variables(&objects[i]);
}

static void replay_operation(const struct operation *u)
{
	switch (u->op) {
	case RAW_READ:
	case RAW_READ_RANGE:
		feed_access(u, OP_READ);
		break;
	case RAW_WRITE:
	case RAW_WRITE_RANGE:
		feed_access(u, OP_WRITE);
		break;
	case RAW_UPDATE:
		feed_access(u, OP_UPDATE);
		break;
	case RAW_SEM_POST:
		if (u->not_held)
			feed_event(u, OP_ACQUIRE, object_of(u)->number);
		feed_event(u, OP_RELEASE, object_of(u)->number);
		break;
	case RAW_ACQUIRE:
	case RAW_SEM_WAIT:
		feed_event(u, OP_ACQUIRE, object_of(u)->number);
		break;
	case RAW_RELEASE:
		feed_event(u, OP_RELEASE, object_of(u)->number);
		break;
	case RAW_ACQUIRE_SHARED:
		feed_event(u, OP_ACQUIRE_SHARED, object_of(u)->number);
		break;
	case RAW_RELEASE_SHARED:
		feed_event(u, OP_RELEASE_SHARED, object_of(u)->number);
		break;
	case RAW_FORK:
		feed_event(u, OP_WRITE, object_of(u)->number);
		break;
	case RAW_JOIN:
		feed_event(u, OP_READ, object_of(u)->number);
		break;
	case HISTORY_EDGE:
		feed_event(u, u->size == ICD_BORN ? OP_READ : OP_WRITE, object_of(u)->number);
		break;
	case RAW_ALLOC:
	case RAW_FORGET:
		forget_memory(u);
		break;
	case RAW_BEGIN:
		feed_event(u, OP_BEGIN, 0);
		break;
	case RAW_END:
		feed_event(u, OP_END, 0);
		break;
	default:
		break;
	}
}

/* Are two operations about the same memory, lock or thread? */
static bool have_common_object(const struct operation *a, const struct operation *b)
{
	if (is_access(a->op) != is_access(b->op))
		return false;
	return is_access(a->op)
		       ? a->address < b->address + b->size && b->address < a->address + a->size
		       : a->address == b->address;
}

static void fill_step(struct live_step *s, const struct operation *u)
{
	*s = (struct live_step){.address = u->address,
				.pc = u->pc,
				.time = u->clock,
				.thread = u->history->thread,
				.op = u->op,
				.aux = u->aux};
}

/*
 * The last reported cycles, by the operation that closed them: a component that is queued again as
 * it grows has the same cycles.
 */
enum { REPORTED = 1 << 12 };
static const uint64_t *reported[REPORTED];
static uint64_t reported_clock[REPORTED];

/* Remember that the cycle is reported. Returns true if it already was. */
static bool was_reported(const struct operation *u)
{
	size_t i = (uintptr_t)u->at * 0x9e3779b97f4a7c15ull >> 52;

	if (reported[i] == u->at && reported_clock[i] == u->clock)
		return true;
	reported[i] = u->at;
	reported_clock[i] = u->clock;
	return false;
}

static void fill_found(struct report_replayed *f, const struct closing *c,
		       const struct icd_part *parts)
{
	const struct operation *last = &ops[c->event - 1], *u = last;

	*f = (struct report_replayed){
		.history = last->history,
		.thread = last->history->thread,
		.last = last->at,
		.from = first_clock,
		.until = last->clock,
		.size = last->size,
		.block = parts[last->part].block,
	};
	/* The last operation of another thread on the same object: the edge's source. */
	while (u > ops && (u->thread == last->thread || !have_common_object(u, last)))
		u--;
	fill_step(&f->steps[0], u);
	fill_step(&f->steps[1], last);
}

/* Read all parts while the histories are held still. Returns false if some part is not whole. */
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

/*
 * Replay a component. Returns the cycles that were not reported yet, *nfound of them; the caller
 * frees the array.
 */
static struct report_replayed *replay_component(struct icd_component *c, size_t *nfound)
{
	struct report_replayed *found;
	bool whole;

	RT_ASSERT(lock);
	if (!started)
		precise_init(&precise);
	started = true;
	stamp++;
	nops = 0;
	nobjects = nvars = nlocks = 0;
	too_large = false;
	naccesses = 0;
	first_clock = UINT64_MAX;
	if (!objects)
		grow_objects();
	sort_parts(c->part, c->n);
	whole = read_all(c->part, c->n, true) && read_all(c->part, c->n, false);
	for (size_t i = 0; i < nops && whole; i++)
		number_variables(&ops[i]);
	if (!whole || too_large) {
		__atomic_fetch_add(&report_counts.lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	sort_operations();
	precise_room(&precise, nvars, nlocks, c->n);
	precise.closings.n = 0;
	report_counts.accesses += naccesses;
	for (size_t i = 0; i < nops; i++)
		replay_operation(&ops[i]);
	if (!precise.closings.n)
		return NULL;
	found = mem_alloc(precise.closings.n * sizeof *found);
	for (size_t i = 0; i < precise.closings.n; i++) {
		const struct closing *closing = &precise.closings.v[i];

		if (was_reported(&ops[closing->event - 1]))
			continue;
		__atomic_fetch_add(&report_counts.cycles, 1, __ATOMIC_RELAXED);
		fill_found(&found[(*nfound)++], closing, c->part);
	}
	return found;
}

void icd_replay(struct icd_component *c)
{
	struct report_replayed *found;
	size_t n = 0;

	rt_lock_ranked(&lock, RT_REPLAY);
	found = replay_component(c, &n);
	rt_unlock(&lock);
	for (size_t i = 0; i < n; i++)
		report_replayed(&found[i]);
	mem_free(found);
}

void icd_replay_child(void)
{
	lock = 0;
}
