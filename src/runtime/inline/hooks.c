/*
 * The hooks for clang to inline. This file is compiled to bitcode, which atomsan-cc adds to each
 * file that clang compiles. The fast path is inlined. The rest is a call, so that its return
 * address lies in the program.
 *
 * The names of the runtime's variables contain a number. If an object was compiled for a runtime
 * with another number, the linker refuses it. The number goes up, here and in cli/cmd_as.c,
 * whenever one of these changes: the first fields of struct rt_thread, the table of the shadow, the
 * form of a word, rt_mode.
 */
#define rt_self       atomsan_4_self
#define shadow_lines  atomsan_4_lines
#define shadow_region atomsan_4_cells
#define rt_mode       atomsan_4_mode
#define icd_region    atomsan_4_states

#include <stddef.h>

#include "runtime/hooks/access.h"

#include "base/banned.h"

/* Present when clang's instrumentation runs, but not instrumented itself. */
#define INLINED ACCESS_FAST __attribute__((used, disable_sanitizer_instrumentation))

/*
 * Does the runtime have to be called for this access? The same as !access_known(), in assembler:
 * clang takes longer the more code it sees, and this is one instruction to it. The result is the
 * processor's zero flag, set if nothing is missing:
 *  - RT_NOTHING: the flag is set
 *  - another mode than RT_CHECKING, or no shadow: the flag is clear
 *  - RT_CHECKING: the flag is set if the line is this thread's and holds all of the access
 */
#define MISSING(address, bits, bytes)                                                              \
	({                                                                                         \
		uint64_t line_, rest_;                                                             \
		bool missing_;                                                                     \
		__asm__ volatile(                                                                  \
			"movq atomsan_4_mode@GOTPCREL(%%rip), %[line]\n\t"                         \
			"movl (%[line]), %k[line]\n\t"                                             \
			"testl %k[line], %k[line]\n\t"                                             \
			"je 1f\n\t"                                                                \
			"cmpl %[checking], %k[line]\n\t"                                           \
			"jne 1f\n\t"                                                               \
			"movq %[at], %[line]\n\t"                                                  \
			"shrq %[region], %[line]\n\t"                                              \
			"andl %[regions], %k[line]\n\t"                                            \
			"movq atomsan_4_lines@GOTPCREL(%%rip), %[rest]\n\t"                        \
			"movq (%[rest],%[line]), %[line]\n\t"                                      \
			"cmpq $1, %[line]\n\t"                                                     \
			"jb 1f\n\t"                                                                \
			"movq %[at], %[rest]\n\t"                                                  \
			"shrq $1, %[rest]\n\t"                                                     \
			"andl %[lines], %k[rest]\n\t"                                              \
			"addq %[rest], %[line]\n\t"                                                \
			"movl %k[at], %%ecx\n\t"                                                   \
			"movq %c[where](%[line]), %[rest]\n\t"                                     \
			"shrq %%cl, %[rest]\n\t"                                                   \
			"notl %k[rest]\n\t"                                                        \
			"andl %[mask], %k[rest]\n\t"                                               \
			"movq (%[line]), %[line]\n\t"                                              \
			"movq atomsan_4_self@GOTTPOFF(%%rip), %%rcx\n\t"                           \
			"subq %%fs:(%%rcx), %[line]\n\t"                                           \
			"shrq %[slot], %[line]\n\t"                                                \
			"orq %[rest], %[line]\n"                                                   \
			"1:"                                                                       \
			: "=@ccnz"(missing_), [line] "=&r"(line_), [rest] "=&r"(rest_)             \
			: [at] "r"(address), [checking] "i"(RT_CHECKING),                          \
			  [region] "i"(SHADOW_REGION - 3),                                         \
			  [regions] "i"((SHADOW_REGIONS - 1) * 8),                                 \
			  [lines] "i"(((1u << SHADOW_REGION) - 1) / 2 & ~31u),                     \
			  [where] "i"(offsetof(struct shadow_line, bits)),                         \
			  [mask] "i"((1u << (bytes)) - 1), [slot] "i"(SHADOW_SLOT_SHIFT - 1)       \
			: "rcx");                                                                  \
		missing_;                                                                          \
	})
_Static_assert(offsetof(struct rt_thread, time.limit) == 0 &&
		       offsetof(struct shadow_line, head) == 0 &&
		       sizeof(struct shadow_line) == 32 && LINE_SIZE == 64 && RT_NOTHING == 0,
	       "what MISSING() assumes");

/*
 * The slow path is a chain of functions that preserve nearly all registers, so that the program
 * does not have to save them before it takes this path. Each function of the chain jumps to the
 * next, which saves more registers:
 *
 *	atomsan_leave_fast_path_  chooses the next function by the mode; saves no register
 *	atomsan_note_simple_      RT_CHECKING: the simple cases of frontier; saves a few
 *	atomsan_check_owned_      RT_OWNING: the fast path of doublechecker; saves a few
 *	atomsan_call_runtime_     calls the runtime's hook; saves all
 */
#define SLOW_PATH                                                                                  \
	static __attribute__((preserve_most, noinline, cold, disable_sanitizer_instrumentation))
#define JUMP_TO __attribute__((musttail)) return

/* rt_mode == RT_CHECKING, computed in r11, the one register that no function has to save. */
ACCESS_FAST __attribute__((disable_sanitizer_instrumentation)) bool is_checking(void)
{
	bool yes;

	__asm__ volatile("movq atomsan_4_mode@GOTPCREL(%%rip), %%r11\n\t"
			 "cmpl %[checking], (%%r11)"
			 : "=@ccz"(yes)
			 : [checking] "i"(RT_CHECKING)
			 : "r11");
	return yes;
}

#define INLINE(name, bytes, bits, slow_path)                                                       \
	INLINED void name##bytes(void *address)                                                    \
	{                                                                                          \
		if (RT_UNLIKELY(MISSING(address, bits, bytes)))                                    \
			slow_path(address);                                                        \
	}
#define HOOK(what, op, bits, bytes)                                                                \
	void atomsan_4_##what##bytes(void *address, void *caller);                                 \
	SLOW_PATH void atomsan_call_runtime_##what##bytes(void *address)                           \
	{                                                                                          \
		atomsan_4_##what##bytes(address, __builtin_return_address(0));                     \
	}                                                                                          \
	SLOW_PATH void atomsan_note_simple_##what##bytes(void *address)                            \
	{                                                                                          \
		void *caller = __builtin_return_address(0);                                        \
                                                                                                   \
		if (!access_note_simple(op, (uintptr_t)address, bytes, (uintptr_t)caller))         \
			JUMP_TO atomsan_call_runtime_##what##bytes(address);                       \
	}                                                                                          \
	SLOW_PATH void atomsan_check_owned_##what##bytes(void *address)                            \
	{                                                                                          \
		if (rt_mode != RT_OWNING || !icd_known(op != RAW_READ, (uintptr_t)address, bytes)) \
			JUMP_TO atomsan_call_runtime_##what##bytes(address);                       \
	}                                                                                          \
	SLOW_PATH void atomsan_leave_fast_path_##what##bytes(void *address)                        \
	{                                                                                          \
		if (RT_LIKELY(is_checking()))                                                      \
			JUMP_TO atomsan_note_simple_##what##bytes(address);                        \
		JUMP_TO atomsan_check_owned_##what##bytes(address);                                \
	}                                                                                          \
	INLINE(__tsan_##what, bytes, bits, atomsan_leave_fast_path_##what##bytes)                  \
	INLINE(__tsan_unaligned_##what, bytes, bits, atomsan_leave_fast_path_##what##bytes)
#define HOOKS(bytes)                                                                               \
	HOOK(read, RAW_READ, r, bytes)                                                             \
	HOOK(write, RAW_WRITE, w, bytes)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
