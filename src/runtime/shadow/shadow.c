#include "runtime/shadow/shadow.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/thread/mode.h"

#include "base/banned.h"

uintptr_t shadow_region[SHADOW_SPACES][SHADOW_REGIONS];
RT_EXPORT extern uintptr_t atomsan_4_cells[SHADOW_SPACES][SHADOW_REGIONS]
	__attribute__((alias("shadow_region")));
uintptr_t shadow_lines[SHADOW_REGIONS];
RT_EXPORT extern uintptr_t atomsan_4_lines[SHADOW_REGIONS] __attribute__((alias("shadow_lines")));
struct shadow_stripe shadow_stripes[SHADOW_STRIPES];
uint64_t shadow_stripe_mask = SHADOW_STRIPES - 1;
static uint32_t region_lock, list_lock;
/* The regions that were made, as far as they fit, to find the memory that a cell stands for. */
static struct {
	uintptr_t shadow, memory;
} made[1 << 10];
static uint32_t nmade;

static void record_region(uintptr_t shadow, uintptr_t address)
{
	uint32_t n = nmade;

	if (n == sizeof made / sizeof *made)
		return;
	made[n].shadow = shadow;
	made[n].memory = address & ~((1ul << SHADOW_REGION) - 1);
	__atomic_store_n(&nmade, n + 1, __ATOMIC_RELEASE);
}

/* The memory that a cell stands for; 0: not known. */
static uintptr_t find_memory(const struct shadow_cell *cell)
{
	for (uint32_t i = 0, n = __atomic_load_n(&nmade, __ATOMIC_ACQUIRE); i < n; i++) {
		uintptr_t offset = (uintptr_t)cell - made[i].shadow;

		if (offset < 2ul << SHADOW_REGION)
			return made[i].memory + offset / 2;
	}
	return 0;
}

bool shadow_cell_is_locked(const struct shadow_cell *cell)
{
	uintptr_t memory = find_memory(cell);

	return !memory || shadow_is_locked(memory);
}

/* The base of a region; 0: no memory, and checking stops. */
static uintptr_t make_region(uintptr_t *region, size_t bytes, uintptr_t cells_of)
{
	void *shadow;

	if (RT_LIKELY(__atomic_load_n(region, __ATOMIC_ACQUIRE) != 0))
		return *region;
	rt_lock_ranked(&region_lock, RT_REGIONS);
	if (!*region) {
		shadow = rt_pages(bytes);
		if (!shadow) {
			rt_unlock(&region_lock);
			rt_stop_checking("no address space for shadow memory");
			return 0;
		}
		/* A large page would be filled whole for a few cells. */
		syscall(SYS_madvise, shadow, bytes, MADV_NOHUGEPAGE);
		syscall(SYS_madvise, shadow, bytes, MADV_DONTDUMP);
		if (cells_of)
			record_region((uintptr_t)shadow, cells_of);
		__atomic_store_n(region, (uintptr_t)shadow, __ATOMIC_RELEASE);
	}
	rt_unlock(&region_lock);
	return *region;
}

struct shadow_cell *shadow_make(enum shadow_space space, uintptr_t address)
{
	uintptr_t *region = &shadow_region[space][address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
	uintptr_t base = make_region(region, 2ul << SHADOW_REGION, address);

	return base ? shadow_in(base, address) : NULL;
}

struct shadow_line *shadow_line_make(uintptr_t address)
{
	uintptr_t *region = &shadow_lines[address >> SHADOW_REGION & (SHADOW_REGIONS - 1)];
	uintptr_t base = make_region(region, 1ul << (SHADOW_REGION - 1), 0);

	return base ? shadow_line_in(base, address) : NULL;
}

/* --- lists: classes of 64, 128, ... bytes from stores, which are linked --- */

enum { CLASSES = 16, STORE = 1 << 20, LOST = 1 << 10, FREE = 1u << 31 };
static struct shadow_list *free_lists[CLASSES]; /* linked by `cell`, `cap` has FREE */
static struct store {
	struct store *before;
	char *at; /* the free rest */
	char lists[] __attribute__((aligned(64)));
} * store;
static uint32_t in_use, since; /* number of lists; of lists handed out since find_lost() ran */

static uint32_t find_class(uint32_t cap)
{
	uint32_t class = 0;

	while (((64u << class) - sizeof(struct shadow_list)) / sizeof(uint64_t) < cap)
		class ++;
	return class;
}

static void free_list(struct shadow_list *list)
{
	uint32_t class = find_class(list->cap);

	RT_ASSERT(!(list->cap & FREE) && list->n <= list->cap && in_use);
	list->n = 0;
	list->cap |= FREE;
	list->cell = (struct shadow_cell *)free_lists[class];
	free_lists[class] = list;
	in_use--;
}

static bool is_lost(const struct shadow_list *list)
{
	return !(list->cap & FREE) &&
	       __atomic_load_n(&list->cell->w[1], __ATOMIC_ACQUIRE) != shadow_list_word(list);
}

/*
 * Free lost lists. A thread that found only its own words in a cell may have stored over a list
 * that another thread had just put there. A list that is not in its cell while the stripe's lock is
 * free is lost. The caller holds a stripe's lock, so this does not wait for the locks of others.
 */
static void find_lost(void)
{
	since = 0;
	for (struct store *s = store; s; s = s->before)
		for (char *p = s->lists; p < s->at;) {
			struct shadow_list *list = (struct shadow_list *)p;
			uintptr_t address;
			uint32_t *lock;

			p += 64ul << find_class(list->cap & ~FREE);
			if (!is_lost(list) || !(address = find_memory(list->cell)))
				continue;
			lock = &shadow_stripe(address)->lock;
			if (!rt_try_lock(lock))
				continue;
			if (is_lost(list))
				free_list(list);
			rt_unlock_tried(lock);
		}
}

static struct shadow_list *carve_list(size_t bytes)
{
	struct shadow_list *list;

	if (!store || (size_t)((char *)store + STORE - store->at) < bytes) {
		struct store *more = bytes < STORE / 2 ? rt_pages(STORE) : NULL;

		if (!more)
			return NULL;
		more->before = store;
		more->at = more->lists;
		store = more;
	}
	list = (struct shadow_list *)store->at;
	store->at += bytes;
	return list;
}

struct shadow_list *shadow_list_new(struct shadow_cell *cell, uint32_t cap)
{
	uint32_t class = find_class(cap);
	size_t bytes = 64ul << class;
	struct shadow_list *list = NULL;

	RT_ASSERT(shadow_cell_is_locked(cell));
	rt_lock(&list_lock);
	if (class < CLASSES && !free_lists[class] && since >= LOST + in_use / 2)
		find_lost();
	if (class < CLASSES && free_lists[class]) {
		list = free_lists[class];
		free_lists[class] = (struct shadow_list *)list->cell;
	} else if (class < CLASSES) {
		list = carve_list(bytes);
	}
	if (list) {
		list->cell = cell;
		list->n = 0;
		list->cap = (uint32_t)((bytes - sizeof *list) / sizeof list->w[0]);
		in_use++;
		since++;
	}
	rt_unlock(&list_lock);
	if (!list)
		rt_stop_checking("no memory for shadow lists");
	return list;
}

void shadow_list_free(struct shadow_list *list)
{
	rt_lock(&list_lock);
	free_list(list);
	rt_unlock(&list_lock);
}

/* --- clearing --- */

void shadow_clear_cell(struct shadow_cell *cell)
{
	struct shadow_list *list = shadow_list(cell->w[1]);

	RT_ASSERT(shadow_cell_is_locked(cell));
	if (!(cell->w[0] | cell->w[1]))
		return;
	cell->w[0] = cell->w[1] = 0;
	if (list)
		shadow_list_free(list);
}

static void clear_lock(struct shadow_cell *cell, uintptr_t address)
{
	struct shadow_stripe *stripe;

	if (!(cell->w[0] | cell->w[1]))
		return;
	if (RT_LIKELY(!shadow_list(cell->w[1]))) {
		cell->w[0] = cell->w[1] = 0;
		return;
	}
	stripe = shadow_stripe(address);
	rt_lock_ranked(&stripe->lock, RT_STRIPE);
	shadow_clear_cell(cell);
	rt_unlock(&stripe->lock);
}

/* Make shadow zero by giving its whole pages back, and by clearing the rest. */
static void zero_shadow(uintptr_t from, uintptr_t to)
{
	enum { PAGE = 4096 };
	uintptr_t first = (from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t last = to & ~(uintptr_t)(PAGE - 1);

	if (first >= last) {
		__builtin_memset((void *)from, 0, to - from);
		return;
	}
	syscall(SYS_madvise, first, last - first, MADV_DONTNEED);
	__builtin_memset((void *)from, 0, first - from);
	__builtin_memset((void *)last, 0, to - last);
}

void shadow_give_back(uintptr_t address, uintptr_t end)
{
	uintptr_t line = (uintptr_t)shadow_line_find(address);
	uintptr_t cell = (uintptr_t)shadow_find(SHADOW_DATA, address);

	if (line)
		zero_shadow(line, line + (end - address) / 2);
	if (cell)
		zero_shadow(cell, cell + 2 * (end - address));
}

/*
 * Memory of at least this size: give the pages of its shadow back, which makes them zero. Lists in
 * there are lost.
 */
enum { LARGE = 1 << 18 };

void shadow_clear_locks(uintptr_t address, size_t bytes)
{
	uintptr_t end = (address + bytes + 7) & ~7ul;

	for (address &= ~7ul; address < end;) {
		uintptr_t stop = (address | ((1ul << SHADOW_REGION) - 1)) + 1;
		struct shadow_cell *cell = shadow_find(SHADOW_LOCKS, address);

		if (stop > end)
			stop = end;
		if (cell && stop - address >= LARGE)
			zero_shadow((uintptr_t)cell, (uintptr_t)cell + 2 * (stop - address));
		else
			for (; cell && address < stop; address += 8, cell++)
				clear_lock(cell, address);
		address = stop;
	}
}

void shadow_hold(void)
{
	rt_lock_ranked(&region_lock, RT_REGIONS);
	rt_lock(&list_lock);
}

void shadow_let_go(void)
{
	rt_unlock(&list_lock);
	rt_unlock(&region_lock);
}

bool shadow_serial;

void shadow_set_serial(bool serial)
{
	RT_ASSERT(!rt_unjoined_threads);
	shadow_serial = serial;
	shadow_stripe_mask = serial ? 0 : SHADOW_STRIPES - 1;
}

bool shadow_forked;

void shadow_child(void)
{
	shadow_forked = true;
	region_lock = list_lock = 0;
	for (size_t i = 0; i < SHADOW_STRIPES; i++)
		shadow_stripes[i].lock = 0;
}
