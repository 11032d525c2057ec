/*
 * base/mem.h for the order of transactions (engine/precise/order.c), which the runtime
 * shares with the engines: from pages of our own, never from malloc. It asks
 * rarely, and for large pieces.
 */
#include "base/mem.h"

#include <string.h>

#include "runtime/os/os.h"
#include "trace/raw_format.h"

#include "base/banned.h"

struct head {
	size_t bytes; /* with this */
	char pad[56]; /* what follows begins a line */
};

void *mem_zalloc(size_t n)
{
	size_t bytes = (n + sizeof(struct head) + RAW_PAGE - 1) & ~(size_t)(RAW_PAGE - 1);
	struct head *h = rt_pages(bytes);

	/* A few pages at a program's start, or with its thousandth thread. */
	if (!h)
		rt_die("no memory to check the program with (ATOMSAN_OPTIONS=check=0 runs it "
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

/* Pages come zeroed, and nobody wrote behind the old end. */
void *mem_grow_bytes(void *p, size_t *cap, size_t need, size_t elem, int zero)
{
	size_t next = 2 * *cap > need ? 2 * *cap : need;

	(void)zero;
	p = mem_resize(p, next * elem);
	*cap = next;
	return p;
}
