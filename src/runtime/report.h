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
#include "trace/live_format.h"

/*
 * A cycle was closed by the thread's last access. No lock is held. The reporter knows at once, so
 * that nothing is lost if the program crashes, and shows it when the transaction has ended: where
 * that is because it waits, its function is no block after all, and the reporter is told so first.
 */
void report_cycle(struct rt_thread *t, const struct check_cycle *c);
void report_settled(struct rt_thread *t, bool cut);

/*
 * The same, found by a replay of the histories (icd.h): closed by the unit before `last`. The
 * reporter may find that it is none after all.
 */
struct report_found {
	const struct history *history; /* whose unit that is, */
	uint32_t thread;               /* and was it then */
	const uint64_t *last;
	uint64_t from, until; /* clocks */
	uint64_t block;       /* that it was in */
	uint64_t size;        /* of the access that closed it */
	struct live_step steps[2];
};
void report_found(struct rt_thread *t, const struct report_found *f);
/* Functions turned out to wait: for what is found from now on. */
void report_left_out(void);

/* The thread creates another; it allocates memory, or frees it. */
void report_created(const struct rt_thread *t, uint32_t id, uintptr_t pc);
void report_allocated(const struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc);
void report_freed(uintptr_t address);

/* A label's text; a thread's name. */
void report_label(uint32_t number, const char *text, size_t n);
const char *report_label_text(uint32_t number, size_t *n);
void report_name(const struct rt_thread *t, const char *name, size_t n);

/* What is known of these: of the first so many labels; NULL: not known. */
bool report_label_at(uint32_t i, uint32_t *number, const char **text, size_t *n);
const char *report_name_of(uint32_t thread); /* 16 bytes at most */
/* Of a block that was allocated; of one of those that are known, below report_allocations(). */
struct report_allocation {
	uintptr_t address; /* 0: empty */
	size_t size;
	uintptr_t pc;
	uint64_t time; /* of prediction only */
	uint32_t thread;
	struct history_stack stack;
};
bool report_allocation(uintptr_t address, struct report_allocation *to);
uint32_t report_allocations(void);
bool report_allocation_at(uint32_t i, struct report_allocation *to);

/* The program comes to its end; how many findings stand. */
uint64_t report_end(uint32_t slots);

void report_child(void);

#endif
