/*
 * The original of each function that the runtime intercepts. REAL(name) is the
 * next function of that name after ours: the C library's, or that of an allocator
 * with which the program was linked.
 *
 * All originals are looked up together when the first one is needed, which is
 * before the program's first line. A later lookup could disturb the program: it
 * overwrites the message that dlerror() would give to the program, and it may run
 * inside the loader's own work on such a message, because that work calls free().
 * Only an original that does not exist yet at that time is looked up later, when
 * it is needed: the C++ library's in a program that loads that library by itself.
 *
 * Included by: the runtime.
 */
#ifndef ATOMSAN_RUNTIME_OS_REAL_H
#define ATOMSAN_RUNTIME_OS_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A function used by REAL(). `version` selects one if a library has several of that
 * name; NULL: the one that new programs get.
 */
struct real_name {
	const char *name, *version;
	void *fn; /* NULL: not found yet */
};

/* The linker collects all struct real_name in one section, as an array. */
#define REAL_NAME __attribute__((section("atomsan_real"), aligned(8)))

/* Look up all originals that exist now. Does nothing if that was done before. */
void real_find_all(void);
/* Look up one original, store it in r->fn and return it; die if it does not exist. */
void *real_find(struct real_name *r);
/* The same, but returns NULL if it does not exist. */
void *real_find_if_any(struct real_name *r);
/*
 * The same for a function of the library `name`, which a plugin may have loaded for itself; then
 * dlsym(RTLD_NEXT) does not find it. Or the library is linked into the plugin, which contains
 * `caller`; then it is looked up at each call, because another plugin may have its own copy.
 */
void *real_find_in(struct real_name *r, const char *name, uintptr_t caller);

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
 * A lookup may allocate memory. Until all originals are found, malloc() takes it
 * from here, zeroed, and free() ignores it.
 */
void *real_early_alloc(size_t bytes);
/* Did `p` come from real_early_alloc()? */
_Bool real_early_owns(const void *p);

/* Number of lookups that the calling thread is in. */
extern __thread int real_finding __attribute__((tls_model("initial-exec")));
/* real_find_all() has finished. */
extern bool real_found;

/* REAL() must not be used yet: the calling thread is in real_find_all(). */
static inline bool real_too_early(void)
{
	return __builtin_expect(real_finding, 0) && !__atomic_load_n(&real_found, __ATOMIC_ACQUIRE);
}

#endif
