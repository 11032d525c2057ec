/*
 * What programs that know ThreadSanitizer call when they are compiled for it.
 * Each is here, so that they can be linked, and has no effect; a definition
 * elsewhere in the runtime, or in the program, comes first.
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
