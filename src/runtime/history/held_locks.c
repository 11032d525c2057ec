#include "runtime/history/held_locks.h"

#include "trace/raw_format.h"

#include "base/banned.h"

struct rt_held *held_find(struct rt_thread *t, uintptr_t address)
{
	for (size_t i = t->locks.n; i-- > 0;)
		if (t->locks.held[i].address == address)
			return &t->locks.held[i];
	return NULL;
}

static bool make_room(struct thread_locks *l)
{
	size_t cap = l->cap ? 2 * l->cap : RAW_PAGE / sizeof *l->held;
	struct rt_held *grown;

	if (l->n < l->cap)
		return true;
	grown = rt_pages(cap * sizeof *grown);
	if (!grown)
		return false;
	for (size_t i = 0; i < l->n; i++)
		grown[i] = l->held[i];
	rt_pages_free(l->held, l->cap * sizeof *grown);
	l->held = grown;
	l->cap = cap;
	return true;
}

bool held_add(struct rt_thread *t, uintptr_t address, uint32_t kind, bool shared, uintptr_t pc)
{
	struct rt_held *h = held_find(t, address);

	if (h) {
		h->times++;
		return false;
	}
	if (make_room(&t->locks))
		t->locks.held[t->locks.n++] =
			(struct rt_held){address, pc, 1, (uint8_t)kind, shared};
	return true;
}

bool held_drop(struct rt_thread *t, struct rt_held *h)
{
	RT_ASSERT(h->times && h < t->locks.held + t->locks.n);
	if (--h->times)
		return false;
	*h = t->locks.held[--t->locks.n];
	return true;
}

void held_free(struct rt_thread *t)
{
	rt_pages_free(t->locks.held, t->locks.cap * sizeof *t->locks.held);
	t->locks = (struct thread_locks){0};
}
