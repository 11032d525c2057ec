/*
 * The mutexes of C11, with all three functions that lock them.
 * ThreadSanitizer does not know them, and reports a race.
 *
 * buggy blame: deposit
 * buggy refuted: deposit
 * buggy variable: account.*
 * buggy rests: data
 * buggy step: r account.h:read
 * buggy step: w account.h:write
 * buggy tsan: race
 * buggy prints: balance 10
 * fixed tsan: race
 * fixed prints: balance 30
 */
#include <threads.h>
#include <time.h>

static mtx_t m;

static void setup(void)
{
	mtx_init(&m, mtx_timed);
}

static void lock(void)
{
	struct timespec t;

	if (mtx_trylock(&m) == thrd_success)
		return;
	timespec_get(&t, TIME_UTC);
	if (mtx_timedlock(&m, &t) != thrd_success)
		mtx_lock(&m);
}

static void unlock(void)
{
	mtx_unlock(&m);
}

#include "account.h"
