/*
 * The functions of the C library that we stand in front of. REAL(name) is the
 * next one of that name: the C library's, or that of an allocator that the
 * program was linked with.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_REAL_H
#define ATOMSAN_RUNTIME_REAL_H

#include <stddef.h>

/*
 * Look it up at its first use. `version` picks one of several that a library
 * has under that name; NULL: the one that new programs get.
 */
void *real_find(const char *name, const char *version);
/* The same, or NULL where there is none. */
void *real_find_if_any(const char *name, const char *version);

#define REAL_VERSION(name, version)                                                                \
	({                                                                                         \
		static __typeof__(&name) real_fn;                                                  \
		__typeof__(&name) fn_ = __atomic_load_n(&real_fn, __ATOMIC_RELAXED);               \
		if (__builtin_expect(!fn_, 0)) {                                                   \
			fn_ = (__typeof__(&name))real_find(#name, version);                        \
			__atomic_store_n(&real_fn, fn_, __ATOMIC_RELAXED);                         \
		}                                                                                  \
		fn_;                                                                               \
	})
#define REAL(name) REAL_VERSION(name, NULL)

/*
 * Looking a name up may allocate: until it is done, malloc() hands out memory
 * from here, and free() leaves it alone.
 */
void *real_early_alloc(size_t bytes);
_Bool real_early_owns(const void *p);
extern __thread int real_finding __attribute__((tls_model("initial-exec")));

#endif
