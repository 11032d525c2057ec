/*
 * Writes the trace as Chrome's JSON trace events, for ui.perfetto.dev and
 * chrome://tracing. Each thread is a track, each block a slice, each operation a
 * short slice; an arrow shows each conflict that orders the transactions of two
 * threads.
 *
 * A trace has the order of events and not their times, so an event takes one
 * microsecond: event n is at time n.
 *
 * An arrow goes from the last conflicting operation to the current one. One arrow
 * between two transactions is enough: it is left out if the last arrow from that
 * thread to this one connected the same two transactions.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trace/writer_impl.h"

#include "base/banned.h"

enum { FLUSH_AT = 1 << 18 };

/* One end of an arrow. */
struct end {
	uint64_t event; /* 0: none */
	uint64_t transaction;
	uint32_t thread;
};

/* The last operations on a variable or lock that a later one may conflict with. */
struct last {
	struct end write; /* or exclusive release */
	struct end *read; /* or shared release, since then: the last one of each thread */
	size_t nread, cap;
};

struct lasts {
	struct last *v;
	size_t n;
};

/* The transactions that the last arrow from a thread connected. */
struct arrow {
	uint64_t from, to;
};

struct thread {
	bool known;           /* its track has a name */
	uint64_t transaction; /* the first event of the open one; 0: none is open */
	uint64_t depth;
	struct end fork; /* its creation, until its first event */
	struct end end;  /* its last event so far */
	struct arrow *arrow;
	size_t narrows; /* by the thread where the arrow starts */
};

struct perfetto {
	struct str buf;
	uint64_t event, arrows;
	bool some; /* an entry was written: the next one needs a comma */
	struct thread *thread;
	size_t nthreads;
	struct lasts var, lock;
};

static void *perfetto_create(struct writer *w)
{
	struct perfetto *p = mem_zalloc(sizeof *p);

	(void)w;
	p->buf = (struct str)STR_INIT;
	str_add(&p->buf,
		"{\"displayTimeUnit\": \"ms\", \"otherData\": {\"tool\": \"atomsan\", \"unit\": "
		"\"a microsecond is an event\"}, \"traceEvents\": [");
	return p;
}

/* Begins an entry; the caller adds its other members, then calls close_entry(). */
static void open_entry(struct perfetto *p, const char *phase, uint32_t thread, uint64_t event,
		       char tenth)
{
	str_add(&p->buf, p->some ? ",\n" : "\n");
	p->some = true;
	str_fmt(&p->buf, "{\"ph\": \"%s\", \"pid\": 1, \"tid\": %" PRIu32 ", \"ts\": %" PRIu64,
		phase, thread + 1, event);
	if (tenth)
		str_fmt(&p->buf, ".%c", tenth);
}

static void close_entry(struct perfetto *p)
{
	str_addc(&p->buf, '}');
}

static void add_string(struct perfetto *p, const char *key, const char *value)
{
	str_fmt(&p->buf, ", \"%s\": ", key);
	json_add_string(&p->buf, value, false);
}

static void name_thread(struct perfetto *p, const struct names *names, uint32_t thread)
{
	str_add(&p->buf, p->some ? ",\n" : "\n");
	p->some = true;
	str_fmt(&p->buf,
		"{\"ph\": \"M\", \"pid\": 1, \"tid\": %" PRIu32
		", \"name\": \"thread_name\", \"args\": {\"name\": ",
		thread + 1);
	json_add_string(&p->buf, names_thread(names, thread), false);
	str_add(&p->buf, "}}");
}

static struct thread *find_thread(struct perfetto *p, uint32_t thread)
{
	if (thread >= p->nthreads)
		MEM_GROW0(p->thread, p->nthreads, (size_t)thread + 1);
	return &p->thread[thread];
}

static struct last *find_last(struct lasts *l, uint32_t id)
{
	if (id >= l->n)
		MEM_GROW0(l->v, l->n, (size_t)id + 1);
	return &l->v[id];
}

static void draw_arrow(struct perfetto *p, struct end from, struct end to, const char *name)
{
	struct thread *t = find_thread(p, to.thread);
	struct arrow *a;

	if (!from.event || from.thread == to.thread)
		return;
	if (from.thread >= t->narrows)
		MEM_GROW0(t->arrow, t->narrows, (size_t)from.thread + 1);
	a = &t->arrow[from.thread];
	if (a->from == from.transaction && a->to == to.transaction)
		return;
	*a = (struct arrow){from.transaction, to.transaction};
	p->arrows++;
	/* Both ends lie inside the slice of their event. */
	open_entry(p, "s", from.thread, from.event, '1');
	str_fmt(&p->buf, ", \"id\": %" PRIu64 ", \"cat\": \"conflict\"", p->arrows);
	add_string(p, "name", name);
	close_entry(p);
	open_entry(p, "f", to.thread, to.event, '1');
	str_fmt(&p->buf, ", \"bp\": \"e\", \"id\": %" PRIu64 ", \"cat\": \"conflict\"", p->arrows);
	add_string(p, "name", name);
	close_entry(p);
}

static void add_reader(struct last *l, struct end here)
{
	size_t i = 0;

	while (i < l->nread && l->read[i].thread != here.thread)
		i++;
	if (i == l->nread) {
		MEM_GROW(l->read, l->cap, l->nread + 1);
		l->nread++;
	}
	l->read[i] = here;
}

static void set_writer(struct last *l, struct end here)
{
	l->write = here;
	l->nread = 0;
}

static void draw_arrows(struct perfetto *p, const struct last *l, struct end here, bool exclusive,
			const char *name)
{
	draw_arrow(p, l->write, here, name);
	for (size_t i = 0; exclusive && i < l->nread; i++)
		draw_arrow(p, l->read[i], here, name);
}

static void draw_conflicts(struct perfetto *p, const struct event *e, struct end here,
			   const char *name)
{
	struct last *l;

	if (op_is_access(e->op)) {
		l = find_last(&p->var, e->operand);
		draw_arrows(p, l, here, e->op != OP_READ, name);
		if (e->op == OP_READ)
			add_reader(l, here);
		else
			set_writer(l, here);
	} else if (op_is_lock(e->op)) {
		bool shared = e->op == OP_ACQUIRE_SHARED || e->op == OP_RELEASE_SHARED;

		l = find_last(&p->lock, e->operand);
		if (e->op == OP_ACQUIRE || e->op == OP_ACQUIRE_SHARED)
			draw_arrows(p, l, here, !shared, name);
		else if (shared)
			add_reader(l, here);
		else
			set_writer(l, here);
	} else if (e->op == OP_JOIN) {
		draw_arrow(p, find_thread(p, e->operand)->end, here, "join");
	} else if (e->op == OP_FORK) {
		find_thread(p, e->operand)->fork = here;
	}
}

static void add_place(struct perfetto *p, const struct names *names, strref place)
{
	struct str text = STR_INIT;

	str_fmt(&p->buf, ", \"args\": {\"event\": %" PRIu64, p->event);
	if (place) {
		names_add_string(names, place, &text);
		add_string(p, "place", text.s);
	}
	str_addc(&p->buf, '}');
	str_free(&text);
}

static void put_event(struct perfetto *p, const struct names *names, const struct event *e)
{
	struct str name = STR_INIT, operand = STR_INIT;
	struct thread *t = find_thread(p, e->thread);
	struct end here = {.event = p->event, .thread = e->thread};

	if (!t->known)
		name_thread(p, names, e->thread);
	t->known = true;
	if (e->op == OP_BEGIN && !t->depth++)
		t->transaction = p->event;
	here.transaction = t->transaction ? t->transaction : p->event;
	if (e->op == OP_BEGIN) {
		names_add_string(names, event_label(e), &name);
		open_entry(p, "B", e->thread, p->event, 0);
		str_add(&p->buf,
			t->depth == 1 ? ", \"cat\": \"transaction\"" : ", \"cat\": \"block\"");
		add_string(p, "name", name.n ? name.s : "(no name)");
		add_place(p, names, e->place);
		close_entry(p);
	} else if (e->op == OP_END) {
		if (t->depth) {
			open_entry(p, "E", e->thread, p->event, '9');
			close_entry(p);
		}
	} else {
		names_add_operand(names, e, &operand);
		str_fmt(&name, "%s%s%s", op_info[e->op].spelling, operand.n ? " " : "", operand.s);
		open_entry(p, "X", e->thread, p->event, 0);
		str_add(&p->buf, ", \"dur\": 0.8, \"cat\": \"operation\"");
		add_string(p, "name", name.s);
		add_place(p, names, e->place);
		close_entry(p);
	}
	if (t->fork.event) {
		draw_arrow(p, t->fork, here, "fork");
		t = find_thread(p, e->thread);
		t->fork = (struct end){0};
	}
	draw_conflicts(p, e, here, operand.n ? operand.s : name.s);
	/* find_thread() may have moved the array. */
	t = find_thread(p, e->thread);
	t->end = here;
	if (e->op == OP_END && t->depth && !--t->depth)
		t->transaction = 0;
	str_free(&name);
	str_free(&operand);
}

static int flush_buffer(struct writer *w, struct err *err)
{
	struct perfetto *p = w->state;
	int rc = output_write(&w->out, p->buf.s, p->buf.n, err);

	str_reset(&p->buf);
	return rc;
}

static int perfetto_put(struct writer *w, const struct names *names, const struct event *ev,
			size_t n, struct err *err)
{
	struct perfetto *p = w->state;

	for (size_t i = 0; i < n; i++) {
		p->event++;
		if (ev[i].op != OP_NONE)
			put_event(p, names, &ev[i]);
		if (p->buf.n >= FLUSH_AT && flush_buffer(w, err))
			return -1;
	}
	return 0;
}

/* Ends the blocks that are still open at the end of the trace. */
static int perfetto_finish(struct writer *w, struct err *err)
{
	struct perfetto *p = w->state;

	for (size_t i = 0; i < p->nthreads; i++)
		for (; p->thread[i].depth; p->thread[i].depth--) {
			open_entry(p, "E", (uint32_t)i, p->event + 1, 0);
			close_entry(p);
		}
	str_add(&p->buf, "\n]}\n");
	return flush_buffer(w, err);
}

static void free_lasts(struct lasts *l)
{
	for (size_t i = 0; i < l->n; i++)
		mem_free(l->v[i].read);
	mem_free(l->v);
}

static void perfetto_destroy(struct writer *w)
{
	struct perfetto *p = w->state;

	for (size_t i = 0; i < p->nthreads; i++)
		mem_free(p->thread[i].arrow);
	mem_free(p->thread);
	free_lasts(&p->var);
	free_lasts(&p->lock);
	str_free(&p->buf);
	mem_free(p);
}

const struct writer_ops writer_perfetto = {
	.create = perfetto_create,
	.put = perfetto_put,
	.finish = perfetto_finish,
	.destroy = perfetto_destroy,
};
