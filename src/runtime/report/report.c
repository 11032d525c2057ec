#include "runtime/report/report.h"

#include <string.h>

#include "engine/precise/order.h"
#include "runtime/blocks/block_policy.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/options.h"
#include "runtime/report/snapshot.h"
#include "runtime/thread/registry.h"

#include "base/banned.h"

struct report_counts report_counts;

/* --- kinds of cycles: the places tell them apart --- */

enum { KINDS = 1 << 12 };
static struct kind {
	uint64_t key; /* 0: empty */
	uint64_t again;
	bool counted; /* only: nobody was told */
} kinds[KINDS];
static uint32_t nkinds, kinds_lock;
static uint64_t shown_here; /* cycles that were told without a reporter */

/*
 * To tell of a kind takes a picture of all threads, while the program may hold its locks, and a
 * block may have kinds by the hundred: of each block that is to blame so many are told, and the
 * others counted. What one takes is not missing to others, whatever becomes of its findings. Where
 * another is to blame than the one that closed the cycle, all that is known of that is a place: of
 * each a few are told, so that many have their turn.
 */
enum { TOLD_BLAMED = 16, TOLD_OF_OTHERS = 64, TOLD_OF_PLACE = 16, BLOCKS = 1 << 12 };
static struct block {
	uint64_t key; /* 0: empty */
	uint32_t told;
} blocks[BLOCKS];
static uint32_t nblocks;

/* With the lock held: one more, of so many. */
static bool is_left(uint64_t key, uint32_t many)
{
	size_t i = key >> 52;

	while (blocks[i].key && blocks[i].key != key)
		i = (i + 1) & (BLOCKS - 1);
	if (!blocks[i].key) {
		if (nblocks == BLOCKS - 1)
			return true;
		nblocks++;
		blocks[i].key = key;
	}
	if (blocks[i].told == many)
		return false;
	blocks[i].told++;
	return true;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* With the lock held. `place`: of the step before the last. */
static bool may_tell(const struct live_finding *head, uint64_t place)
{
	uint64_t key = mix(mix(2 + head->marked, head->block), head->blamed);

	/*
	 * Who stops at the first one that counts has none behind it. And where some are hidden
	 * nobody knows here which: the one behind them may be the one that counts.
	 */
	if (!head->block || rt_options.halt_on_error || rt_options.hides ||
	    *rt_options.suppressions)
		return true;
	if (head->blamed)
		return is_left(key | 1, TOLD_BLAMED);
	return is_left(mix(key, place) | 1, TOLD_OF_PLACE) && is_left(key | 1, TOLD_OF_OTHERS);
}

/* True: it is new, and to be told. */
static bool note_kind(const struct live_finding *head, uint64_t place)
{
	uint64_t key = head->key;
	size_t i = key >> 52;
	bool fresh;

	rt_lock(&kinds_lock);
	while (kinds[i].key && kinds[i].key != key)
		i = (i + 1) & (KINDS - 1);
	fresh = !kinds[i].key && nkinds < KINDS - 1;
	if (rt_options.all) {
		fresh = true;
		nkinds = 1;
	} else if (fresh) {
		kinds[i].key = key;
		nkinds++;
		fresh = may_tell(head, place);
		kinds[i].counted = !fresh;
	} else if (kinds[i].key) {
		kinds[i].again++;
	}
	rt_unlock(&kinds_lock);
	return fresh;
}

/* --- a cycle --- */

/* Can an edge come from it, or go to it? */
static bool can_be_step(enum raw_op op, bool source)
{
	switch (op) {
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
	case RAW_SEM_WAIT:
	case RAW_JOIN:
		return !source;
	case RAW_RELEASE:
	case RAW_RELEASE_SHARED:
	case RAW_FORK:
		return source;
	default:
		return history_is_access(op) || op == RAW_SEM_POST;
	}
}

static bool take_step(struct live_step *to, uint64_t clock, uint64_t address, uintptr_t pc,
		      enum raw_op op, uint32_t aux)
{
	to->time = clock;
	to->address = address;
	to->pc = pc;
	to->op = (uint8_t)op;
	to->aux = (uint8_t)aux;
	return true;
}

/*
 * An operation at this time, of this memory if there is one, else the first. A line has one time
 * for all that was done with it in a stretch: the access itself may have come later, up to the next
 * edge. True: that is it, and not just some other at this time.
 */
static bool look_in(struct history *h, uint32_t k, uint64_t time, uint64_t address, bool source,
		    struct live_step *to)
{
	struct history_walk w;
	bool here;

	if (!history_walk_to(&w, h, k, time))
		return false;
	if (w.time && !to->op)
		to->time = w.clock;
	while (history_walk_next(&w)) {
		if (w.time > time && (!address || !source || w.op == (enum raw_op)HISTORY_EDGE))
			break;
		here = address && (address == w.address || address - w.address < w.size);
		if (w.time <= time && !to->op)
			to->time = w.clock;
		if (w.time < time || w.prologue || !can_be_step(w.op, source) ||
		    (w.time > time && !history_is_access(w.op)) ||
		    (!here && (to->op || w.time > time)))
			continue;
		take_step(to, w.clock, w.address, w.pc, w.op, w.aux);
		if (here || !address)
			return true;
	}
	return false;
}

/*
 * The same among the operations on locks that were kept. An access may have the same time and is
 * not to be taken for one of these: an edge came in with the operation, or came from one on the
 * lock that it went to.
 */
static bool look_in_locks(const struct history *h, uint64_t time, uint64_t lock, bool source,
			  struct live_step *to)
{
	uint64_t low, high = history_locks(h, &low), end = high;
	struct history_lock_op op;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!history_lock_at(h, middle, &op) || op.time < time)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < end && history_lock_at(h, low, &op) && op.time == time; low++) {
		if (!can_be_step((enum raw_op)op.op, source) ||
		    (source ? op.address != lock : !op.edge))
			continue;
		for (size_t i = 0; i < LIVE_CALLS; i++)
			to->calls[i] = op.call[i];
		return take_step(to, op.clock, op.address, op.pc, (enum raw_op)op.op, op.aux);
	}
	return false;
}

/*
 * What is known of a step; false: it is so long ago that its history is gone. `next`: where an edge
 * from it went to; NULL: it is where one came in.
 *
 * The time may stand still while a thread fills many chunks: what was first done then is in the
 * last one that begins before that time, or in one behind it.
 */
static bool look(uint64_t s, const struct live_step *next, struct live_step *to)
{
	struct history *h = history_of_slot(step_slot(s));
	uint64_t time = (uint64_t)step_index(s), address = next ? next->address : 0;
	uint32_t k;
	bool here;

	memset(to, 0, sizeof *to);
	to->evicted = 1;
	if (!h)
		return false;
	to->thread = h->thread;
	here = history_chunk_of(h, time, &k);
	if (!here && (!next || history_is_on_lock((enum raw_op)next->op)) &&
	    look_in_locks(h, time, address, next, to)) {
		to->evicted = 0;
		to->kept = 1;
		return false;
	}
	if (!here && !address)
		return false;
	for (uint32_t i = 0; i < h->nchunks && h->chunk[k].base <= time; i++) {
		if (look_in(h, k, time, address, next, to)) {
			to->evicted = 0;
			return true;
		}
		if (k == h->at)
			break;
		k = (k + 1) % h->nchunks;
	}
	if (!here)
		*to = (struct live_step){.thread = h->thread};
	to->evicted = !here;
	return here;
}

/* In words, where there is nobody to do it better. */
static void tell_here(const struct live_step *about)
{
	const struct live_step *last = &about[1], *before = &about[0];

	__atomic_fetch_add(&shown_here, 1, __ATOMIC_RELAXED);
	rt_say("atomicity violation: thread %u at 0x%lx, memory 0x%lx, after thread %u at 0x%lx "
	       "(no reporter: the program 'atomsan' %s)",
	       last->thread, (unsigned long)last->pc, (unsigned long)last->address, before->thread,
	       (unsigned long)before->pc,
	       link_is_gone() ? "was started, and has ended" : "cannot be started");
}

/* A transaction that goes on and on closing cycles of new kinds is not to flood anybody. */
enum { REPORTS = 8 };
_Static_assert(CYCLE_CLOSING <= LIVE_CLOSING_MAX && CYCLE_STEPS <= LIVE_STEPS_MAX,
	       "reporters take it");
_Static_assert(HISTORY_CALLS == LIVE_CALLS, "and all calls");
static uint32_t telling; /* threads that are: the program's end waits for them */

/*
 * What is told, when nothing is held any more. Threads may have little stack: what is long is in
 * pages, and is made with the histories held.
 */
struct telling {
	struct live_finding head;
	uint32_t nsteps, nclosing;
	struct live_step *steps;   /* rt_pages(), of STEPS_BYTES; NULL: there is no memory */
	struct live_step about[2]; /* the last ones of them */
	struct live_closing closing[CYCLE_CLOSING];
	struct snapshot out;
};
enum { STEPS_BYTES = CYCLE_STEPS * sizeof(struct live_step) };

/* With the histories held. */
static void keep(struct telling *w, const struct live_step *steps, const struct cycle *c)
{
	uint32_t n = w->nsteps;

	w->steps = rt_pages(STEPS_BYTES);
	if (w->steps)
		memcpy(w->steps, steps, n * sizeof *steps);
	memcpy(w->about, &steps[n - 2], sizeof w->about);
	for (uint32_t i = 0; i < w->nclosing; i++)
		w->closing[i] = (struct live_closing){c->closing[i].address, c->closing[i].bytes};
}

/* With nothing held. */
static void tell(struct telling *w)
{
	const struct live_finding *head = &w->head;
	struct live_section steps = {LIVE_SECTION_STEPS, w->nsteps * sizeof *w->steps},
			    closing = {LIVE_SECTION_CLOSING, w->nclosing * sizeof *w->closing},
			    recording = {LIVE_SECTION_RECORDING, (uint32_t)w->out.recording.n};
	struct link_part parts[] = {
		{head, sizeof *head},           {&steps, sizeof steps},
		{w->steps, steps.bytes},        {&closing, sizeof closing},
		{w->closing, closing.bytes},    {w->out.facts.p, w->out.facts.n},
		{&recording, sizeof recording}, {w->out.recording.p, w->out.recording.n}};
	struct live_shown shown = {0};
	bool said;

	__atomic_fetch_add(&report_counts.evicted, head->evicted, __ATOMIC_RELAXED);
	__atomic_fetch_add(&telling, 1, __ATOMIC_SEQ_CST);
	said = w->steps && !w->out.recording.failed && !w->out.facts.failed &&
	       link_send(LIVE_FINDING, parts, sizeof parts / sizeof *parts,
			 head->answer ? &shown : NULL, sizeof shown);
	rt_pages_free(w->out.recording.p, w->out.recording.cap);
	rt_pages_free(w->out.facts.p, w->out.facts.cap);
	rt_pages_free(w->steps, STEPS_BYTES);
	if (!said)
		tell_here(w->about);
	__atomic_fetch_sub(&telling, 1, __ATOMIC_SEQ_CST);
	/* It, or what there is of it, was shown. */
	if ((!said || shown.findings) && rt_options.halt_on_error)
		rt_halt();
}

void report_left_out(void)
{
	enum { MAX = 4096 };
	uint64_t *left_out = rt_pages(MAX * sizeof *left_out);
	size_t n = left_out ? block_policy_left_out(left_out, MAX, UINT64_MAX) : 0;

	if (n)
		link_send(LIVE_LEFT_OUT, &(struct link_part){left_out, n * sizeof *left_out}, 1,
			  NULL, 0);
	rt_pages_free(left_out, MAX * sizeof *left_out);
}

void report_settled(struct rt_thread *t, bool cut)
{
	struct live_settled s = {.thread = t->id};

	t->blocks.nreports = 0;
	if (!link_is_up())
		return;
	__atomic_fetch_add(&telling, 1, __ATOMIC_SEQ_CST);
	if (cut)
		report_left_out();
	link_send(LIVE_SETTLED, &(struct link_part){&s, sizeof s}, 1, NULL, 0);
	__atomic_fetch_sub(&telling, 1, __ATOMIC_SEQ_CST);
}

/*
 * Is the open transaction itself cut through? So it is where each step of the way happened before
 * the next: whoever was entered by an edge was left by one that is not older.
 */
static bool is_cut(const struct cycle *c)
{
	uint64_t home = c->step[c->n - 1];

	for (uint32_t i = 1; i + 1 < c->n; i += 2)
		if (step_index(c->step[i + 1]) > step_index(c->step[i]))
			return false;
	return step_slot(home) == c->slot && (uint64_t)step_index(home) >= c->begin;
}

static void name_block(const struct rt_thread *t, const struct cycle *c, struct live_finding *head)
{
	if (!t->blocks.txn)
		return;
	head->blamed = is_cut(c);
	head->marked = t->blocks.txn_mark != 0;
	if (head->marked) {
		head->block = t->blocks.mark[t->blocks.txn_mark - 1].label;
		head->begin = t->blocks.mark[t->blocks.txn_mark - 1].pc;
	} else {
		head->block = t->calls.frame[t->blocks.txn - 1].function;
		head->begin = t->calls.frame[t->blocks.txn - 1].caller;
	}
}

void report_cycle(struct rt_thread *t, const struct cycle *c)
{
	static const struct live_step nothing;
	static struct live_step steps[CYCLE_STEPS], begin; /* with the histories held */
	struct telling w = {.head = {.thread = t->id,
				     .answer = rt_options.halt_on_error,
				     .open = t->blocks.txn && !rt_options.halt_on_error},
			    .nsteps = c->n,
			    .nclosing = c->nclosing};
	uint64_t key = 1, from = UINT64_MAX;
	bool far = true, here;

	if (c->n < 2 || (t->blocks.nreports >= REPORTS && !rt_options.all))
		return;
	history_hold();
	memset(steps, 0, sizeof steps);
	/* Forwards, as they happened. */
	for (uint32_t i = 0; i < c->n; i++) {
		struct live_step *s = &steps[c->n - 1 - i];

		/* From the second on: where an edge came from, where the one before it went to. */
		here = look(c->step[i], i & 1 ? s + 1 : NULL, s);
		far &= here;
		if (here && s->time < from)
			from = s->time;
	}
	if (look((uint64_t)c->slot << ORDER_INDEX_BITS | c->begin, &nothing, &begin) &&
	    begin.time < from)
		from = begin.time;
	key = mix(key, t->blocks.txn && !t->blocks.txn_mark
			       ? t->calls.frame[t->blocks.txn - 1].function
			       : 0);
	for (uint32_t i = 0; i < c->n; i++)
		if (i == 0 || i + 2 >= c->n)
			key = mix(mix(key, steps[i].pc), steps[i].op);
	w.head.key = key | 1;
	name_block(t, c, &w.head);
	if (!note_kind(&w.head, steps[c->n - 2].pc)) {
		history_let_go();
		return;
	}
	far &= snapshot_take(&w.out, far, from, c, steps, NULL);
	keep(&w, steps, c);
	history_let_go();
	w.head.evicted = !far;
	t->blocks.nreports += w.head.open;
	tell(&w);
}

void report_found(struct rt_thread *t, const struct report_found *f)
{
	static struct cycle c; /* with the histories held */
	const struct live_step *last = &f->steps[1];
	struct telling w = {
		.head = {.thread = f->thread, .replayed = 1, .answer = rt_options.halt_on_error},
		.nsteps = 2};
	uint64_t key = mix(1, f->block), end = last->address + f->size;
	bool far;

	(void)t;
	for (int i = 0; i < 2; i++)
		key = mix(mix(key, f->steps[i].pc), f->steps[i].op);
	w.head.key = key | 1;
	history_hold();
	if (!note_kind(&w.head, 0)) {
		history_let_go();
		return;
	}
	memset(&c, 0, sizeof c);
	for (uint64_t at = last->address;
	     (last->op == RAW_READ || last->op == RAW_WRITE || last->op == RAW_UPDATE ||
	      last->op == RAW_READ_RANGE || last->op == RAW_WRITE_RANGE) &&
	     at < end && c.nclosing < CYCLE_CLOSING;
	     at = (at | 7) + 1) {
		uint64_t stop = (at | 7) + 1;

		c.closing[c.nclosing].address = at & ~7ul;
		c.closing[c.nclosing++].bytes =
			0xffu << (at & 7) & 0xffu >> (stop > end ? stop - end : 0);
	}
	w.nclosing = c.nclosing;
	far = f->history->thread == f->thread;
	far &= snapshot_take(&w.out, true, f->from, &c, f->steps, f);
	keep(&w, f->steps, &c);
	history_let_go();
	w.head.evicted = !far;
	tell(&w);
}

uint64_t report_end(uint32_t slots)
{
	struct live_end end = {.slots = slots, .threads = registry_count()};
	struct live_shown shown = {0};

	while (__atomic_load_n(&telling, __ATOMIC_SEQ_CST))
		rt_yield();
	if (*rt_options.first_run)
		block_policy_send_suspects();
	/* Who was not checked in full is told, though there is nothing else to say. */
	if (!link_is_up() && !report_counts.lost && !*rt_options.reporter)
		return shown_here;
	report_left_out();
	for (size_t i = 0; i < KINDS; i++) {
		struct live_again a = {kinds[i].key, kinds[i].again};

		if (kinds[i].counted) {
			end.kinds_counted++;
			end.times_counted += 1 + a.times;
		} else if (a.key && a.times)
			link_send(LIVE_AGAIN, &(struct link_part){&a, sizeof a}, 1, NULL, 0);
	}
	end.transactions = report_counts.transactions + rt_self.blocks.transactions;
	end.edges = report_counts.edges;
	end.cycles = report_counts.cycles;
	end.evicted = report_counts.evicted;
	end.idg_edges = report_counts.idg_edges;
	end.components = report_counts.components;
	end.passed_on = report_counts.passed;
	end.accesses_passed_on = report_counts.accesses;
	end.logged = report_counts.logged;
	end.lost = report_counts.lost;
	end.pooled = report_counts.pooled;
	end.max_alive = report_counts.max_alive;
	if (!link_send(LIVE_END, &(struct link_part){&end, sizeof end}, 1, &shown, sizeof shown))
		return nkinds;
	/* What another reporter has shown counts, too. */
	return shown.findings || !link_was_lost() || *rt_options.suppressions ? shown.findings
									      : nkinds;
}

void report_child(void)
{
	kinds_lock = telling = 0;
	memset(kinds, 0, sizeof kinds);
	memset(blocks, 0, sizeof blocks);
	nkinds = nblocks = 0;
	shown_here = 0;
	rt_self.blocks.nreports = 0; /* the parent's */
}
