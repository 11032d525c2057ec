/*
 * libatomsan_stub.so: the hooks that an instrumented shared library needs so that it
 * can be linked, and loaded by a program without the runtime.
 *
 * In a program that atomsan-cc linked, the hooks of the program's own runtime come
 * first, and none of these is ever called. In any other program the library works, but
 * is not checked: the hooks of accesses do nothing, atomic operations are performed, and
 * one line on standard error says that nothing is checked.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/hooks/hook_list.h"

#include "base/banned.h"

#pragma GCC diagnostic ignored                                                                     \
	"-Wmissing-prototypes" /* only compilers call these functions, and they know them */

#define EXPORT __attribute__((visibility("default")))

/*
 * Functions that do nothing are defined without parameters: the caller passes the arguments, and
 * removes them.
 */
EXPORT void __tsan_init(void)
{
}
EXPORT void __tsan_func_entry(void)
{
}
EXPORT void __tsan_func_exit(void)
{
}
EXPORT void __tsan_read_range(void)
{
}
EXPORT void __tsan_write_range(void)
{
}
EXPORT void __tsan_vptr_read(void)
{
}
EXPORT void __tsan_vptr_update(void)
{
}

#define ACCESS(name, bytes)                                                                        \
	EXPORT void name##bytes(void)                                                              \
	{                                                                                          \
	}
HOOK_READS(ACCESS)
HOOK_WRITES(ACCESS)
HOOK_UPDATES(ACCESS)

/* The variables that inlined hooks use (inline/hooks.c). The mode is 0: there is nothing to do. */
EXPORT volatile unsigned atomsan_4_mode;
EXPORT unsigned long atomsan_4_lines[1];
EXPORT unsigned long atomsan_4_cells[1];
EXPORT unsigned long atomsan_4_states[1];
EXPORT __thread char atomsan_4_self[64] __attribute__((tls_model("initial-exec")));
HOOK_CALLED(ACCESS, ACCESS)

#define INTERFACE(type, name)                                                                      \
	EXPORT type name(void)                                                                     \
	{                                                                                          \
		return (type)0;                                                                    \
	}
HOOK_INTERFACE(INTERFACE)

EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n)
{
	return memcpy(to, from, n);
}

EXPORT void *__tsan_memmove(void *to, const void *from, size_t n)
{
	return memmove(to, from, n);
}

EXPORT void *__tsan_memset(void *to, int c, size_t n)
{
	return memset(to, c, n);
}

/*
 * Atomic operations, all in the strongest order, which satisfies any other.
 */
EXPORT void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

EXPORT void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#define LOAD(bits, type, op)                                                                       \
	EXPORT type __tsan_atomic##bits##_##op(const volatile type *a, int order)                  \
	{                                                                                          \
		(void)order;                                                                       \
		return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                       \
	}
#define STORE(bits, type, op)                                                                      \
	EXPORT void __tsan_atomic##bits##_##op(volatile type *a, type v, int order)                \
	{                                                                                          \
		(void)order;                                                                       \
		__atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                          \
	}
#define EXCHANGE(bits, type, op)                                                                   \
	EXPORT type __tsan_atomic##bits##_##op(volatile type *a, type v, int order)                \
	{                                                                                          \
		(void)order;                                                                       \
		return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                \
	}
#define FETCH(bits, type, op)                                                                      \
	EXPORT type __tsan_atomic##bits##_##op(volatile type *a, type v, int order)                \
	{                                                                                          \
		(void)order;                                                                       \
		return __atomic_##op(a, v, __ATOMIC_SEQ_CST);                                      \
	}
#define COMPARE(bits, type, op)                                                                    \
	EXPORT int __tsan_atomic##bits##_##op(volatile type *a, type *expected, type desired,      \
					      int order, int on_failure)                           \
	{                                                                                          \
		(void)order;                                                                       \
		(void)on_failure;                                                                  \
		return __atomic_compare_exchange_n(a, expected, desired, false, __ATOMIC_SEQ_CST,  \
						   __ATOMIC_SEQ_CST);                              \
	}
#define COMPARE_VAL(bits, type, op)                                                                \
	EXPORT type __tsan_atomic##bits##_##op(volatile type *a, type expected, type desired,      \
					       int order, int on_failure)                          \
	{                                                                                          \
		(void)order;                                                                       \
		(void)on_failure;                                                                  \
		__atomic_compare_exchange_n(a, &expected, desired, false, __ATOMIC_SEQ_CST,        \
					    __ATOMIC_SEQ_CST);                                     \
		return expected;                                                                   \
	}

HOOK_ATOMIC_WIDTHS(LOAD, load)
HOOK_ATOMIC_WIDTHS(STORE, store)
HOOK_ATOMIC_WIDTHS(EXCHANGE, exchange)
HOOK_ATOMIC_FETCHES(FETCH, HOOK_ATOMIC_WIDTHS)
HOOK_ATOMIC_WIDTHS(COMPARE, compare_exchange_strong)
HOOK_ATOMIC_WIDTHS(COMPARE, compare_exchange_weak)
HOOK_ATOMIC_WIDTHS(COMPARE_VAL, compare_exchange_val)

/*
 * 16 bytes: __atomic_ functions would call libatomic, which may be missing. The older
 * __sync_ functions are the machine's instruction if it has one.
 */
#if defined(__x86_64__)
#define WIDE __attribute__((target("cx16")))
#else
#define WIDE
#endif

typedef unsigned __int128 wide;

WIDE static inline wide wide_compare_swap(volatile wide *a, wide expected, wide desired)
{
	return __sync_val_compare_and_swap(a, expected, desired);
}

/* Sets *a to `next`, which may use `old`, the value that it finds there. */
#define WIDE_LOOP(next)                                                                            \
	wide old = *a, seen;                                                                       \
	(void)order;                                                                               \
	while ((seen = wide_compare_swap(a, old, (next))) != old)                                  \
	old = seen

#define WIDE_FETCH(op, next)                                                                       \
	WIDE EXPORT wide __tsan_atomic128_##op(volatile wide *a, wide v, int order)                \
	{                                                                                          \
		WIDE_LOOP(next);                                                                   \
		return old;                                                                        \
	}
WIDE_FETCH(exchange, v)
WIDE_FETCH(fetch_add, old + v)
WIDE_FETCH(fetch_sub, old - v)
WIDE_FETCH(fetch_and, old &v)
WIDE_FETCH(fetch_or, old | v)
WIDE_FETCH(fetch_xor, old ^ v)
WIDE_FETCH(fetch_nand, ~(old &v))

WIDE EXPORT wide __tsan_atomic128_load(const volatile wide *a, int order)
{
	(void)order;
	return wide_compare_swap((volatile wide *)a, 0, 0);
}

WIDE EXPORT void __tsan_atomic128_store(volatile wide *a, wide v, int order)
{
	WIDE_LOOP(v);
}

WIDE EXPORT wide __tsan_atomic128_compare_exchange_val(volatile wide *a, wide expected,
						       wide desired, int order, int on_failure)
{
	(void)order;
	(void)on_failure;
	return wide_compare_swap(a, expected, desired);
}

/* Like __atomic_compare_exchange_n(). */
WIDE static int wide_compare_store(volatile wide *a, wide *expected, wide desired)
{
	wide seen = wide_compare_swap(a, *expected, desired);
	bool same = seen == *expected;

	*expected = seen;
	return same;
}

WIDE EXPORT int __tsan_atomic128_compare_exchange_strong(volatile wide *a, wide *expected,
							 wide desired, int order, int on_failure)
{
	(void)order;
	(void)on_failure;
	return wide_compare_store(a, expected, desired);
}

WIDE EXPORT int __tsan_atomic128_compare_exchange_weak(volatile wide *a, wide *expected,
						       wide desired, int order, int on_failure)
{
	(void)order;
	(void)on_failure;
	return wide_compare_store(a, expected, desired);
}

/* --- the line on standard error --- */

/* Is this name, from a library's DT_NEEDED, the stub's? */
static bool is_stub(const char *needed)
{
	static const char name[] = "libatomsan_stub.so";
	size_t n = strlen(needed), m = sizeof name - 1;

	return n >= m && !strcmp(needed + n - m, name);
}

/* Called for each module: stop at the first that was linked with the stub; *found is its name. */
/* NOLINTBEGIN(performance-no-int-to-ptr): the loader has integers */
static int find_user(struct dl_phdr_info *info, size_t size, void *found)
{
	const ElfW(Dyn) *dynamic = NULL;
	const char *strings = NULL;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	/* The loader has relocated this to an address, except in the vdso. */
	for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB && d->d_un.d_ptr > info->dlpi_addr)
			strings = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = dynamic; strings && d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && is_stub(strings + d->d_un.d_val)) {
			const char *slash = strrchr(info->dlpi_name, '/');

			*(const char **)found = slash ? slash + 1 : info->dlpi_name;
			return 1;
		}
	return 0;
}
/* NOLINTEND(performance-no-int-to-ptr) */

/* Was the stub loaded by dlmopen()? Then it does not see the program's symbols. */
static bool is_in_own_namespace(void)
{
	struct link_map *map = NULL;
	Lmid_t space = LM_ID_BASE;
	Dl_info info;

	return dladdr1((const void *)(uintptr_t)find_user, &info, (void **)&map, RTLD_DL_LINKMAP) &&
	       map && !dlinfo(map, RTLD_DI_LMID, &space) && space != LM_ID_BASE;
}

/* Defined by the program's runtime, if it has one. */
extern void atomsan_rt_version(void) __attribute__((weak));

__attribute__((constructor)) static void say_unchecked(void)
{
	const char *library = "a shared library";
	int saved = errno;

	if (!atomsan_rt_version) {
		dl_iterate_phdr(find_user, &library);
		if (is_in_own_namespace())
			dprintf(2,
				"atomsan: %s is instrumented, but dlmopen() keeps it apart from "
				"%s: nothing in it is checked\n",
				library, program_invocation_name);
		else
			dprintf(2,
				"atomsan: %s is instrumented, but %s was not linked by atomsan-cc: "
				"nothing is checked\n",
				library, program_invocation_name);
	}
	errno = saved;
}
