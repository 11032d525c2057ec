/*
 * The functions of the C library that we stand in front of. REAL(name) is the
 * next one of that name: the C library's, or that of an allocator that the
 * program was linked with.
 *
 * All of them are looked up when the first is needed, which is before the program's first line.
 * Later it would be seen: it takes away what dlerror() is to tell the program, and may be inside of
 * the loader's own work with such a message, which calls free(). What is not there then, the C++
 * library's in a program that loads it by itself, is looked up when it is needed.
 *
 * Who may include this: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_REAL_H
#define ATOMSAN_RUNTIME_OS_REAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A name that REAL() was said of. `version` picks one of several that a library
 * has under that name; NULL: the one that new programs get.
 */
struct real_name {
	const char *name, *version;
	void *fn; /* NULL: not found yet */
};

/* The linker puts them all into a row. */
#define REAL_NAME __attribute__((section("atomsan_real"), aligned(8)))

/* All that are there. Nothing, where that was done. */
void real_find_all(void);
/* What r->fn was not. */
void *real_find(struct real_name *r);
/* The same, or NULL where there is none. */
void *real_find_if_any(struct real_name *r);

#define REAL_VERSION(name, version)                                                                \
	({                                                                                         \
		static REAL_NAME struct real_name real_ = {#name, version, NULL};                  \
		void *fn_ = __atomic_load_n(&real_.fn, __ATOMIC_RELAXED);                          \
		if (__builtin_expect(!fn_, 0))                                                     \
			fn_ = real_find(&real_);                                                   \
		(__typeof__(&name))fn_;                                                            \
	})
#define REAL(name) REAL_VERSION(name, NULL)

/*
 * Looking names up may allocate: until all are found, malloc() hands out memory
 * from here, and free() leaves it alone.
 */
void *real_early_alloc(size_t bytes);
_Bool real_early_owns(const void *p);
/* This thread is looking one up. */
extern __thread int real_finding __attribute__((tls_model("initial-exec")));
extern bool real_found; /* all that are there */

/* REAL() must not be asked: it is being looked for. */
static inline bool real_too_early(void)
{
	return __builtin_expect(real_finding, 0) && !__atomic_load_n(&real_found, __ATOMIC_ACQUIRE);
}

#endif
