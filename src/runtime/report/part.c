#include "runtime/report/part.h"

#include <string.h>

#include "base/banned.h"

void *part_room(struct snapshot_part *o, size_t bytes)
{
	char *at;

	if (!o->failed && o->n + bytes > o->cap) {
		size_t cap = o->cap ? o->cap : 1 << 16;
		char *grown;

		while (cap < o->n + bytes)
			cap *= 2;
		grown = rt_pages(cap);
		if (grown) {
			if (o->n)
				memcpy(grown, o->p, o->n);
			rt_pages_free(o->p, o->cap);
			o->p = grown;
			o->cap = cap;
		}
		o->failed = !grown;
	}
	if (o->failed)
		return NULL;
	at = o->p + o->n;
	o->n += bytes;
	return at;
}
