/*
 * A runtime that does nothing. Linked instead of the real one, it shows what the calls themselves
 * cost. Its hooks must still perform atomic operations, because compilers leave that to the hooks.
 */
#include <stddef.h>
#include <string.h>

#include "runtime/hooks/hook_list.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define HOOK __attribute__((visibility("default")))

#define NOTHING(type, name)                                                                        \
	HOOK type name(void)                                                                       \
	{                                                                                          \
		return (type)0;                                                                    \
	}
#define ACCESS(name, bytes) NOTHING(void, name##bytes)
HOOK_READS(ACCESS)
HOOK_WRITES(ACCESS)
HOOK_UPDATES(ACCESS)
HOOK_INTERFACE(NOTHING)
NOTHING(void, __tsan_init)
NOTHING(void, __tsan_func_entry)
NOTHING(void, __tsan_func_exit)
NOTHING(void, __tsan_read_range)
NOTHING(void, __tsan_write_range)
NOTHING(void, __tsan_vptr_read)
NOTHING(void, __tsan_vptr_update)
NOTHING(void, __tsan_atomic_signal_fence)
/* Programs linked by atomsan-cc refer to this symbol. */
NOTHING(void, atomsan_rt_version)

HOOK void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

HOOK void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return memcpy(to, from, n);
}

HOOK void *__tsan_memmove(void *to, const void *from, size_t n)
{
	return memmove(to, from, n);
}

HOOK void *__tsan_memset(void *to, int c, size_t n)
{
	return memset(to, c, n);
}

#define FETCH(bits, type, op)                                                                      \
	HOOK type __tsan_atomic##bits##_##op(volatile type *p, type v, int order)                  \
	{                                                                                          \
		(void)order;                                                                       \
		return __atomic_##op(p, v, __ATOMIC_SEQ_CST);                                      \
	}
#define LOAD(bits, type, op)                                                                       \
	HOOK type __tsan_atomic##bits##_##op(const volatile type *p, int order)                    \
	{                                                                                          \
		(void)order;                                                                       \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}
#define STORE(bits, type, op)                                                                      \
	HOOK void __tsan_atomic##bits##_##op(volatile type *p, type v, int order)                  \
	{                                                                                          \
		(void)order;                                                                       \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}
#define EXCHANGE(bits, type, op)                                                                   \
	HOOK type __tsan_atomic##bits##_##op(volatile type *p, type v, int order)                  \
	{                                                                                          \
		(void)order;                                                                       \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}
#define COMPARE(bits, type, op)                                                                    \
	HOOK int __tsan_atomic##bits##_compare_exchange_##op(volatile type *p, type *expected,     \
							     type desired, int order, int failed)  \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		return __atomic_compare_exchange_n(p, expected, desired, 0, __ATOMIC_SEQ_CST,      \
						   __ATOMIC_SEQ_CST);                              \
	}
#define VALUE(bits, type, op)                                                                      \
	HOOK type __tsan_atomic##bits##_compare_exchange_##op(volatile type *p, type expected,     \
							      type desired, int order, int failed) \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		__atomic_compare_exchange_n(p, &expected, desired, 0, __ATOMIC_SEQ_CST,            \
					    __ATOMIC_SEQ_CST);                                     \
		return expected;                                                                   \
	}
HOOK_ATOMIC_FETCHES(FETCH, HOOK_ATOMIC_WIDTHS)
HOOK_ATOMIC_WIDTHS(LOAD, load)
HOOK_ATOMIC_WIDTHS(STORE, store)
HOOK_ATOMIC_WIDTHS(EXCHANGE, exchange)
HOOK_ATOMIC_WIDTHS(COMPARE, strong)
HOOK_ATOMIC_WIDTHS(COMPARE, weak)
HOOK_ATOMIC_WIDTHS(VALUE, val)
