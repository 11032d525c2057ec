/*
 * The hooks once more, for clang to inline: this is compiled to bitcode, which atomsan-cc adds to
 * each file that clang compiles. What the fast path does not know is called, so that the
 * return address is the program's.
 *
 * The names of the runtime's own variables have a number in them: an object that was
 * compiled for a runtime where these look different is refused by the linker. It goes up
 * whenever struct rt_thread's first fields, the shadow's table, a word's form or rt_mode change,
 * here and in cli/cmd_as.c.
 */
#define rt_self       atomsan_1_self
#define shadow_region atomsan_1_shadow
#define rt_mode       atomsan_1_mode
#define icd_region    atomsan_1_states

#include "runtime/access.h"

/* Each is there when the instrumentation comes, and is not instrumented itself. */
#define INLINED ACCESS_FAST __attribute__((used, disable_sanitizer_instrumentation))

#define HOOK(bytes)                                                                                \
	void atomsan_1_read##bytes(void *address);                                                 \
	void atomsan_1_write##bytes(void *address);                                                \
	INLINED void __tsan_read##bytes(void *address)                                             \
	{                                                                                          \
		if (!access_known(RAW_READ, address, bytes))                                       \
			atomsan_1_read##bytes(address);                                            \
	}                                                                                          \
	INLINED void __tsan_write##bytes(void *address)                                            \
	{                                                                                          \
		if (!access_known(RAW_WRITE, address, bytes))                                      \
			atomsan_1_write##bytes(address);                                           \
	}
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
