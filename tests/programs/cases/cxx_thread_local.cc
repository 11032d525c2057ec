/*
 * thread_local objects with constructors, and destructors that run when their
 * thread has left all blocks. In the buggy program the destructor loses an update.
 *
 * buggy blame: Tally::~Tally()
 * buggy variable: total
 * buggy prints: total 1
 * fixed prints: total 3
 */
#include <mutex>
#include <thread>

#include "window.h"

static std::mutex mutex;
static int total;

struct Tally {
	int own = 0;
	BLOCK ~Tally()
	{
		std::unique_lock<std::mutex> lock(mutex);
		int t = total;
#ifndef FIXED
		lock.unlock();
#endif
		window_hold(1);
#ifndef FIXED
		lock.lock();
#endif
		total = t + own;
		lock.unlock();
		if (own == 2)
			window_leave(1);
	}
};

static thread_local Tally tally;

BLOCK void count(int n)
{
	tally.own += n;
}

int main()
{
	std::thread one([] { count(1); });
	std::thread other([] {
		count(1);
		window_enter(1);
		count(1);
	});
	one.join();
	other.join();
	printf("total %d\n", total);
}
