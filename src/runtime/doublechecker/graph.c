/*
 * The graph of the imprecise check: which transactions are nodes, where edges
 * come from, and what becomes of components. See icd.h; engine/doublechecker/idg.h does the
 * rest.
 *
 * A transaction is a stretch of a thread's time, [from, to), and its log what
 * the history has of that stretch.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/doublechecker/idg.h"
#include "runtime/blocks/block_policy.h"
#include "runtime/doublechecker/icd.h"
#include "runtime/history/history.h"
#include "runtime/os/options.h"
#include "runtime/report/report.h"

#include "base/banned.h"

bool icd_logs;
uint32_t icd_lock, icd_count, icd_waiting;
static bool outside_too = true; /* operations outside of blocks are looked at */

struct icd_line icd_lines[SHADOW_SLOTS];

/* What is known of a slot, under the lock. */
static struct place {
	idg_ref last;      /* its node, or the last one it had; may be gone */
	idg_ref last_rdex; /* as icd.h of the engine has it */
	uint64_t since;    /* what `last` stands for */
	struct history *history;
	uint32_t thread;
} places[SHADOW_SLOTS];
uint32_t icd_slots;

/* Beside the graph's nodes. */
struct note {
	struct history *history;
	uint32_t thread;
	uint32_t replayed; /* of a component: so large it was then */
	uint64_t block;
};
static struct idg graph;
static struct note *notes;
static size_t notes_cap;
static idg_ref last_share;
static uint64_t share_clock;

/* Past this, what has ended becomes one node, or searches have taken too long. */
enum { NODES_MAX = 1 << 16, WORK = 64, WORK_FIRST = 1 << 22 };
static uint64_t max_work = WORK_FIRST;

static idg_ref *sources; /* of edges that are to be made */
static size_t nsources, sources_cap;

/* --- components --- */

static struct icd_found *waiting;

static void add_part(struct icd_found *f, uint32_t node)
{
	const struct idg_node *n = &graph.node[node];
	uint64_t to = n->end;

	/* Of operations outside blocks that are still going on, or whose end waits for the lock. */
	if (!to && places[n->thread].since == icd_lines[n->thread].since)
		to = UINT64_MAX;
	else if (!to)
		to = __atomic_load_n(&icd_lines[n->thread].since, __ATOMIC_ACQUIRE) >> 1;
	f->part[f->n++] = (struct icd_part){
		.history = notes[node].history,
		.thread = notes[node].thread,
		.outside = n->outside,
		.from = n->begin,
		.to = to,
		.block = notes[node].block,
	};
}

static void suspect(uint32_t node)
{
	if (graph.node[node].outside)
		block_policy_suspect_outside();
	else
		block_policy_suspect(notes[node].block);
}

/* For the replay, when the lock is not held any more. */
static void hand_on(uint32_t component)
{
	const struct idg_node *c = &graph.node[component];
	size_t bytes = sizeof(struct icd_found) + c->size * sizeof(struct icd_part);
	struct icd_found *f = c->lost ? NULL : rt_pages(bytes);
	uint32_t member = component;

	if (!f) {
		report_counts.lost++;
		return;
	}
	f->bytes = bytes;
	do {
		add_part(f, member);
		member = graph.node[member].next;
	} while (member != component);
	f->next = waiting;
	waiting = f;
	__atomic_store_n(&icd_waiting, icd_waiting + 1, __ATOMIC_RELAXED);
}

static void done(void *arg, struct idg *g, uint32_t component)
{
	const struct idg_node *c = &g->node[component];
	uint32_t member = component;

	(void)arg;
	report_counts.components++;
	report_counts.passed += c->blocks;
	if (icd_logs) {
		if (notes[component].replayed != c->size)
			hand_on(component);
		return;
	}
	do {
		suspect(member);
		member = g->node[member].next;
	} while (member != component);
}

/*
 * A component that is not complete for long would lose its logs: it is looked at as it grows. What
 * is found in a part of it is true; but in the whole, an edge of that may have been left out for an
 * earlier cycle. So not with a recording: that is there to be compared with.
 */
static void look_early(idg_ref ref)
{
	uint32_t node = idg_at(&graph, ref), root;

	if (node == IDG_NONE || !icd_logs || shadow_serial)
		return;
	root = graph.node[node].of;
	if (graph.node[root].cyclic && !graph.node[root].lost &&
	    graph.node[root].size >= 2 * notes[root].replayed) {
		hand_on(root);
		notes[root].replayed = graph.node[root].size;
	}
}

static void pool(void)
{
	uint32_t to;

	for (size_t i = 0; i < graph.nnodes && !icd_logs; i++)
		if (graph.node[i].alive && !graph.node[i].open)
			suspect((uint32_t)i); /* they could not be told apart later */
	graph.work = 0;
	max_work = WORK_FIRST;
	to = idg_pool(&graph);
	if (to == IDG_NONE)
		return;
	report_counts.pooled += graph.node[to].size;
	last_share = idg_moved(&graph, last_share);
	for (uint32_t i = 0; i < icd_slots; i++) {
		places[i].last = idg_moved(&graph, places[i].last);
		places[i].last_rdex = idg_moved(&graph, places[i].last_rdex);
	}
	idg_pool_end(&graph, to);
}

static void save_memory(void)
{
	max_work += WORK;
	if (RT_UNLIKELY(graph.alive > NODES_MAX || graph.work > max_work))
		pool();
}

/* --- nodes --- */

/* What the thread does from now on, it does behind this. */
static void set_reached(struct icd_line *l, bool reached)
{
	if (l->reached != reached)
		__atomic_store_n(&l->reached, reached, __ATOMIC_SEQ_CST);
}

/* A node for what the slot is doing since then; it comes behind its last one. */
static uint32_t make_node(uint32_t slot, uint64_t since)
{
	struct place *p = &places[slot];
	uint32_t last = idg_at(&graph, p->last), n;

	n = idg_new(&graph, slot, since >> 1, !(since & 1));
	MEM_GROW0(notes, notes_cap, graph.nnodes);
	notes[n] = (struct note){.history = p->history,
				 .thread = p->thread,
				 .block = since & 1 ? icd_lines[slot].block : 0};
	if (last != IDG_NONE)
		idg_add(&graph, last, n);
	p->last = idg_ref_to(&graph, n);
	p->since = since;
	return n;
}

static void end_node(struct place *p, uint64_t time)
{
	idg_ref ended = p->last;

	p->since = 0;
	idg_end(&graph, idg_at(&graph, ended), time);
	look_early(ended);
}

/* The node of what a slot is doing now; IDG_NONE: nothing that could be on a cycle. */
static uint32_t node_of(uint32_t slot)
{
	struct icd_line *l = &icd_lines[slot];
	struct place *p = &places[slot];

	for (;;) {
		uint64_t since = __atomic_load_n(&l->since, __ATOMIC_SEQ_CST);
		uint32_t last = idg_at(&graph, p->last);

		if (!since || p->since == since) {
			if (!(since & 1) && last == IDG_NONE)
				set_reached(l, false);
			return last;
		}
		/* Its thread is about to say so itself, and waits for the lock. */
		if (last != IDG_NONE && graph.node[last].open) {
			end_node(p, since >> 1);
			last = idg_at(&graph, p->last);
		}
		if (!(since & 1) && last == IDG_NONE) {
			set_reached(l, false);
			return last;
		}
		__atomic_store_n(&l->noded, since, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&l->since, __ATOMIC_SEQ_CST) == since)
			return make_node(slot, since);
	}
}

/* --- edges --- */

static void from(uint32_t node)
{
	if (node == IDG_NONE)
		return;
	MEM_GROW(sources, sources_cap, nsources + 1);
	sources[nsources++] = idg_ref_to(&graph, node);
}

/* Those that are gone meanwhile do not matter any more. */
static void add_to(uint32_t node)
{
	for (size_t i = 0; i < nsources; i++) {
		uint32_t source = idg_at(&graph, sources[i]);

		if (source != IDG_NONE)
			idg_add(&graph, source, node);
	}
}

/* For icd_known(). */
static void set_fast(struct rt_thread *t)
{
	bool states = t->icd.todo == ICD_STATES;
	uint32_t seen = t->icd.seen < ICD_MAX ? t->icd.seen : ICD_MAX - 1;

	t->icd.mask = t->icd.todo ? UINT32_MAX : 0;
	t->icd.owner = states ? t->icd.wrex : ICD_NOBODY;
	t->icd.shared = states ? icd_pack(ICD_RDSH, seen) : 0;
}

static void set_todo(struct rt_thread *t, bool skipped)
{
	uint32_t todo = 0;

	if (!skipped && (t->blocks.txn || outside_too)) {
		todo = ICD_STATES;
		if (icd_logs && (t->blocks.txn || icd_lines[t->slot].reached))
			todo |= ICD_LOG;
	}
	t->icd.todo = todo | (shadow_serial ? ICD_SLOW : 0);
	set_fast(t);
}

/* Something was put into its history since its last transaction ended. */
static bool did_something(const struct rt_thread *t)
{
	return icd_logs && t->hist.next != t->icd.ended_at;
}

/*
 * Operations outside blocks with edges: they join those before where these have the same edges, or
 * none goes out from them yet.
 */
static void edges_outside(struct rt_thread *t)
{
	struct icd_line *l = &icd_lines[t->slot];
	struct place *p = &places[t->slot];
	uint32_t last = idg_at(&graph, p->last), n = last;
	bool joins = last != IDG_NONE && p->since == l->since && graph.node[last].outside &&
		     graph.node[last].of == last && graph.node[last].size == 1;
	bool fresh = false;

	for (size_t i = 0; i < nsources; i++) {
		uint32_t source = idg_at(&graph, sources[i]);

		fresh |= source != IDG_NONE && (!joins || !idg_has_edge(&graph, source, last));
	}
	if (!fresh)
		return;
	if (!joins || graph.node[last].out) {
		uint64_t since = time_now(t) << 1;

		if (last != IDG_NONE && p->since != l->since && did_something(t))
			last = make_node(t->slot, l->since);
		if (last != IDG_NONE && p->since == l->since)
			graph.node[last].end = since >> 1;
		t->icd.ended_at = t->hist.next;
		__atomic_store_n(&l->since, since, __ATOMIC_SEQ_CST);
		n = make_node(t->slot, since);
		l->noded = since;
	}
	add_to(n);
}

static void add_edges(struct rt_thread *t)
{
	struct icd_line *l = &icd_lines[t->slot];

	if (!nsources)
		return;
	if (t->blocks.txn) {
		add_to(node_of(t->slot));
		l->noded = l->since;
	} else {
		edges_outside(t);
	}
	if (!l->reached) {
		set_reached(l, true);
		set_todo(t, false);
	}
	save_memory();
}

static void behind(struct rt_thread *t, uint32_t slot)
{
	time_raise_clock(t, __atomic_load_n(&slot_public[slot].clock, __ATOMIC_ACQUIRE));
}

void icd_edges(struct rt_thread *t, struct icd_move m)
{
	bool known =
		false; /* the source is as its place says, and goes on being that for a while */

	nsources = 0;
	switch (m.change) {
	case ICD_FIRST:
	case ICD_UPGRADE:
		break;
	case ICD_SHARE:
		from(idg_at(&graph, places[m.other].last_rdex));
		behind(t, m.other);
		from(idg_at(&graph, last_share));
		time_raise_clock(t, share_clock);
		break;
	case ICD_FENCE:
		from(idg_at(&graph, last_share));
		time_raise_clock(t, share_clock);
		break;
	case ICD_CONFLICT:
		from(node_of(m.other));
		behind(t, m.other);
		known = nsources;
		break;
	case ICD_CONFLICT_ALL:
		for (uint32_t i = 1; i < icd_slots; i++)
			if (i != t->slot) {
				from(node_of(i));
				behind(t, i);
			}
		break;
	}
	time_new_stretch(t);
	add_edges(t);
	if (known)
		t->icd.came[m.other % RT_CAME] =
			(struct rt_came){places[m.other].since, icd_lines[t->slot].since, m.other};
	if (m.change == ICD_SHARE) {
		last_share = places[t->slot].last;
		share_clock = t->time.clock;
	}
	if (m.change == ICD_SHARE || m.change == ICD_FENCE) {
		t->icd.seen = icd_count;
		set_fast(t);
	}
	if (m.change == ICD_CONFLICT && icd_kind_of(m.state) == ICD_RDEX)
		places[t->slot].last_rdex = places[t->slot].last;
}

/* --- where a transaction begins or ends --- */

/* With the lock held. */
static void pass(struct rt_thread *t, uint64_t old, uint64_t since)
{
	struct icd_line *l = &icd_lines[t->slot];
	struct place *p = &places[t->slot];
	uint32_t last = idg_at(&graph, p->last);

	if (p->since == old && last != IDG_NONE) {
		if (old & 1)
			end_node(p, since >> 1);
		else
			graph.node[last].end = since >> 1;
	}
	l->noded = 0;
	set_reached(l, idg_at(&graph, p->last) != IDG_NONE);
	if (since & 1 && l->reached && p->since != since)
		make_node(t->slot, since);
	if (p->since == since)
		l->noded = since;
	save_memory();
}

static void move_on(struct rt_thread *t, uint64_t since)
{
	struct icd_line *l = &icd_lines[t->slot];
	struct place *p = &places[t->slot];
	uint64_t old;

	if (RT_LIKELY(!l->reached)) {
		old = __atomic_exchange_n(&l->since, since, __ATOMIC_SEQ_CST);
		if (RT_UNLIKELY(__atomic_load_n(&l->noded, __ATOMIC_SEQ_CST) == old)) {
			rt_lock_ranked(&icd_lock, RT_GRAPH);
			pass(t, old, since);
			rt_unlock(&icd_lock);
		}
	} else {
		rt_lock_ranked(&icd_lock, RT_GRAPH);
		old = l->since;
		if (p->since != old && !(old & 1) && idg_at(&graph, p->last) != IDG_NONE &&
		    did_something(t))
			make_node(t->slot, old);
		__atomic_store_n(&l->since, since, __ATOMIC_SEQ_CST);
		pass(t, old, since);
		rt_unlock(&icd_lock);
	}
	t->icd.ended_at = t->hist.next;
}

void icd_begin(struct rt_thread *t, uint64_t block, bool skipped)
{
	if (skipped) {
		set_todo(t, true);
		return;
	}
	icd_lines[t->slot].block = block;
	move_on(t, time_now(t) << 1 | 1);
	set_todo(t, false);
}

void icd_end(struct rt_thread *t)
{
	/* One that was skipped is not there. */
	if (icd_lines[t->slot].since & 1)
		move_on(t, time_now(t) << 1);
	set_todo(t, false);
}

/* --- threads --- */

/* Points in the lives of threads: the last ones, and what they were. */
enum { POINTS = 1 << 12 };
static idg_ref points[POINTS];
static uint64_t npoints;

static void from_point(uint64_t point)
{
	if (point && npoints - point < POINTS)
		from(idg_at(&graph, points[point % POINTS]));
}

uint64_t icd_point(struct rt_thread *t)
{
	uint64_t point = 0;
	uint32_t n;

	rt_lock_ranked(&icd_lock, RT_GRAPH);
	n = node_of(t->slot);
	if (n != IDG_NONE) {
		set_reached(&icd_lines[t->slot], true);
		point = ++npoints;
		points[point % POINTS] = idg_ref_to(&graph, n);
	}
	rt_unlock(&icd_lock);
	return point;
}

bool icd_thread_begin(struct rt_thread *t, uint64_t birth)
{
	struct place *p = &places[t->slot];
	struct icd_line *l = &icd_lines[t->slot];

	t->icd.wrex = icd_pack(ICD_WREX, t->slot);
	t->icd.rdex = icd_pack(ICD_RDEX, t->slot);
	t->icd.seen = 0;
	t->icd.nlogged = 0;
	if (icd_logs && !t->icd.logged) {
		t->icd.logged = rt_pages(ICD_LOGGED * sizeof *t->icd.logged);
		if (!t->icd.logged) {
			rt_say("no memory for the log of thread %u: it is not checked", t->id);
			return false;
		}
	}
	rt_lock_ranked(&icd_lock, RT_GRAPH);
	if (t->slot >= icd_slots)
		icd_slots = t->slot + 1;
	p->history = t->history;
	p->thread = t->id;
	/* Memory of whoever had the slot before seems to be its own: so it comes behind that one.
	 */
	set_reached(l, idg_at(&graph, p->last) != IDG_NONE);
	t->icd.ended_at = t->hist.next;
	l->noded = 0;
	__atomic_store_n(&l->since, time_now(t) << 1, __ATOMIC_SEQ_CST);
	nsources = 0;
	from_point(birth);
	add_edges(t);
	rt_unlock(&icd_lock);
	set_todo(t, false);
	return true;
}

uint64_t icd_thread_end(struct rt_thread *t)
{
	uint64_t point = icd_point(t);

	report_counts.logged += t->icd.nlogged;
	t->icd.todo = 0;
	set_fast(t);
	rt_pages_free(t->icd.logged, ICD_LOGGED * sizeof *t->icd.logged);
	t->icd.logged = NULL;
	return point;
}

void icd_join(struct rt_thread *t, uint64_t last)
{
	time_new_stretch(t);
	rt_lock_ranked(&icd_lock, RT_GRAPH);
	nsources = 0;
	from_point(last);
	add_edges(t);
	rt_unlock(&icd_lock);
}

/* --- */

/* Does the file of first runs have this line? */
static bool file_has(const char *line)
{
	int f = (int)syscall(SYS_openat, AT_FDCWD, rt_options.second_run, O_RDONLY | O_CLOEXEC);
	size_t at = 0, want = strlen(line); /* SIZE_MAX: not in this line */
	bool found = false;
	char text[4096];
	long n;

	if (f < 0)
		rt_die("ATOMSAN_OPTIONS: second_run: %s cannot be read", rt_options.second_run);
	while ((n = syscall(SYS_read, f, text, sizeof text)) > 0)
		for (long i = 0; i < n; i++) {
			if (text[i] == '\n') {
				found |= at == want;
				at = 0;
			} else if (at != SIZE_MAX) {
				at = at < want && text[i] == line[at] ? at + 1 : SIZE_MAX;
			}
		}
	syscall(SYS_close, f);
	return found || (at && at == want);
}

bool icd_names_label(const char *text, size_t n)
{
	char line[256];

	/* Few have such characters, or are so long: those are looked at in any case. */
	if (n > sizeof line - 8 || memchr(text, '\\', n) || memchr(text, '\n', n) ||
	    memchr(text, '\r', n))
		return true;
	memcpy(line, "block ", 6);
	memcpy(line + 6, text, n);
	line[6 + n] = 0;
	return file_has(line);
}

void icd_init(bool first, bool second)
{
	icd_logs = !first;
	outside_too = !second || file_has("outside");
	graph.done = done;
	icd_slots = 1;
}

void icd_report_now(struct rt_thread *t, bool cut)
{
	struct icd_found *f, *next;

	rt_lock_ranked(&icd_lock, RT_GRAPH);
	f = waiting;
	waiting = NULL;
	__atomic_store_n(&icd_waiting, 0, __ATOMIC_RELAXED);
	rt_unlock(&icd_lock);
	if (f && cut)
		report_left_out();
	for (; f; f = next) {
		next = f->next;
		icd_replay(t, f);
		rt_pages_free(f, f->bytes);
	}
}

void icd_finish(struct rt_thread *t)
{
	rt_lock_ranked(&icd_lock, RT_GRAPH);
	for (uint32_t i = 1; i < icd_slots; i++) {
		struct place *p = &places[i];
		uint32_t n = idg_at(&graph, p->last);

		if (n != IDG_NONE && graph.node[n].open) {
			p->since = 0;
			idg_end(&graph, n, UINT64_MAX);
		}
	}
	report_counts.idg_edges = graph.edges;
	report_counts.max_alive = graph.max_alive;
	report_counts.logged += t->icd.nlogged;
	rt_unlock(&icd_lock);
	icd_report(t, false);
}

void icd_fork_prepare(void)
{
	rt_lock_ranked(&icd_lock, RT_GRAPH);
}

void icd_fork_parent(void)
{
	rt_unlock(&icd_lock);
}

/* What others had open has ended. */
void icd_fork_child(struct rt_thread *t)
{
	icd_lock = 0;
	icd_replay_child();
	for (uint32_t i = 1; i < icd_slots; i++) {
		uint32_t n = idg_at(&graph, places[i].last);

		if (i == t->slot)
			continue;
		if (n != IDG_NONE && graph.node[n].open)
			idg_end(&graph, n, UINT64_MAX);
		icd_lines[i].since = 0;
		places[i].since = 0;
	}
}
