#include "runtime/history/origins.h"

#include <string.h>

#include "base/banned.h"

enum { NAMES = 1 << 8 };
/*
 * The addresses of the allocations by themselves, so that origins_freed() touches no other memory.
 * 0: the entry is empty, or is being changed.
 */
static uintptr_t addresses[ORIGINS_ALLOCATIONS];
static struct origins_allocation *allocations; /* ORIGINS_ALLOCATIONS; NULL before the first */
static struct origins_creation creations[ORIGINS_CREATIONS];
static struct name {
	uint32_t id_plus_1; /* the thread's number and 1; 0: empty */
	char text[16];
} names[NAMES];

static uint32_t allocation_index(uintptr_t address)
{
	return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15ull >> 50);
}

void origins_allocated(const struct rt_thread *t, uintptr_t address, size_t size, uintptr_t pc)
{
	uint32_t i = allocation_index(address);
	struct origins_allocation *a;

	if (RT_UNLIKELY(!allocations)) {
		void *made = rt_pages(ORIGINS_ALLOCATIONS * sizeof *allocations), *none = NULL;

		if (!made)
			return;
		if (!__atomic_compare_exchange_n(&allocations, (struct origins_allocation **)&none,
						 made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			rt_pages_free(made, ORIGINS_ALLOCATIONS * sizeof *allocations);
	}
	a = &allocations[i];
	/* Two threads may write the same entry: origins_allocation_at() checks what it reads. */
	__atomic_store_n(&addresses[i], 0, __ATOMIC_RELEASE);
	a->address = address;
	a->size = size;
	a->pc = pc;
	a->thread = t->id;
	history_stack(t, &a->stack);
	__atomic_store_n(&addresses[i], address, __ATOMIC_RELEASE);
}

void origins_freed(uintptr_t address)
{
	uintptr_t *entry = &addresses[allocation_index(address)];

	if (__atomic_load_n(entry, __ATOMIC_RELAXED) == address)
		__atomic_store_n(entry, 0, __ATOMIC_RELEASE);
}

uint32_t origins_allocations(void)
{
	return allocations ? ORIGINS_ALLOCATIONS : 0;
}

bool origins_allocation_at(uint32_t i, struct origins_allocation *to)
{
	uintptr_t address = __atomic_load_n(&addresses[i], __ATOMIC_ACQUIRE);

	if (!address)
		return false;
	*to = allocations[i];
	RT_COMPILER_BARRIER();
	return to->address == address &&
	       __atomic_load_n(&addresses[i], __ATOMIC_ACQUIRE) == address;
}

bool origins_extent_at(uint32_t i, uintptr_t *address, size_t *size)
{
	*address = __atomic_load_n(&addresses[i], __ATOMIC_ACQUIRE);
	*size = *address ? allocations[i].size : 0;
	return *address;
}

void origins_created(const struct rt_thread *t, uint32_t id, uintptr_t pc)
{
	struct origins_creation *c = &creations[id % ORIGINS_CREATIONS];

	c->id = id;
	c->creator = t->id;
	c->pc = pc;
	history_stack(t, &c->stack);
}

const struct origins_creation *origins_creation_at(uint32_t i)
{
	return &creations[i];
}

void origins_name(const struct rt_thread *t, const char *name, size_t n)
{
	struct name *to = &names[t->id % NAMES];

	n = n < sizeof to->text ? n : sizeof to->text;
	memset(to->text, 0, sizeof to->text);
	memcpy(to->text, name, n);
	to->id_plus_1 = t->id + 1;
}

/* Labels are few, and kept for good. */
enum { LABELS = 1 << 10, LABEL_BYTES = 128 };
static struct label {
	uint32_t number;
	uint32_t n;
	char text[LABEL_BYTES];
} labels[LABELS];
static uint32_t nlabels;

bool origins_label(uint32_t number, const char *text, size_t n)
{
	uint32_t i = __atomic_fetch_add(&nlabels, 1, __ATOMIC_RELAXED);

	if (i >= LABELS)
		return false;
	labels[i].n = (uint32_t)(n < LABEL_BYTES ? n : LABEL_BYTES);
	memcpy(labels[i].text, text, labels[i].n);
	labels[i].number = number;
	return true;
}

bool origins_label_at(uint32_t i, uint32_t *number, const char **text, size_t *n)
{
	if (i >= __atomic_load_n(&nlabels, __ATOMIC_RELAXED) || i >= LABELS)
		return false;
	*number = labels[i].number;
	*text = labels[i].text;
	*n = labels[i].n;
	return true;
}

const char *origins_label_text(uint32_t number, size_t *n)
{
	for (uint32_t i = 0; i < nlabels && i < LABELS; i++)
		if (labels[i].number == number) {
			*n = labels[i].n;
			return labels[i].text;
		}
	*n = 0;
	return "";
}

const char *origins_name_of(uint32_t thread)
{
	return names[thread % NAMES].id_plus_1 == thread + 1 ? names[thread % NAMES].text : NULL;
}
