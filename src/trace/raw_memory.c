#include "trace/raw_memory.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

enum {
	PAGE = 4096,
	WORDS = PAGE / 64,      /* of boundary bits, one for each byte */
	GRANULES = PAGE / 8,    /* each has an owner */
	STARTS = PAGE / 16 / 64 /* words of alloc_start: allocators align to 16 bytes */
};
#define SHARED UINT16_MAX

struct page {
	uint64_t boundary[WORDS];
	uint16_t before[WORDS];       /* number of boundaries in the words before */
	uint16_t owner[GRANULES];     /* 1 + thread; SHARED; 0: not accessed */
	uint64_t alloc_start[STARTS]; /* a bit for each address where an allocation begins */
	uint64_t cover; /* an allocation from an earlier page that reaches into this one */
	uint32_t *var;  /* for each boundary: 1 + number of the variable that begins there */
	uint32_t nvars;
	uint32_t age; /* counts how often memory of this page was forgotten */
};

/* An address has 47 bits: 17 for the top table, 18 for the second level, 12 within the page. */
enum { TOP_BITS = 17, LOW_BITS = 18 };

struct raw_memory {
	struct page **top[1 << TOP_BITS];
	uint64_t last_number;
	struct page *last;   /* the page of that number */
	struct page **page;  /* all pages */
	struct page ***tops; /* all second-level tables */
	size_t ntops, tops_cap;
	size_t npages, pages_cap, max_pages;
	uint64_t lost_pages;

	/* Stacks by address; they do not overlap. */
	struct stack {
		uint64_t low, high;
		uint32_t thread;
	} * stack;
	size_t nstacks, stacks_cap;

	/* Hash table of allocations by address. Freed ones stay: their addresses are used again. */
	struct raw_allocation *alloc; /* address 0: empty */
	size_t nallocs, allocs_cap;
	uint32_t last_alloc; /* number of the latest */
};

struct raw_memory *raw_memory_new(size_t max_pages)
{
	struct raw_memory *m = mem_zalloc(sizeof *m);

	m->max_pages = max_pages;
	m->last_number = UINT64_MAX;
	return m;
}

void raw_memory_free(struct raw_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->npages; i++) {
		mem_free(m->page[i]->var);
		mem_free(m->page[i]);
	}
	for (size_t i = 0; i < m->ntops; i++)
		mem_free(m->tops[i]);
	mem_free(m->tops);
	mem_free(m->page);
	mem_free(m->alloc);
	mem_free(m->stack);
	mem_free(m);
}

/* Returns the page of an address; NULL if there is none and `make` is not set, or there are too
 * many. */
static struct page *find_page(struct raw_memory *m, uint64_t address, bool make)
{
	uint64_t number = address / PAGE & ((1ull << (TOP_BITS + LOW_BITS)) - 1);
	struct page ***top = &m->top[number >> LOW_BITS], **slot;

	if (number == m->last_number)
		return m->last;
	if (make && m->npages == m->max_pages)
		make = false;
	if (!*top) {
		if (!make)
			return NULL;
		*top = mem_zalloc(sizeof **top << LOW_BITS);
		MEM_GROW(m->tops, m->tops_cap, m->ntops + 1);
		m->tops[m->ntops++] = *top;
	}
	slot = &(*top)[number & ((1u << LOW_BITS) - 1)];
	if (!*slot) {
		if (!make)
			return NULL;
		*slot = mem_zalloc(sizeof **slot);
		MEM_GROW(m->page, m->pages_cap, m->npages + 1);
		m->page[m->npages++] = *slot;
	}
	m->last_number = number;
	m->last = *slot;
	return *slot;
}

static void set_boundary(struct page *p, unsigned at)
{
	p->boundary[at / 64] |= 1ull << at % 64;
}

void raw_memory_add_boundary(struct raw_memory *m, uint64_t address)
{
	struct page *p = find_page(m, address, true);

	if (p)
		set_boundary(p, address % PAGE);
}

/* Returns the end of [address, address + size), at most the end of user space. */
static uint64_t range_end(uint64_t address, uint64_t size)
{
	return size > RAW_MEMORY_LIMIT - address ? RAW_MEMORY_LIMIT : address + size;
}

void raw_memory_add_access(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread)
{
	uint16_t me = thread < SHARED - 1 ? (uint16_t)(thread + 1) : SHARED;
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = range_end(address, size);
	while (address < end) {
		struct page *p = find_page(m, address, true);
		unsigned from = address % PAGE;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		if (!p) {
			/* There will be no page for the rest either. */
			m->lost_pages += (end - address + PAGE - 1) / PAGE;
			return;
		}
		set_boundary(p, from);
		if (from + n < PAGE)
			set_boundary(p, (unsigned)(from + n));
		for (unsigned g = from / 8; g <= (from + n - 1) / 8; g++)
			if (p->owner[g] != me)
				p->owner[g] = p->owner[g] ? SHARED : me;
		address += n;
	}
}

/* Returns the address of the next page after that of `address` that may exist. */
static uint64_t next_page(const struct raw_memory *m, uint64_t address)
{
	uint64_t top = address / PAGE >> LOW_BITS;

	/* There is no page in this whole gigabyte. */
	if (!m->top[top])
		return (top + 1) * PAGE << LOW_BITS;
	return (address / PAGE + 1) * PAGE;
}

void raw_memory_add_free(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread)
{
	uint16_t me = thread < SHARED - 1 ? (uint16_t)(thread + 1) : SHARED;
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = range_end(address, size);
	while (address < end) {
		struct page *p = find_page(m, address, false);
		unsigned from = address % PAGE;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		for (unsigned g = from / 8; p && g <= (from + n - 1) / 8; g++)
			if (p->owner[g] && p->owner[g] != me)
				p->owner[g] = SHARED;
		address = n == PAGE - from ? next_page(m, address) : end;
	}
}

static void count_boundaries(struct page *p)
{
	uint32_t n = 0;

	set_boundary(p, 0); /* no variable crosses a page boundary */
	for (unsigned w = 0; w < WORDS; w++) {
		p->before[w] = (uint16_t)n;
		n += (uint32_t)__builtin_popcountll(p->boundary[w]);
	}
	p->nvars = n;
	p->var = mem_zalloc(n * sizeof *p->var);
}

void raw_memory_finish_accesses(struct raw_memory *m)
{
	for (size_t i = 0; i < m->npages; i++)
		count_boundaries(m->page[i]);
}

uint64_t raw_memory_lost_pages(const struct raw_memory *m)
{
	return m->lost_pages;
}

static void clear_page(struct page *p)
{
	memset(p->var, 0, p->nvars * sizeof *p->var);
	memset(p->alloc_start, 0, sizeof p->alloc_start);
	p->cover = 0;
	p->age = 0;
}

void raw_memory_restart(struct raw_memory *m)
{
	for (size_t i = 0; i < m->npages; i++)
		clear_page(m->page[i]);
	if (m->allocs_cap)
		memset(m->alloc, 0, m->allocs_cap * sizeof *m->alloc);
	m->nallocs = 0;
	m->nstacks = 0;
	m->last_alloc = 0;
}

/* Returns the first boundary at or after `at`, or the end of the page. */
static unsigned next_boundary(const struct page *p, unsigned at)
{
	unsigned w = at / 64;
	uint64_t bits;

	if (at >= PAGE)
		return PAGE;
	bits = p->boundary[w] & ~0ull << at % 64;
	while (!bits) {
		if (++w == WORDS)
			return PAGE;
		bits = p->boundary[w];
	}
	return w * 64 + (unsigned)__builtin_ctzll(bits);
}

/* Returns the number of boundaries before `at`. */
static unsigned count_boundaries_before(const struct page *p, unsigned at)
{
	if (at >= PAGE)
		return p->nvars;
	return p->before[at / 64] +
	       (unsigned)__builtin_popcountll(p->boundary[at / 64] & ((1ull << at % 64) - 1));
}

uint32_t *raw_memory_next_variable(struct raw_memory *m, uint64_t *address, uint64_t *size,
				   uint64_t *start, uint64_t *bytes)
{
	struct page *p;
	unsigned from;

	*address &= RAW_MEMORY_MASK;
	*size = range_end(*address, *size) - *address;
	p = find_page(m, *address, false);
	from = *address % PAGE;
	*start = *address;
	*bytes = p ? next_boundary(p, from + 1) - from : next_page(m, *address) - *address;
	if (*bytes > *size)
		*bytes = *size;
	*address += *bytes;
	*size -= *bytes;
	/*
	 * The first pass has seen every access, unless the file changes while it is read: then the
	 * access gets the variable that it lies in.
	 */
	return p && p->owner[from / 8] == SHARED ? &p->var[count_boundaries_before(p, from + 1) - 1]
						 : NULL;
}

void raw_memory_forget(struct raw_memory *m, uint64_t address, uint64_t size)
{
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = range_end(address, size);
	while (address < end) {
		struct page *p = find_page(m, address, false);
		unsigned from = address % PAGE, a, b;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		if (p) {
			a = count_boundaries_before(p, from);
			b = count_boundaries_before(p, from + (unsigned)n);
			memset(p->var + a, 0, (b - a) * sizeof *p->var);
			p->age++;
		}
		address = n == PAGE - from ? next_page(m, address) : end;
	}
}

static struct raw_allocation *find_allocation(const struct raw_memory *m, uint64_t address)
{
	size_t i;

	if (!m->allocs_cap)
		return NULL;
	for (i = (address >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (m->allocs_cap - 1);
	     m->alloc[i].address && m->alloc[i].address != address;)
		i = (i + 1) & (m->allocs_cap - 1);
	return &m->alloc[i];
}

void raw_memory_alloc(struct raw_memory *m, uint64_t address, uint64_t size, strref place)
{
	struct page *p;
	struct raw_allocation *b;
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = range_end(address, size);
	p = find_page(m, address, false);
	if (!p || !address)
		return;
	if (2 * (m->nallocs + 1) > m->allocs_cap) {
		struct raw_allocation *old = m->alloc;
		size_t old_cap = m->allocs_cap;

		m->allocs_cap = old_cap ? 2 * old_cap : 1024;
		m->alloc = mem_zalloc(m->allocs_cap * sizeof *m->alloc);
		for (size_t i = 0; i < old_cap; i++)
			if (old[i].address)
				*find_allocation(m, old[i].address) = old[i];
		mem_free(old);
	}
	b = find_allocation(m, address);
	m->nallocs += !b->address;
	*b = (struct raw_allocation){address, size, place, ++m->last_alloc};
	p->alloc_start[address % PAGE / 16 / 64] |= 1ull << address % PAGE / 16 % 64;
	for (uint64_t at = (address / PAGE + 1) * PAGE; at < end; at = next_page(m, at)) {
		p = find_page(m, at, false);
		if (p)
			p->cover = address;
	}
	raw_memory_forget(m, address, size);
}

void raw_memory_dealloc(struct raw_memory *m, uint64_t address)
{
	struct raw_allocation *b;
	struct page *p;

	address &= RAW_MEMORY_MASK;
	b = find_allocation(m, address);
	p = find_page(m, address, false);

	if (!b || !b->address || !b->size)
		return;
	if (p)
		p->alloc_start[address % PAGE / 16 / 64] &= ~(1ull << address % PAGE / 16 % 64);
	raw_memory_forget(m, address, b->size);
	b->size = 0;
}

/* Returns the number of stacks that end at or below an address. */
static size_t stacks_below(const struct raw_memory *m, uint64_t address)
{
	size_t low = 0, high = m->nstacks;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->stack[mid].high <= address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void remove_stack(struct raw_memory *m, size_t i)
{
	memmove(m->stack + i, m->stack + i + 1, (--m->nstacks - i) * sizeof *m->stack);
}

void raw_memory_begin_stack(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread)
{
	uint64_t end;
	size_t i;

	address &= RAW_MEMORY_MASK;
	end = range_end(address, size);
	if (address == end)
		return;
	raw_memory_forget(m, address, size);
	/* An older stack here has ended, or never grew to its full size: stacks grow downwards, so
	 * it keeps its upper part. */
	for (i = stacks_below(m, address); i < m->nstacks && m->stack[i].low < end;) {
		struct stack *s = &m->stack[i];

		if (s->high > end)
			s->low = end;
		else if (s->low < address)
			s->high = address, i++;
		else
			remove_stack(m, i);
	}
	MEM_GROW(m->stack, m->stacks_cap, m->nstacks + 1);
	memmove(m->stack + i + 1, m->stack + i, (m->nstacks++ - i) * sizeof *m->stack);
	m->stack[i] = (struct stack){address, end, thread};
}

void raw_memory_end_stack(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread)
{
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = range_end(address, size);
	raw_memory_forget(m, address, size);
	for (size_t i = stacks_below(m, address); i < m->nstacks && m->stack[i].low < end;)
		if (m->stack[i].thread == thread)
			remove_stack(m, i);
		else
			i++;
}

uint32_t raw_memory_stack_at(const struct raw_memory *m, uint64_t address)
{
	size_t i = stacks_below(m, address);

	return i < m->nstacks && m->stack[i].low <= address ? m->stack[i].thread : RAW_NO_STACK;
}

const struct raw_allocation *raw_memory_allocation_at(struct raw_memory *m, uint64_t address)
{
	struct page *p = find_page(m, address, false);
	unsigned bit = address % PAGE / 16;
	uint64_t start = 0;
	struct raw_allocation *b;

	address &= RAW_MEMORY_MASK;
	if (!p)
		return NULL;
	for (unsigned w = bit / 64 + 1; w-- > 0 && !start;) {
		uint64_t bits = p->alloc_start[w];

		if (w == bit / 64)
			bits &= ~0ull >> (63 - bit % 64);
		if (bits)
			start = (address & ~(uint64_t)(PAGE - 1)) +
				16 * (w * 64 + 63 - (unsigned)__builtin_clzll(bits));
	}
	if (!start)
		start = p->cover;
	b = start ? find_allocation(m, start) : NULL;
	return b && b->address && address - b->address < b->size ? b : NULL;
}

uint64_t raw_memory_age(struct raw_memory *m, uint64_t address)
{
	const struct raw_allocation *b = raw_memory_allocation_at(m, address);
	struct page *p;

	if (b)
		return 1ull << 32 | b->number;
	p = find_page(m, address, false);
	return p ? p->age : 0;
}
