/*
 * A thread's time, and what a word of the shadow means to a thread at its present
 * time. This header is the only writer of struct thread_time.
 *
 * Time. A thread's time goes up when a transaction begins or ends, when an edge
 * comes in, when the clock goes up, when the thread enters a function or an inner
 * block inside a transaction, and when a calm thread synchronises. A slot and a time
 * are a step of the order (engine/precise/order.h).
 *
 * Stretches. A stretch begins with each transaction, at its end, and at each edge
 * that comes in. Within a stretch a repeated access changes no verdict: a later
 * access that conflicts with the repetition conflicts with the first one too, and
 * the thread has learned of nothing in between. So a word of this thread at or
 * after the beginning of the stretch means "already done".
 *
 * Inner blocks. Whether an inner block is refuted, too, depends on which accesses
 * it made. So a word that is older than the innermost function (`limit`) is made
 * young when the thread does the same again. When a function returns, the limit
 * becomes its caller's again.
 *
 * Calm. A thread that keeps calling functions without synchronising works for
 * itself, as a rule. After TIME_CALM calls the limit is no longer raised: what was
 * done since then counts as done, whichever function did it. The next operation on
 * a lock raises the limit, for all open functions, and so does an incoming edge.
 * An atomic operation does not: reference counts and flags that are tested in each
 * round would keep a thread from ever becoming calm. But the operation itself is
 * distinguished from those of other functions (time_atomic_limit()), since it may
 * be all that other threads learn of this one.
 *
 * Dead steps. A step that no open transaction reaches, and that lies in none, can
 * never be on a cycle. time_bury() publishes the time before which all steps of the
 * slot are dead; a word of such a step counts as empty.
 *
 * Clocks. Reports print the steps of all threads in one order, by Lamport clocks: a
 * thread's clock goes above the clock of a thread whose operation conflicts with
 * its own. The machine's clock would do as well but costs more than all the rest.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_TIME_H
#define ATOMSAN_RUNTIME_SHADOW_TIME_H

#include "runtime/shadow/slot.h"
#include "runtime/tool.h"

/* --- writing --- */

/* The thread's time, without its slot. */
static inline uint64_t time_now(const struct rt_thread *t)
{
	return t->time.now >> SHADOW_TIME_SHIFT & (SHADOW_TIMES * 2 - 1);
}

/*
 * What always holds between the fields: the stretch began before the calm calls, these before the
 * innermost function, and nothing lies in the future. For assertions.
 */
static inline bool time_is_ordered(const struct rt_thread *t)
{
	const struct thread_time *m = &t->time;

	return m->stretch <= m->calm && m->calm <= m->limit && m->limit <= m->now &&
	       m->dead <= m->now && m->raised <= m->now && !(m->now & (SHADOW_TICK - 1)) &&
	       !((m->now ^ m->self) >> SHADOW_SLOT_SHIFT) && time_now(t) < SHADOW_TIMES;
}

/* The thread has no slot yet, or has given it back: forget its limit, stretch and calm. */
static inline void time_reset(struct rt_thread *t)
{
	t->time.limit = t->time.stretch = t->time.calm = 0;
}

/*
 * Make the thread's clock higher than `clock`. Its time goes up with it, so that a thread that
 * knows an older step of this thread does not count as knowing the new one.
 */
static inline void time_raise_clock(struct rt_thread *t, uint64_t clock)
{
	RT_ASSERT(t->time.clock == slot_public[t->slot].clock);
	if (clock >= t->time.clock) {
		t->time.clock = clock + 1;
		t->time.now += SHADOW_TICK;
		t->time.raised = t->time.now;
		__atomic_store_n(&slot_public[t->slot].clock, t->time.clock, __ATOMIC_RELEASE);
	}
}

/* The thread has got slot t->slot, which was last used at time `last`. */
static inline void time_begin(struct rt_thread *t, uint64_t last)
{
	t->time.self = (uint64_t)t->slot << SHADOW_SLOT_SHIFT;
	t->time.clock = slot_public[t->slot].clock + 1;
	__atomic_store_n(&slot_public[t->slot].clock, t->time.clock, __ATOMIC_RELEASE);
	t->time.now = t->time.self | (last + 1) << SHADOW_TIME_SHIFT;
	RT_ASSERT(t->slot && t->slot < slot_count && slot_count <= SHADOW_NOBODY);
	/* The times of a slot do not decrease, whichever thread has it. */
	RT_ASSERT(time_is_ordered(t) && time_now(t) >= slot_public[t->slot].stretch &&
		  time_now(t) >= slot_public[t->slot].dead);
}

static inline void time_new_stretch(struct rt_thread *t)
{
	RT_ASSERT(time_is_ordered(t) && time_now(t) >= slot_public[t->slot].stretch);
	t->time.now += SHADOW_TICK;
	t->time.limit = t->time.stretch = t->time.calm = t->time.now;
	__atomic_store_n(&slot_public[t->slot].stretch, time_now(t), __ATOMIC_RELEASE);
}

/* An inner block may begin: distinguish what happens in it from what was before. */
static inline void time_begin_inner(struct rt_thread *t)
{
	t->time.now += SHADOW_TICK;
	t->time.limit = t->time.now;
}

enum { TIME_CALM = 64 };
static inline bool time_is_calm(const struct rt_thread *t)
{
	return t->time.now - t->time.calm > TIME_CALM * SHADOW_TICK;
}

/* A function is entered, inside a transaction. */
static inline void time_enter_function(struct rt_thread *t)
{
	if (RT_LIKELY(time_is_calm(t)))
		t->time.now += SHADOW_TICK;
	else
		time_begin_inner(t);
}

/* A function whose caller had this limit has returned. */
static inline void time_leave_function(struct rt_thread *t, uint64_t limit)
{
	t->time.limit = limit > t->time.calm ? limit : t->time.calm;
	RT_ASSERT(time_is_ordered(t));
}

/* The thread synchronises with others, and is calm no longer. */
static inline void time_synchronise(struct rt_thread *t)
{
	if (rt_tools_mode == RT_CHECKING && time_is_calm(t)) {
		time_begin_inner(t);
		t->time.calm = t->time.now;
	}
}

/* Does anything that the thread does now matter to others, ever? Only its own edges can change a
 * no. */
static inline bool time_matters(const struct rt_thread *t)
{
	return t->blocks.txn || __atomic_load_n(t->shadow.others, __ATOMIC_RELAXED);
}

/* Steps before now are dead if no open transaction of another thread reaches this one. */
static inline void time_bury(struct rt_thread *t)
{
	if (!__atomic_load_n(t->shadow.others, __ATOMIC_RELAXED)) {
		RT_ASSERT(time_is_ordered(t) && time_now(t) >= slot_public[t->slot].dead);
		t->time.dead = t->time.now;
		__atomic_store_n(&slot_public[t->slot].dead_clock, t->time.clock, __ATOMIC_RELAXED);
		__atomic_store_n(&slot_public[t->slot].dead, time_now(t), __ATOMIC_RELEASE);
	}
}

/* The limit for an atomic operation, which is distinguished by function even in a calm thread. */
static inline uint64_t time_atomic_limit(const struct rt_thread *t)
{
	uint64_t begin =
		t->calls.depth && time_is_calm(t) ? t->calls.frame[t->calls.depth - 1].begin : 0;

	return begin > t->time.limit ? begin : t->time.limit;
}

/*
 * Around an atomic operation: use that limit, and go back to the old one unless a new stretch
 * began. time_begin_atomic() returns the old limit.
 */
static inline uint64_t time_begin_atomic(struct rt_thread *t)
{
	uint64_t limit = t->time.limit;

	if (rt_tools_mode == RT_CHECKING)
		t->time.limit = time_atomic_limit(t);
	return limit;
}

static inline void time_end_atomic(struct rt_thread *t, uint64_t limit, uint64_t stretch)
{
	if (t->time.stretch == stretch)
		t->time.limit = limit;
	RT_ASSERT(time_is_ordered(t));
}

/* --- words --- */

static inline uint64_t word_time(uint64_t word)
{
	return shadow_step(word) & (SHADOW_TIMES * 2 - 1);
}

static inline bool word_is_dead(uint64_t word)
{
	return word_time(word) <
	       __atomic_load_n(&slot_public[shadow_slot(word)].dead, __ATOMIC_ACQUIRE);
}

static inline bool word_is_mine(const struct rt_thread *t, uint64_t word)
{
	return !((word ^ t->time.self) >> SHADOW_SLOT_SHIFT);
}

/* Is it the thread's, and of its present stretch? */
static inline bool word_in_stretch(const struct rt_thread *t, uint64_t word)
{
	return !((word - t->time.stretch) >> (SHADOW_SLOT_SHIFT - 1));
}

/* Is it the thread's, and made by the innermost open function? */
static inline bool word_is_young(const struct rt_thread *t, uint64_t word)
{
	return !((word - t->time.limit) >> (SHADOW_SLOT_SHIFT - 1));
}

static inline bool word_conflicts(uint64_t word, uint64_t what)
{
	return (word & what & SHADOW_BYTES) && ((word | what) & SHADOW_WRITE);
}

/* Is another thread's word ordered before what this thread does now? */
static inline bool word_is_known(const struct rt_thread *t, uint64_t word)
{
	return shadow_slot(word) < SHADOW_NOBODY &&
	       t->shadow.seen[shadow_slot(word)] >= (int64_t)word_time(word);
}

/* The same, and the stretch of the word has ended, so that its thread adds nothing to it. */
static inline bool word_is_settled(const struct rt_thread *t, uint64_t word)
{
	return word_is_known(t, word) &&
	       word_time(word) <
		       __atomic_load_n(&slot_public[shadow_slot(word)].stretch, __ATOMIC_ACQUIRE);
}

/*
 * What a word of the shadow means for an access. `what` is SHADOW_WRITE or not, and the bytes.
 *
 *	empty        the word is 0
 *	own          it is the thread's own, dead or not
 *	disjoint     it is another thread's and does not conflict: no common byte, or two reads
 *	dead         it conflicts, and its step is dead: it counts for the clocks only
 *	ordered      it conflicts, and is known to come before this access: no edge is needed
 *	conflicting  the access has to take an edge from it
 *
 * With all bytes and SHADOW_WRITE every word of another thread conflicts. A list or a word that
 * stands for readers has no class.
 *
 * No other code decides this. Three functions ask only a part of the question, because they are too
 * hot for the rest: access_missing() and access_cell_unlocked() in frontier/, and
 * line_no_conflict(). docs/architecture.md gives the reason for each.
 */
enum word_class {
	WORD_EMPTY,
	WORD_OWN,
	WORD_DISJOINT,
	WORD_DEAD,
	WORD_ORDERED,
	WORD_CONFLICTING,
};

static inline __attribute__((always_inline)) enum word_class
word_classify(const struct rt_thread *t, uint64_t word, uint64_t what)
{
	RT_ASSERT(shadow_slot(word) < SHADOW_NOBODY);
	if (!word)
		return WORD_EMPTY;
	if (word_is_mine(t, word))
		return WORD_OWN;
	if (!word_conflicts(word, what))
		return WORD_DISJOINT;
	if (word_is_dead(word))
		return WORD_DEAD;
	return word_is_known(t, word) ? WORD_ORDERED : WORD_CONFLICTING;
}

/* What the thread does now conflicts with this word, which is not dead. */
static inline void time_after(struct rt_thread *t, uint64_t word)
{
	time_raise_clock(t,
			 __atomic_load_n(&slot_public[shadow_slot(word)].clock, __ATOMIC_ACQUIRE));
}

/* The same for a dead word: what its thread did since then does not count. */
static inline void time_after_dead(struct rt_thread *t, uint64_t word)
{
	time_raise_clock(
		t, __atomic_load_n(&slot_public[shadow_slot(word)].dead_clock, __ATOMIC_RELAXED));
}

#endif
