/*
 * Makes events of the units of a raw recording. raw_read.c passes the units one
 * by one, in the order of their times.
 *
 * Two things change no verdict and are left out: accesses of memory that only one
 * thread ever accesses, and functions in which nothing else happens. To that end
 * a begin is delayed until something happens in the block.
 *
 * A recording may have operations that cannot have happened, because the last
 * units of a thread were not written, or because the program unlocks a lock that
 * another thread locked. They are repaired:
 *
 *  - before a lock is acquired, every other holder releases it;
 *  - a release of a lock that the thread does not hold is left out;
 *  - so are the operations of a thread after it was joined, and its creation
 *    after its first event.
 *
 * The repairs are counted in a note. So whatever the units are, the events can
 * have happened.
 */
#include "trace/raw_impl.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

const char *const raw_lock_names[RAW_LOCKS] = {
	[RAW_MUTEX] = "mutex",         [RAW_RWLOCK] = "rwlock",
	[RAW_SPINLOCK] = "spinlock",   [RAW_SEMAPHORE] = "semaphore",
	[RAW_CONDITION] = "condition", [RAW_BARRIER_OBJECT] = "barrier",
};

static void emit_event(struct raw *a, uint32_t thread, enum op op, uint32_t operand, strref place)
{
	if (a->nout == a->out_cap)
		MEM_GROW(a->out, a->out_cap, a->nout + READER_BATCH);
	a->thread[thread].ran = true;
	a->out[a->nout++] = (struct event){
		.thread = thread, .operand = operand, .place = place, .op = (uint8_t)op};
}

/* Returns the place of the call of frame[depth - 1]; names it and those below it if necessary. */
static strref name_call_place(struct raw *a, struct raw_thread_state *t, size_t depth)
{
	size_t k = depth;

	if (!depth)
		return 0;
	while (k && t->frame[k - 1].place == RAW_UNNAMED)
		k--;
	for (; k < depth; k++) {
		struct raw_frame *f = &t->frame[k];
		strref parent = k ? t->frame[k - 1].place : 0;

		/* A marked block is not a call: its events happen in the function. */
		f->place = f->kind == 'a' ? parent : raw_names_place(&a->names, parent, f->call);
	}
	return t->frame[depth - 1].place;
}

/* Returns the place of a program counter in the innermost function. */
static strref place_at_pc(struct raw *a, struct raw_thread_state *t, uint64_t pc)
{
	strref parent = name_call_place(a, t, t->depth);

	if (t->last_pc != pc || t->last_parent != parent) {
		t->last_pc = pc;
		t->last_parent = parent;
		/* A repeated access may have no program counter. */
		t->last_place = pc ? raw_names_place(&a->names, parent, pc) : parent;
	}
	return t->last_place;
}

/* Emits the begins that were delayed. */
static void emit_waiting_begins(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];

	for (; t->waiting < t->depth; t->waiting++) {
		struct raw_frame *f = &t->frame[t->waiting];
		const char *text = "";
		size_t len = 0;
		strref place;

		if (f->kind == 'a') {
			uint32_t i = map_get(&a->label_texts, f->pc);

			if (i != MAP_NONE) {
				text = a->label[i].text;
				len = a->label[i].len;
			}
			place = raw_names_place(&a->names, name_call_place(a, t, t->waiting),
						f->call);
		} else {
			place = name_call_place(a, t, t->waiting + 1);
		}
		emit_event(a, thread, OP_BEGIN,
			   raw_names_label(&a->names, f->kind, f->pc, text, len), place);
		f->begun = true;
	}
}

/* Emits an operation, after the begins of the blocks that it is in. */
static void emit_operation(struct raw *a, uint32_t thread, enum op op, uint32_t operand,
			   uint64_t pc)
{
	emit_waiting_begins(a, thread);
	emit_event(a, thread, op, operand, place_at_pc(a, &a->thread[thread], pc));
}

/* Leaves the innermost function or marked block. */
static void pop_frame(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];
	struct raw_frame *f = &t->frame[--t->depth];

	if (f->begun)
		emit_event(a, thread, OP_END, END_RETURN, 0);
	if (t->waiting > t->depth)
		t->waiting = t->depth;
	if (t->cut > t->depth)
		t->cut = t->depth;
}

/* Ends every open block. */
static void cut_blocks(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];

	emit_waiting_begins(a, thread);
	for (size_t k = t->depth; k-- > t->cut;)
		if (t->frame[k].begun) {
			emit_event(a, thread, OP_END, END_CUT, 0);
			t->frame[k].begun = false;
		}
	t->cut = t->depth;
}

/*
 * Returns the kind of label of a called function. The start function of a thread is the first one
 * without a caller that is not a signal handler.
 */
static char kind_of_call(const struct raw_thread_state *t, uint32_t thread,
			 const struct raw_item *i)
{
	if (i->aux == RAW_CALL_MAIN)
		return 'm';
	if (i->aux == RAW_CALL_BODY)
		return 's';
	if (!thread || t->started || i->aux == RAW_CALL_HANDLER)
		return 'f';
	return t->depth && t->frame[t->depth - 1].kind != 'a' ? 'f' : 's';
}

static void push_frame(struct raw *a, uint32_t thread, const struct raw_item *i, char kind)
{
	struct raw_thread_state *t = &a->thread[thread];

	MEM_GROW(t->frame, t->frame_cap, t->depth + 1);
	t->frame[t->depth++] = (struct raw_frame){
		.pc = i->address, .call = i->pc, .place = RAW_UNNAMED, .kind = kind};
	t->started |= kind == 's';
}

/* Leaves the innermost function, and the marked blocks that are open in it. */
static void pop_function(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];
	size_t k = t->depth;

	while (k && t->frame[k - 1].kind == 'a')
		k--;
	if (!k)
		return; /* its call was not recorded */
	while (t->depth >= k)
		pop_frame(a, thread);
}

/* The source says that the running function is not atomic: ends its block. */
static void end_not_atomic(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];
	struct raw_frame *f;

	emit_waiting_begins(a, thread);
	f = t->depth ? &t->frame[t->depth - 1] : NULL;
	if (f && f->begun && f->kind != 'a') {
		emit_event(a, thread, OP_END, END_NOT_ATOMIC, 0);
		f->begun = false;
	}
}

/* Emits an access of each variable that the unit covers. */
static void access_memory(struct raw *a, uint32_t thread, enum op op, const struct raw_item *i)
{
	uint64_t address = i->address, size = i->size, start, bytes;
	bool any = false;

	while (size) {
		uint32_t *var =
			raw_memory_next_variable(a->memory, &address, &size, &start, &bytes);

		if (!var)
			continue;
		if (!*var) {
			if (!raw_names_next_exists(&a->names, NAMES_VAR)) {
				str_reset(&a->names.text);
				raw_names_add_memory(&a->names, a->memory, start, bytes);
			}
			*var = raw_names_next(&a->names, NAMES_VAR) + 1;
		}
		emit_operation(a, thread, op, *var - 1, i->pc);
		if (bytes == i->size && start == (i->address & RAW_MEMORY_MASK))
			a->out[a->nout - 1].value = i->value;
		any = true;
		if (a->keep_parts) {
			MEM_GROW(a->part, a->parts_cap, a->nparts + 1);
			a->part[a->nparts++] = (struct part){start, bytes, a->nout - 1};
		}
	}
	a->unshared += !any;
}

/*
 * Emits a free of each variable in an allocation that this life of the memory has used, up to a
 * limit: for a large allocation, a few show as much as all.
 */
static void free_memory(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	const struct raw_allocation *b = raw_memory_allocation_at(a->memory, i->address);
	uint64_t address = i->address & RAW_MEMORY_MASK, size, start, bytes;
	unsigned most = 64;

	size = b && b->address == address ? b->size : 0;
	while (size && most) {
		const uint32_t *var =
			raw_memory_next_variable(a->memory, &address, &size, &start, &bytes);

		if (!var || !*var)
			continue;
		emit_operation(a, thread, OP_FREE, *var - 1, i->pc);
		most--;
	}
	raw_memory_dealloc(a->memory, i->address);
}

/*
 * Makes every holder release the lock now. Returns false if a holder was joined
 * before, so that its release cannot be emitted.
 */
static bool force_release(struct raw *a, struct raw_object *o)
{
	bool all = true;

	if (o->owner_plus_1) {
		all = !a->thread[o->owner_plus_1 - 1].joined;
		for (; o->depth; o->depth--, a->repaired++)
			if (all)
				emit_event(a, o->owner_plus_1 - 1, OP_RELEASE, o->id, 0);
		a->thread[o->owner_plus_1 - 1].held--;
		o->owner_plus_1 = 0;
	}
	for (; o->nshared; a->repaired++) {
		uint32_t thread = o->shared[--o->nshared];

		if (a->thread[thread].joined)
			all = false;
		else
			emit_event(a, thread, OP_RELEASE_SHARED, o->id, 0);
	}
	return all;
}

/*
 * Returns the lock, condition or barrier at an address, or with `is_var` the variable that stands
 * for a semaphore. Makes a new one if there is none or its memory was reused.
 */
static struct raw_object *find_object(struct raw *a, uint64_t address, enum raw_lock kind,
				      bool is_var)
{
	uint64_t age = raw_memory_age(a->memory, address);
	uint32_t index = map_get2(&a->objects, address, is_var);
	struct raw_object *o;

	if (index == MAP_NONE) {
		index = (uint32_t)a->nobjects++;
		MEM_GROW0(a->object, a->objects_cap, a->nobjects);
		map_set2(&a->objects, address, is_var, index);
	}
	o = &a->object[index];
	if (o->made && o->age == age && o->generation == a->generation)
		return o;
	/* It was held when its memory was reused: this is another lock. */
	if (o->generation == a->generation)
		force_release(a, o);
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

static void acquire_lock(struct raw *a, uint32_t thread, const struct raw_item *i, bool shared)
{
	enum raw_lock kind = i->aux < RAW_LOCKS ? i->aux : RAW_MUTEX;
	struct raw_object *o = find_object(a, i->address, kind, false);

	if ((o->owner_plus_1 && o->owner_plus_1 != thread + 1) || (!shared && o->nshared)) {
		o->made = force_release(a, o);
		o = find_object(a, i->address, kind, false);
	}
	if (shared && o->owner_plus_1) {
		/* The thread holds it for writing, so it cannot acquire it for reading. */
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
	emit_operation(a, thread, shared ? OP_ACQUIRE_SHARED : OP_ACQUIRE, o->id, i->pc);
}

static void release_lock(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	struct raw_object *o =
		find_object(a, i->address, i->aux < RAW_LOCKS ? i->aux : RAW_MUTEX, false);

	if (o->owner_plus_1 == thread + 1) {
		if (!--o->depth) {
			o->owner_plus_1 = 0;
			a->thread[thread].held--;
		}
		emit_operation(a, thread, OP_RELEASE, o->id, i->pc);
		return;
	}
	for (size_t k = o->nshared; k-- > 0;)
		if (o->shared[k] == thread) {
			o->shared[k] = o->shared[--o->nshared];
			emit_operation(a, thread, OP_RELEASE_SHARED, o->id, i->pc);
			return;
		}
	a->repaired++;
}

/*
 * The thread ends: releases the locks that it holds for writing. That is right for a robust mutex;
 * any other lock is never acquired again.
 */
static void release_held_locks(struct raw *a, uint32_t thread)
{
	struct raw_thread_state *t = &a->thread[thread];

	for (size_t k = 0; t->held && k < a->nobjects; k++) {
		struct raw_object *o = &a->object[k];

		if (!o->made || o->generation != a->generation || o->owner_plus_1 != thread + 1)
			continue;
		for (; o->depth; o->depth--)
			emit_event(a, thread, OP_RELEASE, o->id, 0);
		o->owner_plus_1 = 0;
		t->held--;
	}
	t->held = 0;
}

/* A semaphore is a lock if it is used as one; otherwise each operation updates a variable. */
static void use_semaphore(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	struct raw_item lock = *i;

	if (map_get(&a->not_locks, i->address) != MAP_NONE) {
		struct raw_object *o = find_object(a, i->address, RAW_SEMAPHORE, true);

		emit_operation(a, thread, OP_UPDATE, o->id, i->pc);
		return;
	}
	lock.aux = RAW_SEMAPHORE;
	if (i->op == RAW_SEM_WAIT)
		acquire_lock(a, thread, &lock, false);
	else
		release_lock(a, thread, &lock);
}

void raw_note_thread(struct raw *a, uint32_t thread, const char *name, size_t len)
{
	struct raw_thread_state *t = &a->thread[thread];

	str_reset(&a->names.text);
	str_fmt(&a->names.text, "thread %" PRIu32 " %" PRIu32 " %" PRIu32 " ", thread, t->creator,
		t->created);
	str_addn(&a->names.text, name, len);
	raw_names_note(&a->names);
}

void raw_set_stack(struct raw *a, uint32_t thread, uint64_t address, uint64_t size)
{
	a->thread[thread].stack = address;
	a->thread[thread].stack_size = size;
	raw_memory_begin_stack(a->memory, address, size, thread);
}

static void take_fork_or_join(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	uint32_t other = (uint32_t)i->address;

	/* A thread that was created but never ran has no chunk. */
	if (i->address >= a->nthreads || other == thread)
		return;
	if (a->thread[other].joined || (i->op == RAW_FORK && a->thread[other].ran)) {
		a->repaired++;
		return;
	}
	cut_blocks(a, thread);
	emit_operation(a, thread, i->op == RAW_FORK ? OP_FORK : OP_JOIN, other, i->pc);
	if (i->op == RAW_FORK)
		a->thread[other].ran = true; /* so that it is not created twice */
	else
		a->thread[other].joined = true;
	if (i->op == RAW_FORK) {
		a->thread[other].creator = thread;
		a->thread[other].created = a->out[a->nout - 1].place;
		raw_note_thread(a, other, "", 0);
	}
}

void raw_take_unit(struct raw *a, uint32_t thread, const struct raw_item *i)
{
	struct raw_thread_state *t = &a->thread[thread];
	struct raw_object *o;

	if (t->joined) {
		a->repaired++;
		return;
	}
	switch (i->op) {
	case RAW_START:
		raw_set_stack(a, thread, i->address, i->size);
		break;
	case RAW_EXIT:
		while (t->depth)
			pop_frame(a, thread);
		release_held_locks(a, thread);
		raw_memory_end_stack(a->memory, t->stack, t->stack_size, thread);
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
		push_frame(a, thread, i, kind_of_call(t, thread, i));
		break;
	case RAW_RETURN:
		pop_function(a, thread);
		break;
	case RAW_BEGIN:
		push_frame(a, thread, i, 'a');
		break;
	case RAW_END:
		if (t->depth && t->frame[t->depth - 1].kind == 'a')
			pop_frame(a, thread);
		break;
	case RAW_NOT_ATOMIC:
		end_not_atomic(a, thread);
		break;
	case RAW_ACQUIRE:
	case RAW_ACQUIRE_SHARED:
		acquire_lock(a, thread, i, i->op == RAW_ACQUIRE_SHARED);
		break;
	case RAW_RELEASE:
	case RAW_RELEASE_SHARED:
		release_lock(a, thread, i);
		break;
	case RAW_SEM_WAIT:
	case RAW_SEM_POST:
		use_semaphore(a, thread, i);
		break;
	case RAW_LOCK_NEW:
		for (int is_var = 0; is_var < 2; is_var++) {
			uint32_t index = map_get2(&a->objects, i->address, (uint64_t)is_var);

			if (index != MAP_NONE)
				a->object[index].made = false;
		}
		break;
	case RAW_FORK:
	case RAW_JOIN:
		take_fork_or_join(a, thread, i);
		break;
	case RAW_WAIT:
	case RAW_BARRIER:
		cut_blocks(a, thread);
		o = find_object(a, i->address,
				i->op == RAW_WAIT ? RAW_CONDITION : RAW_BARRIER_OBJECT, false);
		emit_operation(a, thread, i->op == RAW_WAIT ? OP_WAIT : OP_BARRIER, o->id, i->pc);
		break;
	case RAW_NOTIFY:
		o = find_object(a, i->address, RAW_CONDITION, false);
		emit_operation(a, thread, OP_NOTIFY, o->id, i->pc);
		break;
	case RAW_ALLOC:
		raw_memory_alloc(a->memory, i->address, i->size, place_at_pc(a, t, i->pc));
		break;
	case RAW_FREE:
		free_memory(a, thread, i);
		break;
	case RAW_FORGET:
		raw_memory_forget(a->memory, i->address, i->size);
		break;
	case RAW_MODULE:
		raw_names_module(&a->names, i->address, i->text, i->text_len);
		break;
	case RAW_NAME:
		raw_note_thread(a, thread, i->text, i->text_len);
		break;
	default:
		break;
	}
}
