/*
 * Lines: memory that one thread has to itself. Most of it is that, most of the time, and then the
 * check need not know more of 64 bytes than which of them their thread has read and written
 * since when: 32 bytes of shadow, where cells (shadow.h) take 128.
 *
 * A line is one of these, by its head:
 *
 *	nobody's    slot and time are 0
 *	a thread's  slot and time as in a word: it read the bytes of `r` and wrote those of
 *	            `w`, which are in `r`, too, in one stretch (check.h), from that time on. Cells
 *	            that are marked in `young`, which is a word with a bit for each of the 8,
 *	            only from that word's time on: they were first touched, or touched in just
 *	            the same way again, by a function that was called later, or behind a clock
 *	            that went up.
 *	read        slot SHADOW_READERS, and a number that was never used before: several
 *	            threads read it, and each keeps what it has read for itself (struct
 *	            rt_read), so that they need not take the line from each other; who
 *	            writes asks them all. What the first of them had read by then is
 *	            still there, and its head is in `young`; or, with LINE_BENEATH, what
 *	            all had read by then is in the cells, and nothing else is of interest
 *	in cells    LINE_IN_CELLS: the cells tell
 *
 * What the thread did in an earlier stretch, or at a third age, is told to the cells beneath. So is
 * all where a second thread comes, while the first one's accesses are still of interest. If that
 * one knows them to be before what it does (memory that was handed on, with a lock, say), and
 * their thread is in another stretch by now, the line is its own. If not, the line is in cells
 * until all words in them are dead, or of the one thread that wants it for itself, or known to
 * it; or, for one who reads, all reads. Words that are known stay in the cells beneath: the thread
 * needs no edge from them, and whoever comes next finds them there. When the thread's own
 * accesses are dead so are they: whoever reaches them reaches it. But it does not become
 * another's in the stretch in which it was a thread's: that one may have just found it its own,
 * and be about to set bits.
 *
 * Who changes it. A thread sets bits in its own line without further ado. A line that is nobody's,
 * or whose accesses are dead, is claimed: the head is exchanged, with LINE_BUSY in it until the
 * bits are right. To the cells it goes under the lock of the stripe, by the thread or by any other.
 * A thread that sets bits at that very moment looks at the head again, and does in cells what it
 * did; where it is a few instructions too late for that its access is forgotten, as with
 * cells (cell.h); none is invented.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_OWNED_LINE_H
#define ATOMSAN_RUNTIME_SHADOW_OWNED_LINE_H

#include "runtime/shadow/cell.h"

enum {
	LINE_BUSY = 1,
	LINE_USED_CELLS = 2, /* there may be words in them */
	LINE_BENEATH = 4,    /* and some are of interest, all of which the thread knows, or reads */
	LINE_SIZE = 64,
};
#define LINE_IN_CELLS ((uint64_t)SHADOW_LIST << SHADOW_SLOT_SHIFT)

/* What became of an access: known already, noted, or for the cells (line_open()). */
enum line_outcome { LINE_KNOWN, LINE_NOTED, LINE_CELLS };

/* The slow halves of line_note(). */
enum line_outcome line_again(struct rt_thread *t, struct shadow_line *l, uint64_t head,
			     uint64_t bits, bool write, uintptr_t address, uintptr_t pc);
enum line_outcome line_claim(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc);
/*
 * It is in cells from now on: its head is just LINE_IN_CELLS. False: nothing in it is of interest,
 * and it is nobody's.
 */
bool line_open(struct shadow_line *l, uintptr_t address);
/*
 * Nothing in its cells is of interest but what the thread did, or knows: then it is its own, with
 * this. Nothing but reads, and it reads: then several read it. LINE_CELLS: neither, and it is still
 * to be noted. While it is in cells `young` is slot and time of the one whose it was last, and, in
 * the low bits, how often that was asked in vain, up to LINE_VAIN.
 */
enum { LINE_VAIN = 5 };
#define LINE_LOW ((uint64_t)(SHADOW_TICK - 1)) /* what is not slot and time */
enum line_outcome line_close(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write,
			     uintptr_t address, uintptr_t pc);
/* This memory is somebody else's from now on. */
void line_clear(uintptr_t address, size_t bytes);

static inline bool line_is_in_cells(uint64_t head)
{
	return head >> SHADOW_SLOT_SHIFT == SHADOW_LIST;
}

/* The bits of an access up to `end`, as far as it lies in the line of `at`. */
static inline uint64_t line_bits(uintptr_t at, uintptr_t end)
{
	uintptr_t stop = (at | (LINE_SIZE - 1)) + 1;
	uint64_t bits = ~0ull << (at & (LINE_SIZE - 1));

	return stop > end ? bits & ~0ull >> (stop - end) : bits;
}

/* Of what several read, where a thread may keep what it has: in one of two places. */
static inline struct rt_read *line_read(struct rt_read *table, uintptr_t address, uint32_t i)
{
	return &table[(address >> 6 ^ i) & (RT_READS - 1)];
}

static inline struct rt_read_old *line_read_old(struct rt_read *table, const struct rt_read *e)
{
	return (struct rt_read_old *)(table + RT_READS) + (e - table);
}

/* A stretch begins for it. Others may be looking at it. */
static inline void line_begin_read(struct rt_read *e, uint64_t kept, uint64_t now, uint64_t bits)
{
	__atomic_store_n(&e->kept, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&e->young, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&e->r, bits, __ATOMIC_RELEASE);
	__atomic_store_n(&e->head, now, __ATOMIC_RELEASE);
	__atomic_store_n(&e->kept, kept, __ATOMIC_RELEASE);
}

/* In a thread to whom it matters, and within the runtime. */
static inline __attribute__((always_inline)) enum line_outcome
line_note(struct rt_thread *t, struct shadow_line *l, uint64_t bits, bool write, uintptr_t address,
	  uintptr_t pc)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED), r, w;

	if (RT_UNLIKELY(!word_in_stretch(t, head)))
		return line_is_in_cells(head) ? LINE_CELLS
					      : line_claim(t, l, bits, write, address, pc);
	if (RT_UNLIKELY(head < t->time.limit || head < t->time.raised))
		return line_again(t, l, head, bits, write, address, pc);
	r = l->r;
	w = l->w;
	if (!(bits & ~(write ? w : r)))
		return LINE_KNOWN;
	__atomic_store_n(&l->r, r | bits, __ATOMIC_RELAXED);
	if (write)
		__atomic_store_n(&l->w, w | bits, __ATOMIC_RELAXED);
	RT_COMPILER_BARRIER();
	return RT_LIKELY(__atomic_load_n(&l->head, __ATOMIC_RELAXED) == head) ? LINE_NOTED
									      : LINE_CELLS;
}

/* Is there nothing of others that this conflicts with, and that is of interest? Not if in cells. */
static inline bool line_no_conflict(const struct rt_thread *t, const struct shadow_line *l,
				    uint64_t bits, bool write)
{
	uint64_t head = __atomic_load_n(&l->head, __ATOMIC_ACQUIRE);

	if (!shadow_slot(head) || word_is_mine(t, head))
		return true;
	if (shadow_readers(head))
		return !write;
	if (line_is_in_cells(head) || head & LINE_BUSY)
		return false;
	return word_is_dead(head) || !(head & LINE_BENEATH || (write ? l->r : l->w) & bits);
}

#endif
