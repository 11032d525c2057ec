/*
 * base/mem.h for the order of transactions (engine/precise/order.c), which the runtime
 * shares with the engines. The memory comes from mapped pages, never from malloc:
 * the order allocates rarely, and large pieces.
 */
#include "base/mem.h"

#include <string.h>

#include "runtime/os/os.h"
#include "trace/raw_format.h"

#include "base/banned.h"

struct head {
	size_t bytes; /* including this header */
	char pad[56]; /* so that the memory after it begins a cache line */
};
_Static_assert(sizeof(struct head) == 64, "the memory after it begins a cache line");

void *mem_zalloc(size_t n)
{
	size_t bytes = (n + sizeof(struct head) + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);
	struct head *h = rt_pages(bytes);

	/* This is rare: a few pages at a program's start, or with its thousandth thread. */
	if (!h)
		rt_die("no memory to check the program (ATOMSAN_OPTIONS=check=0 runs it "
		       "unchecked)");
	h->bytes = bytes;
	return h + 1;
}

void *mem_alloc(size_t n)
{
	return mem_zalloc(n);
}

void *mem_zalloc_lines(size_t n)
{
	return mem_zalloc(n);
}

void mem_free(void *p)
{
	struct head *h = p;

	if (h--)
		rt_pages_free(h, h->bytes);
}

void *mem_resize(void *p, size_t n)
{
	struct head *h = p ? (struct head *)p - 1 : NULL;
	void *q;

	if (h && h->bytes - sizeof *h >= n)
		return p;
	q = mem_zalloc(n + n / 2);
	if (h) {
		memcpy(q, p, h->bytes - sizeof *h);
		mem_free(p);
	}
	return q;
}

/* The new part is always zero: pages are mapped zeroed, and nothing wrote past the old end. */
void *mem_grow_bytes(void *p, size_t *cap, size_t need, size_t elem, int zero)
{
	size_t next = 2 * *cap > need ? 2 * *cap : need;

	(void)zero;
	p = mem_resize(p, next * elem);
	*cap = next;
	return p;
}
