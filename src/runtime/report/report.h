/*
 * Findings on their way to the reporter.
 *
 * A checking tool reports each cycle here. Cycles of one kind have the same block and
 * the same places. The first cycle of a kind is sent with a snapshot of all histories
 * (snapshot.h); the others are counted.
 *
 * Included by: report/, checker/, frontier/, doublechecker/.
 */
#ifndef ATOMSAN_RUNTIME_REPORT_REPORT_H
#define ATOMSAN_RUNTIME_REPORT_REPORT_H

#include "runtime/history/history.h"
#include "runtime/report/cycle.h"
#include "trace/live_format.h"

/*
 * Report a cycle that the thread's last operation closed: `op` at `pc`. The caller holds no lock.
 *
 * The finding is sent at once, so that it is not lost if the program crashes. The reporter shows it
 * when the thread's transaction has ended: see report_settled().
 */
void report_cycle(struct rt_thread *t, const struct cycle *c, enum raw_op op, uintptr_t pc);
/*
 * The transaction of the reported cycles has ended, so the reporter can show them. `cut`: its
 * function turned out not to be a block; the reporter learns that first.
 */
void report_settled(struct rt_thread *t, bool cut);

/*
 * A cycle that a replay of the histories found (doublechecker/replay.c). The reporter checks it and
 * may find that it is none.
 */
struct report_replayed {
	const struct history *history; /* the history with the unit that closed the cycle */
	uint32_t thread;               /* the thread that wrote the closing unit */
	const uint64_t *last;          /* the end of the closing unit */
	uint64_t from, until;          /* clocks of the first replayed unit and the closing unit */
	uint64_t block;                /* the block that the closing unit was in */
	uint64_t size;                 /* of the access that closed the cycle */
	struct live_step steps[2];     /* the two ends of the closing edge */
};
/* Report it. The caller holds no lock. */
void report_replayed(const struct report_replayed *f);

/* Send all functions that turned out not to be blocks, so that no later finding blames them. */
void report_left_out(void);

/* Numbers for the summary; each tool adds those that it has. */
struct report_counts {
	uint64_t transactions, edges, cycles, searched, evicted;
	/* doublechecker's: */
	uint64_t idg_edges, components, passed, accesses, logged, lost, max_alive, pooled;
};
extern struct report_counts report_counts;

/* The program ends: send the counts. Returns the number of findings that stand. */
uint64_t report_end(uint32_t slots);

/* In a forked child: nothing was found so far. */
void report_child(void);

#endif
