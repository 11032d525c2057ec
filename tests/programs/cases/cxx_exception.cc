/*
 * An exception that leaves a block ends the block, however deep it was thrown. In the
 * buggy program it is caught inside the block, which continues.
 *
 * buggy blame: reserve()
 * buggy refuted: reserve()
 * buggy variable: seats
 * buggy step: r read
 * buggy step: w write
 * buggy prints: 9 left
 * fixed prints: 9 left
 */
#include <atomic>
#include <stdexcept>
#include <thread>

#include "window.h"

static std::atomic<int> seats(10);

BLOCK void refuse(int n)
{
	window_hold_for(1, 0);
	throw std::runtime_error(std::to_string(n));
}

BLOCK int look()
{
	std::string keeps_a_destructor("here");
	int n = seats.load(); /* step: read */
	refuse(n);
	return n + keeps_a_destructor.size();
}

BLOCK void take()
{
	seats.store(9); /* step: write */
}

static inline __attribute__((always_inline)) void try_then_take()
{
	try {
		look();
	} catch (const std::exception &) {
	}
	take();
}

BLOCK void reserve()
{
	try_then_take();
}

int main()
{
	std::thread one([] {
#ifdef FIXED
		try_then_take();
#else
		reserve();
#endif
	});
	std::thread other([] {
		window_enter(1);
		seats.store(5);
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%d left\n", seats.load());
}
