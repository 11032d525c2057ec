/*
 * The on-line check: is what happened so far serializable? The verdict of
 * Velodrome, at the access that makes it false, while the program runs.
 *
 * Time. A thread's time goes up where a transaction begins or ends, where an edge
 * comes in, and where, in a transaction, a function is entered. A step is a slot
 * of the order and a time (engine/precise/order.h); each word of the shadow is one.
 *
 * Stretches. A thread's stretch begins with each transaction, at its end, and at
 * each edge that comes in. Within one, a repeated access changes nothing for the
 * verdict: whoever conflicts with it conflicts with the first, and nothing that
 * the thread has heard of lies between the two. `txn_limit` is where the stretch
 * began: a word of this thread at or behind it says "already done".
 *
 * Inner blocks. Whether an inner block is refuted, too, depends on which accesses were in it. So
 * a word that is older than the innermost function, `limit`, is made
 * young by its thread when it does the same again; behind a function that has
 * returned the limit is the caller's again.
 *
 * Calm. A thread that goes on calling functions and does not synchronise with others works for
 * itself, as a rule: after some dozens of calls the limit is no longer raised by them, and what was
 * done since then is done, whichever function did it. The next operation on a lock raises it, for
 * all functions that are open, and so does an edge that comes in: `calm`. An atomic operation does
 * not: counts of references and flags that are asked in each round would keep a thread from ever
 * being calm. But it is itself told apart from those of other functions, since where others learn
 * of the thread by it, it is all that they learn by.
 *
 * The fast path asks the line (line.h): is it this thread's, at or behind the limit, and has it
 * all bits of the access?
 *
 * What matters. A step that no open transaction reaches, and that lies in none, will never be on
 * a cycle: `check_lines[slot].dead` is the time before which all steps of a slot are so. A
 * word of such a step counts as empty. A thread outside of blocks that
 * nobody reaches need not leave anything behind.
 *
 * Who is about. Where no thread has a block open nothing matters at all. Threads say when they open
 * one for the first time, and take it back where they wait: `check_active` counts them, and while
 * it is 0 accesses are let pass as if there were only one thread (rt_choose_mode()).
 *
 * Clocks. The units of the histories are put in order, for a report, by Lamport's
 * clocks: a thread's goes up where it does something that conflicts with what
 * another did, above the clock of that one. The machine's clock would do, and
 * costs more than all the rest.
 *
 * Locks, in this order (rt.h has the ranks, and a debug build checks them): the
 * lock of a stripe of the shadow; the order's; the histories', for a report; then
 * those that are held for a few instructions and never while another is taken. Outside
 * of the check, the modules' and the labels' come before all of these.
 * None is held while the reporter is spoken to, and none is taken then.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_FRONTIER_CHECK_H
#define ATOMSAN_RUNTIME_FRONTIER_CHECK_H

#include "runtime/history/history.h"
#include "runtime/shadow/shadow.h"

extern bool check_on;
extern uint32_t check_active;

void check_init(void);
/* One message; from now on nothing is checked. */
void check_give_up(const char *why);

/* A point in a thread's life, for another that comes after it; step 0: nobody cares. */
struct check_point {
	uint64_t step, clock;
};

/* The thread begins, behind its creation. */
void check_thread_begin(struct rt_thread *t, struct check_point birth);
/* It ends; for whoever joins it. */
struct check_point check_thread_end(struct rt_thread *t);
/* Before and after a fork, and in the child. */
void check_fork_prepare(void);
void check_fork_parent(void);
void check_fork_child(struct rt_thread *t);

/*
 * A function was entered, or is left; its frame is the last one. Called only where other threads
 * are about.
 */
void check_call_slow(struct rt_thread *t, struct rt_frame *f);
void check_return(struct rt_thread *t, struct rt_frame *f);

/* A block that is marked. */
void check_mark(struct rt_thread *t, uint32_t label, const char *text, uintptr_t pc);
void check_unmark(struct rt_thread *t, uintptr_t pc);
void check_not_atomic(struct rt_thread *t, uintptr_t pc);

/*
 * Plain accesses; what is found is reported before it returns. With a recording, `time` is when it
 * happened.
 */
void check_access(struct rt_thread *t, enum raw_op op, uintptr_t address, size_t size, uintptr_t pc,
		  uint64_t *time);
/* With the lock of the stripe held; check_report() when it is not any more. */
void check_atomic(struct rt_thread *t, enum raw_op op, uintptr_t address, uint32_t size,
		  uintptr_t pc);
void check_report_now(struct rt_thread *t);

static inline void check_report(struct rt_thread *t)
{
	if (RT_UNLIKELY(t->closed))
		check_report_now(t);
}

/*
 * Any other unit: locks, semaphores, waits, barriers. With a recording, `time` becomes that of
 * the edges that it brought or left behind.
 */
void check_note(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux, uint64_t *time,
		uintptr_t pc);
/* Memory is freed, and may be allocated again. */
void check_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
void check_clear(uintptr_t address, size_t size);
void check_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
/* A thread is about to be created. */
struct check_point check_create(struct rt_thread *t, uint32_t id, uintptr_t pc);
void check_join(struct rt_thread *t, uint32_t id, struct check_point last, uint64_t *time,
		uintptr_t pc);

/* The program comes to its end; how many findings stand. */
uint64_t check_end(void);

/* --- for the files of the check itself --- */

/* What others want to know of a slot; written by its thread. A line each. */
struct check_line {
	uint64_t dead;            /* steps before this time are */
	uint64_t dead_clock;      /* at least the clock of each of them */
	uint64_t clock;           /* as rt_thread's */
	uint64_t stretch;         /* when the thread's began */
	struct rt_repeat *repeat; /* the same: these stay when the thread is gone */
	struct rt_read *reads;
	bool used; /* under the order's lock: by a thread, since its tables were emptied */
} __attribute__((aligned(64)));
extern struct check_line check_lines[SHADOW_SLOTS];

static inline bool check_word_dead(uint64_t word)
{
	return (word >> SHADOW_TIME_SHIFT & (SHADOW_TIMES * 2 - 1)) <
	       __atomic_load_n(&check_lines[shadow_slot(word)].dead, __ATOMIC_ACQUIRE);
}

/*
 * What the thread does now comes after all that had this clock. The time goes up with the clock:
 * who has seen an older step of the thread does not know this one.
 */
static inline void check_clock(struct rt_thread *t, uint64_t clock)
{
	if (clock >= t->clock) {
		t->clock = clock + 1;
		t->now += SHADOW_TICK;
		t->raised = t->now;
		__atomic_store_n(&check_lines[t->slot].clock, t->clock, __ATOMIC_RELEASE);
	}
}

/* What the thread does now conflicts with this word. */
static inline void check_behind(struct rt_thread *t, uint64_t word)
{
	check_clock(t, __atomic_load_n(&check_lines[shadow_slot(word)].clock, __ATOMIC_ACQUIRE));
}

/* The same where it is dead: what its thread did since then is not known. */
static inline void check_behind_dead(struct rt_thread *t, uint64_t word)
{
	check_clock(t,
		    __atomic_load_n(&check_lines[shadow_slot(word)].dead_clock, __ATOMIC_RELAXED));
}

/* Maybe a block begins: what happens in it is to be told from what was before. */
static inline void check_inner(struct rt_thread *t)
{
	t->now += SHADOW_TICK;
	t->limit = t->now;
}

/* So many calls without a synchronisation are told apart. */
enum { CHECK_CALM = 64 };
static inline bool check_calm(const struct rt_thread *t)
{
	return t->now - t->calm > CHECK_CALM * SHADOW_TICK;
}

/* The thread synchronises with others. */
static inline void check_synchronises(struct rt_thread *t)
{
	if (rt_mode == RT_CHECKING && check_calm(t)) {
		check_inner(t);
		t->calm = t->now;
	}
}

static inline void check_call(struct rt_thread *t, struct rt_frame *f)
{
	if (RT_UNLIKELY(!t->txn || rt_mode != RT_CHECKING)) {
		check_call_slow(t, f);
		return;
	}
	f->limit = t->limit;
	if (RT_LIKELY(check_calm(t)))
		t->now += SHADOW_TICK;
	else
		check_inner(t);
	f->begin = t->now;
	history_put(t, RAW_CALL, f->function, f->kind, f->caller);
	f->unit = t->hist.next;
}

/* `limit`, for an atomic operation: calm or not, it is told apart from those of other functions. */
static inline uint64_t check_atomic_limit(const struct rt_thread *t)
{
	uint64_t begin = t->depth && check_calm(t) ? t->frame[t->depth - 1].begin : 0;

	return begin > t->limit ? begin : t->limit;
}

static inline bool check_mine(const struct rt_thread *t, uint64_t word)
{
	return !((word ^ t->self) >> SHADOW_SLOT_SHIFT);
}

static inline uint64_t check_time(const struct rt_thread *t)
{
	return t->now >> SHADOW_TIME_SHIFT & (SHADOW_TIMES * 2 - 1);
}

static inline void check_new_stretch(struct rt_thread *t)
{
	t->now += SHADOW_TICK;
	t->limit = t->txn_limit = t->calm = t->now;
	__atomic_store_n(&check_lines[t->slot].stretch, check_time(t), __ATOMIC_RELEASE);
}

/* Is this word of the thread's stretch? */
static inline bool check_this_stretch(const struct rt_thread *t, uint64_t word)
{
	return !((word - t->txn_limit) >> (SHADOW_SLOT_SHIFT - 1));
}

/* The bytes of the cell at `at` that an access up to `end` touches. */
static inline uint64_t check_bytes(uintptr_t at, uintptr_t end)
{
	uint64_t bytes = (uint64_t)SHADOW_BYTES << (at & 7);
	uintptr_t stop = (at | 7) + 1;

	return (stop > end ? bytes & SHADOW_BYTES >> (stop - end) : bytes) & SHADOW_BYTES;
}

static inline bool check_conflicts(uint64_t word, uint64_t what)
{
	return (word & what & SHADOW_BYTES) && ((word | what) & SHADOW_WRITE);
}

/* Is it ordered already, whatever of another thread this word is? */
static inline bool check_known(const struct rt_thread *t, uint64_t word)
{
	return shadow_slot(word) < SHADOW_NOBODY &&
	       t->seen[shadow_slot(word)] >= (int64_t)(shadow_step(word) & (SHADOW_TIMES * 2 - 1));
}

/* The same, and its thread is at something else by now: it adds nothing to this. */
static inline bool check_settled(const struct rt_thread *t, uint64_t word)
{
	return check_known(t, word) &&
	       (shadow_step(word) & (SHADOW_TIMES * 2 - 1)) <
		       __atomic_load_n(&check_lines[shadow_slot(word)].stretch, __ATOMIC_ACQUIRE);
}

/* Is there no word of others that this conflicts with, and that is of interest? */
static inline bool check_no_conflict(const struct rt_thread *t, const struct shadow_cell *cell,
				     uint64_t what)
{
	for (int i = 0; i < 2; i++) {
		uint64_t word = __atomic_load_n(&cell->w[i], __ATOMIC_RELAXED);

		if (word && !check_mine(t, word) &&
		    (shadow_slot(word) == SHADOW_LIST ||
		     (check_conflicts(word, what) && !check_word_dead(word))))
			return false;
	}
	return true;
}

/* The word as its thread would have made it young, where it has not told the shadow. */
uint64_t check_young(uint64_t word, uintptr_t address);
/* What a slot has kept for itself of a cell that has readers; 0: nothing. */
uint64_t check_kept(uint32_t slot, uint64_t readers, uintptr_t address);
/*
 * A thread did this, after all that is in the cell: it takes the place of what its slot did, and of
 * what it wrote over. Under the stripe's lock.
 */
void check_add(struct shadow_cell *cell, uint64_t word);
/* Somebody is to know of what is no longer kept. */
void check_tell(const struct rt_repeat *r);
/* Slots from here on were never in use. */
extern uint32_t check_slots;

/*
 * What was written while it had readers, which is dear, does not get them again so soon: by a hash
 * of its address, how many times it could have had some before it does.
 */
enum { CHECK_WRITTEN = 1 << 14 };
extern uint8_t check_written[CHECK_WRITTEN];
static inline uint8_t *check_written_at(uintptr_t address)
{
	return &check_written[(address >> 3) * 0x9e3779b97f4a7c15ull >> 50];
}
/* It was. */
static inline void check_had_readers(uintptr_t address)
{
	uint8_t before = __atomic_load_n(check_written_at(address), __ATOMIC_RELAXED);

	__atomic_store_n(check_written_at(address), before < 120 ? 2 * before + 3 : 255,
			 __ATOMIC_RELAXED);
}
/* It could have readers; is it time that it does? */
static inline bool check_may_have_readers(uintptr_t address)
{
	uint8_t reluctance = __atomic_load_n(check_written_at(address), __ATOMIC_RELAXED);

	if (reluctance)
		__atomic_store_n(check_written_at(address), reluctance - 1, __ATOMIC_RELAXED);
	return !reluctance;
}
/* A word that stands for readers. Never the same twice: what was kept of another is nothing to it.
 */
uint64_t check_new_readers(void);

/*
 * Is anything that the thread does now of interest to others, ever? Only its own edges can make
 * the number more than 0.
 */
static inline bool check_matters(const struct rt_thread *t)
{
	return t->txn || __atomic_load_n(t->others, __ATOMIC_RELAXED);
}

/*
 * An edge from a word of another thread into what this one is doing. `fresh`: an edge came in for
 * the same access already. False: it closes a cycle, and was left out.
 */
bool check_edge(struct rt_thread *t, uint64_t word, bool *fresh);

/* With a recording: when what happens now under the lock of the one stripe happens. */
static inline uint64_t check_record_time(struct shadow_stripe *s)
{
	uint64_t time = record_now_ordered();

	s->last = RT_LIKELY(time > s->last) ? time : s->last + 1;
	return s->last;
}

/* Operations on a lock's cell: edges from those who had it; a thread gives it back. */
enum { CHECK_TAKES = 1, CHECK_GIVES = 2, CHECK_SHARED = 4 };
void check_lock(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address, int does,
		uint64_t *time);
/* Edges into one that only its owner looks at, and so needs no lock of ours. */
void check_mutex_edges(struct rt_thread *t, struct shadow_cell *cell);

/* A cycle that was closed. */
enum { CHECK_STEPS = 32, CHECK_CLOSING = 8, CHECK_REACH = 64 };
struct check_cycle {
	uint64_t step[CHECK_STEPS]; /* steps of the order, backwards from the closing one */
	uint32_t n;
	uint32_t slot;
	uint64_t begin; /* of the transaction: a time of the slot */
	uint64_t clock; /* then */
	/*
	 * By slot, of the first ones: the time from which on it is reached by the transaction, or
	 * is in one that is open.
	 */
	uint32_t nreach;
	uint64_t reach[CHECK_REACH];
	uint32_t nclosing;
	struct {
		uintptr_t address; /* of a cell; 0: a lock's */
		uint64_t bytes;
	} closing[CHECK_CLOSING]; /* the first ones of the access */
};
struct check_counts {
	uint64_t transactions, edges, cycles, evicted;
};
extern struct check_counts check_counts;

#endif
