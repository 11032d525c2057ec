/*
 * What was found, for the reporter: for each new kind of cycle the histories of
 * all threads, cut to what is needed, as a raw recording (trace/raw_format.h).
 * The reporter finds the cycle in it again, with everything there is to say about it.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_H
#define ATOMSAN_RUNTIME_REPORT_H

#include "runtime/check.h"

/*
 * A cycle was closed by the thread's last access. No lock is held. It is reported when the
 * transaction has ended: where that is because it waits, its function is no block after all, and
 * the reporter is told so first.
 */
void report_cycle(struct rt_thread *t, const struct check_cycle *c);
void report_pending(struct rt_thread *t, bool cut);

/* The thread creates another; it allocates memory, or frees it. */
void report_created(const struct rt_thread *t, uint32_t id, uintptr_t pc);
void report_allocated(const struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
void report_freed(uintptr_t address);

/* A label's text; a thread's name. */
void report_label(uint32_t number, const char *text, size_t n);
void report_name(const struct rt_thread *t, const char *name, size_t n);

/* The program comes to its end; how many findings stand. */
uint64_t report_end(uint32_t slots);

void report_child(void);

#endif
