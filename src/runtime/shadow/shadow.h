/*
 * Shadow memory: the last accesses of each 8 bytes of the program's memory, in
 * cells; and the same for locks, in a space of their own. In front of the cells are
 * lines, of 64 bytes each; while one thread has a line to itself, its cells are not
 * used (owned_line.h).
 *
 * A word is one last access: the slot of its thread, its time in that slot, whether
 * it wrote, and which of the 8 bytes:
 *
 *	slot:12 time:43 write:1 bytes:8
 *
 * A cell has two words; 0 is empty. Words that do not fit (three threads have read
 * and none of these reads is dead; neighbours of different sizes) go to a list: the
 * second word has slot SHADOW_LIST and the list's address, and the first is empty.
 *
 * A read-shared cell: the first word has slot SHADOW_READERS, a number that was
 * never used before, and all bytes. It stands for the reads that the threads keep
 * for themselves (cell.h). The second word is a word or a list, as always.
 *
 * Cells are changed under the lock of their stripe, with the exceptions that cell.h
 * describes.
 *
 * Where the shadow is: the program's address space is cut into regions of 1 GiB; a
 * table has the address of each region's shadow. Nothing is assumed about the
 * layout.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_SHADOW_H
#define ATOMSAN_RUNTIME_SHADOW_SHADOW_H

#include "runtime/os/clock.h"
#include "runtime/os/lock.h"

struct shadow_cell {
	uint64_t w[2];
};

/* 64 bytes of memory. owned_line.h says which states the head has, and what the rest means then. */
struct shadow_line {
	uint64_t head;
	uint64_t r, w; /* bytes read and written */
	union {
		uint64_t renewed;    /* owned: the cells renewed since, and when */
		uint64_t first_head; /* read-shared: the head of the first reader */
		uint64_t last_owner; /* in cells: the last owned head, and vain attempts to close */
	};
};

struct shadow_list {
	struct shadow_cell *cell; /* the cell that it belongs to */
	uint32_t n, cap;
	uint64_t w[];
};

enum {
	SHADOW_WRITE = 1 << 8,
	SHADOW_BYTES = 0xff,
	SHADOW_TIME_SHIFT = 9,
	SHADOW_SLOT_SHIFT = 52,
	SHADOW_SLOTS = 1 << 12,
	SHADOW_LIST = SHADOW_SLOTS - 1,
	SHADOW_READERS = SHADOW_SLOTS - 2,
	SHADOW_NOBODY = SHADOW_READERS, /* no thread has this slot or a higher one */
};
/* Times stay below this, so that one subtraction compares slot and time. */
#define SHADOW_TIMES (1ull << 42)
#define SHADOW_TICK  (1ull << SHADOW_TIME_SHIFT)

enum shadow_space { SHADOW_DATA, SHADOW_LOCKS, SHADOW_SPACES };
enum { SHADOW_REGION = 30, SHADOW_REGIONS = 1 << (47 - SHADOW_REGION) };
/* By region: the address of its cells; 0: it has none yet. */
extern uintptr_t shadow_region[SHADOW_SPACES][SHADOW_REGIONS];

static inline uintptr_t shadow_base(enum shadow_space space, uintptr_t address)
{
	return shadow_region[space][address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
}

static inline struct shadow_cell *shadow_in(uintptr_t base, uintptr_t address)
{
	return (struct shadow_cell *)(base + 2 * (address & ((1ul << SHADOW_REGION) - 8)));
}

static inline struct shadow_cell *shadow_find(enum shadow_space space, uintptr_t address)
{
	uintptr_t base = shadow_base(space, address);

	return RT_LIKELY(base != 0) ? shadow_in(base, address) : NULL;
}

/* By region: the address of its lines; 0: it has none yet. */
extern uintptr_t shadow_lines[SHADOW_REGIONS];

static inline uintptr_t shadow_line_base(uintptr_t address)
{
	return shadow_lines[address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
}

static inline struct shadow_line *shadow_line_in(uintptr_t base, uintptr_t address)
{
	return (struct shadow_line *)(base + (address >> 1 & ((1ul << (SHADOW_REGION - 1)) - 32)));
}

static inline struct shadow_line *shadow_line_find(uintptr_t address)
{
	uintptr_t base = shadow_line_base(address);

	return RT_LIKELY(base != 0) ? shadow_line_in(base, address) : NULL;
}

/* Find the line or cell, and make its region first if need be. NULL: no memory, and checking stops.
 */
struct shadow_line *shadow_line_make(uintptr_t address);
struct shadow_cell *shadow_make(enum shadow_space space, uintptr_t address);

static inline uint32_t shadow_slot(uint64_t word)
{
	return (uint32_t)(word >> SHADOW_SLOT_SHIFT);
}

static inline bool shadow_readers(uint64_t word)
{
	return shadow_slot(word) == SHADOW_READERS;
}

/* The word as a step of engine/precise/order.h. */
static inline uint64_t shadow_step(uint64_t word)
{
	return word >> SHADOW_TIME_SHIFT;
}

static inline struct shadow_list *shadow_list(uint64_t word)
{
	return shadow_slot(word) == SHADOW_LIST
		       ? (struct shadow_list *)(word & ((1ull << SHADOW_SLOT_SHIFT) - 1))
		       : NULL;
}

static inline uint64_t shadow_list_word(const struct shadow_list *list)
{
	return (uint64_t)SHADOW_LIST << SHADOW_SLOT_SHIFT | (uintptr_t)list;
}

/* Make a list for at least `cap` words. NULL: no memory. Under the stripe's lock. */
struct shadow_list *shadow_list_new(struct shadow_cell *cell, uint32_t cap);
void shadow_list_free(struct shadow_list *list);

/* Empty a cell. Under the stripe's lock. */
void shadow_clear_cell(struct shadow_cell *cell);
/* Empty the cells of all locks in this memory. */
void shadow_clear_locks(uintptr_t address, size_t bytes);
/*
 * Empty the lines and cells of a large piece of memory, which begins and ends with a line, by
 * giving their pages back.
 */
void shadow_give_back(uintptr_t address, uintptr_t end);

/*
 * Stripes: locks over the shadow, chosen by address. A stripe covers whole lines, and has a cache
 * line of its own, so that threads that use different stripes do not meet.
 *
 * Serial mode. While the program is recorded as well as checked there is only one stripe. All
 * operations that may conflict happen, and get their time, under its lock, so that the order of the
 * recording is the order of the check.
 */
struct shadow_stripe {
	uint32_t lock;
	uint64_t last; /* the last stamp */
} __attribute__((aligned(64)));
enum { SHADOW_STRIPES = 1 << 10 };
extern struct shadow_stripe shadow_stripes[SHADOW_STRIPES];
extern uint64_t shadow_stripe_mask;

static inline struct shadow_stripe *shadow_stripe(uintptr_t address)
{
	return &shadow_stripes[(address >> 6) * 0x9e3779b97f4a7c15ull >> 54 & shadow_stripe_mask];
}

/* Is the stripe's lock held, by whichever thread? For assertions. */
static inline bool shadow_is_locked(uintptr_t address)
{
	return __atomic_load_n(&shadow_stripe(address)->lock, __ATOMIC_RELAXED);
}

/* The same for a cell; true if its memory is not known. For assertions. */
bool shadow_cell_is_locked(const struct shadow_cell *cell);

extern bool shadow_serial;
/* Only while a single thread exists. */
void shadow_set_serial(bool serial);

/* The time of the present operation, later than all before it. Under the stripe's lock. */
static inline uint64_t shadow_stamp(struct shadow_stripe *s)
{
	uint64_t time = machine_clock_ordered();

	RT_ASSERT(s->lock);
	s->last = RT_LIKELY(time > s->last) ? time : s->last + 1;
	return s->last;
}

/* Around a fork: hold the locks of regions and lists. In the child all locks are free again. */
void shadow_hold(void);
void shadow_let_go(void);
void shadow_child(void);
extern bool shadow_forked; /* a line may be claimed by a thread that exists only in the parent */

#endif
