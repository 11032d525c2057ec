/*
 * Which functions of a recorded run are blocks.
 *
 * The trace of a recorded run (recorded.h) has a begin and an end for every
 * instrumented function. Here, between the file and everybody else, it is
 * decided which of them are blocks; begin and end of the others become OP_NONE
 * with `left_out` set, and keep their numbers. Other traces pass as they are.
 *
 * Somebody else decides, by name: `struct block_rules` is asked once for each
 * label, and the answer is kept. Without one, and wherever the answer does not
 * come from a rule, these are no blocks:
 *
 *  - main();
 *  - what a thread starts with. Where that is a function that only hands on to
 *    another (BLOCK_HANDS_ON: std::thread has several on the way to the user's
 *    own), the functions called directly by it count as such a start as well,
 *    and so on. Code of the user's that was inlined into it does not hand on:
 *    see hands_on_at();
 *  - a function seen to wait, join, create a thread or pass a barrier
 *    (END_CUT), or said in the source not to be atomic (END_NOT_ATOMIC): from
 *    the end that says so on, in all threads, under all labels with the same PC.
 *    That end itself stands, if the block's begin did.
 *
 * END_NOT_ATOMIC wins over any rule. A block that is marked in the source is
 * one each time, also after it was cut.
 *
 * The same trace gives the same decisions each time it is read: a second pass
 * learns again, and in the same order, which functions are left out.
 *
 * Memory: a word for each string of the trace, a record for each function and
 * for each block that is open.
 */
#ifndef ATOMSAN_TRACE_BLOCKS_H
#define ATOMSAN_TRACE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/names.h"
#include "trace/reader.h"

/* An answer of decide(), a set of: */
enum {
	BLOCK_ATOMIC = 1,   /* it is a block */
	BLOCK_BY_RULE = 2,  /* whatever the list above says, but for END_NOT_ATOMIC */
	BLOCK_HANDS_ON = 4, /* of a start: what it calls is one too */
};

struct block_rules {
	/*
	 * Is this label a block? `kind` is recorded.h's: 'f', 's', 'm' or 'a'. Asked
	 * at most twice for a label: where it is the start of a thread, or called
	 * by one that hands on, with `start`, and otherwise without.
	 */
	unsigned (*decide)(struct block_rules *rules, const struct names *names, strref label,
			   char kind, bool start);
	/*
	 * A call at this place, in a function that hands on: does it hand on, or is it
	 * made by other code, inlined there? Asked once for a place. NULL: it does.
	 */
	bool (*hands_on_at)(struct block_rules *rules, const struct names *names, strref place);
};

/* Before the first event is read; the caller keeps the rules until the reader is gone. */
void reader_set_blocks(struct reader *r, struct block_rules *rules);

/* Is this the trace of a recorded run? Known once an event has been read. */
bool reader_is_recorded(const struct reader *r);

/* Why a function is no block although no rule says so; the first that applies. */
enum block_reason { BLOCK_IS_MAIN, BLOCK_IS_START, BLOCK_SAID_NOT, BLOCK_WAITS, BLOCK_REASONS };

struct block_left_out {
	strref label; /* the first that was seen */
	enum block_reason reason;
	uint64_t times; /* how often it began (main, starts), or was seen to end so */
};

/*
 * The functions left out so far, in the order in which the trace first has
 * them; a pass that ends early forgets none. Good until the next call.
 */
size_t reader_left_out(struct reader *r, const struct block_left_out **v);

/* How often blocks marked in the source, or kept by a rule, were cut short by a wait. */
uint64_t reader_blocks_cut(const struct reader *r);

#endif
