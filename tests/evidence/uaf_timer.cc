/*
 * A list of timers, as in Mozilla's timer thread: the timer thread finds a timer under the lock,
 * releases the lock so that the callback may use the list, and then calls the timer. Another thread
 * can cancel and delete the timer in between.
 *
 * Meant to be atomic: finding the timer and calling it, at least as far as its deletion is
 * concerned. The twin keeps the timer alive with a shared pointer that it copies under the lock.
 */
// expect: function=run_timer variable=timers,rounds,id class=use-after-free where=inlined
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include "prove.h"

namespace
{
struct Timer {
	long id = 7;
	std::atomic<int> rounds{0};

	/* Returns false if the memory is no longer this timer. */
	bool fire()
	{
		rounds++;
		return id == 7;
	}
};

#ifdef FIXED
using Handle = std::shared_ptr<Timer>;
#else
using Handle = Timer *;
#endif

std::mutex list_lock;
std::map<int, Handle> timers;
int dead_calls;

inline bool run_timer(int key)
{
	Handle timer{};
	{
		std::lock_guard<std::mutex> guard(list_lock);
		auto at = timers.find(key);
		if (at == timers.end())
			return true;
		timer = at->second;
	}
	pass_window();
	return timer->fire();
}

inline void cancel_timer(int key)
{
	std::lock_guard<std::mutex> guard(list_lock);
	auto at = timers.find(key);
	if (at == timers.end())
		return;
#ifndef FIXED
	delete at->second;
#endif
	timers.erase(at);
}

void run_timers()
{
	if (!run_timer(7))
		dead_calls++;
}

void close_page()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(1)); // A page usually stays open.
	cancel_timer(7);
}
} // namespace

int main()
{
	timers[7] = Handle(new Timer);
	std::thread runner(run_timers);
	std::thread closer(close_page);

	runner.join();
	closer.join();
	return print_outcome(dead_calls == 0);
}
