#include "runtime/access.h"

#include "runtime/predict.h"

/*
 * The usual case behind the fast path: in a new stretch the thread does what it did before, to
 * bytes that nobody else has to do with, or only reads as it does itself.
 */
static inline bool again(struct rt_thread *t, uintptr_t address, uint64_t what)
{
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, address);
	uint64_t w[2], own, other;
	int i;

	if (RT_UNLIKELY(!cell))
		return false;
	w[0] = __atomic_load_n(&cell->w[0], __ATOMIC_RELAXED);
	w[1] = __atomic_load_n(&cell->w[1], __ATOMIC_RELAXED);
	i = !check_mine(t, w[0]);
	own = w[i];
	other = w[!i];
	if (!check_mine(t, own) || (other && (what | other) & SHADOW_WRITE))
		return false;
	/* Nothing of the word may be left: it is dead, or this takes its place. */
	if (own >= t->dead && (own & ~what & SHADOW_BYTES || (own & ~what & SHADOW_WRITE)))
		return false;
	__atomic_store_n(&cell->w[i], t->now | what, __ATOMIC_RELAXED);
	return true;
}

__attribute__((noinline)) static void slower(enum raw_op op, uintptr_t address, size_t size,
					     uintptr_t pc)
{
	struct rt_thread *t = &rt_self;
	uint64_t time;

	if (RT_UNLIKELY(t->ignoring) || !rt_enter(t))
		return;
	check_access(t, op, address, size, pc, &time);
	if (RT_UNLIKELY(record_on)) {
		if (op == RAW_READ_RANGE || op == RAW_WRITE_RANGE)
			record_sized(t, op, address, size, time, pc);
		else
			record_at(t, op, address, (uint32_t)size, time, pc);
	}
	rt_leave(t);
}

void access_slow(enum raw_op op, uintptr_t address, size_t size, uintptr_t pc)
{
	struct rt_thread *t = &rt_self;

	if (RT_UNLIKELY(predict_on)) {
		predict_access(op, address, size, pc);
		if (record_on)
			slower(op, address, size, pc);
		return;
	}
	if (RT_UNLIKELY(!t->txn || record_on || t->ignoring || (address & 7) + size > 8 ||
			op > RAW_UPDATE || !rt_enter(t))) {
		slower(op, address, size, pc);
		return;
	}
	if (RT_LIKELY(again(t, address,
			    ((1ull << size) - 1) << (address & 7) |
				    (op == RAW_READ ? 0 : SHADOW_WRITE)))) {
		history_put(t, op, address, (uint32_t)size, pc);
		rt_leave(t);
		return;
	}
	rt_leave(t);
	slower(op, address, size, pc);
}
