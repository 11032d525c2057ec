#include "runtime/real.h"

#include <dlfcn.h>
#include <stdint.h>

#include "runtime/rt.h"

static char early[1 << 16] __attribute__((aligned(16)));
static size_t early_used;
__thread int real_finding;

void *real_early_alloc(size_t bytes)
{
	size_t at = __atomic_fetch_add(&early_used, (bytes + 31) & ~(size_t)15, __ATOMIC_RELAXED);

	if (at + bytes + 16 > sizeof early)
		rt_die("no memory to look up the C library's functions with");
	/* Its size stands before it: realloc() wants to know. */
	*(size_t *)(early + at) = bytes;
	return early + at + 16;
}

_Bool real_early_owns(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof early;
}

void *real_find_if_any(const char *name, const char *version)
{
	void *fn = NULL;

	real_finding++;
	if (version)
		fn = dlvsym(RTLD_NEXT, name, version);
	if (!fn)
		fn = dlsym(RTLD_NEXT, name);
	real_finding--;
	return fn;
}

void *real_find(const char *name, const char *version)
{
	void *fn = real_find_if_any(name, version);

	if (!fn)
		rt_die("the C library has no function %s()", name);
	return fn;
}
