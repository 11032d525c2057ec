/*
 * Which functions are blocks, as trace/blocks.h says it for recordings: every
 * function, but for main(), what a thread starts with, what was seen to wait
 * or was said not to be atomic, and what a specification excludes. The
 * reporter knows names and the specification; it is asked only where they
 * count, and once for each function.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_BLOCKS_BLOCK_POLICY_H
#define ATOMSAN_RUNTIME_BLOCKS_BLOCK_POLICY_H

#include "runtime/thread/state.h"

/* The function of the thread's last frame was entered, with no transaction open: is it one? */
bool block_policy_of_call(struct rt_thread *t, struct rt_frame *f);

/* The same of a marked block; the label's number is 0 where there are too many to have one. */
bool block_policy_of_mark(uint32_t number, const char *label, uintptr_t pc);

/* It was seen to wait, or its source says that it is not atomic, by this thread. */
void block_policy_leave_out(struct rt_thread *t, uintptr_t function, bool said);

/* Has the source said so? */
bool block_policy_said_not(uintptr_t function);

/* Addresses in functions that were left out before a clock; returns how many, at most `max`. */
size_t block_policy_left_out(uint64_t *to, size_t max, uint64_t before);

/*
 * The imprecise check suspects a block (icd.h has what that is), or operations outside of blocks.
 * The reporter is told of them at the end.
 */
void block_policy_suspect(uint64_t block);
void block_policy_suspect_outside(void);
void block_policy_send_suspects(void);
/*
 * Is a block one of those that a first run suspected? A function was asked about, a label was said
 * to be.
 */
bool block_policy_is_suspected(uint64_t block);
void block_policy_set_suspected(uint64_t block, bool is);

void block_policy_child(void);

#endif
