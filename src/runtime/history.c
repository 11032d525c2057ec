#include "runtime/history.h"

#include "runtime/options.h"
#include "runtime/shadow.h"

enum { SPARE = 8, PROLOGUE_MAX = HISTORY_CHUNK / 4 };

static struct history *by_slot[SHADOW_SLOTS];
/* Those of threads that have ended, the oldest first. */
static struct history *ended, **ended_tail = &ended;
static uint32_t lock;

static uint64_t *chunk_start(const struct history *h, uint32_t at)
{
	return h->units + (size_t)at * HISTORY_CHUNK * 2;
}

static void put_call(struct rt_thread *t, const struct rt_frame *f)
{
	history_put(t, RAW_CALL, f->function, f->kind, t->clock, f->caller);
}

/* Of a very deep stack the middle is not told. */
static void put_calls(struct rt_thread *t)
{
	size_t deep = t->depth > 2 * PROLOGUE_MAX ? PROLOGUE_MAX : 0, mark = 0;

	for (size_t i = 0; i <= t->depth; i++) {
		for (; mark < t->nmarks && mark < RT_MARKS && t->mark[mark].depth <= i; mark++)
			history_put(t, RAW_BEGIN, t->mark[mark].label, 0, t->clock,
				    t->mark[mark].pc);
		if (i == t->depth)
			break;
		if (deep && i == deep)
			i = t->depth - deep;
		put_call(t, &t->frame[i]);
	}
}

static void put_held(struct rt_thread *t)
{
	for (size_t i = 0; i < t->nheld && i < PROLOGUE_MAX / 4; i++)
		history_put(t, t->held[i].shared ? RAW_ACQUIRE_SHARED : RAW_ACQUIRE,
			    t->held[i].address, t->held[i].kind, t->clock, t->hist.pc_high);
}

static void new_chunk(struct rt_thread *t, uint64_t number, uint64_t time, uintptr_t pc)
{
	struct history *h = t->history;
	struct history_chunk *c;
	struct rt_log *l = &t->hist;

	h->at = h->chunk[h->at].first ? (h->at + 1) % h->nchunks : h->at;
	c = &h->chunk[h->at];
	__atomic_store_n(&c->first, 0, __ATOMIC_RELEASE); /* who reads it now gives up */
	l->next = chunk_start(h, h->at);
	l->end = l->next + 2 * (HISTORY_CHUNK - SPARE);
	l->base = l->last = time;
	l->pc_high = pc & ~0xffffffffull;
	c->base = l->base;
	c->pc_high = l->pc_high;
	t->hist_bias = (uintptr_t)l->next - (number << 4);
	put_calls(t);
	put_held(t);
	c->started = t->started && !(t->depth && t->frame[0].starts);
	c->prologue = (uint32_t)(history_now(t) - number);
	__atomic_store_n(&c->first, number, __ATOMIC_RELEASE);
}

void history_restart(struct rt_thread *t)
{
	new_chunk(t, history_now(t), t->clock, t->hist.pc_high);
}

void history_room(struct rt_thread *t, uint64_t *time, uintptr_t pc)
{
	struct rt_log *l = &t->hist;

	if (l->next >= l->end)
		new_chunk(t, history_now(t), *time, pc);
	if ((*time - l->base) >> 32) {
		l->base = *time;
		l->next[0] = record_what(RAW_TIME, 0, 0);
		l->next[1] = l->base;
		l->next += 2;
	}
	if ((pc ^ l->pc_high) >> 32) {
		l->pc_high = pc & ~0xffffffffull;
		l->next[0] = record_what(RAW_PC_HIGH, pc >> 32, 0);
		l->next[1] = (uint32_t)(*time - l->base);
		l->next += 2;
	}
}

/* Does the number of chunks follow from the option? Each step doubles. */
static uint32_t chunks(void)
{
	int size = rt_options.history_size;

	return 8u << (size < 0 ? 0 : size > 6 ? 6 : size);
}

static struct history *make(void)
{
	uint32_t n = chunks();
	size_t head = sizeof(struct history) + n * sizeof(struct history_chunk);
	size_t units = (size_t)n * HISTORY_CHUNK * sizeof(struct raw_unit);
	char *p;

	head = (head + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);
	p = rt_pages(head + units);
	if (!p)
		return NULL;
	((struct history *)p)->nchunks = n;
	((struct history *)p)->units = (uint64_t *)(p + head);
	return (struct history *)p;
}

/* So many that have ended are kept, at least. */
enum { KEEP = 64 };
static uint32_t nended;

bool history_begin(struct rt_thread *t, uint64_t number)
{
	struct history *h = NULL;

	rt_lock(&lock);
	if (nended > KEEP) {
		h = ended;
		ended = h->next_free;
		if (!ended)
			ended_tail = &ended;
		nended--;
		if (by_slot[h->slot] == h)
			by_slot[h->slot] = NULL;
	} else {
		h = make();
	}
	if (h) {
		h->next_free = NULL;
		h->thread = t->id;
		h->slot = t->slot;
		h->at = 0;
		for (uint32_t i = 0; i < h->nchunks; i++)
			h->chunk[i].first = 0;
		h->stack_low = t->stack_low;
		h->stack_high = t->stack_high;
		h->owner = t;
		h->born = number;
		by_slot[t->slot] = h;
		t->history = h;
		new_chunk(t, number, t->clock, 0);
	}
	rt_unlock(&lock);
	return h != NULL;
}

void history_end(struct rt_thread *t)
{
	struct history *h = t->history;

	if (!h)
		return;
	rt_lock(&lock);
	h->next = t->hist.next;
	h->last = t->hist.last;
	h->owner = NULL;
	*ended_tail = h;
	ended_tail = &h->next_free;
	nended++;
	rt_unlock(&lock);
	t->history = NULL;
}

void history_child(struct rt_thread *t)
{
	lock = 0;
	for (size_t i = 0; i < SHADOW_SLOTS; i++) {
		struct history *h = by_slot[i];

		if (!h || !h->owner || h->owner == t)
			continue;
		/* Its thread is not there any more; its memory is. */
		h->next = h->owner->hist.next;
		h->last = h->owner->hist.last;
		h->owner = NULL;
		*ended_tail = h;
		ended_tail = &h->next_free;
		nended++;
	}
}

void history_stack(const struct rt_thread *t, struct history_stack *to)
{
	size_t first = t->depth > HISTORY_STACK ? t->depth - HISTORY_STACK : 0;

	to->n = 0;
	for (size_t i = first; i < t->depth; i++, to->n++) {
		to->v[to->n].function = t->frame[i].function;
		to->v[to->n].caller = t->frame[i].caller;
	}
}

void history_hold(void)
{
	rt_lock(&lock);
}

void history_let_go(void)
{
	rt_unlock(&lock);
}

struct history *history_of_slot(uint32_t slot)
{
	return by_slot[slot];
}

struct history *history_next(struct history *after)
{
	uint32_t slot = after ? after->slot + 1 : 0;

	while (slot < SHADOW_SLOTS && !by_slot[slot])
		slot++;
	return slot < SHADOW_SLOTS ? by_slot[slot] : NULL;
}

bool history_look(const struct history *h, uint64_t number, struct history_unit *to)
{
	for (uint32_t k = 0; k < h->nchunks; k++) {
		const struct history_chunk *c = &h->chunk[k];
		uint64_t first = __atomic_load_n(&c->first, __ATOMIC_ACQUIRE);
		uint64_t base = c->base, pc_high = c->pc_high, *start = chunk_start(h, k), *u, *at;
		uint64_t what, when;

		if (!first || number < first || number - first >= HISTORY_CHUNK)
			continue;
		/* The base and the high half may change on the way. */
		for (u = start; u < start + 2 * (number - first); u += 2) {
			enum raw_op op = (enum raw_op)(u[0] >> 48 & 0xff);

			if (op == RAW_TIME)
				base = u[1];
			else if (op == RAW_PC_HIGH)
				pc_high = (u[0] & RAW_ADDRESS_MASK) << 32;
			else if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE || op == RAW_ALLOC)
				u += 2;
		}
		at = u;
		/* What had to be put before it counts for it. */
		for (;; u += 2) {
			enum raw_op op = (enum raw_op)(u[0] >> 48 & 0xff);

			if (op == RAW_TIME)
				base = u[1];
			else if (op == RAW_PC_HIGH)
				pc_high = (u[0] & RAW_ADDRESS_MASK) << 32;
			else
				break;
		}
		what = u[0];
		when = u[1];
		if (at != start + 2 * (number - first) ||
		    __atomic_load_n(&c->first, __ATOMIC_ACQUIRE) != first)
			return false;
		*to = (struct history_unit){what & RAW_ADDRESS_MASK, base + (uint32_t)when,
					    pc_high | when >> 32,
					    (enum raw_op)(what >> 48 & 0xff),
					    (uint32_t)(what >> 56)};
		return true;
	}
	return false;
}
