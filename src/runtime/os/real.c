#include "runtime/os/real.h"

#include <dlfcn.h>
#include <stdint.h>

#include "runtime/os/os.h"

#include "base/banned.h"

/* The array of all struct real_name; the linker defines these. */
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
		rt_die("no memory to look up the C library's functions");
	/* The size is stored in front of the memory, for realloc(). */
	*(size_t *)(early + at) = bytes;
	return early + at + 16;
}

_Bool real_early_owns(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof early;
}

static void *look_up_original(const struct real_name *r)
{
	void *fn = NULL;

	if (r->version)
		fn = dlvsym(RTLD_NEXT, r->name, r->version);
	return fn ? fn : dlsym(RTLD_NEXT, r->name);
}

/*
 * Clear the message about an original that was not found: the program did not ask for it. The
 * second call frees the message's memory.
 */
static void clear_dlerror(void)
{
	if (dlerror())
		dlerror();
}

/* Store what was found in all entries of the same name; equal names are one string. */
static void store_found(struct real_name *found)
{
	for (struct real_name *r = found; r < __stop_atomsan_real; r++)
		if (r->name == found->name && r->version == found->version)
			__atomic_store_n(&r->fn, found->fn, __ATOMIC_RELAXED);
}

/* Libraries that few programs have. */
enum library { OTHER, CXX, OPENMP, LIBOMP, LIBRARIES };

static enum library get_library(const struct real_name *r)
{
	const char *s = r->name;

	if (s[0] == '_' && s[1] == 'Z')
		return CXX;
	if (s[0] == '_' && s[1] == '_' && s[2] == 'k' && s[3] == 'm' && s[4] == 'p')
		return LIBOMP;
	if ((s[0] == 'G' && s[1] == 'O' && s[2] == 'M') ||
	    (s[0] == 'o' && s[1] == 'm' && s[2] == 'p'))
		return OPENMP;
	return OTHER;
}

/*
 * A lookup that fails costs most. As a rule the C++ library's functions are all missing or none,
 * and so are OpenMP's: after the first that is missing, do not look up the others.
 *
 * Several threads may do this at the same time, if libraries start threads before the program
 * begins. No thread waits for another: it may hold a lock of the loader that the other needs.
 */
void real_find_all(void)
{
	bool missed = false, absent[LIBRARIES] = {false};

	if (__atomic_load_n(&real_found, __ATOMIC_ACQUIRE))
		return;
	real_finding++;
	/* cppcheck-suppress comparePointers // the linker makes one array of them */
	for (struct real_name *r = __start_atomsan_real; r < __stop_atomsan_real; r++) {
		enum library library = get_library(r);
		void *fn;

		if (__atomic_load_n(&r->fn, __ATOMIC_RELAXED) || absent[library])
			continue;
		fn = look_up_original(r);
		if (fn) {
			__atomic_store_n(&r->fn, fn, __ATOMIC_RELAXED);
			store_found(r);
		} else {
			missed = true;
			absent[library] = library != OTHER;
		}
	}
	if (missed)
		clear_dlerror();
	__atomic_store_n(&real_found, true, __ATOMIC_RELEASE);
	real_finding--;
}

void *real_find_if_any(struct real_name *r)
{
	void *fn;

	/* While this thread looks up all, the lookup itself may need one: find that one alone. */
	if (!real_finding)
		real_find_all();
	fn = __atomic_load_n(&r->fn, __ATOMIC_RELAXED);
	if (fn)
		return fn;
	real_finding++;
	fn = look_up_original(r);
	if (!fn)
		clear_dlerror();
	real_finding--;
	__atomic_store_n(&r->fn, fn, __ATOMIC_RELAXED);
	return fn;
}

void *real_find_in(struct real_name *r, const char *name, uintptr_t caller)
{
	void *fn = real_find_if_any(r), *library = NULL;
	Dl_info info;

	if (fn)
		return fn;
	/* It is never closed: the function must stay valid. */
	library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	fn = library ? dlsym(library, r->name) : NULL;
	if (fn)
		__atomic_store_n(&r->fn, fn, __ATOMIC_RELAXED);
	else if (dladdr1((const void *)caller, &info, &library, RTLD_DL_LINKMAP) && library)
		fn = dlsym(library, r->name); /* a link map is a handle */
	if (!fn)
		rt_die("%s has no function %s()", name, r->name);
	return fn;
}

void *real_find(struct real_name *r)
{
	void *fn = real_find_if_any(r);

	if (!fn)
		rt_die("the C library has no function %s()", r->name);
	return fn;
}
