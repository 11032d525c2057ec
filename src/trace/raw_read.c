/*
 * Reads a raw recording as events: merges the units of all threads in the order
 * of their times; addresses become variables and locks, calls become blocks.
 *
 * There are two passes over the file. The first goes thread by thread and collects
 * what must be known before the first event: the variables (raw_memory.h) and
 * which semaphores are locks. The second makes the events.
 *
 * The program may still be adding units to the file. The second pass ends where the
 * first did, so that both have the same.
 *
 * This file finds the next unit; raw_events.c makes events of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "trace/raw_impl.h"
#include "trace/recorded.h"

#include "base/banned.h"

/* 16 GiB of the program's memory; few pages for a fuzzer, so that it reaches the limit. */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { MEMORY_PAGES = 1 << 8 };
#else
enum { MEMORY_PAGES = 1 << 22 };
#endif

bool raw_sniff(const char *p, size_t n)
{
	return n >= 8 && !memcmp(p, RAW_MAGIC, 8);
}

static void *raw_create(struct reader *r)
{
	(void)r;
	return mem_zalloc(sizeof(struct raw));
}

static void release_bytes(struct raw *a)
{
	raw_file_close(&a->file);
	if (a->map)
		munmap(a->map, a->map_size);
	mem_free(a->copy);
	a->map = NULL;
	a->copy = NULL;
}

static void raw_destroy(struct reader *r)
{
	struct raw *a = r->state;

	for (size_t i = 0; i < a->nthreads; i++)
		mem_free(a->thread[i].frame);
	for (size_t i = 0; i < a->nobjects; i++)
		mem_free(a->object[i].shared);
	mem_free(a->thread);
	mem_free(a->nitems);
	mem_free(a->heap);
	mem_free(a->object);
	mem_free(a->label);
	mem_free(a->out);
	mem_free(a->part);
	map_free(&a->objects);
	map_free(&a->not_locks);
	map_free(&a->label_texts);
	mem_free(a->fact);
	if (a->names.names)
		raw_names_free(&a->names);
	raw_memory_free(a->memory);
	release_bytes(a);
	mem_free(a);
}

/* --- the first pass --- */

/* Maps the file; if it is a pipe or compressed, copies its bytes to memory. */
static int get_bytes(struct reader *r, const char **bytes, size_t *size)
{
	struct raw *a = r->state;
	struct stat st;

	if (!r->in.compressed && !fstat(r->in.fd, &st) && S_ISREG(st.st_mode)) {
		a->map_size = (size_t)st.st_size;
		a->map = mmap(NULL, a->map_size, PROT_READ, MAP_PRIVATE, r->in.fd, 0);
		if (a->map != MAP_FAILED) {
			*bytes = a->map;
			*size = a->map_size;
			return 0;
		}
		a->map = NULL;
	}
	*size = input_need(&r->in, SIZE_MAX / 4);
	if (err_is_set(&r->in.err))
		return err_fail(&r->err, "%s: %s", r->path, r->in.err.text);
	a->copy = mem_alloc(*size + 1);
	memcpy(a->copy, r->in.p, *size);
	*bytes = a->copy;
	return 0;
}

/*
 * A semaphore is a lock if its value is at most 1 and every thread waits for it
 * first and posts it afterwards. `uses` maps a semaphore's address to its state
 * and the thread that used it last: thread * 3 + state.
 */
enum { NOT_HELD, HELD, NO_LOCK };

static void track_semaphore(struct raw *a, struct map *uses, const struct raw_item *i,
			    uint32_t thread, bool unfinished)
{
	uint32_t use = map_get(uses, i->address);
	uint32_t state = use == MAP_NONE ? NOT_HELD : use % 3;
	bool other = use != MAP_NONE && use / 3 != thread;

	if (state == HELD && other) /* the other thread ended without posting it */
		state = unfinished ? NOT_HELD : NO_LOCK;
	if (i->op == RAW_LOCK_NEW)
		state = i->aux > 1 ? NO_LOCK : state;
	else if (state != NO_LOCK)
		state = (i->op == RAW_SEM_WAIT) == (state == NOT_HELD)
				? (i->op == RAW_SEM_WAIT ? HELD : NOT_HELD)
				: NO_LOCK;
	if (state == NO_LOCK)
		map_set(&a->not_locks, i->address, 1);
	if (thread < UINT32_MAX / 3)
		map_set(uses, i->address, thread * 3 + state);
}

/* What the first pass knows about allocations and frees, in any order. */
struct scanned_frees {
	struct map sizes; /* address -> the largest allocation that was made there */
	struct scanned_free {
		uint64_t address;
		uint32_t thread;
	} * v;
	size_t n, cap;
};

static void scan_alloc(struct raw *a, struct scanned_frees *f, const struct raw_item *i)
{
	uint32_t had = map_get(&f->sizes, i->address);
	uint32_t size = i->size < MAP_NONE ? (uint32_t)i->size : MAP_NONE - 1;

	if (had == MAP_NONE || had < size)
		map_set(&f->sizes, i->address, size);
	raw_memory_add_boundary(a->memory, i->address);
	if (i->size < 1 << 16)
		raw_memory_add_boundary(a->memory, i->address + i->size);
}

static void scan_free(struct scanned_frees *f, const struct raw_item *i, uint32_t thread)
{
	MEM_GROW(f->v, f->cap, f->n + 1);
	f->v[f->n++] = (struct scanned_free){i->address, thread};
}

/* A thread that frees memory uses it: what another thread accessed there is shared. */
static void share_freed_memory(struct raw *a, struct scanned_frees *f)
{
	for (size_t i = 0; i < f->n; i++) {
		uint32_t size = map_get(&f->sizes, f->v[i].address);

		if (size != MAP_NONE)
			raw_memory_add_free(a->memory, f->v[i].address, size, f->v[i].thread);
	}
	map_free(&f->sizes);
	mem_free(f->v);
}

/* The first pass. */
static void scan_recording(struct raw *a, bool unfinished)
{
	struct map semaphores = {0};
	struct scanned_frees frees = {0};
	struct map_entry use;
	size_t at = 0;
	struct raw_cursor c;
	struct raw_item i;

	for (uint32_t t = 0; t < a->file.nthreads; t++) {
		raw_cursor_init(&c, &a->file.threads[t]);
		for (; raw_cursor_next(&c, &i); a->nitems[t]++) {
			switch (i.op) {
			case RAW_READ:
			case RAW_WRITE:
			case RAW_UPDATE:
			case RAW_READ_RANGE:
			case RAW_WRITE_RANGE:
				raw_memory_add_access(a->memory, i.address, i.size, t);
				break;
			case RAW_ALLOC:
				scan_alloc(a, &frees, &i);
				break;
			case RAW_FREE:
				scan_free(&frees, &i, t);
				break;
			case RAW_LABEL:
				map_set(&a->label_texts, i.address, (uint32_t)a->nlabels);
				MEM_GROW(a->label, a->labels_cap, a->nlabels + 1);
				a->label[a->nlabels].text = i.text;
				a->label[a->nlabels++].len = i.text_len;
				break;
			case RAW_LOCK_NEW:
			case RAW_SEM_WAIT:
			case RAW_SEM_POST:
				track_semaphore(a, &semaphores, &i, t, unfinished);
				raw_memory_add_boundary(a->memory, i.address);
				break;
			case RAW_ACQUIRE:
			case RAW_ACQUIRE_SHARED:
				raw_memory_add_boundary(a->memory, i.address);
				break;
			default:
				break;
			}
		}
		a->broken += c.broken;
	}
	/* Still held after the last thread's units: the thread that waited did not post it. */
	while (!unfinished && map_next(&semaphores, &at, &use))
		if (use.value % 3 == HELD)
			map_set(&a->not_locks, use.a, 1);
	map_free(&semaphores);
	share_freed_memory(a, &frees);
	raw_memory_finish_accesses(a->memory);
}

/* --- the second pass: the threads' units in the order of time --- */

static bool is_earlier(const struct raw *a, uint32_t x, uint32_t y)
{
	uint64_t s = a->thread[x].item.time, t = a->thread[y].item.time;

	return s < t || (s == t && x < y);
}

static void sift_down(struct raw *a, size_t i)
{
	for (;;) {
		size_t least = i, child = 2 * i + 1;
		uint32_t swap;

		if (child < a->nheap && is_earlier(a, a->heap[child], a->heap[least]))
			least = child;
		if (child + 1 < a->nheap && is_earlier(a, a->heap[child + 1], a->heap[least]))
			least = child + 1;
		if (least == i)
			return;
		swap = a->heap[i];
		a->heap[i] = a->heap[least];
		a->heap[least] = swap;
		i = least;
	}
}

/* Reads the thread's next unit. Returns false at its end. */
static bool advance_thread(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];
	return t->nread++ < a->nitems[thread] && raw_cursor_next(&t->cursor, &t->item);
}

static void fill_heap(struct raw *a)
{
	a->nheap = 0;
	for (uint32_t t = 0; t < a->nthreads; t++) {
		raw_cursor_init(&a->thread[t].cursor, &a->file.threads[t]);
		if (advance_thread(a, t))
			a->heap[a->nheap++] = t;
	}
	for (size_t i = a->nheap; i-- > 0;)
		sift_down(a, i);
}

/* Adds the notes that come before the first event. */
static void add_first_notes(struct reader *r)
{
	struct raw *a = r->state;
	const struct raw_header *h = a->file.header;
	const char *p = (const char *)(h + 1);

	str_reset(&a->names.text);
	str_add(&a->names.text, RECORDED_NOTE);
	raw_names_note(&a->names);
	str_reset(&a->names.text);
	str_add(&a->names.text, "command ");
	for (uint32_t i = 0; i < h->command; i++)
		if (p[i] || i + 1 < h->command)
			str_addc(&a->names.text, p[i] ? p[i] : ' ');
	raw_names_note(&a->names);
	for (size_t i = 0; i < r->nmodules; i++)
		raw_names_module(&a->names, r->modules[i].bias, r->modules[i].text,
				 r->modules[i].len);
}

/* Adds the notes that are known only after the last unit. */
static void add_last_notes(struct raw *a)
{
	const struct raw_header *h = a->file.header;

	if (a->noted)
		return;
	a->noted = true;
	str_reset(&a->names.text);
	str_fmt(&a->names.text, "unshared %" PRIu64, a->unshared);
	raw_names_note(&a->names);
	if (a->repaired) {
		str_reset(&a->names.text);
		str_fmt(&a->names.text,
			"lost %" PRIu64 " operations on locks and threads do not fit together",
			a->repaired);
		raw_names_note(&a->names);
	}
	if (a->broken) {
		str_reset(&a->names.text);
		str_fmt(&a->names.text, "lost the rest of %" PRIu32 " thread%s: it makes no sense",
			a->broken, a->broken == 1 ? "" : "s");
		raw_names_note(&a->names);
	}
	if (raw_memory_lost_pages(a->memory)) {
		str_reset(&a->names.text);
		str_fmt(&a->names.text, "lost accesses of %" PRIu64 " pages: too much memory",
			raw_memory_lost_pages(a->memory));
		raw_names_note(&a->names);
	}
	if (h->closed == 2) {
		str_reset(&a->names.text);
		str_add(&a->names.text, "lost recording stopped: ");
		str_addn(&a->names.text, h->why, strnlen(h->why, sizeof h->why));
		raw_names_note(&a->names);
	}
}

/*
 * How many pages of the program's memory to remember. An operation on a range may claim any number
 * of them, so the recording's size limits them, too: 256 MiB, and more than single accesses can
 * need.
 */
static size_t pages_of(size_t bytes)
{
	size_t pages = ((size_t)1 << 16) + bytes / 8;

	return pages < MEMORY_PAGES ? pages : MEMORY_PAGES;
}

static void raw_start(struct reader *r)
{
	struct raw *a = r->state;
	const char *bytes = NULL;
	size_t size = 0;

	release_bytes(a); /* of an earlier attempt */
	if (get_bytes(r, &bytes, &size))
		return;
	if (raw_file_open(&a->file, bytes, size, &r->err)) {
		err_wrap(&r->err, "%s", r->path);
		return;
	}
	a->memory = raw_memory_new(pages_of(size));
	raw_names_init(&a->names, &r->names);
	a->nthreads = a->file.nthreads;
	a->thread = mem_zalloc((a->nthreads + 1) * sizeof *a->thread);
	a->nitems = mem_zalloc((a->nthreads + 1) * sizeof *a->nitems);
	a->heap = mem_alloc((a->nthreads + 1) * sizeof *a->heap);
	for (uint32_t t = 0; t < a->nthreads; t++) {
		char name[16];
		int n = snprintf(name, sizeof name, "T%" PRIu32, t);

		table_append(&r->names.table[NAMES_THREAD], name, (size_t)n);
	}
	a->keep_parts = r->units != NULL;
	raw_facts_prepare(r);
	/* A program that was killed may have been about to post a semaphore. */
	scan_recording(a, r->opt.unfinished || a->file.header->closed != 1);
	r->in.size = size;
	add_first_notes(r);
	raw_facts_begin(r);
	fill_heap(a);
	a->started = true;
}

/*
 * Returns the number of the event of the current unit, whose events begin at out[first]; of several
 * accesses the one of this byte, or the first if `byte` is 0. Returns 0 if there is none.
 */
static uint64_t event_of_unit(const struct raw *a, uint32_t thread, size_t first, uint64_t byte)
{
	for (size_t i = 0; i < a->nparts; i++)
		if (!byte || byte - a->part[i].start < a->part[i].bytes)
			return a->delivered + a->part[i].at + 1;
	for (size_t i = first; i < a->nout && !a->nparts; i++)
		if (a->out[i].thread == thread && a->out[i].op != OP_BEGIN &&
		    a->out[i].op != OP_END)
			return a->delivered + i + 1;
	return 0;
}

/* Answers the questions of reader_set_units() about the current unit. */
static void answer_units(struct reader *r, uint32_t thread, const struct raw_item *i, size_t first)
{
	const struct raw *a = r->state;

	for (size_t k = 0; k < r->nunits; k++) {
		struct reader_unit *u = &r->units[k];

		if (u->thread != thread)
			continue;
		if (!u->op || (u->op == i->op && u->time == i->time && u->pc == i->pc && !u->event))
			u->event = event_of_unit(a, thread, first, u->address);
	}
}

static int raw_next(struct reader *r, struct event *ev)
{
	struct raw *a = r->state;
	size_t n;

	if (!a->started) {
		raw_start(r);
		if (!a->started)
			return 0;
	}
	if (a->at == a->nout) {
		a->delivered += a->nout;
		a->at = a->nout = 0;
		while (a->nheap && a->nout < READER_BATCH) {
			uint32_t t = a->heap[0];

			size_t first = a->nout;

			a->nparts = 0;
			raw_facts_apply(r, a->thread[t].item.time, t);
			raw_take_unit(a, t, &a->thread[t].item);
			a->units++;
			if (r->units)
				answer_units(r, t, &a->thread[t].item, first);
			if (!advance_thread(a, t))
				a->heap[0] = a->heap[--a->nheap];
			sift_down(a, 0);
			if (!a->nheap)
				r->units = NULL;
		}
		r->in.raw_read = a->units * sizeof(struct raw_unit);
		if (!a->nheap)
			add_last_notes(a);
	}
	n = a->nout - a->at < READER_BATCH ? a->nout - a->at : READER_BATCH;
	if (n)
		memcpy(ev, a->out + a->at, n * sizeof *ev);
	a->at += n;
	return (int)n;
}

static void raw_rewind(struct reader *r)
{
	struct raw *a = r->state;

	if (!a->started)
		return;
	for (size_t t = 0; t < a->nthreads; t++) {
		struct raw_thread_state *old = &a->thread[t];

		*old = (struct raw_thread_state){.frame = old->frame, .frame_cap = old->frame_cap};
	}
	a->generation++;
	a->nout = a->at = 0;
	a->delivered = 0;
	a->unshared = a->repaired = a->units = 0;
	a->noted = false;
	raw_memory_restart(a->memory);
	raw_names_restart(&a->names);
	add_first_notes(r);
	raw_facts_begin(r);
	fill_heap(a);
}

static void raw_where(const struct reader *r, int i, struct str *out)
{
	str_fmt(out, "%s: event %llu", r->path,
		(unsigned long long)(r->counts.events + (uint64_t)i + 1));
}

const struct format_ops format_raw = {
	.name = "raw recording",
	.create = raw_create,
	.next = raw_next,
	.rewind = raw_rewind,
	.where = raw_where,
	.destroy = raw_destroy,
};
