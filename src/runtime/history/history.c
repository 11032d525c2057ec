#include "runtime/history/history.h"

#include "runtime/os/lock.h"
#include "runtime/os/options.h"
#include "runtime/shadow/time.h"

#include "base/banned.h"

enum {
	/* Of a prologue: calls from each end of a deep stack, and locks. */
	PROLOGUE_CALLS = HISTORY_CHUNK / 5,
	PROLOGUE_LOCKS = HISTORY_CHUNK / 16,
};
/* Each call and mark may need a RAW_PC_HIGH as well. */
_Static_assert(2 * (2 * PROLOGUE_CALLS + RT_MARKS) + PROLOGUE_LOCKS <
		       HISTORY_CHUNK - 2 * HISTORY_SPARE,
	       "a prologue fits into a chunk");

bool history_for_replay;
static struct history *by_slot[SHADOW_SLOTS];
static uint32_t lock;                 /* all of by_slot[], and the owners */
static uint64_t report_now, nreports; /* the number of the report being made, or 0; the last one */

static uint64_t *chunk_start(const struct history *h, uint32_t at)
{
	return h->units + (size_t)at * HISTORY_CHUNK * 2;
}

static void put_call(struct rt_thread *t, const struct rt_frame *f)
{
	history_put(t, RAW_CALL, f->function, f->kind, f->caller);
}

/*
 * Put the calls below `depth`, and between them the first `nmarks` marks. The middle of a very deep
 * stack is left out.
 */
static void put_open_calls(struct rt_thread *t, size_t depth, size_t nmarks)
{
	size_t deep = depth > 2 * PROLOGUE_CALLS ? PROLOGUE_CALLS : 0, mark = 0;

	for (size_t i = 0; i <= depth; i++) {
		for (; mark < nmarks && mark < RT_MARKS && t->blocks.mark[mark].depth <= i; mark++)
			history_put(t, RAW_BEGIN, t->blocks.mark[mark].label, 0,
				    t->blocks.mark[mark].pc);
		if (i == depth)
			break;
		if (deep && i == deep)
			i = depth - deep;
		put_call(t, &t->calls.frame[i]);
	}
}

static void put_held_locks(struct rt_thread *t)
{
	for (size_t i = 0; i < t->locks.n && i < PROLOGUE_LOCKS; i++) {
		const struct rt_held *h = &t->locks.held[i];
		enum raw_op op = h->kind == RAW_SEMAPHORE ? RAW_SEM_WAIT
				 : h->shared              ? RAW_ACQUIRE_SHARED
							  : RAW_ACQUIRE;

		history_put(t, op, h->address, h->kind, t->hist.pc_high);
	}
}

/*
 * Wait while a report is being made, if the thread has overwritten half of its history since. The
 * thread may hold locks; the reporting thread takes none of them, since it holds one of a later
 * rank.
 */
static void wait_for_report(struct history *h)
{
	enum { NAPS = 5000 };
	uint64_t report = __atomic_load_n(&report_now, __ATOMIC_ACQUIRE);

	if (h->report != report) {
		h->report = report;
		h->report_serial = h->serial;
	}
	if (h->serial - h->report_serial < h->nchunks / 2)
		return;
	for (uint32_t i = 0; i < NAPS && __atomic_load_n(&report_now, __ATOMIC_ACQUIRE) == report;
	     i++)
		rt_nap();
	h->report_serial = h->serial;
}

/*
 * Begin a chunk whose first unit after the prologue will be `op`. The thread's state has changed
 * for `op` already, but the prologue is the state before it.
 */
static void begin_chunk(struct rt_thread *t, enum raw_op op, uintptr_t pc)
{
	size_t depth = t->calls.depth + (op == RAW_RETURN) - (op == RAW_CALL);
	struct history *h = t->history;
	struct history_chunk *c;
	struct rt_log *l = &t->hist;

	if (RT_UNLIKELY(__atomic_load_n(&report_now, __ATOMIC_ACQUIRE)))
		wait_for_report(h);
	if (h->serial) {
		uint32_t next = (h->at + 1) % h->nchunks;

		RT_ASSERT(l->base <= t->time.now >> SHADOW_TIME_SHIFT);
		h->chunk[h->at].end = l->next;
		if (h->locks && h->chunk[next].serial)
			history_save_ops(h, next, slot_public[h->slot].dead);
		h->at = next;
	}
	c = &h->chunk[h->at];
	__atomic_store_n(&c->serial, 0, __ATOMIC_SEQ_CST); /* a reader of it gives up */
	l->next = chunk_start(h, h->at);
	l->end = l->next + 2 * (HISTORY_CHUNK - HISTORY_SPARE);
	l->base = t->time.now >> SHADOW_TIME_SHIFT;
	l->clock = t->time.clock;
	l->pc_high = pc & ~0xffffffffull;
	c->base = l->base & (2 * SHADOW_TIMES - 1); /* without the slot */
	c->clock = l->clock;
	c->pc_high = l->pc_high;
	for (size_t i = 0; i < t->calls.depth; i++)
		t->calls.frame[i].unit = NULL;
	put_open_calls(t, depth, t->blocks.nmarks - (op == RAW_BEGIN));
	put_held_locks(t);
	RT_ASSERT(c == &h->chunk[h->at]); /* the prologue fits */
	c->left_start = t->blocks.started && !(depth && t->calls.frame[0].starts);
	c->prologue = (uint32_t)(l->next - chunk_start(h, h->at)) / 2;
	__atomic_store_n(&c->serial, ++h->serial, __ATOMIC_RELEASE);
}

void history_restart(struct rt_thread *t)
{
	begin_chunk(t, RAW_NONE, t->hist.pc_high);
}

void history_make_room(struct rt_thread *t, enum raw_op op, uintptr_t pc)
{
	struct rt_log *l = &t->hist;

	if (l->next >= l->end || ((t->time.now >> SHADOW_TIME_SHIFT) - l->base) >> 32)
		begin_chunk(t, op, pc);
	if (t->time.clock != l->clock) {
		l->clock = t->time.clock;
		l->next[0] = unit_what(RAW_TIME, 0, 0);
		l->next[1] = l->clock;
		l->next += 2;
	}
	if ((pc ^ l->pc_high) >> 32) {
		l->pc_high = pc & ~0xffffffffull;
		l->next[0] = unit_what(RAW_PC_HIGH, pc >> 32, 0);
		l->next[1] = 0;
		l->next += 2;
	}
}

void history_put_edge(struct rt_thread *t, uint64_t word)
{
	history_put(t, (enum raw_op)HISTORY_EDGE, t->shadow.at, 0, t->hist.pc_high);
	t->hist.next[0] = word;
	t->hist.next[1] = 0;
	t->hist.next += 2;
}

/* Returns the number of chunks. Each step of the option doubles it. */
static uint32_t chunk_count(void)
{
	int size = rt_options.history_size;

	return 8u << ((size < 0 ? 0 : size > 6 ? 6 : size) + (history_for_replay ? 2 : 0));
}

static size_t units_bytes(uint32_t n)
{
	return (size_t)n * HISTORY_CHUNK * sizeof(struct raw_unit);
}

static size_t saved_bytes(void)
{
	return history_for_replay
		       ? 0
		       : (HISTORY_LOCKS + HISTORY_ACCESSES) * sizeof(struct history_lock);
}

static struct history *make_history(void)
{
	uint32_t n = chunk_count();
	size_t head = sizeof(struct history) + n * sizeof(struct history_chunk);
	size_t units = units_bytes(n), saved = saved_bytes();
	size_t bookmarks = (size_t)n * HISTORY_BOOKMARKS * sizeof(struct history_bookmark);
	struct history *h;

	head = (head + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);
	h = rt_pages(head + units + saved + bookmarks);
	if (!h)
		return NULL;
	h->nchunks = n;
	h->units = (uint64_t *)((char *)h + head);
	h->locks = saved ? (struct history_lock *)((char *)h + head + units) : NULL;
	h->accesses = saved ? h->locks + HISTORY_LOCKS : NULL;
	h->bookmarks = (struct history_bookmark *)((char *)h + head + units + saved);
	return h;
}

bool history_begin(struct rt_thread *t)
{
	struct history *h;

	RT_ASSERT(t->slot && t->slot < SHADOW_NOBODY);
	rt_lock_ranked(&lock, RT_HISTORIES);
	h = by_slot[t->slot];
	RT_ASSERT(!h || !h->owner);
	if (!h)
		h = make_history();
	if (h) {
		h->thread = t->id;
		h->slot = t->slot;
		h->at = 0;
		h->serial = 0;
		h->nlocks = 0;
		for (uint32_t i = 0; i < h->nchunks; i++)
			h->chunk[i].serial = h->chunk[i].bookmarked = 0;
		h->stack_low = t->stack.low;
		h->stack_high = t->stack.high;
		h->owner = t;
		by_slot[t->slot] = h;
		t->history = h;
		begin_chunk(t, RAW_NONE, 0);
	}
	rt_unlock(&lock);
	return h != NULL;
}

void history_end(struct rt_thread *t)
{
	struct history *h = t->history;

	if (!h)
		return;
	RT_ASSERT(h->owner == t);
	rt_lock_ranked(&lock, RT_HISTORIES);
	h->end = t->hist.next;
	h->last_clock = t->time.clock;
	h->last_time = t->time.now >> SHADOW_TIME_SHIFT & (SHADOW_TIMES * 2 - 1);
	h->owner = NULL;
	rt_unlock(&lock);
	t->history = NULL;
}

void history_forget(uint32_t slot)
{
	struct history *h;

	rt_lock_ranked(&lock, RT_HISTORIES);
	h = by_slot[slot];
	if (h) {
		RT_ASSERT(!h->owner);
		for (uint32_t i = 0; i < h->nchunks; i++)
			h->chunk[i].serial = 0;
		h->nlocks = 0;
		rt_pages_empty(h->units, units_bytes(h->nchunks) + saved_bytes());
	}
	rt_unlock(&lock);
}

void history_child(struct rt_thread *t)
{
	lock = 0;
	report_now = 0;
	for (size_t i = 0; i < SHADOW_SLOTS; i++) {
		struct history *h = by_slot[i];

		if (!h || !h->owner || h->owner == t)
			continue;
		/* The thread does not exist in the child, but its memory does. */
		h->end = h->owner->hist.next;
		h->last_clock = h->owner->time.clock;
		h->last_time = UINT64_MAX;
		h->owner = NULL;
	}
}

void history_stack(const struct rt_thread *t, struct history_stack *to)
{
	size_t first = t->calls.depth > HISTORY_STACK ? t->calls.depth - HISTORY_STACK : 0;

	to->n = 0;
	for (size_t i = first; i < t->calls.depth; i++, to->n++) {
		to->v[to->n].function = t->calls.frame[i].function;
		to->v[to->n].caller = t->calls.frame[i].caller;
	}
}

void history_hold(void)
{
	rt_lock_ranked(&lock, RT_HISTORIES);
}

void history_let_go(void)
{
	rt_unlock(&lock);
}

void history_report_begin(void)
{
	RT_ASSERT(lock && !report_now);
	__atomic_store_n(&report_now, ++nreports, __ATOMIC_RELEASE);
}

void history_report_end(void)
{
	__atomic_store_n(&report_now, 0, __ATOMIC_RELEASE);
}

struct history *history_of_slot(uint32_t slot)
{
	return by_slot[slot];
}

struct history *history_next(struct history *after)
{
	uint32_t slot = after ? after->slot + 1 : 0;

	RT_ASSERT(lock);
	while (slot < SHADOW_SLOTS && !by_slot[slot])
		slot++;
	return slot < SHADOW_SLOTS ? by_slot[slot] : NULL;
}

bool history_chunk_of(const struct history *h, uint64_t time, uint32_t *chunk)
{
	uint32_t k = h->at;

	*chunk = k;
	for (uint32_t i = 0; i < h->nchunks; i++, k = (k + h->nchunks - 1) % h->nchunks) {
		uint64_t serial = __atomic_load_n(&h->chunk[k].serial, __ATOMIC_ACQUIRE);

		if (!serial && i)
			break;
		if (!serial)
			continue; /* the thread is just beginning this chunk */
		*chunk = k;
		if (h->chunk[k].base < time || serial == 1)
			return true;
	}
	return false;
}

static bool op_is_sized(enum raw_op op)
{
	return op == RAW_READ_RANGE || op == RAW_WRITE_RANGE || op == RAW_ALLOC ||
	       op == RAW_FORGET || op == (enum raw_op)HISTORY_EDGE;
}

bool history_walk(struct history_walk *w, const struct history *h, uint32_t chunk)
{
	const struct history_chunk *c = &h->chunk[chunk];
	const uint64_t *start = chunk_start(h, chunk);
	uint64_t serial = __atomic_load_n(&c->serial, __ATOMIC_ACQUIRE);

	*w = (struct history_walk){.u = start,
				   .end = c->end,
				   .base = c->base,
				   .clock = c->clock,
				   .pc_high = c->pc_high,
				   .prologue_end = start + 2 * (size_t)c->prologue};
	if (chunk == h->at)
		w->end = history_end_of(h);
	return serial && w->end >= start && w->end <= start + 2 * HISTORY_CHUNK;
}

bool history_walk_next(struct history_walk *w)
{
	for (; w->u < w->end; w->u += 2) {
		const uint64_t *u = w->u;

		w->op = (enum raw_op)(u[0] >> 48 & 0xff);
		w->address = u[0] & RAW_ADDRESS_MASK;
		w->aux = (uint32_t)(u[0] >> 56);
		if (w->op == RAW_NONE || w->op > (enum raw_op)HISTORY_EDGE)
			return false;
		if (w->op == RAW_TIME) {
			w->clock = u[1];
			continue;
		}
		if (w->op == RAW_PC_HIGH) {
			w->pc_high = w->address << 32;
			continue;
		}
		w->prologue = u < w->prologue_end;
		w->time = w->base + (uint32_t)u[1];
		w->pc = w->pc_high | u[1] >> 32;
		w->size = w->aux;
		w->u += 2;
		if (op_is_sized(w->op)) {
			if (w->u >= w->end)
				return false;
			w->size = w->u[0];
			w->u += 2;
		}
		return true;
	}
	return false;
}

/*
 * Will this unit, and so those before it, never be removed? history_put_return() removes a call if
 * no unit followed it.
 */
static bool unit_is_permanent(enum raw_op op)
{
	return history_is_access(op) || history_is_on_lock(op);
}

bool history_walk_to(struct history_walk *w, struct history *h, uint32_t chunk, uint64_t time)
{
	enum { APART = 2 * HISTORY_CHUNK / HISTORY_BOOKMARKS };
	struct history_chunk *c = &h->chunk[chunk];
	struct history_bookmark *bookmarks = &h->bookmarks[(size_t)chunk * HISTORY_BOOKMARKS];
	uint64_t serial = __atomic_load_n(&c->serial, __ATOMIC_ACQUIRE);
	struct history_walk ahead;
	uint32_t n;

	RT_ASSERT(lock);
	if (!history_walk(w, h, chunk))
		return false;
	if (c->bookmarked != serial) {
		c->bookmarked = serial;
		c->nbookmarks = 0;
	}
	for (n = c->nbookmarks; n && bookmarks[n - 1].time >= time; n--)
		;
	if (n) {
		w->u = bookmarks[n - 1].u;
		w->time = bookmarks[n - 1].time;
		w->clock = bookmarks[n - 1].clock;
		w->pc_high = bookmarks[n - 1].pc_high;
	}
	/* Past the last bookmark: make new ones on the way. */
	for (; n == c->nbookmarks && n < HISTORY_BOOKMARKS; n++, *w = ahead) {
		ahead = *w;
		do {
			if (!history_walk_next(&ahead) || ahead.time >= time)
				return true;
		} while (ahead.u - w->u < APART || !unit_is_permanent(ahead.op));
		bookmarks[c->nbookmarks++] =
			(struct history_bookmark){ahead.u, ahead.time, ahead.clock, ahead.pc_high};
	}
	return true;
}
