/*
 * The drive file: a file in memory that a command shares with the program that it drives. The
 * command writes the plan into it before the program starts; the runtime's scheduler
 * (runtime/schedule) follows the plan and writes what happened. Meanwhile the command watches it.
 *
 * A driven program runs one thread at a time. The thread that has the *turn* runs until it reaches
 * a *step*: a point before an operation, or a moment at which it cannot go on. There the scheduler
 * chooses the thread that gets the turn. Steps are counted per thread, from 1, after the first
 * thread was created; so a thread's path and a number identify a step in each run that takes the
 * same choices.
 *
 * The default choice is the thread itself or, if it cannot go on, the next one by number that can.
 * Only other choices are part of a plan, so a plan is short, and stays meaningful if one is left
 * out.
 *
 * A thread's path is how it was created: "main/2" is the second thread that main() created. The
 * numbers of threads here are those of one run, in the order of creation; 0 is the first thread.
 *
 * Included by: runtime/schedule, sched/.
 */
#ifndef ATOMSAN_TRACE_DRIVE_FORMAT_H
#define ATOMSAN_TRACE_DRIVE_FORMAT_H

#include <stdint.h>

#define DRIVE_MAGIC   0x6e757264u /* "drun" */
#define DRIVE_VERSION 1u

/* Limits. A run that exceeds them goes on, but free (DRIVE_FULL) or without its log. */
enum {
	DRIVE_THREADS = 1 << 13,
	DRIVE_CHOICES = 1 << 16,
	DRIVE_STEPS = 1 << 18,
	DRIVE_PLACES = 1 << 12,
	DRIVE_MODULES = 1 << 8,
	DRIVE_COUNTED = 16, /* of the first places, each thread counts how often it came there */
	DRIVE_HOLDS = 16,
	DRIVE_CALLS = 12,
	DRIVE_HELD_LOCKS = 4,
};

/* How to choose a thread where the plan says nothing. */
enum drive_strategy {
	DRIVE_DEFAULT, /* the default choice */
	DRIVE_RANDOM,  /* any thread that can run */
	DRIVE_WALK,    /* the same, weighted by the number of steps that it still has */
	DRIVE_PCT,     /* the thread with the highest priority; priorities change `depth` times */
	DRIVE_POS, /* the thread whose operation has the highest priority: partial-order sampling */
};

/* What a thread is about to do at a step. sched/drive.c has the words for them. */
enum drive_op {
	DRIVE_READ = 1,
	DRIVE_WRITE,
	DRIVE_ATOMIC_READ,
	DRIVE_ATOMIC_WRITE,
	DRIVE_LOCK,
	DRIVE_LOCK_SHARED,
	DRIVE_UNLOCK,
	DRIVE_WAIT,   /* for a condition */
	DRIVE_NOTIFY, /* a condition */
	DRIVE_SEM_WAIT,
	DRIVE_SEM_POST,
	DRIVE_BARRIER,
	DRIVE_ONCE,
	DRIVE_CREATE,
	DRIVE_JOIN,
	DRIVE_BEGIN, /* the thread's first step */
	DRIVE_END,   /* its last */
	DRIVE_SLEEP,
	DRIVE_YIELD,
	DRIVE_SPIN,    /* it has read the same value again and again */
	DRIVE_FILE,    /* it waits for a file, a socket, a timer */
	DRIVE_PROCESS, /* it waits for another process */
	DRIVE_SIGNAL,  /* it waits for a signal */
	DRIVE_FUTEX,
	DRIVE_OTHER, /* something that blocks */
	DRIVE_OPS
};

/* An address in a program or library. */
struct drive_place {
	uint64_t module; /* drive_module.id; 0: not in a known module */
	uint64_t offset; /* from the module's load bias */
};

/* A choice of the plan. Threads are numbers in `plan_thread`. */
struct drive_choice {
	uint32_t thread, step; /* at this step of this thread ... */
	uint32_t chosen;       /* ... this one runs next, or is the waiter that is woken */
	uint32_t zero;
};

/*
 * Hold a thread back: when it comes to place `at` for the n-th time, it does not run on before
 * another thread has come to place `until` for the m-th time and, unless `arrives`, has reached
 * its next step.
 * If no other thread can run, it is released, and `forced` is set.
 */
struct drive_hold {
	uint32_t thread, other; /* numbers in `plan_thread` */
	uint32_t at, until;     /* numbers of places, below DRIVE_COUNTED */
	uint32_t at_times, until_times;
	uint32_t arrives, zero;
	/* Written by the program: */
	uint32_t held, released; /* it was held; the other thread came there meanwhile */
	uint32_t forced;         /* it was released because no thread could run */
	uint32_t other_op; /* then: what the other thread waited for; 0: it has ended, or did not
			      exist */
	uint64_t other_object;
	struct drive_place other_pc;
};

/* A thread of the plan, or of the run. */
struct drive_thread {
	uint32_t parent; /* the thread that created it; a smaller number. 0 for the first thread */
	uint32_t nth;    /* it was the n-th one that its parent created, from 1 */
	uint32_t steps;  /* in a plan: how many it is expected to have (DRIVE_WALK); 0: unknown */
	uint32_t plan;   /* in a run: 1 + its number in the plan; 0: it is not in the plan */
	uint32_t state;  /* enum drive_state */
	uint32_t tid;    /* the system's number */
	uint32_t op;     /* what it does or waits for; enum drive_op */
	uint32_t go;     /* a futex: 1 gives it the turn. The command may wake it, too */
	uint64_t object;
	struct drive_place pc;    /* the place of its last step */
	struct drive_place start; /* its start function */
	/* At a deadlock: */
	struct drive_place call[DRIVE_CALLS]; /* the places of the open calls, innermost first */
	uint64_t held[DRIVE_HELD_LOCKS];      /* the locks that it holds */
};

enum drive_state {
	DRIVE_NONE,
	DRIVE_RUNNING, /* it has the turn */
	DRIVE_READY,   /* it waits for the turn */
	DRIVE_BLOCKED, /* it waits for something */
	DRIVE_HELD,    /* a hold keeps it back */
	DRIVE_AWAY,    /* it is in a call that may block, or computes for long, without the turn */
	DRIVE_ENDED,
};

/* A step at which there was a choice. */
struct drive_step {
	uint32_t thread, step;
	uint16_t chosen, standard; /* threads: who ran next, and the default choice */
	uint8_t op;                /* enum drive_op */
	uint8_t can_continue;      /* the thread itself could have run on */
	uint8_t wakes;             /* the choice was which waiter to wake */
	uint8_t ncandidates;       /* number of threads to choose from; 255: that many or more */
	uint64_t candidates; /* bit n: thread n was one of them; threads above 63 have no bit */
	uint64_t object;
	struct drive_place pc;
};

/* A module of the program. */
struct drive_module {
	uint64_t id; /* a hash of its build id or, without one, of its name */
	uint64_t bias, size;
	char path[488]; /* as the loader knows it; "" is not possible */
};

/* How a driven run ended, as far as the scheduler knows. */
enum drive_end {
	DRIVE_NOT_DRIVEN, /* no thread was created */
	DRIVE_DRIVEN,     /* it was driven until its end */
	DRIVE_DEADLOCK,   /* no thread could run; then it was released */
	DRIVE_RELEASED,   /* the command released all threads */
	DRIVE_FULL,       /* more threads than the file has room for; all were released */
};

struct drive_file {
	uint32_t magic, version;

	/* The plan. */
	uint32_t strategy, depth;
	uint64_t seed;
	uint64_t expected; /* DRIVE_PCT: the number of steps of a run */
	uint64_t clock; /* the time at which the program's clock starts, in ns; 0: the real one */
	uint32_t nplan_threads, nchoices, nplaces, nholds;
	uint32_t all_accesses; /* 1: each plain access is a step; 0: only those at `place` */
	uint32_t log_all; /* 2: log each step; 1: each step at which there was a choice; 0: only
			     other choices than the default */
	uint32_t learn;   /* 1: find places that access memory which several threads access */
	uint32_t keep_deadlock; /* 1: at a deadlock, do not end the program */

	/* The run. */
	uint32_t owner;    /* the process that is driven; 0: none yet */
	uint32_t end;      /* enum drive_end */
	uint32_t released; /* 1: all threads run freely from now on. The command may set it */
	uint32_t holder;   /* 1 + the thread that has the turn; 0: none */
	uint32_t awake;    /* the holder runs */
	uint32_t inside;   /* the holder is in the runtime */
	uint32_t leave; /* the command asks: 1 + the holder that sleeps or computes at this `steps`
			 */
	uint32_t zero;
	uint64_t steps;            /* of all threads */
	uint64_t hash;             /* of all steps: equal runs have equal ones */
	uint64_t left;             /* how often a thread left the turn without being asked */
	uint64_t taken;            /* choices of the plan that were taken */
	uint64_t impossible;       /* choices of the plan that could not be taken */
	uint64_t first_impossible; /* the number of the first one */
	uint32_t nthreads, nsteps, nmodules, nlearned;
	uint64_t steps_lost; /* steps that did not fit into `step` */

	struct drive_thread plan_thread[DRIVE_THREADS];
	struct drive_choice choice[DRIVE_CHOICES]; /* of one thread in the order of its steps */
	struct drive_place place[DRIVE_PLACES];
	struct drive_hold hold[DRIVE_HOLDS];
	struct drive_thread thread[DRIVE_THREADS];
	struct drive_step step[DRIVE_STEPS];
	struct drive_place learned[DRIVE_PLACES];
	struct drive_module module[DRIVE_MODULES];
};

#endif
