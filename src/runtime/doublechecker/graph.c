/*
 * The graph of the imprecise check: which transactions become nodes, where edges
 * come from, and what happens to components. See icd.h; the graph itself is
 * engine/doublechecker/idg.h.
 *
 * A transaction is an interval of its thread's time, [from, to). Its log is the part
 * of the history with these times.
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
uint32_t icd_lock, icd_count, icd_nwaiting;
static bool outside_too = true; /* operations outside blocks are checked */

struct icd_public icd_public[SHADOW_SLOTS];

/* What the graph knows about a slot; under icd_lock. */
static struct graph_slot {
	idg_ref last;      /* its current node, or the last one; may have been freed */
	idg_ref last_rdex; /* its node when it last came to RdEx: engine/doublechecker/icd.h */
	uint64_t since;    /* the published `since` that `last` stands for */
	struct history *history;
	uint32_t thread;
} slots[SHADOW_SLOTS];
uint32_t icd_slots;

/* What this file adds to a node of the graph; the same index. */
struct note {
	struct history *history;
	uint32_t thread;
	uint32_t replayed; /* of a component: its size when it was last handed to the replay */
	uint64_t block;
};
static struct idg graph;
static struct note *notes;
static size_t notes_cap;
static idg_ref last_share;   /* the node of the last change to RdSh */
static uint64_t share_clock; /* its thread's clock then */

/*
 * All ended nodes are merged into one if more than NODES_MAX nodes are alive, or if searches have
 * looked at more edges than max_work: WORK_FIRST, and WORK more for each operation on the graph.
 */
enum { NODES_MAX = 1 << 16, WORK = 64, WORK_FIRST = 1 << 22 };
static uint64_t max_work = WORK_FIRST;

static idg_ref *sources; /* of the edges that add_edges() adds */
static size_t nsources, sources_cap;

/* --- components --- */

static struct icd_component *waiting; /* to be replayed when no lock is held */

static void add_part(struct icd_component *c, uint32_t node)
{
	const struct idg_node *n = &graph.node[node];
	uint64_t to = n->end;

	/* Operations outside blocks: they go on, or their thread waits for the lock to end them. */
	if (!to && slots[n->thread].since == icd_public[n->thread].since)
		to = UINT64_MAX;
	else if (!to)
		to = __atomic_load_n(&icd_public[n->thread].since, __ATOMIC_ACQUIRE) >> 1;
	c->part[c->n++] = (struct icd_part){
		.history = notes[node].history,
		.thread = notes[node].thread,
		.outside = n->outside,
		.from = n->begin,
		.to = to,
		.block = notes[node].block,
	};
}

/* In a first run: name the node's block. */
static void suspect_node(uint32_t node)
{
	if (graph.node[node].outside)
		block_policy_suspect_outside();
	else
		block_policy_suspect(notes[node].block);
}

/* Put a copy of the component on the list of those to be replayed, or count it as lost. */
static void queue_component(uint32_t component)
{
	const struct idg_node *c = &graph.node[component];
	size_t bytes = sizeof(struct icd_component) + c->size * sizeof(struct icd_part);
	struct icd_component *copy = c->lost ? NULL : rt_pages(bytes);
	uint32_t member = component;

	if (!copy) {
		report_counts.lost++;
		return;
	}
	copy->bytes = bytes;
	do {
		add_part(copy, member);
		member = graph.node[member].next;
	} while (member != component);
	copy->next = waiting;
	waiting = copy;
	__atomic_store_n(&icd_nwaiting, icd_nwaiting + 1, __ATOMIC_RELAXED);
}

/* The graph's callback: a component with a cycle is complete. */
static void finish_component(void *arg, struct idg *g, uint32_t component)
{
	const struct idg_node *c = &g->node[component];
	uint32_t member = component;

	(void)arg;
	report_counts.components++;
	report_counts.passed += c->blocks;
	if (icd_logs) {
		if (notes[component].replayed != c->size)
			queue_component(component);
		return;
	}
	do {
		suspect_node(member);
		member = g->node[member].next;
	} while (member != component);
}

/*
 * Queue a component before it is complete, each time its size has doubled: if it stayed incomplete
 * for long, its logs would be overwritten. What the replay finds in a part is true. But in the
 * whole component, one of its edges may be missing because of an earlier cycle. So this is not done
 * with a recording, whose findings are compared with these.
 */
static void queue_growing_component(idg_ref ref)
{
	uint32_t node = idg_at(&graph, ref), root;

	if (node == IDG_NONE || !icd_logs || rt_recording)
		return;
	root = graph.node[node].of;
	if (graph.node[root].cyclic && !graph.node[root].lost &&
	    graph.node[root].size >= 2 * notes[root].replayed) {
		queue_component(root);
		notes[root].replayed = graph.node[root].size;
	}
}

/* Merge all ended nodes into one; their logs are lost. */
static void pool_ended_nodes(void)
{
	uint32_t to;

	for (size_t i = 0; i < graph.nnodes && !icd_logs; i++)
		if (graph.node[i].alive && !graph.node[i].open)
			suspect_node((uint32_t)i); /* after the merge they are indistinguishable */
	graph.work = 0;
	max_work = WORK_FIRST;
	to = idg_pool(&graph);
	if (to == IDG_NONE)
		return;
	report_counts.pooled += graph.node[to].size;
	last_share = idg_moved(&graph, last_share);
	for (uint32_t i = 0; i < icd_slots; i++) {
		slots[i].last = idg_moved(&graph, slots[i].last);
		slots[i].last_rdex = idg_moved(&graph, slots[i].last_rdex);
	}
	idg_pool_end(&graph, to);
}

/* Keep the graph's memory and the time of its searches bounded. */
static void limit_graph(void)
{
	max_work += WORK;
	if (RT_UNLIKELY(graph.alive > NODES_MAX || graph.work > max_work))
		pool_ended_nodes();
}

/* --- nodes --- */

/* Sequentially consistent: what the thread does next is ordered after the store. */
static void set_reached(struct icd_public *l, bool reached)
{
	if (l->reached != reached)
		__atomic_store_n(&l->reached, reached, __ATOMIC_SEQ_CST);
}

/* Make the node of the slot's transaction that began at `since`, after its last node. */
static uint32_t make_node(uint32_t slot, uint64_t since)
{
	struct graph_slot *s = &slots[slot];
	uint32_t last = idg_at(&graph, s->last), n;

	RT_ASSERT(icd_lock && since);
	n = idg_new(&graph, slot, since >> 1, !(since & 1));
	MEM_GROW0(notes, notes_cap, graph.nnodes);
	notes[n] = (struct note){.history = s->history,
				 .thread = s->thread,
				 .block = since & 1 ? icd_public[slot].block : 0};
	if (last != IDG_NONE)
		idg_add(&graph, last, n);
	s->last = idg_ref_to(&graph, n);
	s->since = since;
	return n;
}

/* End the slot's open node; this may free it. */
static void end_node(struct graph_slot *s, uint64_t time)
{
	idg_ref ended = s->last;
	uint32_t node = idg_at(&graph, ended);

	RT_ASSERT(node != IDG_NONE && graph.node[node].open);
	s->since = 0;
	idg_end(&graph, node, time);
	queue_growing_component(ended);
}

/*
 * Returns the node of what a slot is doing now, which is made if there is none; IDG_NONE if that
 * cannot be on a cycle. The caller holds icd_lock.
 */
static uint32_t get_node(uint32_t slot)
{
	struct icd_public *l = &icd_public[slot];
	struct graph_slot *s = &slots[slot];

	RT_ASSERT(icd_lock);
	for (;;) {
		uint64_t since = __atomic_load_n(&l->since, __ATOMIC_SEQ_CST);
		uint32_t last = idg_at(&graph, s->last);

		if (!since || s->since == since) {
			if (!(since & 1) && last == IDG_NONE)
				set_reached(l, false);
			return last;
		}
		/* That block has ended; its thread waits for the lock to end the node. */
		if (last != IDG_NONE && graph.node[last].open) {
			end_node(s, since >> 1);
			last = idg_at(&graph, s->last);
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

static void add_source(uint32_t node)
{
	if (node == IDG_NONE)
		return;
	MEM_GROW(sources, sources_cap, nsources + 1);
	sources[nsources++] = idg_ref_to(&graph, node);
}

/* Add an edge from each source to the node. Sources that were freed can be on no cycle. */
static void add_edges_to(uint32_t node)
{
	for (size_t i = 0; i < nsources; i++) {
		uint32_t source = idg_at(&graph, sources[i]);

		if (source != IDG_NONE)
			idg_add(&graph, source, node);
	}
}

/* Set the fields that icd_known() reads. */
static void set_fast_path(struct rt_thread *t)
{
	bool states = t->icd.todo == ICD_STATES;
	uint32_t seen = t->icd.seen < ICD_MAX ? t->icd.seen : ICD_MAX - 1;

	t->icd.mask = t->icd.todo ? UINT32_MAX : 0;
	t->icd.owner = states ? t->icd.wrex : ICD_NOBODY;
	t->icd.shared = states ? icd_pack(ICD_RDSH, seen) : 0;
}

/* Decide what the thread does at its accesses from now on. */
static void set_todo(struct rt_thread *t, bool skipped)
{
	uint32_t todo = 0;

	if (!skipped && (t->blocks.txn || outside_too)) {
		todo = ICD_STATES;
		if (icd_logs && (t->blocks.txn || icd_public[t->slot].reached))
			todo |= ICD_LOG;
	}
	t->icd.todo = todo | (rt_recording ? ICD_SLOW : 0);
	set_fast_path(t);
}

/* Has the thread put anything into its history since its last transaction ended? */
static bool has_logged(const struct rt_thread *t)
{
	return icd_logs && t->hist.next != t->icd.ended_at;
}

/*
 * Add the edges into operations outside blocks. The operations join the node of those before them
 * if that node has the same incoming edges, or no outgoing edge yet.
 */
static void add_edges_outside(struct rt_thread *t)
{
	struct icd_public *l = &icd_public[t->slot];
	struct graph_slot *s = &slots[t->slot];
	uint32_t last = idg_at(&graph, s->last), n = last;
	bool joins = last != IDG_NONE && s->since == l->since && graph.node[last].outside &&
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

		if (last != IDG_NONE && s->since != l->since && has_logged(t))
			last = make_node(t->slot, l->since);
		if (last != IDG_NONE && s->since == l->since)
			graph.node[last].end = since >> 1;
		t->icd.ended_at = t->hist.next;
		__atomic_store_n(&l->since, since, __ATOMIC_SEQ_CST);
		n = make_node(t->slot, since);
		l->noded = since;
	}
	add_edges_to(n);
}

/* Add edges from the sources to what the thread is doing now. */
static void add_edges(struct rt_thread *t)
{
	struct icd_public *l = &icd_public[t->slot];

	if (!nsources)
		return;
	if (t->blocks.txn) {
		add_edges_to(get_node(t->slot));
		l->noded = l->since;
	} else {
		add_edges_outside(t);
	}
	if (!l->reached) {
		set_reached(l, true);
		set_todo(t, false);
	}
	limit_graph();
}

/* Raise the thread's clock above the slot's. */
static void follow_slot(struct rt_thread *t, uint32_t slot)
{
	time_raise_clock(t, __atomic_load_n(&slot_public[slot].clock, __ATOMIC_ACQUIRE));
}

void icd_edges(struct rt_thread *t, struct icd_move m)
{
	/* The other slot has one node, which stays its node for a while: remember the edge. */
	bool known = false;

	RT_ASSERT(icd_lock);
	nsources = 0;
	switch (m.change) {
	case ICD_FIRST:
	case ICD_UPGRADE:
		break;
	case ICD_SHARE:
		add_source(idg_at(&graph, slots[m.other].last_rdex));
		follow_slot(t, m.other);
		add_source(idg_at(&graph, last_share));
		time_raise_clock(t, share_clock);
		break;
	case ICD_FENCE:
		add_source(idg_at(&graph, last_share));
		time_raise_clock(t, share_clock);
		break;
	case ICD_CONFLICT:
		add_source(get_node(m.other));
		follow_slot(t, m.other);
		known = nsources;
		break;
	case ICD_CONFLICT_ALL:
		for (uint32_t i = 1; i < icd_slots; i++)
			if (i != t->slot) {
				add_source(get_node(i));
				follow_slot(t, i);
			}
		break;
	}
	time_new_stretch(t);
	add_edges(t);
	if (known)
		t->icd.came[m.other % RT_CAME] =
			(struct rt_came){slots[m.other].since, icd_public[t->slot].since, m.other};
	if (m.change == ICD_SHARE) {
		last_share = slots[t->slot].last;
		share_clock = t->time.clock;
	}
	if (m.change == ICD_SHARE || m.change == ICD_FENCE) {
		t->icd.seen = icd_count;
		set_fast_path(t);
	}
	if (m.change == ICD_CONFLICT && icd_kind_of(m.state) == ICD_RDEX)
		slots[t->slot].last_rdex = slots[t->slot].last;
}

/* --- a transaction begins or ends --- */

/*
 * The thread's `since` went from `old` to `since`: end the node of the old transaction, and make
 * one for the new if the thread is reached. The caller holds icd_lock.
 */
static void replace_node(struct rt_thread *t, uint64_t old, uint64_t since)
{
	struct icd_public *l = &icd_public[t->slot];
	struct graph_slot *s = &slots[t->slot];
	uint32_t last = idg_at(&graph, s->last);

	RT_ASSERT(icd_lock);
	if (s->since == old && last != IDG_NONE) {
		if (old & 1)
			end_node(s, since >> 1);
		else
			graph.node[last].end = since >> 1;
	}
	l->noded = 0;
	set_reached(l, idg_at(&graph, s->last) != IDG_NONE);
	if (since & 1 && l->reached && s->since != since)
		make_node(t->slot, since);
	if (s->since == since)
		l->noded = since;
	limit_graph();
}

/* Publish that the thread's transaction has ended, and that another began at `since`. */
static void publish_since(struct rt_thread *t, uint64_t since)
{
	struct icd_public *l = &icd_public[t->slot];
	struct graph_slot *s = &slots[t->slot];
	uint64_t old;

	if (RT_LIKELY(!l->reached)) {
		old = __atomic_exchange_n(&l->since, since, __ATOMIC_SEQ_CST);
		if (RT_UNLIKELY(__atomic_load_n(&l->noded, __ATOMIC_SEQ_CST) == old)) {
			rt_lock_ranked(&icd_lock, RT_GRAPH);
			replace_node(t, old, since);
			rt_unlock(&icd_lock);
		}
	} else {
		rt_lock_ranked(&icd_lock, RT_GRAPH);
		old = l->since;
		if (s->since != old && !(old & 1) && idg_at(&graph, s->last) != IDG_NONE &&
		    has_logged(t))
			make_node(t->slot, old);
		__atomic_store_n(&l->since, since, __ATOMIC_SEQ_CST);
		replace_node(t, old, since);
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
	icd_public[t->slot].block = block;
	publish_since(t, time_now(t) << 1 | 1);
	set_todo(t, false);
}

void icd_end(struct rt_thread *t)
{
	/* A skipped block was not published. */
	if (icd_public[t->slot].since & 1)
		publish_since(t, time_now(t) << 1);
	set_todo(t, false);
}

/* --- threads --- */

/* The nodes of the last points, by number. Older points give no edge. */
enum { POINTS = 1 << 12 };
static idg_ref points[POINTS];
static uint64_t npoints;

static void add_point_source(uint64_t point)
{
	if (point && npoints - point < POINTS)
		add_source(idg_at(&graph, points[point % POINTS]));
}

uint64_t icd_point(struct rt_thread *t)
{
	uint64_t point = 0;
	uint32_t n;

	rt_lock_ranked(&icd_lock, RT_GRAPH);
	n = get_node(t->slot);
	if (n != IDG_NONE) {
		set_reached(&icd_public[t->slot], true);
		point = ++npoints;
		points[point % POINTS] = idg_ref_to(&graph, n);
	}
	rt_unlock(&icd_lock);
	return point;
}

bool icd_thread_begin(struct rt_thread *t, uint64_t birth)
{
	struct graph_slot *s = &slots[t->slot];
	struct icd_public *l = &icd_public[t->slot];

	t->icd.wrex = icd_pack(ICD_WREX, t->slot);
	t->icd.rdex = icd_pack(ICD_RDEX, t->slot);
	t->icd.seen = 0;
	t->icd.nlogged = 0;
	if (icd_logs && !t->icd.logged) {
		t->icd.logged = rt_pages(ICD_LOGGED * sizeof *t->icd.logged);
		if (!t->icd.logged) {
			rt_note_incomplete("no memory for the log of thread %u", t->id);
			rt_say("no memory for the log of thread %u: it is not checked", t->id);
			return false;
		}
	}
	rt_lock_ranked(&icd_lock, RT_GRAPH);
	if (t->slot >= icd_slots)
		icd_slots = t->slot + 1;
	s->history = t->history;
	s->thread = t->id;
	/* The memory of the slot's last thread seems to be its own: so it follows that one. */
	set_reached(l, idg_at(&graph, s->last) != IDG_NONE);
	t->icd.ended_at = t->hist.next;
	l->noded = 0;
	__atomic_store_n(&l->since, time_now(t) << 1, __ATOMIC_SEQ_CST);
	nsources = 0;
	add_point_source(birth);
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
	set_fast_path(t);
	rt_pages_free(t->icd.logged, ICD_LOGGED * sizeof *t->icd.logged);
	t->icd.logged = NULL;
	return point;
}

void icd_join(struct rt_thread *t, uint64_t last)
{
	time_new_stretch(t);
	rt_lock_ranked(&icd_lock, RT_GRAPH);
	nsources = 0;
	add_point_source(last);
	add_edges(t);
	rt_unlock(&icd_lock);
}

/* --- the file of suspects --- */

/* Does the file that first runs wrote have this line? */
static bool file_has(const char *line)
{
	int f = (int)syscall(SYS_openat, AT_FDCWD, rt_options.second_run, O_RDONLY | O_CLOEXEC);
	size_t at = 0, want = strlen(line); /* at == SIZE_MAX: not in this line */
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

	/* Few labels are that long or have such characters: these are always checked. */
	if (n > sizeof line - 8 || memchr(text, '\\', n) || memchr(text, '\n', n) ||
	    memchr(text, '\r', n))
		return true;
	memcpy(line, "block ", 6);
	memcpy(line + 6, text, n);
	line[6 + n] = 0;
	return file_has(line);
}

/* --- the process --- */

void icd_init(bool first, bool second)
{
	icd_logs = !first;
	outside_too = !second || file_has("outside");
	graph.done = finish_component;
	icd_slots = 1;
}

void icd_report_now(bool cut)
{
	struct icd_component *c, *next;

	rt_lock_ranked(&icd_lock, RT_GRAPH);
	c = waiting;
	waiting = NULL;
	__atomic_store_n(&icd_nwaiting, 0, __ATOMIC_RELAXED);
	rt_unlock(&icd_lock);
	if (c && cut)
		report_left_out();
	for (; c; c = next) {
		next = c->next;
		icd_replay(c);
		rt_pages_free(c, c->bytes);
	}
}

void icd_finish(struct rt_thread *t)
{
	rt_lock_ranked(&icd_lock, RT_GRAPH);
	for (uint32_t i = 1; i < icd_slots; i++) {
		struct graph_slot *s = &slots[i];
		uint32_t n = idg_at(&graph, s->last);

		if (n != IDG_NONE && graph.node[n].open) {
			s->since = 0;
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

/* The other threads do not exist in the child: end their open nodes. */
void icd_fork_child(struct rt_thread *t)
{
	icd_lock = 0;
	icd_replay_child();
	for (uint32_t i = 1; i < icd_slots; i++) {
		uint32_t n = idg_at(&graph, slots[i].last);

		if (i == t->slot)
			continue;
		if (n != IDG_NONE && graph.node[n].open)
			idg_end(&graph, n, UINT64_MAX);
		icd_public[i].since = 0;
		slots[i].since = 0;
	}
}
