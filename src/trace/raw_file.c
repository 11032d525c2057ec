#include "trace/raw_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/event.h"

#include "base/banned.h"

static bool is_empty(const struct raw_chunk *c)
{
	const struct raw_unit *first = (const struct raw_unit *)(const void *)(c + 1);

	return !(first->what >> 48 & 0xff);
}

/*
 * If a program is killed while it appends a copy of a chunk, the chunk is there twice. The first in
 * the file is whole, or it has been emptied because the copy is.
 */
static int compare_numbers(const void *a, const void *b)
{
	const struct raw_chunk *x = *(const struct raw_chunk *const *)a;
	const struct raw_chunk *y = *(const struct raw_chunk *const *)b;

	if (x->number != y->number)
		return x->number > y->number ? 1 : -1;
	if (is_empty(x) != is_empty(y))
		return is_empty(x) ? 1 : -1;
	return (x > y) - (x < y);
}

static int add_chunk(struct raw_file *f, const struct raw_chunk *c, size_t offset, struct err *err)
{
	struct raw_thread *t;

	/* Every thread has a chunk, unless it could not be created or never ran. */
	if (c->thread > (1u << 14) + 16 * (f->size / RAW_PAGE))
		return err_fail(err, "offset %zu: a chunk has the impossible thread number %u",
				offset, c->thread);
	MEM_GROW0(f->threads, f->threads_cap, (size_t)c->thread + 1);
	if (f->nthreads <= c->thread)
		f->nthreads = (size_t)c->thread + 1;
	t = &f->threads[c->thread];
	MEM_GROW(t->chunk, t->cap, t->n + 1);
	t->chunk[t->n++] = c;
	return 0;
}

int raw_file_open(struct raw_file *f, const char *bytes, size_t size, struct err *err)
{
	size_t at = RAW_PAGE;

	*f = (struct raw_file){.bytes = bytes, .size = size};
	if (size < RAW_PAGE)
		return err_fail(err, "offset %zu: the recording is cut off in its header", size);
	f->header = (const struct raw_header *)(const void *)bytes;
	if (f->header->version != RAW_VERSION)
		return err_fail(err,
				"offset 8: the recording has version %u; this atomsan reads "
				"version %u",
				f->header->version, RAW_VERSION);
	if (f->header->command > RAW_PAGE - sizeof *f->header)
		return err_fail(err, "offset %zu: the command line does not fit the header",
				offsetof(struct raw_header, command));
	while (size - at >= RAW_PAGE) {
		const struct raw_chunk *c = (const struct raw_chunk *)(const void *)(bytes + at);

		/* A thread got this page and did not use it. */
		if (!c->magic) {
			at += RAW_PAGE;
			continue;
		}
		if (c->magic != RAW_CHUNK_MAGIC || c->bytes < RAW_PAGE || c->bytes % RAW_PAGE ||
		    c->bytes > RAW_CHUNK_MAX)
			return err_fail(err, "offset %zu: no chunk begins here", at);
		if (c->bytes > size - at)
			return err_fail(err, "offset %zu: the recording is cut off in a chunk",
					size);
		if (add_chunk(f, c, at, err))
			return -1;
		at += c->bytes;
	}
	for (size_t i = 0; i < f->nthreads; i++)
		if (f->threads[i].n)
			qsort(f->threads[i].chunk, f->threads[i].n, sizeof *f->threads[i].chunk,
			      compare_numbers);
	return 0;
}

void raw_file_close(struct raw_file *f)
{
	for (size_t i = 0; i < f->threads_cap; i++)
		mem_free(f->threads[i].chunk);
	mem_free(f->threads);
	*f = (struct raw_file){0};
}

void raw_cursor_init(struct raw_cursor *c, const struct raw_thread *thread)
{
	*c = (struct raw_cursor){.thread = thread};
}

/* Moves to the thread's next chunk. Returns false if there is none or one is missing. */
static bool enter_next_chunk(struct raw_cursor *c)
{
	const struct raw_chunk *chunk;

	do {
		if (c->next_chunk == c->thread->n)
			return false;
		chunk = c->thread->chunk[c->next_chunk++];
	} while (chunk->number < c->number);
	if (chunk->number != c->number) {
		c->next_chunk = c->thread->n;
		c->broken = true;
		return false;
	}
	c->number++;
	c->at = (const struct raw_unit *)(const void *)(chunk + 1);
	c->end = (const struct raw_unit *)(const void *)((const char *)chunk + chunk->bytes);
	c->base = chunk->base;
	c->pc_high = chunk->pc_high & ~0xffffffffull;
	return true;
}

static size_t text_length(const char *text, size_t max)
{
	const char *end = memchr(text, 0, max);

	return end ? (size_t)(end - text) : max;
}

/* Make a RAW_READ, RAW_WRITE or RAW_UPDATE of an access with a value. */
static void split_value(struct raw_item *item)
{
	static const enum raw_op plain[] = {RAW_READ, RAW_WRITE, RAW_UPDATE};
	unsigned which = item->op - RAW_READ1;

	item->value = item->aux <= VALUE_MINUS_ONE ? (uint8_t)item->aux : VALUE_UNKNOWN;
	item->op = plain[which / 4];
	item->aux = 1u << which % 4;
}

bool raw_cursor_next(struct raw_cursor *c, struct raw_item *item)
{
	for (;;) {
		const struct raw_unit *u;
		size_t extra = 0; /* units of size or text that belong to this one */

		/* The rest of a chunk is empty if the next unit, with its text, did not fit. */
		if (c->at == c->end || !(c->at->what >> 48 & 0xff)) {
			if (!enter_next_chunk(c))
				return false;
			continue;
		}
		u = c->at++;
		item->op = (enum raw_op)(u->what >> 48 & 0xff);
		item->aux = (uint32_t)(u->what >> 56);
		item->address = u->what & RAW_ADDRESS_MASK;
		item->value = VALUE_UNKNOWN;
		if (item->op >= RAW_READ1 && item->op <= RAW_UPDATE8)
			split_value(item);
		switch (item->op) {
		case RAW_TIME:
			c->base = u->when;
			continue;
		case RAW_PC_HIGH:
			c->pc_high = item->address << 32;
			continue;
		case RAW_START:
		case RAW_READ_RANGE:
		case RAW_WRITE_RANGE:
		case RAW_ALLOC:
		case RAW_FORGET:
			extra = 1;
			break;
		case RAW_LABEL:
		case RAW_MODULE:
		case RAW_NAME:
			extra = item->aux;
			break;
		default:
			break;
		}
		if (item->op >= RAW_OPS || extra > (size_t)(c->end - c->at)) {
			c->at = c->end;
			c->next_chunk = c->thread->n;
			c->broken = true;
			return false;
		}
		item->size = extra ? c->at->what : item->aux;
		item->text = (const char *)c->at;
		item->text_len = text_length(item->text, extra * sizeof *u);
		c->at += extra;
		item->time = c->base + (uint32_t)u->when;
		if (item->time < c->last)
			item->time = c->last;
		c->last = item->time;
		item->pc = c->pc_high | u->when >> 32;
		return true;
	}
}
