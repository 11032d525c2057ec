/*
 * What the compilers call before each access of memory. See atomics.c for atomic
 * operations, thread.c for the beginning and end of each function.
 */
#include "runtime/access.h"
#include "runtime/hook_list.h"
#include "runtime/modules.h"

/* Each module's constructor calls this. */
RT_EXPORT void __tsan_init(void);
void __tsan_init(void)
{
	modules_note();
}

/* Just this, and in the thread's stretch. */
static inline bool is_same(const struct rt_thread *t, uint64_t word, uint64_t what)
{
	return !(((word - t->txn_limit) ^ what) & ~((SHADOW_TIMES - 1) << SHADOW_TIME_SHIFT));
}

/* The word stands for this, too, and there is no room for a younger one: see usual() in access.c.
 */
static inline bool stands(const struct rt_thread *t, uint64_t word, uint64_t other, uint64_t what)
{
	if (!other || !check_this_stretch(t, word) || (word & what) != what)
		return false;
	return check_mine(t, other) ||
	       (!check_conflicts(other, what) && shadow_slot(other) < SHADOW_NOBODY) ||
	       (!(what & SHADOW_WRITE) && check_known(t, other));
}

/*
 * The thread did this in its stretch, before the innermost function began, and nobody else has to
 * do with it: the word is made young.
 */
static inline __attribute__((always_inline)) bool
again(struct rt_thread *t, struct shadow_cell *cell, uintptr_t address, uint64_t what, uintptr_t pc)
{
	uint64_t w[2] = {access_word(cell, 0), access_word(cell, 1)}, young;
	struct rt_repeat *r = &t->repeat[address >> 3 & (RT_REPEATS - 1)];
	int i = !is_same(t, w[0], what);

	if (i && !is_same(t, w[1], what))
		return stands(t, w[0], w[1], what) || stands(t, w[1], w[0], what);
	if ((w[!i] && !check_mine(t, w[!i])) || RT_UNLIKELY(r->kept))
		return false;
	t->quiet = RT_IN_RUNTIME;
	RT_COMPILER_BARRIER();
	young = t->now | what;
	__atomic_store_n(&cell->w[i], young, __ATOMIC_RELAXED);
	__atomic_store_n(&r->word, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&r->address, address, __ATOMIC_RELEASE);
	r->pc = pc;
	__atomic_store_n(&r->word, young, __ATOMIC_RELEASE);
	rt_leave(t);
	return true;
}

/*
 * What the fast path did not know. The size is a constant: what is soon done is done here, and
 * takes a few nanoseconds.
 */
static inline __attribute__((always_inline)) void unknown(enum raw_op op, const void *p,
							  uint32_t size, uintptr_t pc)
{
	uint64_t write = op == RAW_READ ? 0 : SHADOW_WRITE, bytes = (1ull << size) - 1;
	uintptr_t address = (uintptr_t)p;
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, address);
	struct rt_thread *t = &rt_self;
	uint32_t first = 8 - (address & 7); /* so many of its bytes are in the first cell */

	if (RT_LIKELY(rt_mode == RT_CHECKING && cell && !(t->quiet | t->ignoring))) {
		if (size <= first) {
			if (again(t, cell, address, write | bytes << (address & 7), pc))
				return;
		} else if ((address + first) & ((1ul << SHADOW_REGION) - 1)) {
			uint64_t what[2] = {write | (bytes << (address & 7) & SHADOW_BYTES),
					    write | bytes >> first};

			if ((access_done_in(t, cell, what[0]) ||
			     again(t, cell, address, what[0], pc)) &&
			    (access_done_in(t, cell + 1, what[1]) ||
			     again(t, cell + 1, address + first, what[1], pc)))
				return;
		}
	}
	access_slow(op, address, size, pc);
}

static inline __attribute__((always_inline)) void plain(enum raw_op op, const void *address,
							uint32_t size, uintptr_t pc)
{
	if (access_known(op, address, size))
		return;
	if (size <= 8)
		unknown(op, address, size, pc);
	else
		access_slow(op, (uintptr_t)address, size, pc);
}

#define READ(name, bytes)                                                                          \
	RT_EXPORT void name##bytes(void *address);                                                 \
	void name##bytes(void *address)                                                            \
	{                                                                                          \
		plain(RAW_READ, address, bytes, RT_CALLER);                                        \
	}
#define WRITE(name, bytes)                                                                         \
	RT_EXPORT void name##bytes(void *address);                                                 \
	void name##bytes(void *address)                                                            \
	{                                                                                          \
		plain(RAW_WRITE, address, bytes, RT_CALLER);                                       \
	}
/* Not one event: nothing keeps others out between the two. */
#define UPDATE(name, bytes)                                                                        \
	RT_EXPORT void name##bytes(void *address);                                                 \
	void name##bytes(void *address)                                                            \
	{                                                                                          \
		plain(RAW_READ, address, bytes, RT_CALLER);                                        \
		plain(RAW_WRITE, address, bytes, RT_CALLER);                                       \
	}
HOOK_READS(READ)
HOOK_WRITES(WRITE)
HOOK_UPDATES(UPDATE)

/* What inline/hooks.c calls, and needs to know. */
#define INLINED(bytes)                                                                             \
	RT_EXPORT void atomsan_1_read##bytes(void *address);                                       \
	void atomsan_1_read##bytes(void *address)                                                  \
	{                                                                                          \
		unknown(RAW_READ, address, bytes, RT_CALLER);                                      \
	}                                                                                          \
	RT_EXPORT void atomsan_1_write##bytes(void *address);                                      \
	void atomsan_1_write##bytes(void *address)                                                 \
	{                                                                                          \
		unknown(RAW_WRITE, address, bytes, RT_CALLER);                                     \
	}
INLINED(1)
INLINED(2)
INLINED(4)
INLINED(8)

RT_EXPORT void __tsan_read_range(void *address, unsigned long size);
void __tsan_read_range(void *address, unsigned long size)
{
	access_range(RAW_READ_RANGE, address, size, RT_CALLER);
}

RT_EXPORT void __tsan_write_range(void *address, unsigned long size);
void __tsan_write_range(void *address, unsigned long size)
{
	access_range(RAW_WRITE_RANGE, address, size, RT_CALLER);
}

/*
 * A destructor puts the table of virtual functions of its own class in place,
 * mostly the one that is there: that changes nothing for anybody.
 */
RT_EXPORT void __tsan_vptr_update(void **table, void *value);
void __tsan_vptr_update(void **table, void *value)
{
	if (*table != value)
		access_plain(RAW_WRITE, table, sizeof *table, RT_CALLER);
}

RT_EXPORT void __tsan_vptr_read(void **table);
void __tsan_vptr_read(void **table)
{
	access_plain(RAW_READ, table, sizeof *table, RT_CALLER);
}
