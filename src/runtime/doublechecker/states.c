/* States of memory, and accesses: see icd.h. The graph is in graph.c. */
#include "runtime/doublechecker/icd.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/history/history.h"
#include "runtime/thread/mode.h"

#include "base/banned.h"

uintptr_t icd_region[ICD_SPACES][SHADOW_REGIONS];
RT_EXPORT extern uintptr_t atomsan_4_states[ICD_SPACES][SHADOW_REGIONS]
	__attribute__((alias("icd_region")));
static uint32_t region_lock;

static icd_state *make(enum icd_space space, uintptr_t address)
{
	uintptr_t *region = &icd_region[space][address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
	unsigned int shift = space == ICD_DATA ? ICD_DATA_SHIFT : ICD_LOCKS_SHIFT;
	size_t bytes = sizeof(icd_state) << (SHADOW_REGION - shift);

	if (RT_UNLIKELY(!__atomic_load_n(region, __ATOMIC_ACQUIRE))) {
		rt_lock(&region_lock);
		if (!*region) {
			void *made = rt_pages(bytes);

			if (!made) {
				rt_unlock(&region_lock);
				rt_stop_checking("no address space for shadow memory");
				return NULL;
			}
			syscall(SYS_madvise, made, bytes, MADV_NOHUGEPAGE);
			syscall(SYS_madvise, made, bytes, MADV_DONTDUMP);
			__atomic_store_n(region, (uintptr_t)made, __ATOMIC_RELEASE);
		}
		rt_unlock(&region_lock);
	}
	return icd_find(space, address);
}

/* --- a state is not right --- */

/* All of these are asked where one has a state that all shared; so often is one not shared. */
enum { HAND_OVER_FROM = 8, LEAVES = 16 };

/* What comes now comes behind what others did, and is logged again. */
static void log_behind(struct rt_thread *t, icd_state was)
{
	uint32_t n = __atomic_load_n(&icd_slots, __ATOMIC_RELAXED);
	bool shared = icd_kind_of(was) == ICD_RDSH;

	for (uint32_t i = shared ? 1 : icd_value(was); i < (shared ? n : icd_value(was) + 1); i++)
		time_raise_clock(t, __atomic_load_n(&slot_public[i].clock, __ATOMIC_ACQUIRE));
	time_new_stretch(t);
}

/* Would no edge be needed for what was this? */
static bool no_edge(const struct rt_thread *t, icd_state s)
{
	uint32_t n = __atomic_load_n(&icd_slots, __ATOMIC_RELAXED);

	if (icd_kind_of(s) != ICD_RDSH)
		return icd_no_edge(t, icd_value(s));
	for (uint32_t i = 1; i < n; i++)
		if (i != t->slot && (n > HAND_OVER_FROM || !icd_no_edge(t, i)))
			return false;
	return true;
}

/*
 * Where no edge is needed, no lock is. False: nothing was changed; or, in a moment in which
 * that became otherwise, it was, and a third one has the state now: then the edge is made up for.
 */
static bool hand_over(struct rt_thread *t, icd_state *at, icd_state s, bool write)
{
	icd_state to = write ? t->icd.wrex : t->icd.rdex, now = to;

	if (!no_edge(t, s) ||
	    !__atomic_compare_exchange_n(at, &s, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	if (RT_LIKELY(no_edge(t, s))) {
		if (icd_logs)
			log_behind(t, s);
		return true;
	}
	if (!__atomic_compare_exchange_n(at, &now, s, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		uint32_t none = 0;

		rt_lock_ranked(&icd_lock, RT_GRAPH);
		icd_edges(t, icd_move(s, t->slot, write, &none));
		rt_unlock(&icd_lock);
	}
	return false;
}

/*
 * A read of what another reads, by a thread that is of no interest, need not make it shared: it may
 * soon be written again. Now and then it is, so that those who only read it find it so.
 */
static bool leave(struct rt_thread *t, icd_state s)
{
	const struct icd_line *line = &icd_lines[t->slot];

	return !t->blocks.txn && !line->reached && ++t->icd.left % LEAVES &&
	       icd_no_edge(t, icd_value(s));
}

/* With the lock. */
static bool change_locked(struct rt_thread *t, icd_state *at, bool write)
{
	icd_state s = __atomic_load_n(at, __ATOMIC_RELAXED);
	struct icd_line *line = &icd_lines[t->slot];
	struct icd_move m;
	bool done;

	if (icd_kind_of(s) == ICD_NONE || s == t->icd.rdex ||
	    icd_quiet(s, t->slot, t->icd.seen, write))
		return false;
	m = icd_move(s, t->slot, write, &icd_count);
	__atomic_store_n(&line->taking, 1, __ATOMIC_RELAXED);
	done = __atomic_compare_exchange_n(at, &s, m.state, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
	if (done)
		icd_edges(t, m);
	__atomic_store_n(&line->taking, 0, __ATOMIC_RELEASE);
	return done;
}

/* True: it was changed. What needs no edge needs no lock. */
static bool change(struct rt_thread *t, icd_state *at, bool write)
{
	for (;;) {
		icd_state s = __atomic_load_n(at, __ATOMIC_RELAXED);
		enum icd_kind kind = icd_kind_of(s);
		bool done;

		if (icd_quiet(s, t->slot, t->icd.seen, write))
			return false;
		if (kind == ICD_NONE || s == t->icd.rdex) {
			icd_state to = write ? t->icd.wrex : t->icd.rdex;

			if (!__atomic_compare_exchange_n(at, &s, to, false, __ATOMIC_SEQ_CST,
							 __ATOMIC_RELAXED))
				continue;
			/* What was logged of this memory may have been of an earlier life. */
			if (kind == ICD_NONE)
				time_new_stretch(t);
			return true;
		}
		if (kind == ICD_WREX || write) {
			if (hand_over(t, at, s, write))
				return true;
		} else if (kind == ICD_RDEX && leave(t, s)) {
			return false;
		}
		rt_lock_ranked(&icd_lock, RT_GRAPH);
		done = change_locked(t, at, write);
		rt_unlock(&icd_lock);
		if (done)
			return true;
	}
}

static void change_at(struct rt_thread *t, enum icd_space space, uintptr_t address, bool write)
{
	icd_state *at = icd_find(space, address);

	if (RT_UNLIKELY(!at))
		at = make(space, address);
	if (at)
		change(t, at, write);
}

/* --- logs --- */

static inline struct icd_logged *logged_at(struct rt_thread *t, uintptr_t address)
{
	return &t->icd.logged[(address >> 3 ^ address >> 13) & (ICD_LOGGED - 1)];
}

static inline uint64_t what(enum raw_op op, uintptr_t address, size_t size)
{
	return ((1ull << size) - 1) << (address & 7) | (op == RAW_READ ? 0 : SHADOW_WRITE);
}

/* Is it in the log already? Such a word is of this thread's time and above. */
static inline bool is_logged(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size)
{
	const struct icd_logged *e = logged_at(t, address);
	uint64_t mask = what(op, address, size);

	return e->cell == address >> 3 && e->word >= t->time.limit && (e->word & mask) == mask;
}

static inline bool is_small(uintptr_t address, size_t size)
{
	return size <= 8 && (address & 7) + size <= 8;
}

static void put(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
		history_put_sized(t, op, address, size, pc);
	else
		history_put(t, op, address, (uint32_t)size, pc);
	t->icd.nlogged++;
	if (!t->blocks.txn) {
		/* What comes now is another transaction. */
		time_begin_inner(t);
	} else if (is_small(address, size)) {
		struct icd_logged *e = logged_at(t, address);
		uint64_t word = t->time.now | what(op, address, size);

		/* Bytes that were logged in the same way, in the same call. */
		if (e->cell == address >> 3 && e->word >= t->time.limit &&
		    !((e->word ^ word) & SHADOW_WRITE))
			word |= e->word & SHADOW_BYTES;
		*e = (struct icd_logged){address >> 3, word};
	}
}

static bool writes(enum raw_op op)
{
	return op != RAW_READ && op != RAW_READ_RANGE;
}

/* All but the fast path; the stripes' locks keep the order of a recording. */
__attribute__((noinline)) static void slow(enum raw_op op, uintptr_t address, size_t size,
					   uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uintptr_t end = address + size, block = (1ul << ICD_DATA_SHIFT) - 1;
	struct shadow_stripe *stripe = NULL;
	uint64_t time = 0;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	if (shadow_serial) {
		stripe = shadow_stripe(address);
		rt_lock_ranked(&stripe->lock, RT_STRIPE);
		time = shadow_stamp(stripe);
	}
	for (uintptr_t at = address; at < end && rt_checking && t->icd.todo & ICD_STATES;
	     at = (at | block) + 1)
		change_at(t, ICD_DATA, at, writes(op));
	if (t->icd.todo & ICD_LOG &&
	    (shadow_serial || !is_small(address, size) || !is_logged(t, op, address, size)))
		put(t, op, address, size, pc);
	if (stripe)
		rt_unlock(&stripe->lock);
	if (RT_UNLIKELY(shadow_serial))
		rt_recorder->accessed(t, op, address, size, time, pc);
	rt_leave(t);
}

__attribute__((noinline)) static void log_one(enum raw_op op, uintptr_t address, size_t size,
					      uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	put(t, op, address, size, pc);
	rt_leave(t);
}

/* One that finds its own state comes first; the operation is known where this is compiled. */
static inline __attribute__((always_inline)) void fast(enum raw_op op, uintptr_t address,
						       size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uint32_t todo = t->icd.todo;
	const icd_state *at = icd_find(ICD_DATA, address);
	icd_state s;

	if (!todo) {
		if (RT_UNLIKELY(!at))
			make(ICD_DATA, address); /* with it icd_known() knows */
		return;
	}
	if (RT_UNLIKELY(todo & ICD_SLOW || !at ||
			(address ^ (address + size - 1)) >> ICD_DATA_SHIFT)) {
		slow(op, address, size, pc);
		return;
	}
	s = __atomic_load_n(at, __ATOMIC_RELAXED);
	if (RT_LIKELY(s == t->icd.wrex) ||
	    RT_LIKELY(icd_quiet(s, t->slot, t->icd.seen, writes(op)))) {
		if (todo == ICD_STATES ||
		    (is_small(address, size) && is_logged(t, op, address, size)))
			return;
		if (is_small(address, size)) {
			log_one(op, address, size, pc);
			return;
		}
	}
	slow(op, address, size, pc);
}

void icd_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	if (op == RAW_READ)
		fast(RAW_READ, address, size, pc);
	else if (op == RAW_WRITE)
		fast(RAW_WRITE, address, size, pc);
	else if (rt_self.icd.todo)
		slow(op, address, size, pc);
}

void icd_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size, uintptr_t pc)
{
	bool is_range = (address ^ (address + size - 1)) >> ICD_DATA_SHIFT;

	if (!(t->icd.todo & ICD_STATES))
		return;
	change_at(t, ICD_DATA, address, writes(op));
	if (is_range)
		change_at(t, ICD_DATA, address + size - 1, writes(op));
	if (t->icd.todo & ICD_LOG &&
	    (shadow_serial || !is_small(address, size) || !is_logged(t, op, address, size)))
		put(t, op, address, size, pc);
}

void icd_lock_access(struct rt_thread *t, uintptr_t address, bool write, uint64_t *time)
{
	struct shadow_stripe *stripe = shadow_serial ? shadow_stripe(address) : NULL;

	if (stripe) {
		rt_lock_ranked(&stripe->lock, RT_STRIPE);
		*time = shadow_stamp(stripe);
	}
	if (t->icd.todo & ICD_STATES)
		change_at(t, ICD_LOCKS, address, write);
	if (stripe)
		rt_unlock(&stripe->lock);
}

/* --- memory that is somebody else's --- */

/* Only whole blocks: of the rest, neighbours may be in use. */
void icd_clear(uintptr_t address, size_t bytes)
{
	uintptr_t size = 1ul << ICD_DATA_SHIFT;
	uintptr_t end = (address + bytes) & ~(size - 1);

	address = (address + size - 1) & ~(size - 1);
	while (address < end) {
		uintptr_t stop = (address | ((1ul << SHADOW_REGION) - 1)) + 1;
		icd_state *at = icd_find(ICD_DATA, address);

		stop = stop < end ? stop : end;
		for (; at && address < stop; address += size, at++)
			if (__atomic_load_n(at, __ATOMIC_RELAXED))
				__atomic_store_n(at, 0, __ATOMIC_RELAXED);
		address = stop;
	}
}

void icd_clear_lock(uintptr_t address)
{
	icd_state *at = icd_find(ICD_LOCKS, address);

	if (at)
		__atomic_store_n(at, 0, __ATOMIC_RELAXED);
}
