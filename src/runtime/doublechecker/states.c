/* The states of granules and locks, and what an access does with them: see icd.h. */
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

/*
 * Returns the state of an address, after mapping its region's states if need be. Returns NULL if
 * there is no address space: then checking has stopped.
 */
static icd_state *map_state(enum icd_space space, uintptr_t address)
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

/*
 * With more slots than SCAN_SLOTS_MAX, a thread that writes read-shared memory does not ask about
 * each reader, but takes the graph's lock. If memory need not become shared, every SHARE_EVERY-th
 * read makes it shared all the same.
 */
enum { SCAN_SLOTS_MAX = 8, SHARE_EVERY = 16 };

/*
 * Order what the thread does next after the accesses of those that had the state: raise its clock
 * above theirs, and log again what it has logged before.
 */
static void follow_owners(struct rt_thread *t, icd_state was)
{
	uint32_t n = __atomic_load_n(&icd_slots, __ATOMIC_RELAXED);
	bool shared = icd_kind_of(was) == ICD_RDSH;

	for (uint32_t i = shared ? 1 : icd_value(was); i < (shared ? n : icd_value(was) + 1); i++)
		time_raise_clock(t, __atomic_load_n(&slot_public[i].clock, __ATOMIC_ACQUIRE));
	time_new_stretch(t);
}

/* Can the thread take memory that has this state without an edge? */
static bool needs_no_edge(const struct rt_thread *t, icd_state s)
{
	uint32_t n = __atomic_load_n(&icd_slots, __ATOMIC_RELAXED);

	if (icd_kind_of(s) != ICD_RDSH)
		return icd_needs_no_edge(t, icd_value(s));
	for (uint32_t i = 1; i < n; i++)
		if (i != t->slot && (n > SCAN_SLOTS_MAX || !icd_needs_no_edge(t, i)))
			return false;
	return true;
}

/*
 * Take the state from its owner without the graph's lock, if that needs no edge. Returns true if
 * the thread has the state now.
 *
 * If an edge became necessary during the exchange, the old state is put back. If that fails, a
 * third thread has taken the state meanwhile: then the edge is added here, and the caller tries
 * again.
 */
static bool take_without_lock(struct rt_thread *t, icd_state *at, icd_state s, bool write)
{
	icd_state to = write ? t->icd.wrex : t->icd.rdex, now = to;

	RT_ASSERT(write || icd_kind_of(s) == ICD_WREX);
	if (!needs_no_edge(t, s) ||
	    !__atomic_compare_exchange_n(at, &s, to, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return false;
	if (RT_LIKELY(needs_no_edge(t, s))) {
		if (icd_logs)
			follow_owners(t, s);
		return true;
	}
	if (!__atomic_compare_exchange_n(at, &now, s, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		uint32_t none = 0; /* this is no ICD_SHARE: nothing is counted */

		rt_lock_ranked(&icd_lock, RT_GRAPH);
		icd_edges(t, icd_move(s, t->slot, write, &none));
		rt_unlock(&icd_lock);
	}
	return false;
}

/*
 * Should this read of memory that another thread reads leave the state as it is? It may, if this
 * thread is outside blocks and not reached: then there is no edge to add, and the memory may soon
 * be written again. Every SHARE_EVERY-th read makes it shared, for threads that only read it.
 */
static bool leave_unshared(struct rt_thread *t, icd_state s)
{
	const struct icd_public *own = &icd_public[t->slot];

	return !t->blocks.txn && !own->reached && ++t->icd.left % SHARE_EVERY &&
	       icd_needs_no_edge(t, icd_value(s));
}

/*
 * Change the state and add the edges. The caller holds icd_lock. Returns false if the state was
 * changed by another thread meanwhile; then the caller looks at it again.
 */
static bool change_state_locked(struct rt_thread *t, icd_state *at, bool write)
{
	icd_state s = __atomic_load_n(at, __ATOMIC_RELAXED);
	struct icd_public *own = &icd_public[t->slot];
	struct icd_move m;
	bool done;

	RT_ASSERT(icd_lock);
	if (icd_kind_of(s) == ICD_NONE || s == t->icd.rdex ||
	    icd_quiet(s, t->slot, t->icd.seen, write))
		return false;
	m = icd_move(s, t->slot, write, &icd_count);
	__atomic_store_n(&own->taking, 1, __ATOMIC_RELAXED);
	done = __atomic_compare_exchange_n(at, &s, m.state, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
	if (done)
		icd_edges(t, m);
	__atomic_store_n(&own->taking, 0, __ATOMIC_RELEASE);
	return done;
}

/*
 * Make the state right for an access of this thread. Takes the graph's lock only if an edge may be
 * needed. Returns true if the state was changed.
 */
static bool change_state(struct rt_thread *t, icd_state *at, bool write)
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
			/* What was logged of these bytes may be from before they were freed. */
			if (kind == ICD_NONE)
				time_new_stretch(t);
			return true;
		}
		if (kind == ICD_WREX || write) {
			if (take_without_lock(t, at, s, write))
				return true;
		} else if (kind == ICD_RDEX && leave_unshared(t, s)) {
			return false;
		}
		rt_lock_ranked(&icd_lock, RT_GRAPH);
		done = change_state_locked(t, at, write);
		rt_unlock(&icd_lock);
		if (done)
			return true;
	}
}

static void change_state_at(struct rt_thread *t, enum icd_space space, uintptr_t address,
			    bool write)
{
	icd_state *at = icd_find(space, address);

	if (RT_UNLIKELY(!at))
		at = map_state(space, address);
	if (at)
		change_state(t, at, write);
}

/* --- logs --- */

static inline struct icd_logged *logged_at(struct rt_thread *t, uintptr_t address)
{
	return &t->icd.logged[(address >> 3 ^ address >> 13) & (ICD_LOGGED - 1)];
}

/* Returns the bytes that an access within 8 bytes touches, and SHADOW_WRITE unless it reads. */
static inline uint64_t access_bits(enum raw_op op, uintptr_t address, size_t size)
{
	return ((1ull << size) - 1) << (address & 7) | (op == RAW_READ ? 0 : SHADOW_WRITE);
}

/* Is the access in the log already? Then its word is not older than the thread's time limit. */
static inline bool is_logged(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size)
{
	const struct icd_logged *e = logged_at(t, address);
	uint64_t mask = access_bits(op, address, size);

	return e->cell == address >> 3 && e->word >= t->time.limit && (e->word & mask) == mask;
}

static inline bool is_small(uintptr_t address, size_t size)
{
	return size <= 8 && (address & 7) + size <= 8;
}

/* Log an access, and remember it if it may be left out the next time. */
static void log_access(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size,
		       uintptr_t pc)
{
	if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
		history_put_sized(t, op, address, size, pc);
	else
		history_put(t, op, address, (uint32_t)size, pc);
	t->icd.nlogged++;
	if (!t->blocks.txn) {
		/* The next operation is another transaction. */
		time_begin_inner(t);
	} else if (is_small(address, size)) {
		struct icd_logged *e = logged_at(t, address);
		uint64_t word = t->time.now | access_bits(op, address, size);

		/* Add the bytes that were logged in the same way, in the same call. */
		if (e->cell == address >> 3 && e->word >= t->time.limit &&
		    !((e->word ^ word) & SHADOW_WRITE))
			word |= e->word & SHADOW_BYTES;
		*e = (struct icd_logged){address >> 3, word};
	}
}

static bool is_write(enum raw_op op)
{
	return op != RAW_READ && op != RAW_READ_RANGE;
}

/*
 * Check any access: change the states of its granules, and log it. In serial mode the stripe's lock
 * gives the recording the order in which the states changed.
 */
__attribute__((noinline)) static void access_slow(enum raw_op op, uintptr_t address, size_t size,
						  uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uintptr_t end = address + size, last_byte = (1ul << ICD_DATA_SHIFT) - 1;
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
	     at = (at | last_byte) + 1)
		change_state_at(t, ICD_DATA, at, is_write(op));
	if (t->icd.todo & ICD_LOG &&
	    (shadow_serial || !is_small(address, size) || !is_logged(t, op, address, size)))
		log_access(t, op, address, size, pc);
	if (stripe)
		rt_unlock(&stripe->lock);
	if (RT_UNLIKELY(shadow_serial))
		rt_recorder->accessed(t, op, address, size, time, pc);
	rt_leave(t);
}

/* Log an access whose state is right. */
__attribute__((noinline)) static void access_only_log(enum raw_op op, uintptr_t address,
						      size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	log_access(t, op, address, size, pc);
	rt_leave(t);
}

/*
 * Check an access of one granule, or pass it on to access_slow(). The test for the thread's own
 * WrEx state comes first. `op` is a constant in each caller, so that is_write() costs nothing.
 */
static inline __attribute__((always_inline)) void access_fast(enum raw_op op, uintptr_t address,
							      size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uint32_t todo = t->icd.todo;
	const icd_state *at = icd_find(ICD_DATA, address);
	icd_state s;

	if (!todo) {
		if (RT_UNLIKELY(!at))
			map_state(ICD_DATA, address); /* the next time icd_known() is true */
		return;
	}
	if (RT_UNLIKELY(todo & ICD_SLOW || !at ||
			(address ^ (address + size - 1)) >> ICD_DATA_SHIFT)) {
		access_slow(op, address, size, pc);
		return;
	}
	s = __atomic_load_n(at, __ATOMIC_RELAXED);
	if (RT_LIKELY(s == t->icd.wrex) ||
	    RT_LIKELY(icd_quiet(s, t->slot, t->icd.seen, is_write(op)))) {
		if (todo == ICD_STATES ||
		    (is_small(address, size) && is_logged(t, op, address, size)))
			return;
		if (is_small(address, size)) {
			access_only_log(op, address, size, pc);
			return;
		}
	}
	access_slow(op, address, size, pc);
}

void icd_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	if (op == RAW_READ)
		access_fast(RAW_READ, address, size, pc);
	else if (op == RAW_WRITE)
		access_fast(RAW_WRITE, address, size, pc);
	else if (rt_self.icd.todo)
		access_slow(op, address, size, pc);
}

void icd_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size, uintptr_t pc)
{
	bool crosses = (address ^ (address + size - 1)) >> ICD_DATA_SHIFT;

	RT_ASSERT(shadow_stripe(address)->lock);
	if (!(t->icd.todo & ICD_STATES))
		return;
	change_state_at(t, ICD_DATA, address, is_write(op));
	if (crosses)
		change_state_at(t, ICD_DATA, address + size - 1, is_write(op));
	if (t->icd.todo & ICD_LOG &&
	    (shadow_serial || !is_small(address, size) || !is_logged(t, op, address, size)))
		log_access(t, op, address, size, pc);
}

void icd_lock_access(struct rt_thread *t, uintptr_t address, bool write, uint64_t *time)
{
	struct shadow_stripe *stripe = shadow_serial ? shadow_stripe(address) : NULL;

	if (stripe) {
		rt_lock_ranked(&stripe->lock, RT_STRIPE);
		*time = shadow_stamp(stripe);
	}
	if (t->icd.todo & ICD_STATES)
		change_state_at(t, ICD_LOCKS, address, write);
	if (stripe)
		rt_unlock(&stripe->lock);
}

/* --- freed memory --- */

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
