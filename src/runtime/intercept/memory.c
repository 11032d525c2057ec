/*
 * Allocation: memory that was freed and allocated again counts as new memory.
 * free() is noted before it happens, malloc() after.
 */
#define ATOMSAN_MAY_MALLOC
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

/* Memory was allocated at `p`, or NULL: note it. */
static inline void note_alloc(const void *p, size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (!p || !rt_enter(t))
		return;
	pc = t->callers.alloc ? t->callers.alloc : pc;
	if (rt_checking)
		rt_tool->alloc(t, (uintptr_t)p, size, pc);
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->alloc(t, (uintptr_t)p, size, pc);
	rt_leave(t);
}

static inline void note_free(const void *p, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (!p || !rt_enter(t))
		return;
	pc = t->callers.alloc ? t->callers.alloc : pc;
	if (rt_checking)
		rt_tool->free(t, (uintptr_t)p, REAL(malloc_usable_size)((void *)(uintptr_t)p), pc);
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->free(t, (uintptr_t)p, 0, pc);
	rt_leave(t);
}

RT_INTERCEPT void *malloc(size_t size)
{
	void *p;

	if (real_too_early())
		return real_early_alloc(size);
	p = REAL(malloc)(size);
	note_alloc(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT void *calloc(size_t n, size_t size)
{
	void *p;

	if (real_too_early()) /* this memory is zeroed */
		return real_early_alloc(n * size);
	p = REAL(calloc)(n, size);
	note_alloc(p, n * size, RT_CALLER);
	return p;
}

RT_INTERCEPT void free(void *p)
{
	if (RT_UNLIKELY(real_early_owns(p)))
		return;
	/* The allocator's free() is not known yet: the memory is lost. */
	if (real_too_early())
		return;
	note_free(p, RT_CALLER);
	REAL(free)(p);
}

RT_INTERCEPT void *realloc(void *old, size_t size)
{
	void *p;

	if (RT_UNLIKELY(real_early_owns(old))) {
		size_t had = ((size_t *)old)[-2];

		p = malloc(size);
		if (p)
			__builtin_memcpy(p, old, had < size ? had : size);
		return p;
	}
	note_free(old, RT_CALLER);
	p = REAL(realloc)(old, size);
	/* If it failed, the old memory lives on and counts as new, which does no harm. */
	note_alloc(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes))
		return REAL(reallocarray)(old, n, size);
	note_free(old, RT_CALLER);
	p = REAL(realloc)(old, bytes);
	note_alloc(p, bytes, RT_CALLER);
	return p;
}

RT_INTERCEPT void *memalign(size_t alignment, size_t size)
{
	void *p = REAL(memalign)(alignment, size);

	note_alloc(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT void *aligned_alloc(size_t alignment, size_t size)
{
	void *p = REAL(aligned_alloc)(alignment, size);

	note_alloc(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT void *valloc(size_t size)
{
	void *p = REAL(valloc)(size);

	note_alloc(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT int posix_memalign(void **to, size_t alignment, size_t size)
{
	int rc = REAL(posix_memalign)(to, alignment, size);

	if (!rc)
		note_alloc(*to, size, RT_CALLER);
	return rc;
}

/* The memory gets a new use: what it was used for before does not matter to that. */
static void note_forget(const void *p, size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (!rt_enter(t))
		return;
	if (rt_checking)
		rt_tool->forget(t, (uintptr_t)p, size, pc);
	rt_recorder->forget(t, (uintptr_t)p, size, pc);
	rt_leave(t);
}

RT_INTERCEPT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *p = REAL(mmap)(at, size, protection, flags, fd, offset);

	if (p != MAP_FAILED)
		note_forget(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *p = REAL(mmap)(at, size, protection, flags, fd, offset);

	if (p != MAP_FAILED)
		note_forget(p, size, RT_CALLER);
	return p;
}

RT_INTERCEPT int munmap(void *p, size_t size)
{
	note_forget(p, size, RT_CALLER);
	return REAL(munmap)(p, size);
}

/*
 * C++: operator new() calls malloc() inside the library. Reports should show the caller
 * of operator new(), so its address is kept meanwhile. A cleanup restores the outer
 * one, also if an exception leaves the operator.
 */
static void restore_caller(const uintptr_t *before)
{
	rt_self.callers.alloc = *before;
}

/*
 * What operator new() does. Needed if the C++ library is linked statically: then ours
 * replaced its own, and there is no original.
 */
static void *new_by_malloc(size_t n, size_t alignment, bool may_throw)
{
	extern RT_EXPORT __attribute__((weak)) void _ZSt17__throw_bad_allocv(void);
	void *p = alignment > 16
			  ? aligned_alloc(alignment, (n + alignment - 1) / alignment * alignment)
			  : malloc(n ? n : 1);

	if (!p && may_throw) {
		if (_ZSt17__throw_bad_allocv)
			_ZSt17__throw_bad_allocv();
		abort();
	}
	return p;
}

/* Declares real_fn: the original, or NULL if there is none. A missing one is looked up once. */
#define FIND_ONCE(mangled)                                                                         \
	static REAL_NAME struct real_name real_ = {#mangled, NULL, NULL};                          \
	static bool looked;                                                                        \
	__typeof__(&mangled) real_fn =                                                             \
		(__typeof__(&mangled))__atomic_load_n(&real_.fn, __ATOMIC_RELAXED);                \
                                                                                                   \
	if (RT_UNLIKELY(!real_fn) && !__atomic_load_n(&looked, __ATOMIC_RELAXED)) {                \
		real_fn = (__typeof__(&mangled))real_find_if_any(&real_);                          \
		__atomic_store_n(&looked, true, __ATOMIC_RELAXED);                                 \
	}
#define NEW_WITH(mangled, params, args, alignment, may_throw)                                      \
	void *mangled params;                                                                      \
	RT_INTERCEPT void *mangled params                                                          \
	{                                                                                          \
		__attribute__((cleanup(restore_caller))) uintptr_t before = rt_self.callers.alloc; \
		FIND_ONCE(mangled)                                                                 \
                                                                                                   \
		if (!before)                                                                       \
			rt_self.callers.alloc = RT_CALLER;                                         \
		return real_fn ? real_fn args : new_by_malloc(n, alignment, may_throw);            \
	}
#define DELETE_WITH(mangled, params, args)                                                         \
	void mangled params;                                                                       \
	RT_INTERCEPT void mangled params                                                           \
	{                                                                                          \
		__attribute__((cleanup(restore_caller))) uintptr_t before = rt_self.callers.alloc; \
		FIND_ONCE(mangled)                                                                 \
                                                                                                   \
		if (!before)                                                                       \
			rt_self.callers.alloc = RT_CALLER;                                         \
		if (real_fn)                                                                       \
			real_fn args;                                                              \
		else                                                                               \
			free(p);                                                                   \
	}
/* new(size), new[](size), with nothrow, with an alignment, with both */
NEW_WITH(_Znwm, (size_t n), (n), 0, true)
NEW_WITH(_Znam, (size_t n), (n), 0, true)
NEW_WITH(_ZnwmRKSt9nothrow_t, (size_t n, const void *x), (n, x), 0, false)
NEW_WITH(_ZnamRKSt9nothrow_t, (size_t n, const void *x), (n, x), 0, false)
NEW_WITH(_ZnwmSt11align_val_t, (size_t n, size_t a), (n, a), a, true)
NEW_WITH(_ZnamSt11align_val_t, (size_t n, size_t a), (n, a), a, true)
NEW_WITH(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *x), (n, a, x), a,
	 false)
NEW_WITH(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t n, size_t a, const void *x), (n, a, x), a,
	 false)
/* delete(p), delete[](p), with a size, with an alignment, with both, nothrow */
DELETE_WITH(_ZdlPv, (void *p), (p))
DELETE_WITH(_ZdaPv, (void *p), (p))
DELETE_WITH(_ZdlPvm, (void *p, size_t n), (p, n))
DELETE_WITH(_ZdaPvm, (void *p, size_t n), (p, n))
DELETE_WITH(_ZdlPvSt11align_val_t, (void *p, size_t a), (p, a))
DELETE_WITH(_ZdaPvSt11align_val_t, (void *p, size_t a), (p, a))
DELETE_WITH(_ZdlPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
DELETE_WITH(_ZdaPvmSt11align_val_t, (void *p, size_t n, size_t a), (p, n, a))
DELETE_WITH(_ZdlPvRKSt9nothrow_t, (void *p, const void *x), (p, x))
DELETE_WITH(_ZdaPvRKSt9nothrow_t, (void *p, const void *x), (p, x))
