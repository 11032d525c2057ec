/*
 * Atomic operations: the hook performs them. The stripe's lock is held while an
 * operation happens and its time is taken, so the operations on the same 64 bytes
 * are recorded in the order in which they happened.
 *
 * All are performed as sequentially consistent operations. That is one of the
 * behaviours that any weaker order allows.
 */
#include "runtime/hooks/access.h"
#include "runtime/schedule/schedule.h"
#include "trace/event.h"

#include "base/banned.h"

typedef int8_t a8;
typedef int16_t a16;
typedef int32_t a32;
typedef int64_t a64;
typedef __int128 a128;

/* Take the lock of the stripe. on_signal() releases it if the operation faults. */
static inline struct shadow_stripe *lock_stripe(struct rt_thread *t, const volatile void *address)
{
	struct shadow_stripe *s = shadow_stripe((uintptr_t)address);

	RT_ASSERT(!t->shadow.atomic_lock);
	rt_lock_ranked(&s->lock, RT_STRIPE);
	t->shadow.atomic_lock = &s->lock;
	return s;
}

/* Returns the value of memory after an atomic operation. Call it with the stripe's lock held. */
static inline uint8_t value_after(const volatile void *address, uint32_t size)
{
	switch (size) {
	case 1:
		return event_value(__atomic_load_n((const uint8_t *)address, __ATOMIC_RELAXED), 1);
	case 2:
		return event_value(__atomic_load_n((const uint16_t *)address, __ATOMIC_RELAXED), 2);
	case 4:
		return event_value(__atomic_load_n((const uint32_t *)address, __ATOMIC_RELAXED), 4);
	case 8:
		return event_value(__atomic_load_n((const uint64_t *)address, __ATOMIC_RELAXED), 8);
	default:
		return VALUE_UNKNOWN;
	}
}

/* The operation has happened: note it, release the lock and leave the runtime. */
static inline void note_and_unlock(struct rt_thread *t, struct shadow_stripe *s, enum raw_op op,
				   const volatile void *address, uint32_t size, uintptr_t pc)
{
	uint64_t time = rt_recording ? shadow_stamp(s) : 0;
	uint8_t value = rt_recording ? value_after(address, size) : VALUE_UNKNOWN;

	rt_tool->atomic(t, op, (uintptr_t)address, size, pc);
	t->shadow.atomic_lock = NULL;
	rt_unlock(&s->lock);
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->atomic_done(t, op, (uintptr_t)address, size, value, time, pc);
	rt_tool->atomic_done(t, op, (uintptr_t)address, size, value, time, pc);
	rt_leave(t);
}

/* Enter the runtime if operations of this thread are noted now; returns false if not. */
static inline bool enter_to_note(struct rt_thread *t)
{
	return RT_LIKELY(rt_unjoined_threads && !t->ignoring) && rt_enter(t);
}

/*
 * Does the load, which has just happened, repeat another one of its stretch? Then it changes
 * nothing. This matters to threads that wait in a loop, which do little else.
 *
 * A thread that stores holds the stripe's lock from before the store until the shadow has it. So if
 * the lock is free after the load, the shadow has the store that was loaded. A load that repeats
 * the thread's last atomic operation need not be distinguished by function: a waiting thread may
 * call a function for each load.
 */
static inline bool is_repeated_load(const volatile void *p, uint32_t size)
{
	uintptr_t address = (uintptr_t)p;
	const struct shadow_cell *cell = shadow_find(SHADOW_DATA, address);
	const struct shadow_line *l = shadow_line_find(address);
	struct rt_thread *t = &rt_self;
	uint64_t limit;

	if (rt_mode != RT_CHECKING || !cell || !l || size + (address & 7) > 8 ||
	    __atomic_load_n(&shadow_stripe(address)->lock, __ATOMIC_ACQUIRE))
		return false;
	limit = t->shadow.loaded == address ? t->time.limit : time_atomic_limit(t);
	if (line_is_in_cells(l->head)
		    ? !access_is_in_cell(t, limit, false, cell, cell_bytes(address, address + size))
		    : !access_is_recorded(false, address, size) || l->head < limit)
		return false;
	t->shadow.loaded = address;
	return true;
}

/* The operations themselves. The machine has instructions for up to 8 bytes. */
#define DO_LOAD(bits)                                                                              \
	static inline a##bits do_load##bits(const volatile a##bits *p)                             \
	{                                                                                          \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                       \
	}                                                                                          \
	static inline void do_store##bits(volatile a##bits *p, a##bits v)                          \
	{                                                                                          \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST);                                          \
	}                                                                                          \
	static inline a##bits do_exchange##bits(volatile a##bits *p, a##bits v)                    \
	{                                                                                          \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);                                \
	}                                                                                          \
	static inline a##bits do_cas##bits(volatile a##bits *p, a##bits old, a##bits v)            \
	{                                                                                          \
		return __sync_val_compare_and_swap(p, old, v);                                     \
	}
#define DO_FETCH(bits, name)                                                                       \
	static inline a##bits do_##name##bits(volatile a##bits *p, a##bits v)                      \
	{                                                                                          \
		return __atomic_##name(p, v, __ATOMIC_SEQ_CST);                                    \
	}
#define DO(bits)                                                                                   \
	DO_LOAD(bits)                                                                              \
	DO_FETCH(bits, fetch_add)                                                                  \
	DO_FETCH(bits, fetch_sub)                                                                  \
	DO_FETCH(bits, fetch_and)                                                                  \
	DO_FETCH(bits, fetch_or)                                                                   \
	DO_FETCH(bits, fetch_xor)                                                                  \
	DO_FETCH(bits, fetch_nand)
DO(8)
DO(16)
DO(32)
DO(64)

/* Of 16 bytes it only has compare-and-exchange: the other operations use that. */
static inline a128 do_cas128(volatile a128 *p, a128 old, a128 v)
{
	return __sync_val_compare_and_swap(p, old, v);
}

static inline a128 do_load128(const volatile a128 *p)
{
	return do_cas128((volatile a128 *)(uintptr_t)p, 0, 0);
}

#define DO_LOOP(name, expression)                                                                  \
	static inline a128 do_##name##128(volatile a128 * p, a128 v)                               \
	{                                                                                          \
		a128 old = do_load128(p);                                                          \
                                                                                                   \
		for (;;) {                                                                         \
			a128 seen = do_cas128(p, old, expression);                                 \
                                                                                                   \
			if (seen == old)                                                           \
				return old;                                                        \
			old = seen;                                                                \
		}                                                                                  \
	}
DO_LOOP(exchange, v)
DO_LOOP(fetch_add, (a128)((unsigned __int128)old + (unsigned __int128)v))
DO_LOOP(fetch_sub, (a128)((unsigned __int128)old - (unsigned __int128)v))
DO_LOOP(fetch_and, old &v)
DO_LOOP(fetch_or, old | v)
DO_LOOP(fetch_xor, old ^ v)
DO_LOOP(fetch_nand, ~(old &v))

static inline void do_store128(volatile a128 *p, a128 v)
{
	do_exchange128(p, v);
}

/* The head of a hook; its body follows. */
#define HOOK(bits, name, type, params)                                                             \
	RT_EXPORT type __tsan_atomic##bits##_##name params;                                        \
	type __tsan_atomic##bits##_##name params

#define FETCH(bits, name)                                                                          \
	HOOK(bits, name, a##bits, (volatile a##bits * p, a##bits v, int order))                    \
	{                                                                                          \
		struct rt_thread *t = &rt_self;                                                    \
		struct shadow_stripe *s;                                                           \
		a##bits old;                                                                       \
                                                                                                   \
		(void)order;                                                                       \
		schedule_point(DRIVE_ATOMIC_WRITE, p, RT_CALLER);                                  \
		if (!enter_to_note(t))                                                             \
			return do_##name##bits(p, v);                                              \
		s = lock_stripe(t, p);                                                             \
		old = do_##name##bits(p, v);                                                       \
		note_and_unlock(t, s, RAW_UPDATE, p, bits / 8, RT_CALLER);                         \
		if (RT_UNLIKELY(schedule_on))                                                      \
			schedule_atomic_done(p, (uint64_t)old, *p != old, RT_CALLER);              \
		return old;                                                                        \
	}

#define CAS(bits, name)                                                                            \
	HOOK(bits, name, int,                                                                      \
	     (volatile a##bits * p, a##bits * expected, a##bits v, int order, int failed))         \
	{                                                                                          \
		a##bits seen = cas##bits(p, *expected, v, RT_CALLER);                              \
                                                                                                   \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		if (seen == *expected)                                                             \
			return 1;                                                                  \
		*expected = seen;                                                                  \
		return 0;                                                                          \
	}

#define HOOKS(bits)                                                                                \
	HOOK(bits, load, a##bits, (const volatile a##bits *p, int order))                          \
	{                                                                                          \
		struct rt_thread *t = &rt_self;                                                    \
		struct shadow_stripe *s;                                                           \
		a##bits v;                                                                         \
                                                                                                   \
		(void)order;                                                                       \
		schedule_point(DRIVE_ATOMIC_READ, p, RT_CALLER);                                   \
		v = do_load##bits(p);                                                              \
		if (is_repeated_load(p, bits / 8) || !enter_to_note(t))                            \
			return v;                                                                  \
		s = lock_stripe(t, p);                                                             \
		v = do_load##bits(p);                                                              \
		note_and_unlock(t, s, RAW_READ, p, bits / 8, RT_CALLER);                           \
		if (RT_UNLIKELY(schedule_on))                                                      \
			schedule_atomic_done(p, (uint64_t)v, false, RT_CALLER);                    \
		return v;                                                                          \
	}                                                                                          \
	HOOK(bits, store, void, (volatile a##bits * p, a##bits v, int order))                      \
	{                                                                                          \
		struct rt_thread *t = &rt_self;                                                    \
		struct shadow_stripe *s;                                                           \
                                                                                                   \
		(void)order;                                                                       \
		schedule_point(DRIVE_ATOMIC_WRITE, p, RT_CALLER);                                  \
		if (!enter_to_note(t)) {                                                           \
			do_store##bits(p, v);                                                      \
			return;                                                                    \
		}                                                                                  \
		s = lock_stripe(t, p);                                                             \
		do_store##bits(p, v);                                                              \
		note_and_unlock(t, s, RAW_WRITE, p, bits / 8, RT_CALLER);                          \
		if (RT_UNLIKELY(schedule_on))                                                      \
			schedule_atomic_done(p, 0, true, RT_CALLER);                               \
	}                                                                                          \
	FETCH(bits, exchange)                                                                      \
	FETCH(bits, fetch_add)                                                                     \
	FETCH(bits, fetch_sub)                                                                     \
	FETCH(bits, fetch_and)                                                                     \
	FETCH(bits, fetch_or)                                                                      \
	FETCH(bits, fetch_xor)                                                                     \
	FETCH(bits, fetch_nand)                                                                    \
	/* If it fails, it has only read. */                                                       \
	static inline a##bits cas##bits(volatile a##bits *p, a##bits old, a##bits v, uintptr_t pc) \
	{                                                                                          \
		struct rt_thread *t = &rt_self;                                                    \
		struct shadow_stripe *s;                                                           \
		a##bits seen;                                                                      \
                                                                                                   \
		schedule_point(DRIVE_ATOMIC_WRITE, p, pc);                                         \
		if (!enter_to_note(t))                                                             \
			return do_cas##bits(p, old, v);                                            \
		s = lock_stripe(t, p);                                                             \
		seen = do_cas##bits(p, old, v);                                                    \
		note_and_unlock(t, s, seen == old ? RAW_UPDATE : RAW_READ, p, bits / 8, pc);       \
		if (RT_UNLIKELY(schedule_on))                                                      \
			schedule_atomic_done(p, (uint64_t)seen, seen == old, pc);                  \
		return seen;                                                                       \
	}                                                                                          \
	CAS(bits, compare_exchange_strong)                                                         \
	CAS(bits, compare_exchange_weak)                                                           \
	HOOK(bits, compare_exchange_val, a##bits,                                                  \
	     (volatile a##bits * p, a##bits old, a##bits v, int order, int failed))                \
	{                                                                                          \
		(void)order;                                                                       \
		(void)failed;                                                                      \
		return cas##bits(p, old, v, RT_CALLER);                                            \
	}

HOOKS(8)
HOOKS(16)
HOOKS(32)
HOOKS(64)
HOOKS(128)

/* A fence needs no event: the operations above are sequentially consistent anyway. */
RT_EXPORT void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	(void)order;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

RT_EXPORT void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
	RT_COMPILER_BARRIER();
}
