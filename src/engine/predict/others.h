/*
 * Other events with the look of a candidate. A witness is the first of many events that
 * look the same. Whether a schedule is feasible depends on what the threads read, and
 * two blocks that ran one after the other are the best candidates: a lost update is
 * one if the second read what the first wrote.
 *
 * These are: with the same f, the e1 and e2 nearest to it, before and
 * after it; with the same e1 and e2, the nearest f before and after them. e1 and e2, and
 * f1 and f2, are in one transaction again or, in a region, the nearest to each other.
 *
 * Included by: the files of predict/.
 */
#ifndef ATOMSAN_ENGINE_PREDICT_OTHERS_H
#define ATOMSAN_ENGINE_PREDICT_OTHERS_H

#include "engine/predict/model.h"
#include "engine/predict/pairs.h"

/* The accesses of a thread that are searched in one direction. */
enum { OTHERS_MAX = 4, OTHERS_SEARCH = 1 << 12 };

/* Fill in `out`, and add the witnesses to `w`. Returns how many candidates there are. */
size_t others_find(struct witnesses *w, struct model *m, const struct candidate *c,
		   struct candidate out[OTHERS_MAX]);

#endif
