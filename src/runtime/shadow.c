#include "runtime/shadow.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/check.h"

uintptr_t shadow_region[SHADOW_SPACES][SHADOW_REGIONS];
RT_EXPORT extern uintptr_t __atomsan_1_shadow[SHADOW_SPACES][SHADOW_REGIONS]
	__attribute__((alias("shadow_region")));
struct shadow_stripe shadow_stripes[SHADOW_STRIPES];
static uint32_t region_lock, list_lock;

struct shadow_cell *shadow_make(enum shadow_space space, uintptr_t address)
{
	uintptr_t *region = &shadow_region[space][address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
	size_t bytes = 2ul << SHADOW_REGION;

	if (RT_UNLIKELY(!__atomic_load_n(region, __ATOMIC_ACQUIRE))) {
		rt_lock(&region_lock);
		if (!*region) {
			void *made = rt_pages(bytes);

			if (!made) {
				rt_unlock(&region_lock);
				check_give_up("no address space for shadow memory");
				return NULL;
			}
			/* Large pages would be filled with what nobody asked for. */
			syscall(SYS_madvise, made, bytes, MADV_NOHUGEPAGE);
			syscall(SYS_madvise, made, bytes, MADV_DONTDUMP);
			__atomic_store_n(region, (uintptr_t)made, __ATOMIC_RELEASE);
		}
		rt_unlock(&region_lock);
	}
	return shadow_find(space, address);
}

/* --- lists: classes of 64, 128, ... bytes from one store --- */

enum { CLASSES = 16, STORE = 1 << 20 };
static struct shadow_list *free_lists[CLASSES]; /* linked by `cell` */
static char *store, *store_end;
static size_t used;

static uint32_t class_of(uint32_t cap)
{
	uint32_t class = 0;

	while (((64u << class) - sizeof(struct shadow_list)) / sizeof(uint64_t) < cap)
		class ++;
	return class;
}

struct shadow_list *shadow_list_new(struct shadow_cell *cell, uint32_t cap)
{
	uint32_t class = class_of(cap);
	size_t bytes = 64ul << class;
	struct shadow_list *list = NULL;

	if (class >= CLASSES)
		return NULL;
	rt_lock(&list_lock);
	if (free_lists[class]) {
		list = free_lists[class];
		free_lists[class] = (struct shadow_list *)list->cell;
	} else {
		if ((size_t)(store_end - store) < bytes) {
			store = rt_pages(STORE);
			store_end = store ? store + STORE : NULL;
		}
		if (store) {
			list = (struct shadow_list *)store;
			store += bytes;
			used += bytes;
		}
	}
	rt_unlock(&list_lock);
	if (!list) {
		check_give_up("no memory for shadow lists");
		return NULL;
	}
	list->cell = cell;
	list->n = 0;
	list->cap = (uint32_t)((bytes - sizeof *list) / sizeof list->w[0]);
	return list;
}

void shadow_list_free(struct shadow_list *list)
{
	uint32_t class = class_of(list->cap);

	rt_lock(&list_lock);
	list->n = 0;
	list->cell = (struct shadow_cell *)free_lists[class];
	free_lists[class] = list;
	rt_unlock(&list_lock);
}

/* --- clearing --- */

static void clear_cell(struct shadow_cell *cell, uintptr_t address)
{
	struct shadow_stripe *stripe;
	struct shadow_list *list;

	if (!(cell->w[0] | cell->w[1]))
		return;
	if (RT_LIKELY(!shadow_list(cell->w[1]))) {
		cell->w[0] = cell->w[1] = 0;
		return;
	}
	stripe = shadow_stripe(address);
	rt_lock(&stripe->lock);
	list = shadow_list(cell->w[1]);
	cell->w[0] = cell->w[1] = 0;
	if (list)
		shadow_list_free(list);
	rt_unlock(&stripe->lock);
}

/*
 * From this size on pages are given back, which also makes them zero; lists in
 * there are found out about first, where there are any at all.
 */
enum { LARGE = 1 << 18, PAGE = 4096 };

void shadow_clear(enum shadow_space space, uintptr_t address, size_t bytes)
{
	uintptr_t end = (address + bytes + 7) & ~7ul;

	for (address &= ~7ul; address < end;) {
		uintptr_t stop = (address | ((1ul << SHADOW_REGION) - 1)) + 1;
		struct shadow_cell *cell = shadow_find(space, address);

		if (stop > end)
			stop = end;
		if (!cell) {
			address = stop;
			continue;
		}
		if (stop - address >= LARGE && !used) {
			uintptr_t from = (uintptr_t)cell, to = from + 2 * (stop - address);
			uintptr_t first = (from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
			uintptr_t last = to & ~(uintptr_t)(PAGE - 1);

			syscall(SYS_madvise, first, last - first, MADV_DONTNEED);
			__builtin_memset((void *)from, 0, first - from);
			__builtin_memset((void *)last, 0, to - last);
			address = stop;
			continue;
		}
		for (; address < stop; address += 8, cell++)
			clear_cell(cell, address);
	}
}

void shadow_child(void)
{
	region_lock = list_lock = 0;
	for (size_t i = 0; i < SHADOW_STRIPES; i++)
		shadow_stripes[i].lock = 0;
}
