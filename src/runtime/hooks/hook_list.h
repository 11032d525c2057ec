/*
 * The hooks that gcc and clang call under -fsanitize=thread, and the interface
 * that programs call if they see that they are compiled with it. Each name is in
 * one table, and a file that defines a function for each row cannot forget one.
 *
 *	#define DEFINE(name, bytes) void name##bytes(void *addr) { ... }
 *	HOOK_READS(DEFINE)
 *
 * Sizes are bytes for plain accesses and bits for atomic ones, as in the names.
 *
 * Included by: hooks/, stub/, tests/wrapper, benchmarks.
 */
#ifndef ATOMSAN_RUNTIME_HOOKS_HOOK_LIST_H
#define ATOMSAN_RUNTIME_HOOKS_HOOK_LIST_H

#include <stdint.h>

/* X(name, bytes) for 1, 2, 4, 8 and 16. */
#define HOOK_SIZES(X, name) X(name, 1) X(name, 2) X(name, 4) X(name, 8) X(name, 16)

/*
 * Accesses: void name##bytes(void *addr). The unaligned hooks of one byte are never
 * called, but clang has the names. Only clang has HOOK_UPDATES: a read and a write
 * by one statement.
 */
#define HOOK_READS(X)                                                                              \
	HOOK_SIZES(X, __tsan_read)                                                                 \
	HOOK_SIZES(X, __tsan_unaligned_read)                                                       \
	HOOK_SIZES(X, __tsan_volatile_read)                                                        \
	HOOK_SIZES(X, __tsan_unaligned_volatile_read)
#define HOOK_WRITES(X)                                                                             \
	HOOK_SIZES(X, __tsan_write)                                                                \
	HOOK_SIZES(X, __tsan_unaligned_write)                                                      \
	HOOK_SIZES(X, __tsan_volatile_write)                                                       \
	HOOK_SIZES(X, __tsan_unaligned_volatile_write)
#define HOOK_UPDATES(X)                                                                            \
	HOOK_SIZES(X, __tsan_read_write)                                                           \
	HOOK_SIZES(X, __tsan_unaligned_read_write)

/*
 * What programs compiled by clang call, because the hooks of accesses are inlined into them
 * (inline/hooks.c). The 4 is the version of this interface, not a size. If an inlined hook needs
 * the runtime, it calls atomsan_4_read or _write: void name##bytes(void *addr, void *caller). If a
 * function has too many hooks to inline, it calls atomsan_4_call_read or _call_write:
 * void name##bytes(void *addr).
 */
#define HOOK_CALLED(READ, WRITE)                                                                   \
	HOOK_SIZES(READ, atomsan_4_read)                                                           \
	HOOK_SIZES(WRITE, atomsan_4_write)                                                         \
	HOOK_SIZES(READ, atomsan_4_call_read)                                                      \
	HOOK_SIZES(WRITE, atomsan_4_call_write)

/*
 * Atomic operations of one width: X(bits, type, operation). The hook performs
 * the operation. With T for the type, A for `volatile T *`:
 *
 *	load               T __tsan_atomicN_load(const A, int order)
 *	store              void __tsan_atomicN_store(A, T, int order)
 *	exchange, fetch_*  T __tsan_atomicN_fetch_add(A, T, int order)
 *	strong, weak       int __tsan_atomicN_compare_exchange_strong(A, T *expected, T desired,
 *	                                                              int order, int on_failure)
 *	val                T __tsan_atomicN_compare_exchange_val(A, T expected, T desired,
 *	                                                         int order, int on_failure)
 *
 * An order is a __ATOMIC_ constant; gcc may add bits above the lowest 15. In an
 * operand of 8 or 16 bits, the caller may leave any value in the bits above.
 */
#define HOOK_ATOMIC_WIDTHS(X, operation)                                                           \
	X(8, uint8_t, operation)                                                                   \
	X(16, uint16_t, operation)                                                                 \
	X(32, uint32_t, operation)                                                                 \
	X(64, uint64_t, operation)
#define HOOK_ATOMIC_FETCHES(X, widths)                                                             \
	widths(X, fetch_add) widths(X, fetch_sub) widths(X, fetch_and) widths(X, fetch_or)         \
		widths(X, fetch_xor) widths(X, fetch_nand)
/* With 16 bytes every operation uses the machine's compare-and-exchange. */
#define HOOK_ATOMIC_WIDE(X, operation) X(128, unsigned __int128, operation)

/*
 * Hooks that are in no table:
 *
 *	void __tsan_init(void)
 *	void __tsan_func_entry(void *caller), void __tsan_func_exit(void)
 *	void __tsan_read_range(void *, size_t), void __tsan_write_range(void *, size_t)
 *	void __tsan_vptr_read(void **), void __tsan_vptr_update(void **, void *)
 *	void __tsan_atomic_thread_fence(int order), void __tsan_atomic_signal_fence(int order)
 *	void *__tsan_memcpy(void *, const void *, size_t), also memmove; by newer clangs
 *	void *__tsan_memset(void *, int, size_t)
 */

/*
 * What programs call themselves: <sanitizer/tsan_interface.h> and the older
 * dynamic annotations. X(type, name). Each may do nothing and return 0.
 */
#define HOOK_INTERFACE(X)                                                                          \
	X(void, __tsan_ignore_thread_begin)                                                        \
	X(void, __tsan_ignore_thread_end)                                                          \
	X(void, __tsan_acquire)                                                                    \
	X(void, __tsan_release)                                                                    \
	X(void, __tsan_mutex_create)                                                               \
	X(void, __tsan_mutex_destroy)                                                              \
	X(void, __tsan_mutex_pre_lock)                                                             \
	X(void, __tsan_mutex_post_lock)                                                            \
	X(int, __tsan_mutex_pre_unlock)                                                            \
	X(void, __tsan_mutex_post_unlock)                                                          \
	X(void, __tsan_mutex_pre_signal)                                                           \
	X(void, __tsan_mutex_post_signal)                                                          \
	X(void, __tsan_mutex_pre_divert)                                                           \
	X(void, __tsan_mutex_post_divert)                                                          \
	X(void *, __tsan_create_fiber)                                                             \
	X(void *, __tsan_get_current_fiber)                                                        \
	X(void, __tsan_destroy_fiber)                                                              \
	X(void, __tsan_switch_to_fiber)                                                            \
	X(void, __tsan_set_fiber_name)                                                             \
	X(void *, __tsan_external_register_tag)                                                    \
	X(void, __tsan_external_register_header)                                                   \
	X(void, __tsan_external_assign_tag)                                                        \
	X(void, __tsan_external_read)                                                              \
	X(void, __tsan_external_write)                                                             \
	X(void, __tsan_flush_memory)                                                               \
	X(void, AnnotateBenignRace)                                                                \
	X(void, AnnotateBenignRaceSized)                                                           \
	X(void, AnnotateCondVarSignal)                                                             \
	X(void, AnnotateCondVarSignalAll)                                                          \
	X(void, AnnotateCondVarWait)                                                               \
	X(void, AnnotateEnableRaceDetection)                                                       \
	X(void, AnnotateExpectRace)                                                                \
	X(void, AnnotateFlushExpectedRaces)                                                        \
	X(void, AnnotateFlushState)                                                                \
	X(void, AnnotateHappensAfter)                                                              \
	X(void, AnnotateHappensBefore)                                                             \
	X(void, AnnotateIgnoreReadsBegin)                                                          \
	X(void, AnnotateIgnoreReadsEnd)                                                            \
	X(void, AnnotateIgnoreSyncBegin)                                                           \
	X(void, AnnotateIgnoreSyncEnd)                                                             \
	X(void, AnnotateIgnoreWritesBegin)                                                         \
	X(void, AnnotateIgnoreWritesEnd)                                                           \
	X(void, AnnotateMemoryIsInitialized)                                                       \
	X(void, AnnotateMemoryIsUninitialized)                                                     \
	X(void, AnnotateMutexIsNotPHB)                                                             \
	X(void, AnnotateMutexIsUsedAsCondVar)                                                      \
	X(void, AnnotateNewMemory)                                                                 \
	X(void, AnnotateNoOp)                                                                      \
	X(void, AnnotatePCQCreate)                                                                 \
	X(void, AnnotatePCQDestroy)                                                                \
	X(void, AnnotatePCQGet)                                                                    \
	X(void, AnnotatePCQPut)                                                                    \
	X(void, AnnotatePublishMemoryRange)                                                        \
	X(void, AnnotateRWLockAcquired)                                                            \
	X(void, AnnotateRWLockCreate)                                                              \
	X(void, AnnotateRWLockCreateStatic)                                                        \
	X(void, AnnotateRWLockDestroy)                                                             \
	X(void, AnnotateRWLockReleased)                                                            \
	X(void, AnnotateThreadName)                                                                \
	X(void, AnnotateTraceMemory)                                                               \
	X(void, AnnotateUnpublishMemoryRange)                                                      \
	X(void, WTFAnnotateBenignRaceSized)                                                        \
	X(void, WTFAnnotateHappensAfter)                                                           \
	X(void, WTFAnnotateHappensBefore)

#endif
