#include "runtime/os/real.h"

#include <dlfcn.h>
#include <stdint.h>

#include "runtime/os/os.h"

#include "base/banned.h"

/* Where the row begins and ends: the linker knows. */
extern __attribute__((visibility("hidden"))) struct real_name __start_atomsan_real[],
	__stop_atomsan_real[];

static char early[1 << 16] __attribute__((aligned(16)));
static size_t early_used;
__thread int real_finding;
bool real_found;

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

static void *look_up(const struct real_name *r)
{
	void *fn = NULL;

	if (r->version)
		fn = dlvsym(RTLD_NEXT, r->name, r->version);
	return fn ? fn : dlsym(RTLD_NEXT, r->name);
}

/* The program did not ask for what was not found. The second call gives its memory back. */
static void forget_error(void)
{
	if (dlerror())
		dlerror();
}

/* Names that stand in several places are one string. */
static void tell_same(struct real_name *found)
{
	for (struct real_name *r = found; r < __stop_atomsan_real; r++)
		if (r->name == found->name && r->version == found->version)
			__atomic_store_n(&r->fn, found->fn, __ATOMIC_RELAXED);
}

/* Of the C++ library. */
static bool is_mangled(const struct real_name *r)
{
	return r->name[0] == '_' && r->name[1] == 'Z';
}

/*
 * What is missing costs most. Where one of the C++ library's is, the others are, as a rule: a
 * program in C is not asked for them all.
 *
 * Several threads may do this at a time, in libraries that start some before the program begins.
 * None waits: it may hold a lock of the loader's, which the others need.
 */
void real_find_all(void)
{
	bool missed = false, plain = false;

	if (__atomic_load_n(&real_found, __ATOMIC_ACQUIRE))
		return;
	real_finding++;
	for (struct real_name *r = __start_atomsan_real; r < __stop_atomsan_real; r++) {
		void *fn;

		if (__atomic_load_n(&r->fn, __ATOMIC_RELAXED) || (plain && is_mangled(r)))
			continue;
		fn = look_up(r);
		if (fn) {
			__atomic_store_n(&r->fn, fn, __ATOMIC_RELAXED);
			tell_same(r);
		} else {
			missed = true;
			plain = plain || is_mangled(r);
		}
	}
	if (missed)
		forget_error();
	__atomic_store_n(&real_found, true, __ATOMIC_RELEASE);
	real_finding--;
}

void *real_find_if_any(struct real_name *r)
{
	void *fn;

	/* While all are being looked for, one alone can be: somebody is in need of it. */
	if (!real_finding)
		real_find_all();
	fn = __atomic_load_n(&r->fn, __ATOMIC_RELAXED);
	if (fn)
		return fn;
	real_finding++;
	fn = look_up(r);
	if (!fn)
		forget_error();
	real_finding--;
	__atomic_store_n(&r->fn, fn, __ATOMIC_RELAXED);
	return fn;
}

void *real_find(struct real_name *r)
{
	void *fn = real_find_if_any(r);

	if (!fn)
		rt_die("the C library has no function %s()", r->name);
	return fn;
}
