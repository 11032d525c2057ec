/*
 * Accesses that the fast path did not know: most of them are the first of their kind in a
 * transaction, or in a function, and of bytes that nobody else has to do with at the time.
 * Those end here; the others go to check_access.c.
 */
#include "runtime/access.h"

/*
 * The thread did this before, in this stretch but not in this function: its word is made young.
 * Where it is of another kind, and there is room, that is for check_access.c.
 */
static inline bool earlier(struct rt_thread *t, struct shadow_cell *cell, int i, uint64_t what,
			   uintptr_t address, uintptr_t pc)
{
	uint64_t word = access_word(cell, i), other = access_word(cell, !i);

	if (!check_this_stretch(t, word) || (word & what) != what)
		return false;
	if (what & SHADOW_WRITE && other && !check_mine(t, other))
		return false;
	if (word >= t->limit)
		return true;
	if ((word ^ what) & (SHADOW_WRITE | SHADOW_BYTES)) {
		/* The thread's own other word may be the one; a third there is no room for. */
		return other && (other ^ what) & (SHADOW_WRITE | SHADOW_BYTES);
	}
	__atomic_store_n(&cell->w[i], t->now | what, __ATOMIC_RELAXED);
	t->repeat[address >> 3 & (RT_REPEATS - 1)] = (struct rt_repeat){t->now | what, address, pc};
	return true;
}

/*
 * In a new stretch the thread does what it did before, to bytes that nobody else has to do with,
 * or only reads as it does itself.
 */
static inline bool again(struct rt_thread *t, struct shadow_cell *cell, uint64_t what)
{
	uint64_t w[2] = {access_word(cell, 0), access_word(cell, 1)}, own, other;
	int i = !check_mine(t, w[0]);

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

static inline bool usual(struct rt_thread *t, uintptr_t address, uint64_t what, uintptr_t pc,
			 bool *noted)
{
	struct shadow_cell *cell = shadow_find(SHADOW_DATA, address);

	if (RT_UNLIKELY(!cell))
		return false;
	if (earlier(t, cell, 0, what, address, pc) || earlier(t, cell, 1, what, address, pc))
		return true;
	if (!again(t, cell, what))
		return false;
	*noted = true;
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
	uint64_t write = op == RAW_READ ? 0 : SHADOW_WRITE, first, second;
	struct rt_thread *t = &rt_self;
	bool noted = false, known;

	if (RT_UNLIKELY(!t->txn || rt_mode != RT_CHECKING || t->ignoring ||
			(address & 7) + size > 16 || op > RAW_UPDATE || !rt_enter(t))) {
		slower(op, address, size, pc);
		return;
	}
	first = (((1ull << size) - 1) << (address & 7));
	second = first >> 8;
	first &= SHADOW_BYTES;
	known = usual(t, address, first | write, pc, &noted) &&
		(RT_LIKELY(!second) || usual(t, (address | 7) + 1, second | write, pc, &noted));
	if (RT_LIKELY(known) && noted)
		history_put(t, op, address, (uint32_t)size, pc);
	rt_leave(t);
	if (RT_UNLIKELY(!known))
		slower(op, address, size, pc);
}
