/*
 * The hooks of plain accesses. atomics.c has those of atomic operations, functions.c
 * those at the beginning and the end of each function.
 */
#include "runtime/hooks/access.h"
#include "runtime/hooks/hook_list.h"
#include "runtime/link/modules.h"

#include "base/banned.h"

/* Each module's constructor calls this. */
RT_EXPORT void __tsan_init(void);
void __tsan_init(void)
{
	modules_note();
}

#define READ(name, bytes)                                                                          \
	RT_EXPORT void name##bytes(void *address);                                                 \
	void name##bytes(void *address)                                                            \
	{                                                                                          \
		if (!access_known(RAW_READ, address, bytes) &&                                     \
		    !access_needs_nothing(false, (uintptr_t)address, bytes))                       \
			access_read##bytes(address, RT_CALLER);                                    \
	}
#define WRITE(name, bytes)                                                                         \
	RT_EXPORT void name##bytes(void *address);                                                 \
	void name##bytes(void *address)                                                            \
	{                                                                                          \
		if (!access_known(RAW_WRITE, address, bytes) &&                                    \
		    !access_needs_nothing(true, (uintptr_t)address, bytes))                        \
			access_write##bytes(address, RT_CALLER);                                   \
	}
/* Two events, because other threads can come between the read and the write. */
#define UPDATE(name, bytes)                                                                        \
	RT_EXPORT void name##bytes(void *address);                                                 \
	void name##bytes(void *address)                                                            \
	{                                                                                          \
		if (!access_known(RAW_READ, address, bytes))                                       \
			access_read##bytes(address, RT_CALLER);                                    \
		if (!access_known(RAW_WRITE, address, bytes))                                      \
			access_write##bytes(address, RT_CALLER);                                   \
	}
HOOK_READS(READ)
HOOK_WRITES(WRITE)
HOOK_UPDATES(UPDATE)

/* HOOK_CALLED: what the inlined hooks call, and the hooks that are called instead of them. */
#define INLINED(name, bytes)                                                                       \
	RT_EXPORT void atomsan_4_read##bytes(void *address, void *caller);                         \
	void atomsan_4_read##bytes(void *address, void *caller)                                    \
	{                                                                                          \
		access_slow(RAW_READ, (uintptr_t)address, bytes, (uintptr_t)caller);               \
	}                                                                                          \
	RT_EXPORT void atomsan_4_write##bytes(void *address, void *caller);                        \
	void atomsan_4_write##bytes(void *address, void *caller)                                   \
	{                                                                                          \
		access_slow(RAW_WRITE, (uintptr_t)address, bytes, (uintptr_t)caller);              \
	}
HOOK_SIZES(INLINED, )
HOOK_SIZES(READ, atomsan_4_call_read)
HOOK_SIZES(WRITE, atomsan_4_call_write)

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
 * A destructor stores the table of virtual functions of its own class. In most cases
 * that is the table that is there already: then it is not a write.
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
