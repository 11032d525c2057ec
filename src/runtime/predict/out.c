/* Writes a log as a raw recording: its records, with calls and returns between them. */
#include "runtime/predict/log.h"

#include "runtime/thread/state.h"

#include "base/banned.h"

enum { WORDS = RAW_CHUNK_MAX / sizeof(uint64_t), HEAD = sizeof(struct raw_chunk) / 8, DEEP = 1024 };

void plog_out_close(struct plog_out *o)
{
	struct raw_chunk *c = (struct raw_chunk *)o->unit;
	size_t bytes = (o->n * sizeof *o->unit + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);

	if (!o->n)
		return;
	c->bytes = (uint32_t)bytes;
	o->take(o, o->unit, bytes);
	__builtin_memset(o->unit, 0, bytes);
	o->n = 0;
}

/* Returns room for so many words, in a new chunk if they do not fit into the open one. */
static uint64_t *take_room(struct plog_out *o, size_t words, uint64_t time)
{
	uint64_t *at;

	if (o->n + words > WORDS)
		plog_out_close(o);
	if (!o->n) {
		*(struct raw_chunk *)o->unit = (struct raw_chunk){.magic = RAW_CHUNK_MAGIC,
								  .thread = o->thread,
								  .number = o->number++,
								  .base = time};
		o->base = time;
		o->pc_high = 0;
		o->n = HEAD;
	}
	at = o->unit + o->n;
	o->n += words;
	return at;
}

void plog_out_unit(struct plog_out *o, enum raw_op op, uint64_t address, uint32_t aux,
		   uint64_t time, uint64_t pc)
{
	uint64_t *u;

	if (time < o->time)
		time = o->time;
	o->time = time;
	/* Room for the unit, for two that may come before it, and for one after it. */
	if (o->n + 8 > WORDS)
		plog_out_close(o);
	take_room(o, 0, time);
	if ((time - o->base) >> 32) {
		u = take_room(o, 2, time);
		u[0] = plog_what(RAW_TIME, 0, 0);
		u[1] = o->base = time;
	}
	if ((pc ^ o->pc_high) >> 32) {
		o->pc_high = pc & ~0xffffffffull;
		u = take_room(o, 2, time);
		u[0] = plog_what(RAW_PC_HIGH, pc >> 32, 0);
		u[1] = (uint32_t)(time - o->base);
	}
	u = take_room(o, 2, time);
	u[0] = plog_what(op, address, aux);
	u[1] = (uint32_t)(time - o->base) | pc << 32;
}

void plog_out_sized(struct plog_out *o, enum raw_op op, uint64_t address, uint64_t size,
		    uint64_t time, uint64_t pc)
{
	uint64_t *u;

	if (o->n + 10 > WORDS)
		plog_out_close(o);
	plog_out_unit(o, op, address, 0, time, pc);
	u = take_room(o, 2, time);
	u[0] = size;
	u[1] = 0;
}

void plog_out_text(struct plog_out *o, enum raw_op op, uint64_t address, const char *text, size_t n)
{
	uint32_t units = (uint32_t)((n + 15) / 16);

	if (units > 200)
		return;
	if (o->n + 10 + 2 * (size_t)units > WORDS)
		plog_out_close(o);
	plog_out_unit(o, op, address, units, o->time, 0);
	__builtin_memcpy(take_room(o, 2 * (size_t)units, o->time), text, n);
}

void plog_out_header(struct plog_out *o, const char *why)
{
	struct raw_header *h = (struct raw_header *)o->unit;

	__builtin_memcpy(h->magic, RAW_MAGIC, sizeof h->magic);
	h->version = RAW_VERSION;
	h->closed = why ? 2 : 1;
	if (why)
		rt_format(h->why, sizeof h->why, "%s", why);
	o->take(o, h, RAW_PAGE);
	__builtin_memset(o->unit, 0, RAW_PAGE);
}

/* --- calls --- */

static void put_call(struct plog_out *o, const struct plog_node *n)
{
	if (n->kind == PLOG_MARK)
		plog_out_unit(o, RAW_BEGIN, n->function, 0, o->time, n->caller);
	else
		plog_out_unit(o, RAW_CALL, n->function, n->kind, o->time, n->caller);
}

/* Put the returns from node `from` to the innermost node that is around both. Returns that one. */
static uint32_t put_returns(struct plog_out *o, const struct plog *l, uint32_t from, uint32_t to)
{
	const struct plog_node *n = l->nodes;

	while (from != to) {
		if (n[from].depth < n[to].depth) {
			to = n[to].parent;
			continue;
		}
		if (n[from].depth == n[to].depth)
			to = n[to].parent;
		plog_out_unit(o, n[from].kind == PLOG_MARK ? RAW_END : RAW_RETURN, 0, 0, o->time,
			      0);
		from = n[from].parent;
	}
	return to;
}

/* Put the returns and calls that lead from one node to another. */
static void put_path(struct plog_out *o, const struct plog *l, uint32_t from, uint32_t to)
{
	uint32_t common = put_returns(o, l, from, to), way[DEEP];
	size_t n = 0;

	/* A very deep path is put in pieces of DEEP calls, the outermost first. */
	while (common != to) {
		uint32_t at = to, last;

		while (l->nodes[at].depth - l->nodes[common].depth > DEEP)
			at = l->nodes[at].parent;
		last = at;
		for (n = 0; at != common; at = l->nodes[at].parent)
			way[n++] = at;
		common = last;
		while (n)
			put_call(o, &l->nodes[way[--n]]);
	}
}

void plog_out_records(struct plog_out *o, const struct plog *l, uint32_t first)
{
	uint32_t at = 0;

	if (first) {
		put_path(o, l, 0, first);
		at = first;
	}
	for (size_t i = 0; i < l->n; i++) {
		const struct plog_record *r = &l->v[i];
		unsigned op = r->what >> 48 & 0xff;
		uint64_t address = r->what & RAW_ADDRESS_MASK, pc = r->pc & ~PLOG_KEEP;

		if (op == PLOG_BEGIN) {
			/* This may be another call of the same function: put a return and a call.
			 */
			uint32_t parent = l->nodes[r->node].parent;

			put_path(o, l, at, parent);
			at = parent;
		}
		put_path(o, l, at, r->node);
		at = r->node;
		if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
			plog_out_sized(o, (enum raw_op)op, address, (uint32_t)r->more, o->time, pc);
		else if (op >= RAW_READ && op <= RAW_UPDATE)
			plog_out_unit(o, (enum raw_op)op, address, (uint32_t)(r->what >> 56),
				      o->time, pc);
		else if (op == RAW_FORGET)
			plog_out_sized(o, RAW_FORGET, address, (uint64_t)r->prev * RAW_PAGE,
				       r->more, pc);
		else if (op == PLOG_TIME)
			o->time = r->more > o->time ? r->more : o->time;
		else if (op != PLOG_BEGIN)
			plog_out_unit(o, (enum raw_op)op, address, (uint32_t)(r->what >> 56),
				      r->more, pc);
	}
}
