/*
 * The slowest of the three tiers of an access (docs/architecture.md): whatever the
 * shadow holds, the access is judged and noted, under the lock of its stripe if
 * that is needed.
 *
 * Included by: frontier/.
 */
#ifndef ATOMSAN_RUNTIME_SHADOW_LOCKED_H
#define ATOMSAN_RUNTIME_SHADOW_LOCKED_H

#include "runtime/shadow/owned_line.h"

/*
 * Access the bytes from `address` to `end`. `write` is 0 or SHADOW_WRITE. `locked`: the caller
 * holds the stripe's lock. Sets `*fresh` if an edge came in, and `*noted` if the access is new in
 * the shadow.
 */
void shadow_access_locked(struct rt_thread *t, uintptr_t address, uintptr_t end, uint64_t write,
			  uintptr_t pc, bool locked, bool *fresh, bool *noted);

#endif
