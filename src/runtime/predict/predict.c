#include "runtime/predict/predict.h"

#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/blocks/block_policy.h"
#include "runtime/blocks/blocks.h"
#include "runtime/history/origins.h"
#include "runtime/link/reporter_link.h"
#include "runtime/os/clock.h"
#include "runtime/os/lock.h"
#include "runtime/os/options.h"
#include "runtime/predict/log.h"
#include "runtime/report/report.h"
#include "runtime/thread/mode.h"
#include "runtime/thread/registry.h"

#include "base/banned.h"

static bool over; /* predict_size is used up */

/* A thread, which may have ended; its log is needed until the program ends. */
struct predict_thread {
	struct predict_thread *next;
	struct rt_thread *owner; /* NULL: it has ended */
	struct plog *log;
	uint64_t began;
	uintptr_t stack_low, stack_high;
	uint32_t id;
	uint32_t first; /* the node of its first call */
};
static struct predict_thread *threads, *spare; /* in use; free */
static uint32_t lock;                          /* of both lists, and of dead[] */

/* --- the budget --- */

static uint64_t used;

void *plog_pages(size_t bytes)
{
	uint64_t budget = (uint64_t)(uint32_t)rt_options.predict_size << 20;
	void *p;

	bytes = (bytes + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);
	if (__atomic_load_n(&over, __ATOMIC_RELAXED))
		return NULL;
	p = __atomic_add_fetch(&used, bytes, __ATOMIC_RELAXED) > budget ? NULL : rt_pages(bytes);
	if (!p && !__atomic_exchange_n(&over, true, __ATOMIC_RELAXED)) {
		mode_choose();
		rt_say("prediction covers the run up to here: the %d MiB of predict_size are used "
		       "up; the program goes on",
		       rt_options.predict_size);
	}
	return p;
}

void plog_pages_free(void *p, size_t bytes)
{
	bytes = (bytes + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);
	if (!p)
		return;
	__atomic_sub_fetch(&used, bytes, __ATOMIC_RELAXED);
	rt_pages_free(p, bytes);
}

/* --- memory that is freed --- */

enum { LINE = 64, LINES = 1 << 20 };
static uint16_t *generations; /* [LINES] */
static uint8_t *is_kept;      /* [LINES]: some log has an access of it */

static size_t line_of(uint64_t address)
{
	return address / LINE & (LINES - 1);
}

static uint16_t get_generation(uint64_t address)
{
	return __atomic_load_n(&generations[line_of(address)], __ATOMIC_RELAXED);
}

static size_t count_lines(uint64_t address, uint64_t size)
{
	uint64_t n = (address % LINE + size + LINE - 1) / LINE;

	return n < LINES ? (size_t)n : LINES;
}

static void mark_kept(uint64_t address, uint64_t size)
{
	for (size_t i = 0, n = count_lines(address, size); i < n; i++)
		__atomic_store_n(&is_kept[line_of(address + i * LINE)], 1, __ATOMIC_RELAXED);
}

/* Is half of the budget unused? */
static bool has_plenty(void)
{
	return __atomic_load_n(&used, __ATOMIC_RELAXED) <
	       (uint64_t)(uint32_t)rt_options.predict_size << 19;
}

static const struct plog_memory memory = {get_generation, mark_kept, has_plenty};

/*
 * Does any log have an access of this memory? If so, its lines get a new generation: accesses from
 * now on are of other memory.
 */
static bool end_generation(uint64_t address, uint64_t size)
{
	bool any = false;

	for (size_t i = 0, n = count_lines(address, size); i < n; i++) {
		size_t line = line_of(address + i * LINE);

		if (!__atomic_load_n(&is_kept[line], __ATOMIC_RELAXED))
			continue;
		any = true;
		__atomic_store_n(&is_kept[line], 0, __ATOMIC_RELAXED);
		__atomic_fetch_add(&generations[line], 1, __ATOMIC_RELAXED);
	}
	return any;
}

/* Allocations that were freed, and that some log has an access of. */
static struct origins_allocation *dead;
static size_t ndead, dead_cap;

/* Copy the origin of an allocation that is about to be freed. Without memory it is not kept. */
static void save_dead_allocation(uintptr_t address)
{
	struct origins_allocation a;

	if (!origins_allocation(address, &a))
		return;
	rt_lock(&lock);
	if (ndead == dead_cap) {
		size_t cap = dead_cap ? 2 * dead_cap : 64;
		struct origins_allocation *grown = plog_pages(cap * sizeof *grown);

		if (grown) {
			if (ndead)
				memcpy(grown, dead, ndead * sizeof *dead);
			plog_pages_free(dead, dead_cap * sizeof *dead);
			dead = grown;
			dead_cap = cap;
		}
	}
	if (ndead < dead_cap)
		dead[ndead++] = a;
	rt_unlock(&lock);
}

/* --- a thread's log --- */

/*
 * Returns the log to which the thread adds; NULL if it has none. Once the budget is used up, this
 * ends the log and gives back what only served to add to it.
 */
static struct plog *get_log(struct rt_thread *t)
{
	if (RT_LIKELY(!__atomic_load_n(&over, __ATOMIC_RELAXED)) || !t->predict.log)
		return t->predict.log;
	if (t->blocks.txn) {
		t->blocks.txn = t->blocks.txn_mark = 0;
		plog_end(t->predict.log);
	}
	plog_finish(t->predict.log);
	t->blocks.followed = false;
	return t->predict.log = NULL;
}

/* --- where the thread is --- */

/* Returns the node of the marked blocks that are open in `node`, at this depth of calls. */
static uint32_t add_marks(const struct rt_thread *t, struct plog *l, uint32_t node, size_t depth)
{
	for (uint32_t i = 0; i < t->blocks.nmarks && i < RT_MARKS; i++)
		if (t->blocks.mark[i].depth == depth)
			node = plog_node(l, node, t->blocks.mark[i].label, t->blocks.mark[i].pc,
					 PLOG_MARK);
	return node;
}

/* Returns the node of the thread's calls and marked blocks, and makes it if need be. */
static uint32_t get_node(struct rt_thread *t, struct plog *l)
{
	size_t depth = t->calls.depth;
	uint32_t node = 0;

	if (l->node)
		return l->node;
	while (depth && !t->calls.frame[depth - 1].node)
		depth--;
	if (depth)
		node = t->calls.frame[depth - 1].node;
	for (; depth < t->calls.depth; depth++) {
		struct rt_frame *f = &t->calls.frame[depth];

		node = add_marks(t, l, node, depth);
		node = plog_node(l, node, f->function, f->caller, f->kind);
		f->node = node;
	}
	return l->node = add_marks(t, l, node, t->calls.depth);
}

/* --- threads --- */

static struct predict_thread *add_thread(void)
{
	struct predict_thread *p;

	rt_lock(&lock);
	if (!spare) {
		p = plog_pages(RAW_PAGE);
		for (size_t i = 0; p && i < RAW_PAGE / sizeof *p; i++) {
			p[i].next = spare;
			spare = &p[i];
		}
	}
	p = spare;
	if (p) {
		spare = p->next;
		p->next = threads;
		threads = p;
	}
	rt_unlock(&lock);
	return p;
}

static void predict_thread_begin(struct rt_thread *t, struct rt_point birth)
{
	struct plog *l = plog_new();
	struct predict_thread *p = l ? add_thread() : NULL;

	(void)birth;
	t->predict = (struct thread_predict){0};
	if (!p) {
		if (l)
			plog_free(l);
		return;
	}
	p->log = l;
	p->id = t->id;
	p->first = 0;
	p->stack_low = t->stack.low;
	p->stack_high = t->stack.high;
	p->began = l->time = machine_clock();
	__atomic_store_n(&p->owner, t, __ATOMIC_RELEASE);
	t->predict.kept = p;
	t->predict.log = l;
	t->blocks.followed = true;
}

static struct rt_point predict_thread_end(struct rt_thread *t)
{
	struct plog *l = get_log(t);

	if (!t->predict.kept || !rt_checking)
		return (struct rt_point){0};
	if (l) {
		blocks_close(t);
		plog_put(l, RAW_EXIT, 0, 0, machine_clock(), 0, 0);
		t->predict.log = NULL;
		plog_finish(l);
	}
	t->blocks.followed = false;
	__atomic_fetch_add(&report_counts.transactions, t->blocks.transactions, __ATOMIC_RELAXED);
	__atomic_store_n(&t->predict.kept->owner, NULL, __ATOMIC_RELEASE);
	return (struct rt_point){0};
}

static bool predict_fork_child(struct rt_thread *t)
{
	lock = 0;
	for (struct predict_thread *p = threads; p; p = p->next)
		plog_free(p->log);
	threads = NULL;
	ndead = 0;
	over = false;
	t->predict.log = NULL;
	block_policy_child();
	link_child();
	report_child();
	for (size_t i = 0; i < t->calls.depth; i++)
		t->calls.frame[i].node = 0;
	return false;
}

/* --- blocks --- */

static void predict_block_begin(struct rt_thread *t)
{
	if (!get_log(t))
		return;
	t->predict.log->node = 0;
	plog_begin(t->predict.log, get_node(t, t->predict.log));
}

static void predict_block_end(struct rt_thread *t)
{
	if (t->predict.log)
		plog_end(t->predict.log);
}

static void predict_call(struct rt_thread *t, struct rt_frame *f)
{
	(void)f;
	if (!get_log(t))
		return;
	t->predict.log->node = 0;
	if (RT_UNLIKELY(!t->predict.kept->first))
		t->predict.kept->first = get_node(t, t->predict.log);
}

static void predict_ret(struct rt_thread *t, struct rt_frame *f)
{
	(void)f;
	if (get_log(t))
		t->predict.log->node = 0;
}

static void predict_mark(struct rt_thread *t, uint32_t label, uintptr_t pc)
{
	(void)label;
	(void)pc;
	if (get_log(t))
		t->predict.log->node = 0;
}

static void predict_unmark(struct rt_thread *t, uintptr_t pc)
{
	predict_mark(t, 0, pc);
}

/* The source says so at each call; it is logged once. */
static void predict_not_atomic(struct rt_thread *t, bool applies, uintptr_t pc)
{
	if (applies && get_log(t))
		plog_put(t->predict.log, RAW_NOT_ATOMIC, 0, 0, machine_clock(),
			 get_node(t, t->predict.log), pc);
}

/* --- accesses and synchronisation --- */

static void predict_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	struct plog *l = t->predict.log;

	if (RT_UNLIKELY(t->ignoring))
		return;
	if (RT_LIKELY(l && !t->gate.quiet && l->node && op <= RAW_UPDATE) &&
	    plog_is_repeat(l, plog_what(op, address, (uint32_t)size), l->node, pc))
		return;
	if (!rt_enter(t))
		return;
	l = rt_checking ? get_log(t) : NULL;
	if (l)
		plog_access(l, op, address, size, get_node(t, l), pc);
	rt_leave(t);
}

/* A read may tell the thread what others did before: so the access gets a time. */
static void predict_atomic_done(struct rt_thread *t, enum raw_op op, uintptr_t address,
				uint32_t size, uint64_t time, uintptr_t pc)
{
	struct plog *l = rt_checking ? get_log(t) : NULL;

	(void)time;
	if (!l)
		return;
	if (op != RAW_WRITE)
		plog_set_not_before(l, machine_clock_ordered());
	plog_access(l, op, address, size, get_node(t, l), pc);
}

/*
 * A new lock. Log it if some log knows another lock at this address, or if it is a semaphore with a
 * value (`aux`) above 1, which is no lock.
 */
static void log_new_lock(struct rt_thread *t, struct plog *l, uintptr_t object, uint32_t aux,
			 uint64_t time, uintptr_t pc)
{
	if (aux > 1 || end_generation(object, 1))
		plog_put(l, RAW_LOCK_NEW, object, aux, time, get_node(t, l), pc);
}

static void predict_sync(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
			 uint64_t *at, uintptr_t pc)
{
	struct plog *l = rt_checking ? get_log(t) : NULL;
	uint64_t time = *at;

	if (!l)
		return;
	switch (op) {
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
	case RAW_RELEASE:
	case RAW_SEM_WAIT:
	case RAW_SEM_POST:
		plog_lock(l, op, object, aux, time, get_node(t, l), pc);
		break;
	case RAW_LOCK_NEW:
		log_new_lock(t, l, object, aux, time, pc);
		break;
	case RAW_WAIT:
	case RAW_BARRIER:
	case RAW_FORK:
	case RAW_JOIN:
		blocks_cut(t);
		plog_put(l, op, object, aux, time, get_node(t, l), pc);
		break;
	case RAW_NOTIFY:
		plog_put(l, op, object, aux, time, get_node(t, l), pc);
		break;
	default:
		break;
	}
}

static struct rt_point predict_create(struct rt_thread *t, uint32_t id, uint64_t time, uintptr_t pc)
{
	predict_sync(t, RAW_FORK, id, 0, &time, pc);
	return (struct rt_point){0};
}

static void predict_join(struct rt_thread *t, uint32_t id, struct rt_point last, uint64_t *time,
			 uintptr_t pc)
{
	(void)last;
	predict_sync(t, RAW_JOIN, id, 0, time, pc);
}

static void predict_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	origins_allocated(t, address, size, machine_clock(), pc);
	if (get_log(t) && rt_unjoined_threads)
		plog_set_not_before(t->predict.log, machine_clock_ordered());
}

static void predict_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	if (rt_checking && get_log(t) && end_generation(address, size)) {
		save_dead_allocation(address);
		plog_put(t->predict.log, RAW_FREE, address, 0, machine_clock_ordered(),
			 get_node(t, t->predict.log), pc);
	}
	origins_freed(address);
}

static void predict_forget(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	if (rt_checking && get_log(t) && end_generation(address, size))
		plog_forget(t->predict.log, address, size, machine_clock_ordered(),
			    get_node(t, t->predict.log), pc);
}

/* --- the end: send the logs --- */

static void send_piece(struct plog_out *o, const void *bytes, size_t n)
{
	(void)o;
	link_send(LIVE_RUN, &(struct link_part){bytes, n}, 1, NULL, 0);
}

static void send_labels(struct plog_out *o)
{
	const char *text;
	uint32_t number;
	size_t n;

	for (uint32_t i = 0; origins_label_at(i, &number, &text, &n); i++)
		if (number)
			plog_out_text(o, RAW_LABEL, number, text, n);
}

static void send_thread(struct plog_out *o, const struct predict_thread *p)
{
	const char *name = origins_name_of(p->id);

	*o = (struct plog_out){.take = o->take, .unit = o->unit, .thread = p->id, .time = p->began};
	plog_out_sized(o, RAW_START, p->stack_low, p->stack_high - p->stack_low, p->began, 0);
	if (!p->id)
		send_labels(o);
	if (name)
		plog_out_text(o, RAW_NAME, 0, name, strnlen(name, 16));
	plog_out_records(o, p->log, p->id ? p->first : 0);
	plog_out_close(o);
}

static void send_allocation(struct plog_out *o, const struct origins_allocation *a)
{
	uint32_t n = a->stack.n < HISTORY_STACK ? a->stack.n : HISTORY_STACK;

	for (uint32_t i = 0; i < n; i++)
		plog_out_unit(o, RAW_CALL, a->stack.v[i].function, i ? 0 : 2, a->time,
			      a->stack.v[i].caller);
	plog_out_sized(o, RAW_ALLOC, a->address, a->size, a->time, a->pc);
	for (uint32_t i = 0; i < n; i++)
		plog_out_unit(o, RAW_RETURN, 0, 0, a->time, 0);
}

/* Restore the order of a heap of n, the latest first, below index i. */
static void sift_down(struct origins_allocation *v, size_t i, size_t n)
{
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		struct origins_allocation swap = v[i];

		child += child + 1 < n && v[child].time < v[child + 1].time;
		if (swap.time >= v[child].time)
			return;
		v[i] = v[child];
		v[child] = swap;
	}
}

/* Sort by time. A heap sort needs no memory and has no bad case. */
static void sort_allocations(struct origins_allocation *v, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift_down(v, i, n);
	for (; n > 1; n--) {
		struct origins_allocation last = v[n - 1];

		v[n - 1] = v[0];
		v[0] = last;
		sift_down(v, 0, n - 1);
	}
}

/*
 * Send the allocations that some log has an access of, as the events of one more thread, which does
 * nothing else.
 */
static void send_allocations(struct plog_out *o, uint32_t thread)
{
	size_t most = ndead + origins_allocations(), n = 0;
	struct origins_allocation *v = rt_pages(most * sizeof *v + 1);

	if (!v)
		return;
	for (; n < ndead; n++)
		v[n] = dead[n];
	for (uint32_t i = 0; n < most && i < origins_allocations(); i++)
		n += origins_allocation_at(i, &v[n]) && end_generation(v[n].address, v[n].size);
	sort_allocations(v, n);
	*o = (struct plog_out){.take = o->take, .unit = o->unit, .thread = thread};
	/* A thread's start function is no block: so let this thread have one. */
	plog_out_unit(o, RAW_CALL, 0, 2, 0, 0);
	for (size_t i = 0; i < n; i++)
		send_allocation(o, &v[i]);
	plog_out_close(o);
	rt_pages_free(v, most * sizeof *v + 1);
}

/*
 * Wait until the thread does not add to its log. Checking is off, so it can only be in a hook that
 * it entered before. Returns false if that takes too long.
 */
static bool wait_until_stopped(const struct predict_thread *p)
{
	const struct rt_thread *t = __atomic_load_n(&p->owner, __ATOMIC_ACQUIRE);

	for (int i = 0; t && t != &rt_self && t->gate.quiet & RT_IN_RUNTIME; i++) {
		if (i == 1 << 16)
			return false;
		rt_yield();
		t = __atomic_load_n(&p->owner, __ATOMIC_ACQUIRE);
	}
	return true;
}

static uint64_t predict_finish(void)
{
	struct plog_out o = {.take = send_piece};
	uint64_t found;
	bool started;

	if (!rt_checking)
		return 0;
	__atomic_store_n(&rt_checking, false, __ATOMIC_SEQ_CST);
	/* A single thread has no other that could interleave with it. */
	if (registry_count() < 2)
		return 0;
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	o.unit = rt_pages(RAW_CHUNK_MAX);
	if (!o.unit)
		return 0;
	plog_out_header(&o, over ? "predict_size is used up" : NULL);
	started = link_is_up();
	for (struct predict_thread *p = threads; p; p = p->next)
		if (wait_until_stopped(p))
			send_thread(&o, p);
	send_allocations(&o, registry_count());
	rt_pages_free(o.unit, RAW_CHUNK_MAX);
	found = link_is_up() ? report_end(0) : 0;
	if (!link_is_up())
		rt_say("nothing is predicted: the program 'atomsan' %s",
		       started ? "has gone" : "cannot be started");
	return found;
}

static enum rt_mode predict_wants(void)
{
	return over || !rt_checking ? RT_NOTHING : RT_ALL;
}

void predict_init(void)
{
	static struct rt_tool tool = {
		.wants = predict_wants,
		.thread_begin = predict_thread_begin,
		.thread_end = predict_thread_end,
		.create = predict_create,
		.join = predict_join,
		.call = predict_call,
		.ret = predict_ret,
		.mark = predict_mark,
		.unmark = predict_unmark,
		.not_atomic = predict_not_atomic,
		.block_begin = predict_block_begin,
		.block_end = predict_block_end,
		.access = predict_access,
		.atomic_done = predict_atomic_done,
		.alloc = predict_alloc,
		.free = predict_free,
		.forget = predict_forget,
		.sync = predict_sync,
		.released = predict_sync,
		.fork_child = predict_fork_child,
		.finish = predict_finish,
		.reports_at_end = true,
	};

	generations = rt_pages(LINES * sizeof *generations);
	is_kept = rt_pages(LINES);
	if (!generations || !is_kept || rt_options.predict_size <= 0) {
		rt_say("no memory to predict in: the program runs unchecked");
		return;
	}
	plog_memory = &memory;
	blocks_follow_alone = rt_timed = true;
	tool_use(&tool);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}
