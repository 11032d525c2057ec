/*
 * The tool `predict` (`predict=1`): prediction while the program runs, in place of
 * the check. Each thread keeps its own log of what could be part of a violation in
 * another interleaving (log.h); no thread looks at another's log. When the program
 * ends, the logs go to the reporter as one raw recording (trace/live_format.h). The
 * reporter finds with the engine `predict` which accesses make a violation, and a
 * schedule for it.
 *
 * Memory is bounded by `predict_size`. When it is used up, one message says so, and
 * the prediction covers the run up to there: no thread adds to its log any more, and
 * accesses are no longer looked at.
 *
 * Memory that the program frees and uses again is distinguished by a generation: a
 * number for each 64 bytes, in a table by address modulo its size, that is
 * incremented when the memory is freed. If a log knows these bytes with an older
 * number, it begins anew with them; that happens while half of `predict_size` is
 * unused, and a few times in any case.
 *
 * Included by: start.c, predict.c.
 */
#ifndef ATOMSAN_RUNTIME_PREDICT_PREDICT_H
#define ATOMSAN_RUNTIME_PREDICT_PREDICT_H

/* Become the tool. If there is no memory for it, one message says so. */
void predict_init(void);

#endif
