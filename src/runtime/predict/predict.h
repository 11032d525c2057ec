/*
 * Prediction while the program runs (`predict=1`), in place of the check: each
 * thread keeps, in a log of its own, what could be part of a violation in
 * another interleaving (predict_log.h). Threads have nothing to do with each
 * other here. When the program ends, the logs go to the reporter as one raw
 * recording (trace/live_format.h), which finds what goes together and how
 * it would have to be scheduled, with the engine `predict`.
 *
 * Memory is bounded by `predict_size`. Where that is used up, one
 * message says so, and the prediction covers the run up to there: no thread keeps
 * anything from then on, and accesses are not even looked at.
 *
 * Memory of the program that is freed is told apart by a number for each 64 bytes
 * that goes up, by address and modulo the size of a table: a log that
 * knows these bytes by an older number begins with them anew: as long as half of the memory is
 * unused, and a few times in any case.
 *
 * Every function here is called between rt_enter() and rt_leave(), but for
 * predict_access(), predict_atomic(), predict_init() and predict_end().
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_PREDICT_PREDICT_H
#define ATOMSAN_RUNTIME_PREDICT_PREDICT_H

#include "runtime/os/rt.h"
#include "trace/raw_format.h"

extern bool predict_on;
extern bool predict_over; /* the memory is used up */

void predict_init(void);
void predict_thread_begin(struct rt_thread *t);
void predict_thread_end(struct rt_thread *t);
/* In a forked child, where the calling thread is the only one, and the first. */
void predict_child(struct rt_thread *t);

/* As check_call() and its kin. */
void predict_call(struct rt_thread *t, struct rt_frame *f);
void predict_return(struct rt_thread *t);
void predict_mark(struct rt_thread *t, uint32_t label, uintptr_t pc);
void predict_unmark(struct rt_thread *t);
void predict_not_atomic(struct rt_thread *t, uintptr_t pc);

void predict_access(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
/* The same of an atomic operation: what others did before may be known by it. */
void predict_atomic(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc);
/* Locks, semaphores, waits, barriers; creation and join of threads. */
void predict_note(struct rt_thread *t, enum raw_op op, uintptr_t object, uint32_t aux,
		  uint64_t time, uintptr_t pc);

void predict_alloc(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
void predict_free(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
void predict_forget(struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);

/* The program comes to its end; how many findings stand. */
uint64_t predict_end(void);

#endif
