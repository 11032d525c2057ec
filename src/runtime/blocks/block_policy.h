/*
 * The block policy of a running program: which functions and marked blocks are
 * blocks, by the rules of trace/block_policy.h. This module remembers which
 * functions were seen to wait or were said not to be atomic. The reporter knows
 * names and the specification; it is asked only if they matter, and once for each
 * function.
 *
 * Included by: the runtime's start-up code, blocks/, report/, checker/, doublechecker/.
 */
#ifndef ATOMSAN_RUNTIME_BLOCKS_BLOCK_POLICY_H
#define ATOMSAN_RUNTIME_BLOCKS_BLOCK_POLICY_H

#include "runtime/thread/state.h"

/*
 * Before main(): if there is a specification, learn about which functions it says nothing. So the
 * reporter reads the symbols now, and not while the program runs. A forked child knows the same.
 */
void block_policy_learn(void);

/*
 * The function of the thread's last frame, `f`, was entered while no transaction is open: is it a
 * block? Sets f->starts and f->hands_on.
 */
bool block_policy_of_call(struct rt_thread *t, struct rt_frame *f);

/* Is the marked block at `pc` a block? `number`: the label's; 0 if there are too many labels. */
bool block_policy_of_mark(uint32_t number, const char *label, uintptr_t pc);

/*
 * From now on the function is not a block, unless a rule makes it one: this thread waited in it, or
 * its source says that it is not atomic (`said`).
 */
void block_policy_leave_out(struct rt_thread *t, uintptr_t function, bool said);

/* Did the source say that the function is not atomic? */
bool block_policy_said_not(uintptr_t function);

/*
 * Write the addresses of functions left out before this clock; returns how many, at most `max`.
 * LIVE_SAID_NOT is set in an address if the source said so.
 */
size_t block_policy_left_out(uint64_t *to, size_t max, uint64_t before);

/*
 * A first run of doublechecker suspects a block (as in blocks_open_block()), or operations outside
 * blocks. All suspects are sent to the reporter at the end.
 */
void block_policy_suspect(uint64_t block);
void block_policy_suspect_outside(void);
void block_policy_send_suspects(void);
/*
 * Did a first run suspect this block? For a function the reporter answered that; for a label
 * block_policy_set_suspected() did. Also true if the block is not known.
 */
bool block_policy_is_suspected(uint64_t block);
void block_policy_set_suspected(uint64_t block, bool is);

/* In a forked child: free the lock, whichever thread of the parent held it. */
void block_policy_child(void);

#endif
