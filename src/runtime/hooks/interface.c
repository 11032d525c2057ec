/*
 * ThreadSanitizer's interface, without effect, so that programs that call it can be
 * linked. These definitions are weak: one elsewhere in the runtime (annotate_tsan.c),
 * or in the program, replaces them.
 */
#include "runtime/hooks/hook_list.h"

#include "base/banned.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* the program declares them */

#define NO_EFFECT(type, name)                                                                      \
	__attribute__((weak, visibility("default"))) type name(void)                               \
	{                                                                                          \
		return (type)0;                                                                    \
	}
HOOK_INTERFACE(NO_EFFECT)
