/*
 * Owned lines: 64 bytes of memory that one thread has to itself. Most memory is
 * used like that most of the time. Then it is enough to remember which bytes the
 * thread has read and written, and since when: 32 bytes of shadow instead of the
 * 128 of the cells (shadow.h).
 *
 * A line's state is in its head:
 *
 *	unused       Slot and time are 0.
 *	owned        Slot and time as in a word. From that time on, within one stretch, the
 *	             thread read the bytes of `r` and wrote those of `w`, which are all in `r`.
 *	             (Another thread that loads both while the owner changes them may see
 *	             otherwise.)
 *	             `renewed` has slot and time of a later function or clock, and a bit for
 *	             each of the 8 cells that were first accessed, or accessed again in just
 *	             the same way, at that time.
 *	read-shared  Slot SHADOW_READERS, and a number that was never used before. Several
 *	             threads read the line, and each of them keeps its reads for itself
 *	             (struct rt_read), so that they do not take the cache line from each other.
 *	             A writer asks them all. What the first of them had read before is still in
 *	             `r`, and its head is in `first_head`. Or, with LINE_BENEATH, what all had
 *	             read before is in the cells.
 *	in cells     LINE_HEAD_IN_CELLS: the cells hold everything. `last_owner` has slot and
 *	             time of the last owned head, and in the low bits the number of vain
 *	             attempts to close the line.
 *	being claimed
 *	             LINE_BUSY is set: a thread is changing the state.
 *
 *	unused -> owned             line_claim()
 *	owned -> owned              a new stretch or age: what was done before goes to the
 *	                            cells (line_begin_age()); or it is dead or repeated
 *	                            (line_claim())
 *	owned -> read-shared        a second thread reads what was only read
 *	owned, read-shared
 *	          -> in cells       line_open()
 *	in cells -> owned           line_close(): all words in the cells are dead, the thread's
 *	                            own, or settled
 *	in cells -> read-shared     line_close(): there are only reads
 *	any -> unused               line_clear(); line_open() if everything was dead
 *
 * When a second thread comes while the owner's accesses are not dead, the owner's
 * accesses go to the cells. There are two exceptions. If the second thread knows
 * all of them to be before its own access (memory that was handed on with a lock,
 * for example), and their stretch has ended, the line becomes the second thread's.
 * If both only read, the line becomes read-shared.
 *
 * Settled words stay in the cells beneath an owned line (LINE_BENEATH). Its owner
 * needs no edge from them, and the next thread that opens the line finds them.
 * When the owner's accesses are dead so are these: a transaction that reaches them
 * reaches the owner, too.
 *
 * While the last owner of a line in cells is still in the stretch in which it owned
 * the line, no other thread becomes the owner. The last owner may have just seen
 * that the line is its own, and may be about to set bits.
 *
 * Which thread changes what. The owner sets bits in its line without a lock. A
 * thread claims a line that is unused or dead by an atomic exchange of the head, with
 * LINE_BUSY until the bits are right. Any thread may put a line into cells, under the
 * lock of the stripe. If the owner sets bits at that very moment, it looks at
 * the head again, and repeats the access in the cells. If it is a few instructions
 * too late for that, its access is forgotten, as with cells (cell.h); none is ever
 * invented.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_OWNED_LINE_H
#define ATOMSAN_RUNTIME_SHADOW_OWNED_LINE_H

#include "runtime/shadow/cell.h"

/* --- states --- */

enum {
	LINE_BUSY = 1,
	LINE_USED_CELLS = 2, /* there may be words in the cells */
	/* Some words in the cells are not dead; all of them are known to the owner, or reads. */
	LINE_BENEATH = 4,
	LINE_SIZE = 64,
};
#define LINE_HEAD_IN_CELLS ((uint64_t)SHADOW_LIST << SHADOW_SLOT_SHIFT)
/* The bits that are not slot and time. */
#define LINE_LOW ((uint64_t)(SHADOW_TICK - 1))

enum line_state { LINE_UNUSED, LINE_OWNED, LINE_READ_SHARED, LINE_IN_CELLS, LINE_BEING_CLAIMED };

static inline enum line_state line_state(uint64_t head)
{
	if (head & LINE_BUSY)
		return LINE_BEING_CLAIMED;
	switch (shadow_slot(head)) {
	case 0:
		return LINE_UNUSED;
	case SHADOW_READERS:
		return LINE_READ_SHARED;
	case SHADOW_LIST:
		return LINE_IN_CELLS;
	default:
		return LINE_OWNED;
	}
}

/* line_state(head) == LINE_IN_CELLS, in one comparison. */
static inline bool line_is_in_cells(uint64_t head)
{
	return head == LINE_HEAD_IN_CELLS;
}

/* line_state(head) == LINE_UNUSED: a line that is being claimed has a slot. */
static inline bool line_is_unused(uint64_t head)
{
	return !shadow_slot(head);
}

static inline uint64_t line_load_head(const struct shadow_line *l)
{
	return __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);
}

/*
 * Is this head possible? If words in the cells are not dead, there are words in the cells; a line
 * in cells has no flags, except while it is being claimed. For assertions.
 */
static inline bool line_head_is_valid(uint64_t head)
{
	return (!(head & LINE_BENEATH) || head & LINE_USED_CELLS) &&
	       (line_state(head) != LINE_IN_CELLS || line_is_in_cells(head));
}

/* Number of vain attempts to close a line in cells; the table does not count further. */
enum { LINE_VAIN = 5 };
static inline uint32_t line_vain_attempts(uint64_t last_owner)
{
	return (uint32_t)(last_owner & LINE_LOW);
}

/* --- accesses --- */

/* The result of an access: already recorded; recorded now; to be recorded in cells (line_open()).
 */
enum line_outcome { LINE_KNOWN, LINE_NOTED, LINE_NEEDS_CELLS };

/* line_note() if the line is the thread's, but older than its function or its clock. */
enum line_outcome line_extend_age(struct rt_thread *t, struct shadow_line *l, uint64_t head,
				  uint64_t bits, bool write, uintptr_t address, uintptr_t pc);
/* line_note() if the line is neither the thread's in this stretch, nor in cells. */
enum line_outcome line_claim(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc);
/*
 * Put the line into cells, whatever its state is. False: everything in it was dead, and it is
 * unused now.
 */
bool line_open(struct shadow_line *l, uintptr_t address);
/*
 * A line in cells becomes the thread's, with this access, if its cells hold only words that are
 * dead, the thread's own, or settled. It becomes read-shared if the thread reads, and there are
 * only reads. LINE_NEEDS_CELLS: neither, and the access is still to be recorded.
 */
enum line_outcome line_close(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc);
/* Forget all accesses of this memory: it is freed or allocated. */
void line_clear(uintptr_t address, size_t bytes);

/* The bits of an access up to `end`, as far as it lies in the line of `at`. */
static inline uint64_t line_bits(uintptr_t at, uintptr_t end)
{
	uintptr_t stop = (at | (LINE_SIZE - 1)) + 1;
	uint64_t bits = ~0ull << (at & (LINE_SIZE - 1));

	return stop > end ? bits & ~0ull >> (stop - end) : bits;
}

/* Record an access in a line, without a lock. The thread matters and is within the runtime. */
static inline __attribute__((always_inline)) enum line_outcome
line_note(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write, uintptr_t address,
	  uintptr_t pc)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED), r, w;

	if (RT_UNLIKELY(!word_in_stretch(t, head)))
		return line_is_in_cells(head) ? LINE_NEEDS_CELLS
					      : line_claim(t, l, bits, write, address, pc);
	if (RT_UNLIKELY(head < t->time.limit || head < t->time.raised))
		return line_extend_age(t, l, head, bits, write, address, pc);
	r = l->r;
	w = l->w;
	if (!(bits & ~(write ? w : r)))
		return LINE_KNOWN;
	__atomic_store_n(&l->r, r | bits, __ATOMIC_RELAXED);
	if (write)
		__atomic_store_n(&l->w, w | bits, __ATOMIC_RELAXED);
	RT_COMPILER_BARRIER();
	if (RT_UNLIKELY(__atomic_load_n(&l->head, __ATOMIC_RELAXED) != head))
		return LINE_NEEDS_CELLS;
	RT_ASSERT(!(w & ~r) && line_head_is_valid(head));
	return LINE_NOTED;
}

/*
 * Returns true only if the line certainly holds no access of another thread that conflicts with
 * this one and is not dead. Returns false if the line is in cells, or if another thread is claiming
 * it; but a read of a read-shared line never conflicts, even while the line is being claimed.
 */
static inline bool line_no_conflict(const struct rt_thread *t, const struct shadow_line *l,
				    uint64_t bits, bool write)
{
	uint64_t head = line_load_head(l);

	if (line_is_unused(head) || word_is_mine(t, head))
		return true;
	if (shadow_readers(head))
		return !write; /* even while it is being claimed: nothing was written before */
	if (line_is_in_cells(head) || head & LINE_BUSY)
		return false;
	return word_is_dead(head) || !(head & LINE_BENEATH || (write ? l->r : l->w) & bits);
}

/* --- read-shared lines --- */

/* The entry in which a thread keeps its reads of a line: one of two, i is 0 or 1. */
static inline struct rt_read *line_read_entry(struct rt_read *table, uintptr_t address, uint32_t i)
{
	return &table[(address >> 6 ^ i) & (RT_READS - 1)];
}

static inline struct rt_read_old *line_read_entry_old(struct rt_read *table,
						      const struct rt_read *e)
{
	return (struct rt_read_old *)(table + RT_READS) + (e - table);
}

/* Begin a stretch of an entry, with one read. Other threads may be looking at the entry. */
static inline void line_begin_read_entry(struct rt_read *e, uint64_t shared_head, uint64_t now,
					 uint64_t bits)
{
	__atomic_store_n(&e->shared_head, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&e->renewed, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&e->r, bits, __ATOMIC_RELEASE);
	__atomic_store_n(&e->head, now, __ATOMIC_RELEASE);
	__atomic_store_n(&e->shared_head, shared_head, __ATOMIC_RELEASE);
}

#endif
