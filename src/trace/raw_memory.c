#include "trace/raw_memory.h"

#include <string.h>

#include "base/mem.h"

#include "base/banned.h"

enum {
	PAGE = 4096,
	WORDS = PAGE / 64,      /* of marks, a bit a byte */
	GRANULES = PAGE / 8,    /* whose threads are told apart */
	STARTS = PAGE / 16 / 64 /* words; allocators align to 16 bytes */
};
#define SHARED UINT16_MAX

struct page {
	uint64_t mark[WORDS];
	uint16_t before[WORDS];   /* marks in the words before */
	uint16_t owner[GRANULES]; /* 1 + thread; SHARED; 0: nobody */
	uint64_t block[STARTS];   /* where blocks begin */
	uint64_t cover;           /* a block that began on a page before and reaches into this */
	uint32_t *var;            /* by mark: 1 + number */
	uint32_t nvars;
	uint32_t age;
};

/* 47 bits of address: 17, then 18 of page number. */
enum { TOP_BITS = 17, LOW_BITS = 18 };

struct raw_memory {
	struct page **top[1 << TOP_BITS];
	uint64_t last_number;
	struct page *last;  /* the page of that number */
	struct page **page; /* all there are */
	struct page ***tops;
	size_t ntops, tops_cap;
	size_t npages, pages_cap, max_pages;
	uint64_t too_many;

	/* Stacks by address; they do not overlap. */
	struct stack {
		uint64_t low, high;
		uint32_t thread;
	} * stack;
	size_t nstacks, stacks_cap;

	/* Blocks by address, dead ones too: their addresses come back. */
	struct raw_allocation *block; /* address 0: empty */
	size_t nblocks, blocks_cap;
	uint32_t next_block;
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
	mem_free(m->block);
	mem_free(m->stack);
	mem_free(m);
}

/* NULL where there is none and `make` is not set. */
static struct page *page_of(struct raw_memory *m, uint64_t address, bool make)
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

static void set_mark(struct page *p, unsigned at)
{
	p->mark[at / 64] |= 1ull << at % 64;
}

void raw_memory_mark_edge(struct raw_memory *m, uint64_t address)
{
	struct page *p = page_of(m, address, true);

	if (p)
		set_mark(p, address % PAGE);
}

/* Where [address, address + size) ends; `address` is one. */
static uint64_t end_of(uint64_t address, uint64_t size)
{
	return size > RAW_MEMORY_LIMIT - address ? RAW_MEMORY_LIMIT : address + size;
}

void raw_memory_mark(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread)
{
	uint16_t me = thread < SHARED - 1 ? (uint16_t)(thread + 1) : SHARED;
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = end_of(address, size);
	while (address < end) {
		struct page *p = page_of(m, address, true);
		unsigned from = address % PAGE;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		if (!p) {
			/* Nor will there be a page for the rest. */
			m->too_many += (end - address + PAGE - 1) / PAGE;
			return;
		}
		set_mark(p, from);
		if (from + n < PAGE)
			set_mark(p, (unsigned)(from + n));
		for (unsigned g = from / 8; g <= (from + n - 1) / 8; g++)
			if (p->owner[g] != me)
				p->owner[g] = p->owner[g] ? SHARED : me;
		address += n;
	}
}

static void count_marks(struct page *p)
{
	uint32_t n = 0;

	set_mark(p, 0); /* no variable goes over the end of a page */
	for (unsigned w = 0; w < WORDS; w++) {
		p->before[w] = (uint16_t)n;
		n += (uint32_t)__builtin_popcountll(p->mark[w]);
	}
	p->nvars = n;
	p->var = mem_zalloc(n * sizeof *p->var);
}

void raw_memory_finish_marks(struct raw_memory *m)
{
	for (size_t i = 0; i < m->npages; i++)
		count_marks(m->page[i]);
}

uint64_t raw_memory_lost_pages(const struct raw_memory *m)
{
	return m->too_many;
}

static void clear_page(struct page *p)
{
	memset(p->var, 0, p->nvars * sizeof *p->var);
	memset(p->block, 0, sizeof p->block);
	p->cover = 0;
	p->age = 0;
}

void raw_memory_restart(struct raw_memory *m)
{
	for (size_t i = 0; i < m->npages; i++)
		clear_page(m->page[i]);
	if (m->blocks_cap)
		memset(m->block, 0, m->blocks_cap * sizeof *m->block);
	m->nblocks = 0;
	m->nstacks = 0;
	m->next_block = 0;
}

/* The first mark at or behind `at`, or the end of the page. */
static unsigned next_mark(const struct page *p, unsigned at)
{
	unsigned w = at / 64;
	uint64_t bits;

	if (at >= PAGE)
		return PAGE;
	bits = p->mark[w] & ~0ull << at % 64;
	while (!bits) {
		if (++w == WORDS)
			return PAGE;
		bits = p->mark[w];
	}
	return w * 64 + (unsigned)__builtin_ctzll(bits);
}

/* How many marks are before `at`. */
static unsigned rank(const struct page *p, unsigned at)
{
	if (at >= PAGE)
		return p->nvars;
	return p->before[at / 64] +
	       (unsigned)__builtin_popcountll(p->mark[at / 64] & ((1ull << at % 64) - 1));
}

/* The next page that may be there, at or behind the one after that of `address`. */
static uint64_t after(const struct raw_memory *m, uint64_t address)
{
	uint64_t top = address / PAGE >> LOW_BITS;

	/* Nothing in this whole gigabyte. */
	if (!m->top[top])
		return (top + 1) * PAGE << LOW_BITS;
	return (address / PAGE + 1) * PAGE;
}

uint32_t *raw_memory_next_variable(struct raw_memory *m, uint64_t *address, uint64_t *size,
				   uint64_t *start, uint64_t *bytes)
{
	struct page *p;
	unsigned from;

	*address &= RAW_MEMORY_MASK;
	*size = end_of(*address, *size) - *address;
	p = page_of(m, *address, false);
	from = *address % PAGE;
	*start = *address;
	*bytes = p ? next_mark(p, from + 1) - from : after(m, *address) - *address;
	if (*bytes > *size)
		*bytes = *size;
	*address += *bytes;
	*size -= *bytes;
	/*
	 * Every access was marked, unless the recording changes under our hands: then it
	 * gets the variable that it lies in.
	 */
	return p && p->owner[from / 8] == SHARED ? &p->var[rank(p, from + 1) - 1] : NULL;
}

void raw_memory_forget(struct raw_memory *m, uint64_t address, uint64_t size)
{
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = end_of(address, size);
	while (address < end) {
		struct page *p = page_of(m, address, false);
		unsigned from = address % PAGE, a, b;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		if (p) {
			a = rank(p, from);
			b = rank(p, from + (unsigned)n);
			memset(p->var + a, 0, (b - a) * sizeof *p->var);
			p->age++;
		}
		address = n == PAGE - from ? after(m, address) : end;
	}
}

static struct raw_allocation *find_block(const struct raw_memory *m, uint64_t address)
{
	size_t i;

	if (!m->blocks_cap)
		return NULL;
	for (i = (address >> 4) * 0x9e3779b97f4a7c15ull >> 20 & (m->blocks_cap - 1);
	     m->block[i].address && m->block[i].address != address;)
		i = (i + 1) & (m->blocks_cap - 1);
	return &m->block[i];
}

void raw_memory_alloc(struct raw_memory *m, uint64_t address, uint64_t size, strref place)
{
	struct page *p;
	struct raw_allocation *b;
	uint64_t end;

	address &= RAW_MEMORY_MASK;
	end = end_of(address, size);
	p = page_of(m, address, false);
	if (!p || !address)
		return;
	if (2 * (m->nblocks + 1) > m->blocks_cap) {
		struct raw_allocation *old = m->block;
		size_t old_cap = m->blocks_cap;

		m->blocks_cap = old_cap ? 2 * old_cap : 1024;
		m->block = mem_zalloc(m->blocks_cap * sizeof *m->block);
		for (size_t i = 0; i < old_cap; i++)
			if (old[i].address)
				*find_block(m, old[i].address) = old[i];
		mem_free(old);
	}
	b = find_block(m, address);
	m->nblocks += !b->address;
	*b = (struct raw_allocation){address, size, place, ++m->next_block};
	p->block[address % PAGE / 16 / 64] |= 1ull << address % PAGE / 16 % 64;
	for (uint64_t at = (address / PAGE + 1) * PAGE; at < end; at = after(m, at)) {
		p = page_of(m, at, false);
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
	b = find_block(m, address);
	p = page_of(m, address, false);

	if (!b || !b->address || !b->size)
		return;
	if (p)
		p->block[address % PAGE / 16 / 64] &= ~(1ull << address % PAGE / 16 % 64);
	raw_memory_forget(m, address, b->size);
	b->size = 0;
}

/* How many stacks end at or below. */
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
	end = end_of(address, size);
	if (address == end)
		return;
	raw_memory_forget(m, address, size);
	/* One that was there has ended, or never was as large as it could have become: stacks
	 * grow downwards, so its upper part is what it keeps. */
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
	end = end_of(address, size);
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
	struct page *p = page_of(m, address, false);
	unsigned bit = address % PAGE / 16;
	uint64_t start = 0;
	struct raw_allocation *b;

	address &= RAW_MEMORY_MASK;
	if (!p)
		return NULL;
	for (unsigned w = bit / 64 + 1; w-- > 0 && !start;) {
		uint64_t bits = p->block[w];

		if (w == bit / 64)
			bits &= ~0ull >> (63 - bit % 64);
		if (bits)
			start = (address & ~(uint64_t)(PAGE - 1)) +
				16 * (w * 64 + 63 - (unsigned)__builtin_clzll(bits));
	}
	if (!start)
		start = p->cover;
	b = start ? find_block(m, start) : NULL;
	return b && b->address && address - b->address < b->size ? b : NULL;
}

uint64_t raw_memory_age(struct raw_memory *m, uint64_t address)
{
	const struct raw_allocation *b = raw_memory_allocation_at(m, address);
	struct page *p;

	if (b)
		return 1ull << 32 | b->number;
	p = page_of(m, address, false);
	return p ? p->age : 0;
}
