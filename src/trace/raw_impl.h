/*
 * The state of the reader of raw recordings.
 *
 * Included by: raw_read.c, raw_events.c, raw_facts.c.
 */
#ifndef ATOMSAN_TRACE_RAW_IMPL_H
#define ATOMSAN_TRACE_RAW_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "trace/raw_file.h"
#include "trace/raw_memory.h"
#include "trace/raw_names.h"
#include "trace/reader_impl.h"

/* A function that was called, or a marked block. */
struct raw_frame {
	uint64_t pc;   /* in the function; for a marked block, the number of its label */
	uint64_t call; /* program counter of the call or the mark */
	strref place;  /* of the call; RAW_UNNAMED: not needed so far */
	char kind;     /* 'f', 's', 'm' or 'a' */
	bool begun;    /* its begin has been delivered, and its end has not */
};
#define RAW_UNNAMED UINT32_MAX

struct raw_thread_state {
	struct raw_cursor cursor;
	uint64_t nread;       /* units of the cursor so far */
	struct raw_item item; /* the thread's next unit, as long as the thread is in the heap */
	struct raw_frame *frame;
	size_t depth, frame_cap;
	size_t waiting; /* the begins of frames from this index on are still to be delivered */
	size_t cut;     /* frames below this index were cut */
	bool started;   /* its start function has been called */
	uint32_t held;  /* number of locks that it holds for writing */
	bool ran;       /* it has an event, or was created */
	bool joined;
	uint64_t stack, stack_size;
	uint32_t creator;
	strref created; /* place of its creation */
	/* The last place, kept because loops need it again and again. */
	uint64_t last_pc;
	strref last_parent, last_place;
};

/* A lock, condition, barrier or semaphore at an address, as long as the memory is not reused. */
struct raw_object {
	uint64_t age;        /* raw_memory_age() when it was made */
	uint32_t id;         /* its number in the names */
	uint32_t generation; /* the pass in which it was made */
	bool made;           /* false: the next use makes a new one */
	/* The holders of a lock. */
	uint32_t owner_plus_1, depth;
	uint32_t *shared; /* threads that hold it shared, once for each acquire */
	size_t nshared, shared_cap;
};

struct raw {
	bool started;
	void *map; /* the file's bytes, or NULL: then `copy` has them */
	size_t map_size;
	char *copy;
	struct raw_file file;
	struct raw_memory *memory;
	struct raw_names names;
	struct raw_thread_state *thread;
	uint64_t *nitems; /* by thread: how many units the first pass read */
	size_t nthreads;
	uint32_t *heap; /* threads, the one with the earliest unit on top */
	size_t nheap;
	struct map objects; /* (address, is a variable) -> index in `object` */
	struct raw_object *object;
	size_t nobjects, objects_cap;
	uint32_t generation;    /* number of the pass */
	struct map not_locks;   /* semaphores that are not used as locks */
	struct map label_texts; /* number of a label -> index in `label` */
	struct {
		const char *text;
		size_t len;
	} * label;
	size_t nlabels, labels_cap;
	/* Events ready to be delivered, from `at` on. */
	struct event *out;
	size_t nout, at, out_cap;
	uint64_t delivered; /* number of events before those in `out` */
	/* The variables that the current unit accesses; only if `keep_parts`. */
	struct part {
		uint64_t start, bytes;
		size_t at; /* index of the event in `out` */
	} * part;
	size_t nparts, parts_cap;
	bool keep_parts;
	/* The facts about threads, in the order in which they are applied, and how many were. */
	struct raw_fact {
		uint32_t at; /* the thread before whose units it is applied */
		enum raw_fact_kind { FACT_THREAD, FACT_CREATION, FACT_ALLOCATION } kind;
		uint32_t index; /* in the array of its kind in `struct reader_facts` */
	} * fact;
	size_t nfacts, facts_taken;
	uint64_t unshared; /* accesses left out: only one thread accesses that memory */
	uint64_t repaired; /* operations that cannot have happened, left out or completed */
	uint64_t units;    /* units read */
	uint32_t broken;   /* threads whose units make no sense from some point on */
	bool noted;        /* the last notes are written */
};

/* Sets the thread's stack. */
void raw_set_stack(struct raw *a, uint32_t thread, uint64_t address, uint64_t size);
/* Adds the note about a thread: its creator and the place, as far as known, and its name. */
void raw_note_thread(struct raw *a, uint32_t thread, const char *name, size_t len);

/* raw_facts.c: sorts the facts of reader_set_facts(), before the first pass. */
void raw_facts_prepare(struct reader *r);
/* Applies the facts that are not about a thread, at the beginning of each second pass. */
void raw_facts_begin(struct reader *r);
/* Applies the facts about threads that come before a unit of this thread at this time. */
void raw_facts_apply(struct reader *r, uint64_t time, uint32_t thread);

/* Takes the thread's next unit and adds its events, if any, to a->out. */
void raw_take_unit(struct raw *a, uint32_t thread, const struct raw_item *i);

#endif
