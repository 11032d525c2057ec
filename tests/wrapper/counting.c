/*
 * A runtime that counts calls: linked in place of the real one, it shows the test of the
 * wrappers what was instrumented. With COUNT=1 in the environment it prints at exit
 *
 *	count: 3 reads, 2 writes, 1 atomics, 4 entries
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hooks/hook_list.h"

#define EXPORT __attribute__((visibility("default")))

static unsigned long reads, writes, atomics, entries;

#define ADD(n) __atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED)

EXPORT void atomsan_rt_version(void);
EXPORT void atomsan_rt_version(void)
{
}

__attribute__((destructor)) static void say(void)
{
	if (getenv("COUNT"))
		fprintf(stderr, "count: %lu reads, %lu writes, %lu atomics, %lu entries\n", reads,
			writes, atomics, entries);
}

#define READ(name, bytes)                                                                          \
	EXPORT void name##bytes(void);                                                             \
	EXPORT void name##bytes(void)                                                              \
	{                                                                                          \
		ADD(reads);                                                                        \
	}
#define WRITE(name, bytes)                                                                         \
	EXPORT void name##bytes(void);                                                             \
	EXPORT void name##bytes(void)                                                              \
	{                                                                                          \
		ADD(writes);                                                                       \
	}
HOOK_READS(READ)
HOOK_WRITES(WRITE)
/* Inlined hooks call the runtime every time, too. */
EXPORT extern volatile unsigned atomsan_4_mode;
EXPORT volatile unsigned atomsan_4_mode = 2;
EXPORT extern unsigned long atomsan_4_lines[1];
EXPORT unsigned long atomsan_4_lines[1];
EXPORT extern unsigned long atomsan_4_cells[1];
EXPORT unsigned long atomsan_4_cells[1];
EXPORT extern unsigned long atomsan_4_states[1];
EXPORT unsigned long atomsan_4_states[1];
EXPORT extern __thread char atomsan_4_self[64];
EXPORT __thread char atomsan_4_self[64];
HOOK_CALLED(READ, WRITE)
READ(__tsan_read_range, )
WRITE(__tsan_write_range, )
WRITE(__tsan_vptr_update, )
READ(__tsan_vptr_read, )

#define NOTHING(type, name)                                                                        \
	EXPORT type name(void);                                                                    \
	EXPORT type name(void)                                                                     \
	{                                                                                          \
		return (type)0;                                                                    \
	}
HOOK_INTERFACE(NOTHING)
NOTHING(void, __tsan_init)
NOTHING(void, __tsan_func_exit)
NOTHING(void, __tsan_atomic_thread_fence)
NOTHING(void, __tsan_atomic_signal_fence)

EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n);
EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return memcpy(to, from, n);
}
EXPORT void *__tsan_memset(void *to, int c, size_t n);
EXPORT void *__tsan_memset(void *to, int c, size_t n)
{
	return memset(to, c, n);
}

EXPORT void __tsan_func_entry(void *caller);
EXPORT void __tsan_func_entry(void *caller)
{
	(void)caller;
	ADD(entries);
}

/* Enough of the atomic operations for the programs of the test. */
#define ATOMIC(bits, type, op, builtin)                                                            \
	EXPORT type __tsan_atomic##bits##_##op(volatile type *a, type v, int order);               \
	EXPORT type __tsan_atomic##bits##_##op(volatile type *a, type v, int order)                \
	{                                                                                          \
		(void)order;                                                                       \
		ADD(atomics);                                                                      \
		return builtin(a, v, __ATOMIC_SEQ_CST);                                            \
	}
#define FETCH(bits, type, op)    ATOMIC(bits, type, op, __atomic_##op)
#define EXCHANGE(bits, type, op) ATOMIC(bits, type, op, __atomic_exchange_n)
#define STORE(bits, type, op)    ATOMIC(bits, type, op, __atomic_exchange_n)
#define LOAD(bits, type, op)                                                                       \
	EXPORT type __tsan_atomic##bits##_##op(const volatile type *a);                            \
	EXPORT type __tsan_atomic##bits##_##op(const volatile type *a)                             \
	{                                                                                          \
		ADD(atomics);                                                                      \
		return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                       \
	}
HOOK_ATOMIC_FETCHES(FETCH, HOOK_ATOMIC_WIDTHS)
HOOK_ATOMIC_WIDTHS(EXCHANGE, exchange)
HOOK_ATOMIC_WIDTHS(STORE, store)
HOOK_ATOMIC_WIDTHS(LOAD, load)
