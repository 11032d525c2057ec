/*
 * What the C++ library does with threads and conditions on behalf of the program:
 * it has no call of its own noted, so that a place inside of it would leave out
 * the function of the program that wanted it. It is noted where that called.
 *
 * Of libstdc++; what libc++ has for this is inline. Where the library is linked
 * statically its own functions are called, and places are inside of it.
 */
#include <dlfcn.h>

#include "runtime/intercept/intercept.h"

#include "base/banned.h"

/*
 * A program in C may have the library by a plugin of its own, where others do not see it; or have
 * it in the plugin, which is asked each time, since another one may have another.
 */
static void *find(struct real_name *r, uintptr_t caller)
{
	void *fn = real_find_if_any(r), *library = NULL;
	Dl_info info;

	if (fn)
		return fn;
	/* It is not given back: the function stays where it is. */
	library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
	fn = library ? dlsym(library, r->name) : NULL;
	if (fn)
		__atomic_store_n(&r->fn, fn, __ATOMIC_RELAXED);
	else if (dladdr1((const void *)caller, &info, &library, RTLD_DL_LINKMAP) && library)
		fn = dlsym(library, r->name); /* a link map is a handle */
	if (!fn)
		rt_die("the C++ library has no function %s()", r->name);
	return fn;
}

static void outside(const uintptr_t *before)
{
	rt_self.callers.std = *before;
}

#define FOR_CALLER(name, params, args)                                                             \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		__attribute__((cleanup(outside))) uintptr_t before = rt_self.callers.std;          \
		static REAL_NAME struct real_name real = {#name, NULL, NULL};                      \
		void *fn = __atomic_load_n(&real.fn, __ATOMIC_RELAXED);                            \
                                                                                                   \
		if (RT_UNLIKELY(!fn))                                                              \
			fn = find(&real, RT_CALLER);                                               \
		if (!before)                                                                       \
			rt_self.callers.std = RT_CALLER;                                           \
		((__typeof__(&name))fn) args;                                                      \
	}
FOR_CALLER(_ZNSt6thread4joinEv, (void *thread), (thread))
FOR_CALLER(_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, (void *condition, void *lock),
	   (condition, lock))
FOR_CALLER(_ZNSt18condition_variable10notify_oneEv, (void *condition), (condition))
FOR_CALLER(_ZNSt18condition_variable10notify_allEv, (void *condition), (condition))
/* clang-format off: these are names of the linker's */
FOR_CALLER(_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
	   (void *state, void (*depend)(void)), (state, depend))
FOR_CALLER(_ZNSt6thread15_M_start_threadESt10shared_ptrINS_10_Impl_baseEEPFvvE,
	   (void *state, void (*depend)(void)), (state, depend))
FOR_CALLER(_ZNSt6thread15_M_start_threadESt10shared_ptrINS_10_Impl_baseEE, (void *state), (state))
/* clang-format on */
