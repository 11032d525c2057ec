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
#define rt_self       atomsan_3_self
#define shadow_lines  atomsan_3_lines
#define shadow_region atomsan_3_cells
#define rt_mode       atomsan_3_mode
#define icd_region    atomsan_3_states

#include "runtime/access.h"

/* Each is there when the instrumentation comes, and is not instrumented itself. */
#define INLINED ACCESS_FAST __attribute__((used, disable_sanitizer_instrumentation))

/*
 * What the fast path does not know is done by functions of their own that keep nearly all
 * registers, so that the program need not save them before it knows. The first does what is simple
 * and saves a few; the second one, which takes its place, calls the runtime and has to save all.
 */
#define OTHERWISE __attribute__((preserve_most, noinline, cold, disable_sanitizer_instrumentation))

#define INLINE(op, name, bytes, otherwise)                                                         \
	INLINED void name##bytes(void *address)                                                    \
	{                                                                                          \
		if (RT_UNLIKELY(!access_known(op, address, bytes)))                                \
			otherwise(address);                                                        \
	}
#define HOOK(bytes)                                                                                \
	void atomsan_3_read##bytes(void *address, void *caller);                                   \
	void atomsan_3_write##bytes(void *address, void *caller);                                  \
	static OTHERWISE void slowly_read##bytes(void *address)                                    \
	{                                                                                          \
		atomsan_3_read##bytes(address, __builtin_return_address(0));                       \
	}                                                                                          \
	static OTHERWISE void otherwise_read##bytes(void *address)                                 \
	{                                                                                          \
		void *caller = __builtin_return_address(0);                                        \
                                                                                                   \
		if (!access_simple(RAW_READ, (uintptr_t)address, bytes, (uintptr_t)caller))        \
			__attribute__((musttail)) return slowly_read##bytes(address);              \
	}                                                                                          \
	static OTHERWISE void slowly_write##bytes(void *address)                                   \
	{                                                                                          \
		atomsan_3_write##bytes(address, __builtin_return_address(0));                      \
	}                                                                                          \
	static OTHERWISE void otherwise_write##bytes(void *address)                                \
	{                                                                                          \
		void *caller = __builtin_return_address(0);                                        \
                                                                                                   \
		if (!access_simple(RAW_WRITE, (uintptr_t)address, bytes, (uintptr_t)caller))       \
			__attribute__((musttail)) return slowly_write##bytes(address);             \
	}                                                                                          \
	INLINE(RAW_READ, __tsan_read, bytes, otherwise_read##bytes)                                \
	INLINE(RAW_READ, __tsan_unaligned_read, bytes, otherwise_read##bytes)                      \
	INLINE(RAW_WRITE, __tsan_write, bytes, otherwise_write##bytes)                             \
	INLINE(RAW_WRITE, __tsan_unaligned_write, bytes, otherwise_write##bytes)
HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)
HOOK(16)
