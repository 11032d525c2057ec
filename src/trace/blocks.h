/*
 * Which functions of a recorded run are blocks.
 *
 * The trace of a recorded run (recorded.h) has a begin and an end for every
 * instrumented function. This module sits between the reader of the file and
 * its callers, and decides which of these functions are blocks. The begin and
 * end of any other function become OP_NONE with `left_out` set; they keep their
 * event numbers. The events of other traces are not changed.
 *
 * The caller may set rules that decide by name: `struct block_rules` is asked
 * once for each label, and the answer is kept. Without rules, and if the answer
 * does not come from a rule, these functions are not blocks:
 *
 *  - main();
 *  - the start function of a thread. If it only passes control on to another
 *    function (BLOCK_HANDS_ON; std::thread has several of these before the
 *    user's own function), the functions that it calls directly count as start
 *    functions too, and so on. User code that was inlined into such a function
 *    does not pass control on: see hands_on_at();
 *  - a function that was seen to wait, join, create a thread or pass a barrier
 *    (END_CUT), or that the source declares not to be atomic (END_NOT_ATOMIC).
 *    It stops being a block at the end event that says so, in all threads and
 *    under all labels with the same PC. That end itself is kept if the begin of
 *    its block was kept.
 *
 * END_NOT_ATOMIC overrides every rule. A block that is marked in the source
 * remains a block after it was cut.
 *
 * Every pass over the same trace makes the same decisions: a second pass learns
 * again, in the same order, which functions are left out.
 *
 * Memory: a word for each string of the trace, a record for each function and
 * for each open block.
 */
#ifndef ATOMSAN_TRACE_BLOCKS_H
#define ATOMSAN_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/block_policy.h"
#include "trace/event.h"
#include "trace/names.h"
#include "trace/reader.h"

struct block_rules {
	/*
	 * Decides whether this label is a block; the answer is a set of block_policy.h's flags.
	 * `kind` is the label's kind in recorded.h: 'f', 's', 'm' or 'a'. `start` says whether the
	 * function is called as a start function, by the thread or by a function that hands on.
	 * Called at most once for each label and value of `start`.
	 */
	unsigned (*decide)(struct block_rules *rules, const struct names *names, strref label,
			   char kind, bool start);
	/*
	 * Returns whether a call at this place, in a function that hands on, does
	 * hand on; false if other code, inlined there, makes the call. Called once
	 * for each place. NULL: every such call hands on.
	 */
	bool (*hands_on_at)(struct block_rules *rules, const struct names *names, strref place);
	/*
	 * Returns whether a rule excludes this kind of region ("pair") of this function, which may
	 * be NULL. NULL: no rule does.
	 */
	bool (*excludes_region)(struct block_rules *rules, const char *kind, const char *function);
	/*
	 * Returns in how many runs nothing came between this pair of accesses (report/learned.h);
	 * 0: that is not known. NULL: the rules know no pairs.
	 */
	uint64_t (*uncut)(struct block_rules *rules, const char *pair);
};

/*
 * Call this before the first event is read. The rules stay the caller's and must outlive the
 * reader. NULL: no rules.
 */
void reader_set_blocks(struct reader *r, struct block_rules *rules);

/* Returns the reader's rules; NULL: none. */
struct block_rules *reader_block_rules(const struct reader *r);

/* Returns whether the reader's rules exclude this kind of region of this function. */
bool reader_excludes_region(const struct reader *r, const char *kind, const char *function);

/* Returns whether this is the trace of a recorded run. Known once an event has been read. */
bool reader_is_recorded(const struct reader *r);

/* Why a function is not a block although no rule says so: the first reason that applies. */
enum block_reason { BLOCK_IS_MAIN, BLOCK_IS_START, BLOCK_SAID_NOT, BLOCK_WAITS, BLOCK_REASONS };

struct block_left_out {
	strref label; /* the first one seen for the function */
	enum block_reason reason;
	uint64_t times; /* how often it began (main, start functions) or ended for this reason */
};

/*
 * Sets *v to the functions left out so far, in the order in which the trace
 * first mentions them, and returns how many there are. A pass that ends early
 * forgets none of an earlier one. The reader owns *v; the next call overwrites it.
 */
size_t reader_left_out(struct reader *r, const struct block_left_out **v);

/* Returns how often a block that is marked in the source, or kept by a rule, ended early. */
uint64_t reader_blocks_cut(const struct reader *r);

#endif
