/*
 * AtomSan: mark in the source which code is meant to be atomic.
 *
 *	void add(int n)
 *	{
 *		ATOMSAN_ATOMIC("add");          the rest of this scope is a block
 *		...
 *	}
 *
 *	ATOMSAN_BEGIN("move"); ... ATOMSAN_END();       the same by hand, for C
 *	                        code with a single exit; blocks may nest
 *
 *	void serve(void)
 *	{
 *		ATOMSAN_NOT_ATOMIC;             this function is not a block
 *		...
 *	}
 *
 * A program that is not built with atomsan-cc behaves as if these marks were not
 * there: there is nothing to link, and at run time each mark only tests an
 * address that is null.
 *
 * Labels are string literals. In C89 ATOMSAN_ATOMIC is a declaration and must come
 * before the first statement. A block ends with its scope, however the scope is
 * left: by return, break, goto or, in C++, an exception; but not by longjmp().
 *
 * ATOMSAN_NOT_ATOMIC applies to the function as compiled. If the compiler may inline
 * the function into its caller, declare it __attribute__((noinline)); otherwise the
 * mark applies to the caller.
 *
 * Needs gcc or clang, C89 or C++98 or later, and ELF; elsewhere the marks do nothing.
 *
 * Copyright the AtomSan authors. SPDX-License-Identifier: Apache-2.0
 */
#ifndef ATOMSAN_ATOMSAN_H
#define ATOMSAN_ATOMSAN_H

#if defined(__GNUC__) && defined(__ELF__)

/*
 * Weak, so that the symbol is null if the runtime is not linked. Visible, because with
 * -fvisibility=hidden a weak symbol is null whatever is linked.
 */
#define ATOMSAN_RUNTIME_ __attribute__((__weak__, __visibility__("default"), __nothrow__))

#ifdef __cplusplus
extern "C" {
#endif

ATOMSAN_RUNTIME_ void atomsan_begin(const char *label);
ATOMSAN_RUNTIME_ void atomsan_end(void);
ATOMSAN_RUNTIME_ void atomsan_not_atomic(void);

#ifdef __cplusplus
}
#endif

/* Always inlined: otherwise it would be instrumented and become a block inside the block. */
static __inline__ __attribute__((__always_inline__, __artificial__, __unused__)) void
atomsan_scope_end_(const int *scope)
{
	if (*scope)
		atomsan_end();
}

#define ATOMSAN_BEGIN(label)                                                                       \
	do {                                                                                       \
		if (atomsan_begin)                                                                 \
			atomsan_begin("" label);                                                   \
	} while (0)
#define ATOMSAN_END()                                                                              \
	do {                                                                                       \
		if (atomsan_end)                                                                   \
			atomsan_end();                                                             \
	} while (0)
#define ATOMSAN_NOT_ATOMIC                                                                         \
	do {                                                                                       \
		if (atomsan_not_atomic)                                                            \
			atomsan_not_atomic();                                                      \
	} while (0)

#define ATOMSAN_PASTE2_(a, b) a##b
#define ATOMSAN_PASTE_(a, b)  ATOMSAN_PASTE2_(a, b)
#define ATOMSAN_ATOMIC(label)                                                                      \
	const int ATOMSAN_PASTE_(atomsan_scope_, __LINE__)                                         \
		__attribute__((__cleanup__(atomsan_scope_end_), __unused__)) =                     \
			atomsan_begin ? (atomsan_begin("" label), 1) : 0

#else

#define ATOMSAN_BEGIN(label)                                                                       \
	do {                                                                                       \
	} while (0)
#define ATOMSAN_END()                                                                              \
	do {                                                                                       \
	} while (0)
#define ATOMSAN_NOT_ATOMIC                                                                         \
	do {                                                                                       \
	} while (0)
#define ATOMSAN_ATOMIC(label) extern int atomsan_nothing_

#endif

#endif
