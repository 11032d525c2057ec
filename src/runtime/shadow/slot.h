/*
 * Slots: the small numbers that stand for threads in words of the shadow, and
 * what each thread lets the others know about its slot.
 *
 * The checking tools hand slots out (checker/checker.h). Slot 0 is never used, so
 * that no word is 0; SHADOW_NOBODY and above have other meanings.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_SLOT_H
#define ATOMSAN_RUNTIME_SHADOW_SLOT_H

#include "runtime/shadow/shadow.h"
#include "runtime/thread/state.h"

/* Written by the slot's thread, read by all; one cache line each. */
struct slot_public {
	uint64_t dead;            /* steps before this time are dead */
	uint64_t dead_clock;      /* at least the clock of each of them */
	uint64_t clock;           /* the thread's clock */
	uint64_t stretch;         /* the time at which the thread's stretch began */
	struct rt_repeat *repeat; /* the thread's tables; these stay when the thread has ended */
	struct rt_read *reads;
	bool used; /* a thread had the slot since its tables were emptied; under the order's lock */
} __attribute__((aligned(64)));
extern struct slot_public slot_public[SHADOW_SLOTS];

/* Slots from here on were never in use. */
extern uint32_t slot_count;

#endif
