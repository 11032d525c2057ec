/*
 * Check, then act, on an atomic variable: each access is atomic, the two together
 * are not.
 *
 * buggy blame: claim()
 * buggy refuted: claim()
 * buggy variable: taken
 * buggy rests: data
 * buggy step: r check
 * buggy step: w act
 * buggy prints: 2 owners
 * fixed prints: 1 owners
 */
#include <atomic>
#include <thread>

#include "window.h"

static std::atomic<int> taken;
static std::atomic<int> owners;

BLOCK bool claim()
{
#ifdef FIXED
	int expected = 0;
	return taken.compare_exchange_strong(expected, 1);
#else
	if (!taken) { /* step: check */
		window_hold(1);
		taken = 1; /* step: act */
		return true;
	}
	return false;
#endif
}

int main()
{
	std::thread one([] {
		if (claim())
			owners++;
#ifdef FIXED
		window_hold(1);
#endif
	});
	std::thread other([] {
		window_enter(1);
		if (claim())
			owners++;
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%d owners\n", owners.load());
}
