/*
 * The brute-force twin of feasibility in `predict`: it tries all correct reorderings
 * of a small trace. It shares no code with the engine.
 *
 * Definition: a read sees the last write (or update) of its variable before it; if
 * there is none, the initial value. An access can have a value in the trace, which is that of
 * the variable after it. The value of a write, or of the initial value, is its own and that of
 * the plain reads that saw it, as far as they have one; it is not known if these differ. The
 * value that a plain read sees is its own; that an update sees, is that of the write that it
 * saw. Two writes that have the same value are the same for a read that saw that value, unless
 * the one it sees instead comes with or after a read that is off (below). An interleaving
 * (twin_predict.h) that has e1, f and e2, or e1, f1, f2 and e2, in this order and ends with e2 is a
 * correct reordering if every read sees the same write as in the trace. An update reads and writes.
 * Exempt is e2. Exempt are also these reads of f's thread, which are *off* if they see another
 * write:
 *
 *  - f (or f2), and the thread's reads after it, before its tail. The tail begins after the
 *    last release of the locks that are held at f, if all are released and there is no fork,
 *    join, wait, notify or barrier before that; otherwise after f. It begins later by the
 *    events that only release locks, begin and end blocks, or access variables that this
 *    thread alone accesses or that no thread writes;
 *  - in patterns of one variable, either reads of the same code: e1 is a plain read and the
 *    block A of e1 has the same label as the block B of f. After e1, A must have an access
 *    g of the variable: the first with the place and operation of f. In B, before f, there
 *    must be a plain read at the place of e1: r0 is the last. A plain read of the variable
 *    from r0 to f that saw a write of A, after e1, in the trace may see in the interleaving
 *    what a plain read of the variable in A, from e1 to g, at the same place, saw in the
 *    trace;
 *  - or reads under a lock: e1 is a plain read, f writes, and one lock is held at e1, e2 and
 *    f. In the block of f, if it is in one, a plain read of the variable after the last
 *    write by f's thread before f, with such a lock held, that saw a write of A, after e1,
 *    in the trace may see what e1 saw in the trace.
 *
 * If a read is off, nothing may depend on what its thread does later: the interleaving has
 * no event of that thread from its tail on, and no join of it; and no read of another
 * thread, except e2, sees a write of it that comes with that read or after it.
 *
 * Included by: tests/property_predict.
 */
#ifndef ATOMSAN_TESTS_PROPERTY_PREDICT_TWIN_VALUES_H
#define ATOMSAN_TESTS_PROPERTY_PREDICT_TWIN_VALUES_H

#include "twin_predict.h"

/*
 * Is there a correct reordering for these steps? Event numbers count from 1. With
 * `strict`, no read before f may be off.
 */
bool twin_values_feasible(const struct twin_predict *w, const uint64_t *steps, size_t nsteps,
			  bool strict);

/*
 * Is the schedule, which must be legal (twin_predict_legal()), a correct reordering? If
 * it is not, `what` says why. Adds the number of reads before f that are off to *changed.
 */
bool twin_values_correct(const struct twin_predict *w, const uint64_t *schedule, size_t n,
			 const uint64_t *steps, size_t nsteps, uint64_t *changed, struct str *what);

#endif
