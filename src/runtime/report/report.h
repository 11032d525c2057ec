/*
 * What was found, for the reporter: each new kind of cycle as the check knows it, with
 * what the threads did lately (snapshot.h). What is known already is counted.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_REPORT_H
#define ATOMSAN_RUNTIME_REPORT_REPORT_H

#include "runtime/history/history.h"
#include "runtime/report/cycle.h"
#include "trace/live_format.h"

/*
 * A cycle was closed by the thread's last access. No lock is held. The reporter knows at once, so
 * that nothing is lost if the program crashes, and shows it when the transaction has ended: where
 * that is because it waits, its function is no block after all, and the reporter is told so first.
 */
void report_cycle(struct rt_thread *t, const struct cycle *c);
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

/* What the tools counted, for the summary; each tool adds what it has. */
struct report_counts {
	uint64_t transactions, edges, cycles, evicted;
	/* doublechecker's: */
	uint64_t idg_edges, components, passed, accesses, logged, lost, max_alive, pooled;
};
extern struct report_counts report_counts;

/* The program comes to its end; how many findings stand. */
uint64_t report_end(uint32_t slots);

void report_child(void);

#endif
