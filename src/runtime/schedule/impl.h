/*
 * What the files of the scheduler share.
 *
 * Everything here is protected by schedule_lock, except what only the thread with the turn uses.
 * The lock is held for a few instructions; while a thread waits for the turn, it holds no lock.
 *
 * Included by: runtime/schedule.
 */
#ifndef ATOMSAN_RUNTIME_SCHEDULE_IMPL_H
#define ATOMSAN_RUNTIME_SCHEDULE_IMPL_H

#include "runtime/os/lock.h"
#include "runtime/schedule/schedule.h"
#include "runtime/thread/state.h"

/* The words that a thread reads again and again: see schedule_atomic_done(). */
enum { SPIN_WORDS = 4, SPIN_TIMES = 32, SPIN_READS = 1000 };
struct spin_word {
	const void *object;
	uint64_t value;
	uint32_t times;
};

struct sched_thread {
	struct sched_thread *next, *before; /* those that have not ended, by number */
	struct rt_thread *rt;               /* NULL: it has not begun */
	struct drive_thread *shared;        /* its entry in the drive file */
	uint32_t number, id;                /* here; in the registry */
	uint32_t state;                     /* enum drive_state */
	uint32_t steps, children;
	uint32_t plan;                /* 1 + its number in the plan; 0: none */
	uint32_t choice, choices_end; /* its next choice of the plan */
	enum drive_op op;             /* what it does or waits for */
	const void *object;
	uint64_t deadline;
	uint64_t place_pc;
	int flags;
	enum schedule_woken woken;
	bool cancelled, yields;
	bool called;                    /* schedule_wake() ended its wait */
	uint64_t priority;              /* DRIVE_PCT, DRIVE_POS */
	uint32_t place;                 /* 1 + the place of the plan where it stands; 0: none */
	uint32_t passed[DRIVE_COUNTED]; /* how often it came to the first places */
	struct spin_word spin[SPIN_WORDS];
	uint32_t yielded; /* how often it yielded in vain, one time after the other */
	uint32_t spins;   /* how often it span in vain, one time after the other */
	uintptr_t read_address, read_pc; /* its last plain access, if that was a read */
	uint32_t reads;                  /* how often it repeated that */
};

extern uint32_t schedule_lock;
extern struct drive_file *schedule_file;
extern struct sched_thread *schedule_threads; /* by number */
extern struct sched_thread *schedule_first;   /* the list of those that have not ended */
extern __thread struct sched_thread *schedule_self __attribute__((tls_model("initial-exec")));

/* The object's address, without volatile. */
#define OBJECT_OF(object) ((const void *)(uintptr_t)(object))

/* --- threads.c --- */

/* Take the thread out of the list: it has ended. */
void threads_remove(struct sched_thread *t);

/* --- turn.c --- */

/* The calling thread ends: it gives its turn away for good. */
void turn_end_thread(void);
/* All threads run freely from now on. */
void turn_release(enum drive_end why);

/* --- places.c --- */

/* Find the modules. Called when a thread is created. */
void places_find_modules(void);
struct drive_place places_of(uintptr_t pc);
/* 1 + the number of the place in the plan, or 0. */
uint32_t places_number(uintptr_t pc);
/* A plain access: learn places that access memory which several threads access. */
void places_learn(uint32_t thread, bool write, uintptr_t address, size_t size, uintptr_t pc);

/* --- choose.c --- */

/* Prepare the plan: after the file was opened. */
void choose_init(void);
/* A thread was created: find it in the plan. */
void choose_thread_created(struct sched_thread *t, const struct sched_thread *parent);
/* The thread begins a step: count it. It may change the thread's state to DRIVE_HELD. */
void choose_begin_step(struct sched_thread *t, enum drive_op op, const void *object, uintptr_t pc);
/*
 * Which thread runs next? `t` is at a step, and can go on or not; NULL: no thread is. Returns NULL
 * if no thread can run.
 */
struct sched_thread *choose_next(struct sched_thread *t, bool can_continue);
/* Which of the threads that wait for `object` is woken? NULL: none waits. */
struct sched_thread *choose_woken(struct sched_thread *t, const void *object);
/* No thread can run: release one that is held. Returns false if none is. */
bool choose_force_hold(void);

/* --- clock.c --- */

void clock_start(void);
/* The clock jumps to this time, if that is in the future. */
void clock_jump(uint64_t to);

#endif
