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
	struct page *last; /* the page of that number */

	/* Blocks by address, dead ones too: their addresses come back. */
	struct raw_block *block; /* address 0: empty */
	size_t nblocks, blocks_cap;
	uint32_t next_block;
};

struct raw_memory *raw_memory_new(void)
{
	struct raw_memory *m = mem_zalloc(sizeof *m);

	m->last_number = UINT64_MAX;
	return m;
}

void raw_memory_free(struct raw_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < 1 << TOP_BITS; i++) {
		for (size_t k = 0; m->top[i] && k < 1 << LOW_BITS; k++)
			if (m->top[i][k]) {
				mem_free(m->top[i][k]->var);
				mem_free(m->top[i][k]);
			}
		mem_free(m->top[i]);
	}
	mem_free(m->block);
	mem_free(m);
}

/* NULL where there is none and `make` is not set. */
static struct page *page_of(struct raw_memory *m, uint64_t address, bool make)
{
	uint64_t number = address / PAGE & ((1ull << (TOP_BITS + LOW_BITS)) - 1);
	struct page ***top = &m->top[number >> LOW_BITS], **slot;

	if (number == m->last_number)
		return m->last;
	if (!*top) {
		if (!make)
			return NULL;
		*top = mem_zalloc(sizeof **top << LOW_BITS);
	}
	slot = &(*top)[number & ((1u << LOW_BITS) - 1)];
	if (!*slot) {
		if (!make)
			return NULL;
		*slot = mem_zalloc(sizeof **slot);
	}
	m->last_number = number;
	m->last = *slot;
	return *slot;
}

static void set_mark(struct page *p, unsigned at)
{
	p->mark[at / 64] |= 1ull << at % 64;
}

void raw_memory_edge(struct raw_memory *m, uint64_t address)
{
	set_mark(page_of(m, address, true), address % PAGE);
}

void raw_memory_mark(struct raw_memory *m, uint64_t address, uint64_t size, uint32_t thread)
{
	uint16_t me = thread < SHARED - 1 ? (uint16_t)(thread + 1) : SHARED;
	uint64_t end = (address & RAW_MEMORY_LIMIT) + size;

	address &= RAW_MEMORY_LIMIT;
	if (end > RAW_MEMORY_LIMIT)
		end = RAW_MEMORY_LIMIT;
	while (address < end) {
		struct page *p = page_of(m, address, true);
		unsigned from = address % PAGE;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		set_mark(p, from);
		if (from + n < PAGE)
			set_mark(p, (unsigned)(from + n));
		for (unsigned g = from / 8; g <= (from + n - 1) / 8; g++)
			if (p->owner[g] != me)
				p->owner[g] = p->owner[g] ? SHARED : me;
		address += n;
	}
}

static void each_page(struct raw_memory *m, void (*fn)(struct page *p))
{
	for (size_t i = 0; i < 1 << TOP_BITS; i++)
		for (size_t k = 0; m->top[i] && k < 1 << LOW_BITS; k++)
			if (m->top[i][k])
				fn(m->top[i][k]);
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

void raw_memory_marked(struct raw_memory *m)
{
	each_page(m, count_marks);
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
	each_page(m, clear_page);
	memset(m->block, 0, m->blocks_cap * sizeof *m->block);
	m->nblocks = 0;
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

uint32_t *raw_memory_variable(struct raw_memory *m, uint64_t *address, uint64_t *size,
			      uint64_t *start, uint64_t *bytes)
{
	struct page *p = page_of(m, *address, false);
	unsigned from = *address % PAGE, to;

	/* Every access was marked, unless the recording changes under our hands. */
	if (!p || !p->var) {
		*size = 0;
		return NULL;
	}
	to = next_mark(p, from + 1);
	*start = *address;
	*bytes = to - from;
	if (*bytes > *size)
		*bytes = *size;
	*address += *bytes;
	*size -= *bytes;
	return p->owner[from / 8] == SHARED ? &p->var[rank(p, from)] : NULL;
}

void raw_memory_forget(struct raw_memory *m, uint64_t address, uint64_t size)
{
	uint64_t end;

	address &= RAW_MEMORY_LIMIT;
	end = size > RAW_MEMORY_LIMIT - address ? RAW_MEMORY_LIMIT : address + size;
	while (address < end) {
		struct page *p = page_of(m, address, false);
		unsigned from = address % PAGE, a, b;
		uint64_t n = PAGE - from < end - address ? PAGE - from : end - address;

		if (!p && !m->top[address / PAGE >> LOW_BITS]) {
			/* Nothing in this whole gigabyte. */
			address = ((address / PAGE >> LOW_BITS) + 1) << LOW_BITS;
			address *= PAGE;
			continue;
		}
		if (p && p->var) {
			a = rank(p, from);
			b = rank(p, from + (unsigned)n);
			memset(p->var + a, 0, (b - a) * sizeof *p->var);
			p->age++;
		}
		address += n;
	}
}

static struct raw_block *find_block(const struct raw_memory *m, uint64_t address)
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
	/* Of a small one that was never accessed nobody will ask. */
	struct page *p = page_of(m, address, size > PAGE);
	struct raw_block *b;

	if (!p || !address)
		return;
	if (2 * (m->nblocks + 1) > m->blocks_cap) {
		struct raw_block *old = m->block;
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
	*b = (struct raw_block){address, size, place, ++m->next_block};
	p->block[address % PAGE / 16 / 64] |= 1ull << address % PAGE / 16 % 64;
	for (uint64_t at = (address / PAGE + 1) * PAGE; at < address + size && at > address;
	     at += PAGE) {
		p = page_of(m, at, false);
		if (p)
			p->cover = address;
		else if (!m->top[at / PAGE >> LOW_BITS & ((1u << TOP_BITS) - 1)])
			break;
	}
	raw_memory_forget(m, address, size);
}

void raw_memory_freed(struct raw_memory *m, uint64_t address)
{
	struct raw_block *b = find_block(m, address);
	struct page *p = page_of(m, address, false);

	if (!b || !b->address || !b->size)
		return;
	if (p)
		p->block[address % PAGE / 16 / 64] &= ~(1ull << address % PAGE / 16 % 64);
	raw_memory_forget(m, address, b->size);
	b->size = 0;
}

const struct raw_block *raw_memory_block(struct raw_memory *m, uint64_t address)
{
	struct page *p = page_of(m, address, false);
	unsigned bit = address % PAGE / 16;
	uint64_t start = 0;
	struct raw_block *b;

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
	const struct raw_block *b = raw_memory_block(m, address);
	struct page *p;

	if (b)
		return 1ull << 32 | b->number;
	p = page_of(m, address, false);
	return p ? p->age : 0;
}
