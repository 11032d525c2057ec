/*
 * Atomic operations: the hook performs them. Each excludes the others on the
 * same 64 bytes while it happens and takes its time, so their order in the
 * recording is the order in which they happened.
 *
 * They are all performed as sequentially consistent ones. That is one of the
 * behaviours that any weaker order allows.
 */
#include "runtime/hooks/access.h"

#include "base/banned.h"

typedef int8_t a8;
typedef int16_t a16;
typedef int32_t a32;
typedef int64_t a64;
typedef __int128 a128;

static inline struct shadow_stripe *enter(struct rt_thread *t, const volatile void *address)
{
	struct shadow_stripe *s = shadow_stripe((uintptr_t)address);

	rt_lock_ranked(&s->lock, RT_STRIPE);
	t->shadow.atomic_lock = &s->lock;
	return s;
}

static inline void leave(struct rt_thread *t, struct shadow_stripe *s, enum raw_op op,
			 const volatile void *address, uint32_t size, uintptr_t pc)
{
	uint64_t time = rt_recording ? shadow_stamp(s) : 0;

	rt_tool->atomic(t, op, (uintptr_t)address, size, pc);
	t->shadow.atomic_lock = NULL;
	rt_unlock(&s->lock);
	if (RT_UNLIKELY(rt_recording))
		rt_recorder->atomic_done(t, op, (uintptr_t)address, size, time, pc);
	rt_tool->atomic_done(t, op, (uintptr_t)address, size, time, pc);
	rt_leave(t);
}

/* Does it have to be noted? */
static inline bool noted(struct rt_thread *t)
{
	return RT_LIKELY(rt_threads_out && !t->ignoring) && rt_enter(t);
}

/*
 * A load that repeats another of its stretch changes nothing, and who waits in a loop does little
 * else. Whoever stores holds the lock of the stripe from before the store until the shadow knows of
 * it: where nobody does, behind the load, the shadow knows all that was loaded. A load that repeats
 * the operation before it need not be told apart, whichever function it is in: who waits may call
 * one for each load.
 */
static inline bool repeats(const volatile void *p, uint32_t size)
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
	if (l->head == LINE_IN_CELLS
		    ? !access_done_in(t, limit, false, cell, cell_bytes(address, address + size))
		    : !access_done(false, address, size) || l->head < limit)
		return false;
	t->shadow.loaded = address;
	return true;
}

/* What compilers have instructions for; 16 bytes only by compare and exchange. */
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

/* A function of the name that compilers call, whose body is told apart. */
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
		if (!noted(t))                                                                     \
			return do_##name##bits(p, v);                                              \
		s = enter(t, p);                                                                   \
		old = do_##name##bits(p, v);                                                       \
		leave(t, s, RAW_UPDATE, p, bits / 8, RT_CALLER);                                   \
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
		a##bits v = do_load##bits(p);                                                      \
                                                                                                   \
		(void)order;                                                                       \
		if (repeats(p, bits / 8) || !noted(t))                                             \
			return v;                                                                  \
		s = enter(t, p);                                                                   \
		v = do_load##bits(p);                                                              \
		leave(t, s, RAW_READ, p, bits / 8, RT_CALLER);                                     \
		return v;                                                                          \
	}                                                                                          \
	HOOK(bits, store, void, (volatile a##bits * p, a##bits v, int order))                      \
	{                                                                                          \
		struct rt_thread *t = &rt_self;                                                    \
		struct shadow_stripe *s;                                                           \
                                                                                                   \
		(void)order;                                                                       \
		if (!noted(t)) {                                                                   \
			do_store##bits(p, v);                                                      \
			return;                                                                    \
		}                                                                                  \
		s = enter(t, p);                                                                   \
		do_store##bits(p, v);                                                              \
		leave(t, s, RAW_WRITE, p, bits / 8, RT_CALLER);                                    \
	}                                                                                          \
	FETCH(bits, exchange)                                                                      \
	FETCH(bits, fetch_add)                                                                     \
	FETCH(bits, fetch_sub)                                                                     \
	FETCH(bits, fetch_and)                                                                     \
	FETCH(bits, fetch_or)                                                                      \
	FETCH(bits, fetch_xor)                                                                     \
	FETCH(bits, fetch_nand)                                                                    \
	/* One that fails has only read. */                                                        \
	static inline a##bits cas##bits(volatile a##bits *p, a##bits old, a##bits v, uintptr_t pc) \
	{                                                                                          \
		struct rt_thread *t = &rt_self;                                                    \
		struct shadow_stripe *s;                                                           \
		a##bits seen;                                                                      \
                                                                                                   \
		if (!noted(t))                                                                     \
			return do_cas##bits(p, old, v);                                            \
		s = enter(t, p);                                                                   \
		seen = do_cas##bits(p, old, v);                                                    \
		leave(t, s, seen == old ? RAW_UPDATE : RAW_READ, p, bits / 8, pc);                 \
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

/* Fences order what the hooks above order anyway. */
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
