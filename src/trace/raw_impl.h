/*
 * The state of the reader of raw recordings.
 *
 * Who may include this: raw_read.c, raw_events.c.
 */
#ifndef ATOMSAN_TRACE_RAW_IMPL_H
#define ATOMSAN_TRACE_RAW_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/raw_file.h"
#include "trace/raw_memory.h"
#include "trace/raw_names.h"
#include "trace/reader_impl.h"

/* A function that was called, or a block that is marked. */
struct raw_frame {
	uint64_t pc;   /* in the function; of a marked block its label's number */
	uint64_t call; /* where */
	strref place;  /* of the call; RAW_UNNAMED: not needed so far */
	char kind;     /* 'f', 's', 'm' or 'a' */
	bool begun;    /* its begin has been delivered, and its end has not */
};
#define RAW_UNNAMED UINT32_MAX

struct raw_thread_state {
	struct raw_cursor cursor;
	struct raw_item item; /* the next one, where the thread is in the heap */
	struct raw_frame *frame;
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
struct raw_object {
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
	struct raw_thread_state *thread;
	size_t nthreads;
	uint32_t *heap; /* threads, the earliest on top */
	size_t nheap;
	struct raw_map objects; /* by address and kind: index */
	struct raw_object *object;
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

/* A unit of the thread: its events are added to those that are ready. */
void raw_take(struct raw *a, uint32_t thread, const struct raw_item *i);

#endif
