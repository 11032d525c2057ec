/*
 * Prediction while the program runs (`predict=1`), in place of the check: each
 * thread keeps, in a log of its own, what could be part of a violation in
 * another interleaving (log.h). Threads have nothing to do with each
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
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_PREDICT_PREDICT_H
#define ATOMSAN_RUNTIME_PREDICT_PREDICT_H

/* Become the tool, if there is memory for it. */
void predict_init(void);

#endif
