/*
 * The ground floor of the library inside the checked program: memory, messages,
 * assertions and short waits, without the C library.
 *
 * The rules of src/runtime, because its code runs inside another program, at any
 * moment of it:
 *
 *  - It takes no lock that the program could be holding, and calls nothing in the
 *    C library that does: no malloc, no stdio. Memory comes from mmap.
 *  - A function that the program or this library may interpose is called through
 *    REAL(name): see real.h.
 *  - Between rt_enter() and rt_leave() a thread is in the runtime (thread/state.h).
 *    A hook that the thread meets there does its work and notes nothing; signals
 *    wait until rt_leave(). These sections are short and never block on the program.
 *  - errno belongs to the program: a function that may change it saves it first.
 *  - If a resource runs out, the runtime prints one message and the program continues
 *    unchecked. rt_die() is only for bad options, for functions that the C or C++
 *    library lacks, and for memory that the order of transactions needs (mem.c).
 *
 * Included by: the runtime, tests.
 */
#ifndef ATOMSAN_RUNTIME_OS_OS_H
#define ATOMSAN_RUNTIME_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RT_EXPORT      __attribute__((visibility("default")))
/* Weak, so that a program may define the function itself, an allocator's for example. */
#define RT_INTERCEPT __attribute__((weak, visibility("default")))
/* The return address of the running function. */
#define RT_CALLER ((uintptr_t)__builtin_return_address(0))
/*
 * Keep the compiler from moving loads and stores across this point: a signal handler of this
 * thread sees them in program order.
 */
#define RT_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* An invariant. Checked if compiled with ATOMSAN_DEBUG; costs nothing otherwise. */
#ifdef ATOMSAN_DEBUG
#define RT_ASSERT(condition)                                                                       \
	(RT_LIKELY(condition) ? (void)0 : rt_assert_failed(#condition, __FILE__, __LINE__))
#else
#define RT_ASSERT(condition) ((void)(0 && (condition)))
#endif
void rt_assert_failed(const char *condition, const char *file, int line) __attribute__((noreturn));

/* Print one line on standard error: "atomsan: ...". */
void rt_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/*
 * Format into a buffer and terminate it; too long a text is cut off. Knows %s %d %u %lu %lx %c %%.
 * Returns the length of what was written.
 */
size_t rt_format(char *to, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/*
 * The run, or a part of it, is not checked, for this reason. The first reason is kept and reaches
 * the reporter, so that its verdict is not "pass". Prints nothing.
 */
void rt_note_incomplete(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The reason; NULL: there is none. */
const char *rt_incomplete_reason(void);
/* Print one line and end the process with status 2. */
void rt_die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Map zeroed pages; NULL if there is no memory. */
void *rt_pages(size_t bytes);
/* Unmap them; NULL is allowed. */
void rt_pages_free(void *p, size_t bytes);
/* Make the pages zero again and release their memory; the addresses stay reserved. */
void rt_pages_empty(void *p, size_t bytes);

void rt_yield(void);
/* Sleep for a tenth of a millisecond or more. */
void rt_nap(void);

/*
 * Call rt_before_halt, which the start-up code sets, and end the process with the status for
 * findings (the option `exitcode`).
 */
void rt_halt(void) __attribute__((noreturn));
extern void (*rt_before_halt)(void);

#endif
