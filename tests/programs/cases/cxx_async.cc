/*
 * Tasks of std::async that return their results by futures; one loses an update.
 *
 * buggy blame: deposit(int)
 * buggy refuted: deposit(int)
 * buggy variable: balance
 * buggy prints: 10 of 30, caught
 * fixed prints: 30 of 30, caught
 */
#include <future>
#include <mutex>
#include <stdexcept>

#include "window.h"

static std::mutex mutex;
static int balance;

BLOCK int deposit(int amount)
{
	std::unique_lock<std::mutex> lock(mutex);
	int b = balance;
#ifndef FIXED
	lock.unlock();
#endif
	window_hold(1);
#ifndef FIXED
	lock.lock();
#endif
	balance = b + amount;
	return amount;
}

int main()
{
	auto one = std::async(std::launch::async, [] { return deposit(10); });
	auto other = std::async(std::launch::async, [] {
		window_enter(1);
		int amount = deposit(20);
		window_leave(1);
		return amount;
	});
	auto bad = std::async(std::launch::async, []() -> int { throw std::runtime_error("no"); });
	int sum = one.get() + other.get();
	const char *caught = "not caught";
	try {
		bad.get();
	} catch (const std::runtime_error &) {
		caught = "caught";
	}
	printf("%d of %d, %s\n", balance, sum, caught);
}
