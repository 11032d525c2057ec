/*
 * Raw recordings as events: the threads' units in the order of their times,
 * addresses as variables and locks, calls as blocks.
 *
 * Two looks at the file: one, thread by thread, for what must be known before
 * the first event (raw_memory.h; which semaphores are locks); then the events.
 *
 * What carries nothing is left out: accesses of memory that only one thread
 * ever touched, and functions in which nothing else happened. A begin is put off
 * until something happens in the block.
 *
 * What cannot have happened but is there, since the end of some thread was not
 * written or a program unlocks what another thread locked, is put right: a
 * lock that is acquired was released before, by whoever held it; a release of
 * a lock not held is left out, and so is what a thread does after it was joined and
 * its creation after it has run. The trace's notes count these. So whatever the
 * units, the events are such as can happen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "trace/raw_file.h"
#include "trace/raw_memory.h"
#include "trace/raw_names.h"
#include "trace/reader_impl.h"
#include "trace/recorded.h"

#include "base/banned.h"

const char *const raw_lock_names[RAW_LOCKS] = {
	[RAW_MUTEX] = "mutex",         [RAW_RWLOCK] = "rwlock",
	[RAW_SPINLOCK] = "spinlock",   [RAW_SEMAPHORE] = "semaphore",
	[RAW_CONDITION] = "condition", [RAW_BARRIER_OBJECT] = "barrier",
};

/* A function that was called, or a block that is marked. */
struct frame {
	uint64_t pc;   /* in the function; of a marked block its label's number */
	uint64_t call; /* where */
	strref place;  /* of the call; UNNAMED: not needed so far */
	char kind;     /* 'f', 's', 'm' or 'a' */
	bool begun;    /* its begin has been delivered, and its end has not */
};
#define UNNAMED UINT32_MAX

struct thread {
	struct raw_cursor cursor;
	struct raw_item item; /* the next one, where the thread is in the heap */
	struct frame *frame;
	size_t depth, frame_cap;
	size_t waiting; /* frames from here on have not begun */
	size_t cut;     /* frames below this have ended */
	bool started;   /* it has called its first function */
	uint32_t held;  /* locks that it holds for writing */
	bool ran, joined;
	uint64_t stack, stack_size;
	uint32_t creator;
	strref created;
	/* The last place: loops ask for it again and again. */
	uint64_t last_pc;
	strref last_parent, last_place;
};

/* By its address: what it is called in the trace, as long as the memory is the same. */
struct object {
	uint64_t age;
	uint32_t id;
	uint32_t generation; /* of the pass */
	bool made;           /* else a new one is there */
	/* Of a lock: who holds it. */
	uint32_t owner_plus_1, depth;
	uint32_t *shared; /* threads, once for each time */
	size_t nshared, shared_cap;
};

struct raw {
	bool started;
	void *map;
	size_t map_size;
	char *copy;
	struct raw_file file;
	struct raw_memory *memory;
	struct raw_names names;
	struct thread *thread;
	size_t nthreads;
	uint32_t *heap; /* threads, the earliest on top */
	size_t nheap;
	struct raw_map objects; /* by address and kind: index */
	struct object *object;
	size_t nobjects, objects_cap;
	uint32_t generation;
	struct raw_map not_locks;   /* semaphores that are used in other ways */
	struct raw_map label_texts; /* number of a label: index */
	struct {
		const char *text;
		size_t len;
	} * label;
	size_t nlabels, labels_cap;
	/* Events that are ready. */
	struct event *out;
	size_t nout, at, out_cap;
	uint64_t delivered; /* events, before those in `out` */
	/* Of the unit being taken, where somebody asks: the variables that it touches. */
	struct part {
		uint64_t start, bytes;
		size_t at; /* in `out` */
	} * part;
	size_t nparts, parts_cap;
	bool keep_parts;
	uint64_t unshared, repaired, units;
	uint32_t broken; /* threads whose units make no sense from some point on */
	bool noted;
};

/* 16 GiB of the program's memory; a fuzzer needs to see what happens when that is all. */
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

static void forget_bytes(struct raw *a)
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
	mem_free(a->heap);
	mem_free(a->object);
	mem_free(a->label);
	mem_free(a->out);
	mem_free(a->part);
	raw_map_free(&a->objects);
	raw_map_free(&a->not_locks);
	raw_map_free(&a->label_texts);
	if (a->names.names)
		raw_names_free(&a->names);
	raw_memory_free(a->memory);
	forget_bytes(a);
	mem_free(a);
}

/* --- the first look --- */

/* A file is mapped; what comes through a pipe or a decompressor is kept in memory. */
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
 * A semaphore is a lock where every thread waits first and posts then, and one
 * at a time can have it.
 */
enum { NOT_HELD, HELD, NO_LOCK };
struct sem_use {
	uint32_t state, thread;
};

static void look_at_semaphore(struct raw *a, struct raw_map *uses, const struct raw_item *i,
			      uint32_t thread, bool unfinished)
{
	uint32_t use = raw_map_get(uses, i->address, 0);
	uint32_t state = use == RAW_MAP_NONE ? NOT_HELD : use % 3;
	bool other = use != RAW_MAP_NONE && use / 3 != thread;

	if (state == HELD && other) /* a thread was done, and had not given it back */
		state = unfinished ? NOT_HELD : NO_LOCK;
	if (i->op == RAW_LOCK_NEW)
		state = i->aux > 1 ? NO_LOCK : state;
	else if (state != NO_LOCK)
		state = (i->op == RAW_SEM_WAIT) == (state == NOT_HELD)
				? (i->op == RAW_SEM_WAIT ? HELD : NOT_HELD)
				: NO_LOCK;
	if (state == NO_LOCK)
		raw_map_put(&a->not_locks, i->address, 0, 1);
	if (thread < UINT32_MAX / 3)
		raw_map_put(uses, i->address, 0, thread * 3 + state);
}

static void look(struct raw *a, bool unfinished)
{
	struct raw_map semaphores = {0};
	struct raw_cursor c;
	struct raw_item i;

	for (uint32_t t = 0; t < a->file.nthreads; t++) {
		raw_cursor_init(&c, &a->file.threads[t]);
		while (raw_cursor_next(&c, &i)) {
			switch (i.op) {
			case RAW_READ:
			case RAW_WRITE:
			case RAW_UPDATE:
			case RAW_READ_RANGE:
			case RAW_WRITE_RANGE:
				raw_memory_mark(a->memory, i.address, i.size, t);
				break;
			case RAW_ALLOC:
				raw_memory_edge(a->memory, i.address);
				if (i.size < 1 << 16)
					raw_memory_edge(a->memory, i.address + i.size);
				break;
			case RAW_LABEL:
				raw_map_put(&a->label_texts, i.address, 0, (uint32_t)a->nlabels);
				MEM_GROW(a->label, a->labels_cap, a->nlabels + 1);
				a->label[a->nlabels].text = i.text;
				a->label[a->nlabels++].len = i.text_len;
				break;
			case RAW_LOCK_NEW:
			case RAW_SEM_WAIT:
			case RAW_SEM_POST:
				look_at_semaphore(a, &semaphores, &i, t, unfinished);
				raw_memory_edge(a->memory, i.address);
				break;
			case RAW_ACQUIRE:
			case RAW_ACQUIRE_SHARED:
				raw_memory_edge(a->memory, i.address);
				break;
			default:
				break;
			}
		}
	}
	/* Still held when its last thread was done: not given back by the one that had it. */
	for (size_t k = 0; k < semaphores.cap && !unfinished; k++)
		if (semaphores.slot[k].value_plus_1 &&
		    (semaphores.slot[k].value_plus_1 - 1) % 3 == HELD)
			raw_map_put(&a->not_locks, semaphores.slot[k].a, 0, 1);
	raw_map_free(&semaphores);
	raw_memory_marked(a->memory);
}

/* --- the events --- */

static void emit(struct raw *a, uint32_t thread, enum op op, uint32_t operand, strref place)
{
	if (a->nout == a->out_cap)
		MEM_GROW(a->out, a->out_cap, a->nout + READER_BATCH);
	a->thread[thread].ran = true;
	a->out[a->nout++] = (struct event){
		.thread = thread, .operand = operand, .place = place, .op = (uint8_t)op};
}

static strref call_place(struct raw *a, struct thread *t, size_t depth)
{
	size_t k = depth;

	if (!depth)
		return 0;
	while (k && t->frame[k - 1].place == UNNAMED)
		k--;
	for (; k < depth; k++) {
		struct frame *f = &t->frame[k];
		strref parent = k ? t->frame[k - 1].place : 0;

		/* A marked block is no call: what happens in it happens in the function. */
		f->place = f->kind == 'a' ? parent : raw_names_place(&a->names, parent, f->call);
	}
	return t->frame[depth - 1].place;
}

static strref place_of(struct raw *a, struct thread *t, uint64_t pc)
{
	strref parent = call_place(a, t, t->depth);

	if (t->last_pc != pc || t->last_parent != parent) {
		t->last_pc = pc;
		t->last_parent = parent;
		t->last_place = raw_names_place(&a->names, parent, pc);
	}
	return t->last_place;
}

static void begin_waiting(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];

	for (; t->waiting < t->depth; t->waiting++) {
		struct frame *f = &t->frame[t->waiting];
		const char *text = "";
		size_t len = 0;
		strref place;

		if (f->kind == 'a') {
			uint32_t i = raw_map_get(&a->label_texts, f->pc, 0);

			if (i != RAW_MAP_NONE) {
				text = a->label[i].text;
				len = a->label[i].len;
			}
			place = raw_names_place(&a->names, call_place(a, t, t->waiting), f->call);
		} else {
			place = call_place(a, t, t->waiting + 1);
		}
		emit(a, thread, OP_BEGIN, raw_names_label(&a->names, f->kind, f->pc, text, len),
		     place);
		f->begun = true;
	}
}

/* An operation, at a place of its own. */
static void operate(struct raw *a, uint32_t thread, enum op op, uint32_t operand, uint64_t pc)
{
	begin_waiting(a, thread);
	emit(a, thread, op, operand, place_of(a, &a->thread[thread], pc));
}

static void pop(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];
	struct frame *f = &t->frame[--t->depth];

	if (f->begun)
		emit(a, thread, OP_END, END_RETURN, 0);
	if (t->waiting > t->depth)
		t->waiting = t->depth;
	if (t->cut > t->depth)
		t->cut = t->depth;
}

/* Every open block ends. */
static void cut(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];

	begin_waiting(a, thread);
	for (size_t k = t->depth; k-- > t->cut;)
		if (t->frame[k].begun) {
			emit(a, thread, OP_END, END_CUT, 0);
			t->frame[k].begun = false;
		}
	t->cut = t->depth;
}

/* A thread starts with the first function that nobody called, but for signal handlers. */
static char kind_of_call(const struct thread *t, uint32_t thread, const struct raw_item *i)
{
	if (i->aux == 1)
		return 'm';
	if (!thread || t->started || i->aux == 2)
		return 'f';
	return t->depth && t->frame[t->depth - 1].kind != 'a' ? 'f' : 's';
}

static void called(struct raw *a, uint32_t thread, const struct raw_item *i, char kind)
{
	struct thread *t = &a->thread[thread];

	MEM_GROW(t->frame, t->frame_cap, t->depth + 1);
	t->frame[t->depth++] =
		(struct frame){.pc = i->address, .call = i->pc, .place = UNNAMED, .kind = kind};
	t->started |= kind == 's';
}

static void returned(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];
	size_t k = t->depth;

	while (k && t->frame[k - 1].kind == 'a')
		k--;
	if (!k)
		return; /* a call that was not seen */
	while (t->depth >= k)
		pop(a, thread);
}

/* The block of the function that is running ends, for good. */
static void not_atomic(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];
	struct frame *f;

	begin_waiting(a, thread);
	f = t->depth ? &t->frame[t->depth - 1] : NULL;
	if (f && f->begun && f->kind != 'a') {
		emit(a, thread, OP_END, END_NOT_ATOMIC, 0);
		f->begun = false;
	}
}

static void access_memory(struct raw *a, uint32_t thread, enum op op, const struct raw_item *i)
{
	uint64_t address = i->address, size = i->size, start, bytes;
	bool any = false;

	while (size) {
		uint32_t *var = raw_memory_variable(a->memory, &address, &size, &start, &bytes);

		if (!var)
			continue;
		if (!*var) {
			str_reset(&a->names.text);
			raw_names_add_memory(&a->names, a->memory, start, bytes);
			*var = raw_names_next(&a->names, NAMES_VAR) + 1;
		}
		operate(a, thread, op, *var - 1, i->pc);
		any = true;
		if (a->keep_parts) {
			MEM_GROW(a->part, a->parts_cap, a->nparts + 1);
			a->part[a->nparts++] = (struct part){start, bytes, a->nout - 1};
		}
	}
	a->unshared += !any;
}

/*
 * A lock is nobody's any more: the holders give it back now. False where one
 * cannot, since it was joined.
 */
static bool let_go(struct raw *a, struct object *o)
{
	bool all = true;

	if (o->owner_plus_1) {
		all = !a->thread[o->owner_plus_1 - 1].joined;
		for (; o->depth; o->depth--, a->repaired++)
			if (all)
				emit(a, o->owner_plus_1 - 1, OP_RELEASE, o->id, 0);
		a->thread[o->owner_plus_1 - 1].held--;
		o->owner_plus_1 = 0;
	}
	for (; o->nshared; a->repaired++) {
		uint32_t thread = o->shared[--o->nshared];

		if (a->thread[thread].joined)
			all = false;
		else
			emit(a, thread, OP_RELEASE_SHARED, o->id, 0);
	}
	return all;
}

/* The lock, condition, barrier, or semaphore's variable at an address. */
static struct object *object_at(struct raw *a, uint64_t address, enum raw_lock kind, bool is_var)
{
	uint64_t age = raw_memory_age(a->memory, address);
	uint32_t index = raw_map_get(&a->objects, address, is_var);
	struct object *o;

	if (index == RAW_MAP_NONE) {
		index = (uint32_t)a->nobjects++;
		MEM_GROW0(a->object, a->objects_cap, a->nobjects);
		raw_map_put(&a->objects, address, is_var, index);
	}
	o = &a->object[index];
	if (o->made && o->age == age && o->generation == a->generation)
		return o;
	/* Held when its memory went: what is there now is another. */
	if (o->generation == a->generation)
		let_go(a, o);
	o->made = true;
	o->age = age;
	o->generation = a->generation;
	o->owner_plus_1 = o->depth = 0;
	o->nshared = 0;
	str_reset(&a->names.text);
	if (!is_var)
		str_fmt(&a->names.text, "%s ", raw_lock_names[kind]);
	raw_names_add_memory(&a->names, a->memory, address, 1);
	o->id = raw_names_next(&a->names, is_var ? NAMES_VAR : NAMES_LOCK);
	return o;
}

static void acquire(struct raw *a, uint32_t thread, const struct raw_item *i, bool shared)
{
	enum raw_lock kind = i->aux < RAW_LOCKS ? i->aux : RAW_MUTEX;
	struct object *o = object_at(a, i->address, kind, false);

	if ((o->owner_plus_1 && o->owner_plus_1 != thread + 1) || (!shared && o->nshared)) {
		o->made = let_go(a, o);
		o = object_at(a, i->address, kind, false);
	}
	if (shared && o->owner_plus_1) {
		/* A thread that has it for writing cannot have got it for reading. */
		a->repaired++;
		return;
	}
	if (shared) {
		MEM_GROW(o->shared, o->shared_cap, o->nshared + 1);
		o->shared[o->nshared++] = thread;
	} else {
		a->thread[thread].held += !o->owner_plus_1;
		o->owner_plus_1 = thread + 1;
		o->depth++;
	}
	operate(a, thread, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, o->id, i->pc);
}

static void release(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	struct object *o = object_at(a, i->address, i->aux < RAW_LOCKS ? i->aux : RAW_MUTEX, false);

	if (o->owner_plus_1 == thread + 1) {
		if (!--o->depth) {
			o->owner_plus_1 = 0;
			a->thread[thread].held--;
		}
		operate(a, thread, OP_RELEASE, o->id, i->pc);
		return;
	}
	for (size_t k = o->nshared; k-- > 0;)
		if (o->shared[k] == thread) {
			o->shared[k] = o->shared[--o->nshared];
			operate(a, thread, OP_RELEASE_SHARED, o->id, i->pc);
			return;
		}
	a->repaired++;
}

/* A robust mutex is given back when its owner ends; of any other nobody hears again. */
static void release_all(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];

	for (size_t k = 0; t->held && k < a->nobjects; k++) {
		struct object *o = &a->object[k];

		if (!o->made || o->generation != a->generation || o->owner_plus_1 != thread + 1)
			continue;
		for (; o->depth; o->depth--)
			emit(a, thread, OP_RELEASE, o->id, 0);
		o->owner_plus_1 = 0;
		t->held--;
	}
	t->held = 0;
}

static void semaphore(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	struct raw_item lock = *i;

	if (raw_map_get(&a->not_locks, i->address, 0) != RAW_MAP_NONE) {
		struct object *o = object_at(a, i->address, RAW_SEMAPHORE, true);

		operate(a, thread, OP_UPDATE, o->id, i->pc);
		return;
	}
	lock.aux = RAW_SEMAPHORE;
	if (i->op == RAW_SEM_WAIT)
		acquire(a, thread, &lock, false);
	else
		release(a, thread, &lock);
}

static void note_thread(struct raw *a, uint32_t thread, const char *name, size_t len)
{
	struct thread *t = &a->thread[thread];

	str_reset(&a->names.text);
	str_fmt(&a->names.text, "thread %" PRIu32 " %" PRIu32 " %" PRIu32 " ", thread, t->creator,
		t->created);
	str_addn(&a->names.text, name, len);
	raw_names_note(&a->names);
}

static void fork_or_join(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	uint32_t other = (uint32_t)i->address;

	/* A thread that was created and never got to run has no chunk. */
	if (i->address >= a->nthreads || other == thread)
		return;
	if (a->thread[other].joined || (i->op == RAW_FORK && a->thread[other].ran)) {
		a->repaired++;
		return;
	}
	cut(a, thread);
	operate(a, thread, i->op == RAW_FORK ? OP_FORK : OP_JOIN, other, i->pc);
	if (i->op == RAW_FORK)
		a->thread[other].ran = true; /* it cannot be created twice */
	else
		a->thread[other].joined = true;
	if (i->op == RAW_FORK) {
		a->thread[other].creator = thread;
		a->thread[other].created = a->out[a->nout - 1].place;
		note_thread(a, other, "", 0);
	}
}

static void take(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	struct thread *t = &a->thread[thread];
	struct object *o;

	if (t->joined) {
		a->repaired++;
		return;
	}
	switch (i->op) {
	case RAW_START:
		t->stack = i->address;
		t->stack_size = i->size;
		raw_memory_stack(a->memory, i->address, i->size, thread);
		break;
	case RAW_EXIT:
		while (t->depth)
			pop(a, thread);
		release_all(a, thread);
		raw_memory_stack_gone(a->memory, t->stack, t->stack_size, thread);
		t->stack_size = 0;
		break;
	case RAW_READ:
	case RAW_READ_RANGE:
		access_memory(a, thread, OP_READ, i);
		break;
	case RAW_WRITE:
	case RAW_WRITE_RANGE:
		access_memory(a, thread, OP_WRITE, i);
		break;
	case RAW_UPDATE:
		access_memory(a, thread, OP_UPDATE, i);
		break;
	case RAW_CALL:
		called(a, thread, i, kind_of_call(t, thread, i));
		break;
	case RAW_RETURN:
		returned(a, thread);
		break;
	case RAW_BEGIN:
		called(a, thread, i, 'a');
		break;
	case RAW_END:
		if (t->depth && t->frame[t->depth - 1].kind == 'a')
			pop(a, thread);
		break;
	case RAW_NOT_ATOMIC:
		not_atomic(a, thread);
		break;
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
		acquire(a, thread, i, i->op == RAW_ACQUIRE_SHARED);
		break;
	case RAW_RELEASE:
	case RAW_RELEASE_SHARED:
		release(a, thread, i);
		break;
	case RAW_SEM_WAIT:
	case RAW_SEM_POST:
		semaphore(a, thread, i);
		break;
	case RAW_LOCK_NEW:
		for (int is_var = 0; is_var < 2; is_var++) {
			uint32_t index = raw_map_get(&a->objects, i->address, (uint64_t)is_var);

			if (index != RAW_MAP_NONE)
				a->object[index].made = false;
		}
		break;
	case RAW_FORK:
	case RAW_JOIN:
		fork_or_join(a, thread, i);
		break;
	case RAW_WAIT:
	case RAW_BARRIER:
		cut(a, thread);
		o = object_at(a, i->address, i->op == RAW_WAIT ? RAW_CONDITION : RAW_BARRIER_OBJECT,
			      false);
		operate(a, thread, i->op == RAW_WAIT ? OP_WAIT : OP_BARRIER, o->id, i->pc);
		break;
	case RAW_NOTIFY:
		o = object_at(a, i->address, RAW_CONDITION, false);
		operate(a, thread, OP_NOTIFY, o->id, i->pc);
		break;
	case RAW_ALLOC:
		raw_memory_alloc(a->memory, i->address, i->size, place_of(a, t, i->pc));
		break;
	case RAW_FREE:
		raw_memory_freed(a->memory, i->address);
		break;
	case RAW_FORGET:
		raw_memory_forget(a->memory, i->address, i->size);
		break;
	case RAW_MODULE:
		raw_names_module(&a->names, i->address, i->text, i->text_len);
		break;
	case RAW_NAME:
		note_thread(a, thread, i->text, i->text_len);
		break;
	default:
		break;
	}
}

/* --- threads in the order of time --- */

static bool before(const struct raw *a, uint32_t x, uint32_t y)
{
	uint64_t s = a->thread[x].item.time, t = a->thread[y].item.time;

	return s < t || (s == t && x < y);
}

static void sink(struct raw *a, size_t i)
{
	for (;;) {
		size_t least = i, child = 2 * i + 1;
		uint32_t swap;

		if (child < a->nheap && before(a, a->heap[child], a->heap[least]))
			least = child;
		if (child + 1 < a->nheap && before(a, a->heap[child + 1], a->heap[least]))
			least = child + 1;
		if (least == i)
			return;
		swap = a->heap[i];
		a->heap[i] = a->heap[least];
		a->heap[least] = swap;
		i = least;
	}
}

static bool advance(struct raw *a, uint32_t thread)
{
	struct thread *t = &a->thread[thread];
	bool more = raw_cursor_next(&t->cursor, &t->item);

	a->broken += t->cursor.broken;
	return more;
}

static void start_threads(struct raw *a)
{
	a->nheap = 0;
	a->broken = 0;
	for (uint32_t t = 0; t < a->nthreads; t++) {
		raw_cursor_init(&a->thread[t].cursor, &a->file.threads[t]);
		if (advance(a, t))
			a->heap[a->nheap++] = t;
	}
	for (size_t i = a->nheap; i-- > 0;)
		sink(a, i);
}

/* The notes that come first, and those that are known at the end. */
static void first_notes(struct reader *r)
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

static void last_notes(struct raw *a)
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
	if (raw_memory_too_many(a->memory)) {
		str_reset(&a->names.text);
		str_fmt(&a->names.text, "lost accesses of %" PRIu64 " pages: too much memory",
			raw_memory_too_many(a->memory));
		raw_names_note(&a->names);
	}
	if (h->closed == 2) {
		str_reset(&a->names.text);
		str_add(&a->names.text, "lost recording stopped: ");
		str_addn(&a->names.text, h->why, strnlen(h->why, sizeof h->why));
		raw_names_note(&a->names);
	}
}

static void raw_start(struct reader *r)
{
	struct raw *a = r->state;
	const char *bytes = NULL;
	size_t size = 0;

	forget_bytes(a); /* of an attempt before */
	if (get_bytes(r, &bytes, &size))
		return;
	if (raw_file_open(&a->file, bytes, size, &r->err)) {
		err_wrap(&r->err, "%s", r->path);
		return;
	}
	a->memory = raw_memory_new(MEMORY_PAGES);
	raw_names_init(&a->names, &r->names);
	a->nthreads = a->file.nthreads;
	a->thread = mem_zalloc((a->nthreads + 1) * sizeof *a->thread);
	a->heap = mem_alloc((a->nthreads + 1) * sizeof *a->heap);
	for (uint32_t t = 0; t < a->nthreads; t++) {
		char name[16];
		int n = snprintf(name, sizeof name, "T%" PRIu32, t);

		table_append(&r->names.table[NAMES_THREAD], name, (size_t)n);
	}
	a->keep_parts = r->units != NULL;
	look(a, r->opt.unfinished);
	r->in.size = size;
	first_notes(r);
	start_threads(a);
	a->started = true;
}

/* The event of a unit that begins at out[first], as far as this byte goes. */
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

/* A unit was taken, and its events begin at out[first]. */
static void answer(struct reader *r, uint32_t thread, const struct raw_item *i, size_t first)
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
			take(a, t, &a->thread[t].item);
			a->units++;
			if (r->units)
				answer(r, t, &a->thread[t].item, first);
			if (!advance(a, t))
				a->heap[0] = a->heap[--a->nheap];
			sink(a, 0);
			if (!a->nheap)
				r->units = NULL;
		}
		r->in.raw_read = a->units * sizeof(struct raw_unit);
		if (!a->nheap)
			last_notes(a);
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
		struct thread *old = &a->thread[t];

		*old = (struct thread){.frame = old->frame, .frame_cap = old->frame_cap};
	}
	a->generation++;
	a->nout = a->at = 0;
	a->delivered = 0;
	a->unshared = a->repaired = a->units = 0;
	a->noted = false;
	raw_memory_restart(a->memory);
	raw_names_restart(&a->names);
	first_notes(r);
	start_threads(a);
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
