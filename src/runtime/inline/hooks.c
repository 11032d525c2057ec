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
#define rt_self       atomsan_4_self
#define shadow_lines  atomsan_4_lines
#define shadow_region atomsan_4_cells
#define rt_mode       atomsan_4_mode
#define icd_region    atomsan_4_states

#include <stddef.h>

#include "runtime/hooks/access.h"

#include "base/banned.h"

/* Each is there when the instrumentation comes, and is not instrumented itself. */
#define INLINED ACCESS_FAST __attribute__((used, disable_sanitizer_instrumentation))

/*
 * Is something to be done? access_known(), in assembler: clang's time goes up with what it sees,
 * and of this it sees one instruction. Of its questions a mode with nothing to do ends it with the
 * flag set, as the last one does where all was done; one that ends it otherwise has the flag clear.
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
	       "MISSING() knows");

/*
 * What the fast path does not know is done by functions of their own that keep nearly all
 * registers, so that the program need not save them before it knows. The first saves none and
 * knows which check it is for; the next one does what is simple, for that, and saves a few; the
 * last one calls the runtime and has to save all. Each takes the place of the one before.
 */
#define OTHERWISE                                                                                  \
	static __attribute__((preserve_most, noinline, cold, disable_sanitizer_instrumentation))
#define INSTEAD __attribute__((musttail)) return

/* rt_mode == RT_CHECKING, in the one register that need not be saved. */
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

#define INLINE(name, bytes, bits, otherwise)                                                       \
	INLINED void name##bytes(void *address)                                                    \
	{                                                                                          \
		if (RT_UNLIKELY(MISSING(address, bits, bytes)))                                    \
			otherwise(address);                                                        \
	}
#define HOOK(what, op, bits, bytes)                                                                \
	void atomsan_4_##what##bytes(void *address, void *caller);                                 \
	OTHERWISE void slowly_##what##bytes(void *address)                                         \
	{                                                                                          \
		atomsan_4_##what##bytes(address, __builtin_return_address(0));                     \
	}                                                                                          \
	OTHERWISE void simply_##what##bytes(void *address)                                         \
	{                                                                                          \
		void *caller = __builtin_return_address(0);                                        \
                                                                                                   \
		if (!access_note_simple(op, (uintptr_t)address, bytes, (uintptr_t)caller))         \
			INSTEAD slowly_##what##bytes(address);                                     \
	}                                                                                          \
	OTHERWISE void owning_##what##bytes(void *address)                                         \
	{                                                                                          \
		if (rt_mode != RT_OWNING || !icd_known(op != RAW_READ, (uintptr_t)address, bytes)) \
			INSTEAD slowly_##what##bytes(address);                                     \
	}                                                                                          \
	OTHERWISE void otherwise_##what##bytes(void *address)                                      \
	{                                                                                          \
		if (RT_LIKELY(is_checking()))                                                      \
			INSTEAD simply_##what##bytes(address);                                     \
		INSTEAD owning_##what##bytes(address);                                             \
	}                                                                                          \
	INLINE(__tsan_##what, bytes, bits, otherwise_##what##bytes)                                \
	INLINE(__tsan_unaligned_##what, bytes, bits, otherwise_##what##bytes)
#define HOOKS(bytes)                                                                               \
	HOOK(read, RAW_READ, r, bytes)                                                             \
	HOOK(write, RAW_WRITE, w, bytes)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
