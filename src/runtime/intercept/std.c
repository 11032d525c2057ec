/*
 * Functions of the C++ library that create and join threads and use condition
 * variables for the program. Their own calls are not noted, so a place inside the
 * library would not show which function of the program called it. So these
 * interceptors keep the program's place, and sync.c and thread.c note that one.
 *
 * Only libstdc++ has them; in libc++ they are inline. If the library is linked
 * statically, its own functions are called instead, and places are inside it.
 */
#include "runtime/intercept/intercept.h"

#include "base/banned.h"

static void restore_caller(const uintptr_t *before)
{
	rt_self.callers.std = *before;
}

#define FOR_CALLER(name, params, args)                                                             \
	void name params;                                                                          \
	RT_INTERCEPT void name params                                                              \
	{                                                                                          \
		__attribute__((cleanup(restore_caller))) uintptr_t before = rt_self.callers.std;   \
		static REAL_NAME struct real_name real = {#name, NULL, NULL};                      \
		void *fn = __atomic_load_n(&real.fn, __ATOMIC_RELAXED);                            \
                                                                                                   \
		if (RT_UNLIKELY(!fn))                                                              \
			fn = real_find_in(&real, "libstdc++.so.6", RT_CALLER);                     \
		if (!before)                                                                       \
			rt_self.callers.std = RT_CALLER;                                           \
		((__typeof__(&name))fn) args;                                                      \
	}
FOR_CALLER(_ZNSt6thread4joinEv, (void *thread), (thread))
FOR_CALLER(_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE, (void *condition, void *lock),
	   (condition, lock))
FOR_CALLER(_ZNSt18condition_variable10notify_oneEv, (void *condition), (condition))
FOR_CALLER(_ZNSt18condition_variable10notify_allEv, (void *condition), (condition))
/* clang-format off: mangled names are long */
FOR_CALLER(_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE,
	   (void *state, void (*depend)(void)), (state, depend))
FOR_CALLER(_ZNSt6thread15_M_start_threadESt10shared_ptrINS_10_Impl_baseEEPFvvE,
	   (void *state, void (*depend)(void)), (state, depend))
FOR_CALLER(_ZNSt6thread15_M_start_threadESt10shared_ptrINS_10_Impl_baseEE, (void *state), (state))
/* clang-format on */
