/*
 * The other mutexes of C++, and several locked at once. In the buggy program the
 * two accounts are locked one after the other.
 * ThreadSanitizer of these compilers does not know what
 * try_lock_for() calls, and reports a race.
 *
 * buggy blame: transfer(Account&, Account&, int)
 * buggy refuted: transfer(Account&, Account&, int)
 * buggy rests: data
 * buggy tsan: race
 * buggy prints: seen 90, 100
 * fixed tsan: race
 * fixed prints: seen 100, 100
 */
#include <mutex>
#include <thread>

#include "window.h"

struct Account {
	std::recursive_timed_mutex mutex;
	int balance;
	explicit Account(int b) : balance(b)
	{
	}
};

static Account a(100), b(0);
static int seen;

BLOCK void add(Account &account, int amount)
{
	std::unique_lock<std::recursive_timed_mutex> lock(account.mutex, std::defer_lock);
	while (!lock.try_lock_for(std::chrono::milliseconds(1)))
		;
	account.balance += amount;
}

BLOCK void transfer(Account &from, Account &to, int amount)
{
#ifdef FIXED
	std::scoped_lock both(from.mutex, to.mutex);
#endif
	add(from, -amount);
	window_hold(1);
	add(to, amount);
}

BLOCK int sum(Account &one, Account &two)
{
	std::scoped_lock both(one.mutex, two.mutex);
	return one.balance + two.balance;
}

int main()
{
	std::thread one([] { transfer(a, b, 10); });
	std::thread other([] {
		window_enter(1);
		seen = sum(a, b);
		window_leave(1);
	});
	one.join();
	other.join();
	printf("seen %d, %d\n", seen, sum(a, b));
}
