#include "runtime/report/report.h"

#include <string.h>

#include "engine/precise/order.h"
#include "runtime/blocks/block_policy.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/options.h"
#include "runtime/report/kinds.h"
#include "runtime/report/snapshot.h"
#include "runtime/report/steps.h"
#include "runtime/thread/registry.h"

#include "base/banned.h"

struct report_counts report_counts;

static uint64_t nprinted; /* findings that were printed without a reporter */
static uint32_t nsending; /* number of threads that are sending; the program's end waits for them */

/*
 * The first findings that were sent, as far as they can be printed without names: if the reporter
 * dies, it may not have printed them.
 */
enum { SENT_MAX = 64 };
static struct live_step sent_about[SENT_MAX][2];
static uint32_t nsent;

/* --- messages --- */

/* Print a finding with addresses, if there is no reporter to do it better. */
static void print_finding(const struct live_step *about)
{
	const struct live_step *last = &about[1], *before = &about[0];

	__atomic_fetch_add(&nprinted, 1, __ATOMIC_RELAXED);
	rt_say("atomicity violation: thread %u at 0x%lx, memory 0x%lx, after thread %u at 0x%lx "
	       "(no reporter: %s)",
	       last->thread, (unsigned long)last->pc, (unsigned long)last->address, before->thread,
	       (unsigned long)before->pc, link_why_none());
}

/* The finding was sent: keep what print_finding() needs. */
static void keep_sent(const struct live_step about[2])
{
	uint32_t i = __atomic_fetch_add(&nsent, 1, __ATOMIC_RELAXED);

	if (i < SENT_MAX)
		memcpy(sent_about[i], about, sizeof sent_about[i]);
}

/* The reporter has died or stopped. Say so, and print the findings that it may have kept. */
static void print_sent(void)
{
	uint32_t n = nsent;

	rt_say("the reporter ended or stopped before the program did: the summary is missing%s",
	       n ? ", and these findings may be" : "");
	for (uint32_t i = 0; i < n && i < SENT_MAX; i++)
		print_finding(sent_about[i]);
	if (n > SENT_MAX)
		rt_say("%u more findings were sent to it", n - SENT_MAX);
}

/* A long transaction that closes many kinds of cycles must not flood the reporter. */
enum { REPORTS_MAX = 8 };
_Static_assert(CYCLE_CLOSING <= LIVE_CLOSING_MAX && CYCLE_STEPS <= LIVE_STEPS_MAX,
	       "the reporter accepts a cycle");
_Static_assert(HISTORY_CALLS == LIVE_CALLS, "and all calls of a saved operation");

/*
 * A FINDING that is made while the histories are held and sent afterwards. The thread may have
 * little stack, so the long parts are in pages.
 */
struct message {
	struct live_finding head;
	uint32_t nsteps, nclosing;
	struct live_step *steps;   /* rt_pages() of STEPS_BYTES; NULL: no memory */
	struct live_step about[2]; /* the last two of them */
	struct live_closing closing[CYCLE_CLOSING];
	struct snapshot out;
};
enum { STEPS_BYTES = CYCLE_STEPS * sizeof(struct live_step) };

/* Copy the steps and the closing access, with the histories held. */
static void copy_steps(struct message *m, const struct live_step *steps, const struct cycle *c)
{
	uint32_t n = m->nsteps;

	m->steps = rt_pages(STEPS_BYTES);
	if (m->steps)
		memcpy(m->steps, steps, n * sizeof *steps);
	memcpy(m->about, &steps[n - 2], sizeof m->about);
	for (uint32_t i = 0; i < m->nclosing; i++)
		m->closing[i] = (struct live_closing){c->closing[i].address, c->closing[i].bytes};
}

/* Send the message and free its parts. No lock is held. */
static void send_finding(struct message *m)
{
	const struct live_finding *head = &m->head;
	struct live_section steps = {LIVE_SECTION_STEPS, m->nsteps * sizeof *m->steps},
			    closing = {LIVE_SECTION_CLOSING, m->nclosing * sizeof *m->closing},
			    recording = {LIVE_SECTION_RECORDING, (uint32_t)m->out.recording.n};
	struct link_part parts[] = {
		{head, sizeof *head},           {&steps, sizeof steps},
		{m->steps, steps.bytes},        {&closing, sizeof closing},
		{m->closing, closing.bytes},    {m->out.facts.p, m->out.facts.n},
		{&recording, sizeof recording}, {m->out.recording.p, m->out.recording.n}};
	struct live_shown shown = {0};
	bool sent;

	kinds_add_bytes(head, m->out.recording.n + m->out.facts.n);
	__atomic_fetch_add(&report_counts.evicted, head->evicted, __ATOMIC_RELAXED);
	__atomic_fetch_add(&nsending, 1, __ATOMIC_SEQ_CST);
	sent = m->steps && !m->out.recording.failed && !m->out.facts.failed &&
	       link_send(LIVE_FINDING, parts, sizeof parts / sizeof *parts,
			 head->answer ? &shown : NULL, sizeof shown);
	rt_pages_free(m->out.recording.p, m->out.recording.cap);
	rt_pages_free(m->out.facts.p, m->out.facts.cap);
	rt_pages_free(m->steps, STEPS_BYTES);
	if (sent)
		keep_sent(m->about);
	else
		print_finding(m->about);
	__atomic_fetch_sub(&nsending, 1, __ATOMIC_SEQ_CST);
	/* The finding was shown, or printed here. */
	if ((!sent || shown.findings) && rt_options.halt_on_error)
		rt_halt();
}

/* --- cycles --- */

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
	__atomic_fetch_add(&nsending, 1, __ATOMIC_SEQ_CST);
	if (cut)
		report_left_out();
	link_send(LIVE_SETTLED, &(struct link_part){&s, sizeof s}, 1, NULL, 0);
	__atomic_fetch_sub(&nsending, 1, __ATOMIC_SEQ_CST);
}

/*
 * Do the steps prove that the open transaction itself is not serializable? They do if each step
 * happened before the next one: each thread on the way was left by an edge that is not older than
 * the edge by which it was entered.
 */
static bool is_blamed(const struct cycle *c)
{
	uint64_t home = c->step[c->n - 1];

	for (uint32_t i = 1; i + 1 < c->n; i += 2)
		if (step_index(c->step[i + 1]) > step_index(c->step[i]))
			return false;
	return step_slot(home) == c->slot && (uint64_t)step_index(home) >= c->begin;
}

/* Describe the open transaction in the head of a finding. */
static void set_block(const struct rt_thread *t, const struct cycle *c, struct live_finding *head)
{
	if (!t->blocks.txn)
		return;
	head->blamed = is_blamed(c);
	head->marked = t->blocks.txn_mark != 0;
	if (head->marked) {
		head->block = t->blocks.mark[t->blocks.txn_mark - 1].label;
		head->begin = t->blocks.mark[t->blocks.txn_mark - 1].pc;
	} else {
		head->block = t->calls.frame[t->blocks.txn - 1].function;
		head->begin = t->calls.frame[t->blocks.txn - 1].caller;
	}
}

/*
 * Find the operations of the cycle's steps, in the order of time. Sets `*from` to the earliest
 * clock of a step, or of the transaction's begin. False: the histories do not reach back to all of
 * them.
 */
static bool find_steps(const struct cycle *c, struct live_step *steps, uint64_t *from)
{
	static const struct live_step no_step;
	static struct live_step begin; /* with the histories held */
	uint64_t begin_step = (uint64_t)c->slot << ORDER_INDEX_BITS | c->begin;
	bool all = true;

	*from = UINT64_MAX;
	for (uint32_t i = 0; i < c->n; i++) {
		struct live_step *s = &steps[c->n - 1 - i];
		/* Even: an edge went to it. Odd: an edge came from it and went to the one before.
		 */
		bool here = steps_find(c->step[i], i & 1 ? s + 1 : NULL, s);

		all &= here;
		if (here && s->time < *from)
			*from = s->time;
	}
	if (steps_find(begin_step, &no_step, &begin) && begin.time < *from)
		*from = begin.time;
	return all;
}

/* Returns the key of the cycle's kind: the block, and the first and the last two places. */
static uint64_t hash_kind(const struct rt_thread *t, const struct live_step *steps, uint32_t n)
{
	bool in_function = t->blocks.txn && !t->blocks.txn_mark;
	uint64_t key = kinds_hash(1, in_function ? t->calls.frame[t->blocks.txn - 1].function : 0);

	for (uint32_t i = 0; i < n; i++)
		if (i == 0 || i + 2 >= n)
			key = kinds_hash(kinds_hash(key, steps[i].pc), steps[i].op);
	return key | 1;
}

/*
 * Returns the cycle's shortcut (kinds.h). With the same block and the same operation at the end,
 * the places of the other steps are often the same as well.
 */
static uint64_t hash_shortcut(const struct rt_thread *t, const struct cycle *c, enum raw_op op,
			      uintptr_t pc)
{
	const struct thread_blocks *b = &t->blocks;
	uint64_t block = !b->txn       ? 0
			 : b->txn_mark ? b->mark[b->txn_mark - 1].label
				       : t->calls.frame[b->txn - 1].function;

	return kinds_hash(kinds_hash(kinds_hash(3, block), pc), op << 1 | c->from_write) | 1;
}

void report_cycle(struct rt_thread *t, const struct cycle *c, enum raw_op op, uintptr_t pc)
{
	static struct live_step steps[CYCLE_STEPS]; /* with the histories held */
	struct message m = {.head = {.thread = t->id,
				     .answer = rt_options.halt_on_error,
				     .open = t->blocks.txn && !rt_options.halt_on_error},
			    .nsteps = c->n,
			    .nclosing = c->nclosing};
	uint64_t from, shortcut;
	bool far;

	RT_ASSERT(c->n <= CYCLE_STEPS && c->nclosing <= CYCLE_CLOSING);
	if (c->n < 2 || (t->blocks.nreports >= REPORTS_MAX && !rt_options.all))
		return;
	shortcut = hash_shortcut(t, c, op, pc);
	if (kinds_count_known(shortcut))
		return;
	history_hold();
	report_counts.searched++;
	memset(steps, 0, sizeof steps);
	far = find_steps(c, steps, &from);
	m.head.key = hash_kind(t, steps, c->n);
	set_block(t, c, &m.head);
	if (!kinds_add(&m.head, steps[c->n - 2].pc, shortcut)) {
		history_let_go();
		return;
	}
	far &= snapshot_take(&m.out, far, from, c, steps, NULL);
	copy_steps(&m, steps, c);
	history_let_go();
	m.head.evicted = !far;
	t->blocks.nreports += m.head.open;
	send_finding(&m);
}

/* Set the memory of the closing access: the first cells from `address` to `end`. */
static void set_closing(struct cycle *c, uint64_t address, uint64_t end)
{
	for (uint64_t at = address; at < end && c->nclosing < CYCLE_CLOSING; at = (at | 7) + 1) {
		uint64_t stop = (at | 7) + 1;

		c->closing[c->nclosing].address = at & ~7ul;
		c->closing[c->nclosing++].bytes =
			0xffu << (at & 7) & 0xffu >> (stop > end ? stop - end : 0);
	}
}

void report_replayed(const struct report_replayed *f)
{
	static struct cycle c; /* with the histories held */
	const struct live_step *last = &f->steps[1];
	struct message m = {
		.head = {.thread = f->thread, .replayed = 1, .answer = rt_options.halt_on_error},
		.nsteps = 2};
	uint64_t key = kinds_hash(1, f->block);
	bool far;

	for (int i = 0; i < 2; i++)
		key = kinds_hash(kinds_hash(key, f->steps[i].pc), f->steps[i].op);
	m.head.key = key | 1;
	history_hold();
	if (!kinds_add(&m.head, 0, 0)) {
		history_let_go();
		return;
	}
	memset(&c, 0, sizeof c);
	if (history_is_access((enum raw_op)last->op))
		set_closing(&c, last->address, last->address + f->size);
	m.nclosing = c.nclosing;
	far = f->history->thread == f->thread;
	far &= snapshot_take(&m.out, true, f->from, &c, f->steps, f);
	copy_steps(&m, f->steps, &c);
	history_let_go();
	m.head.evicted = !far;
	send_finding(&m);
}

/* --- the process --- */

uint64_t report_end(uint32_t slots)
{
	struct live_end end = {.slots = slots, .threads = registry_count()};
	struct live_shown shown = {0};

	while (__atomic_load_n(&nsending, __ATOMIC_SEQ_CST))
		rt_yield();
	if (*rt_options.first_run)
		block_policy_send_suspects();
	/* Without a connection nothing was found; but report if the run was not checked in full. */
	if (!link_is_up() && !report_counts.lost && !*rt_options.reporter) {
		if (link_was_cut())
			print_sent();
		return nprinted;
	}
	report_left_out();
	kinds_send_counts(&end);
	end.transactions = report_counts.transactions + rt_self.blocks.transactions;
	end.edges = report_counts.edges;
	end.cycles = report_counts.cycles;
	end.searched = report_counts.searched;
	end.evicted = report_counts.evicted;
	end.idg_edges = report_counts.idg_edges;
	end.components = report_counts.components;
	end.passed_on = report_counts.passed;
	end.accesses_passed_on = report_counts.accesses;
	end.logged = report_counts.logged;
	end.lost = report_counts.lost;
	end.pooled = report_counts.pooled;
	end.max_alive = report_counts.max_alive;
	if (!link_send(LIVE_END, &(struct link_part){&end, sizeof end}, 1, &shown, sizeof shown)) {
		if (link_was_cut())
			print_sent();
		return kinds_count();
	}
	/* If the connection was lost, the findings of the first reporter count, too. */
	return shown.findings || !link_was_lost() || *rt_options.suppressions ? shown.findings
									      : kinds_count();
}

void report_child(void)
{
	nsending = 0;
	nprinted = 0;
	nsent = 0;
	rt_self.blocks.nreports = 0; /* those of the parent */
	kinds_child();
}
