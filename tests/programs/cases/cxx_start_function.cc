/*
 * A function, a lambda or a member that std::thread or std::async starts is no
 * block by default.
 *
 * silent prints: 1 1 1 1
 */
#include <atomic>
#include <future>
#include <thread>

#include "window.h"

static std::atomic<int> x[4];

#define CUT_THROUGH(i)                                                                             \
	do {                                                                                       \
		int v = x[i].load();                                                               \
		window_hold(i);                                                                    \
		x[i].store(v + 1);                                                                 \
	} while (0)

static void function(int i)
{
	CUT_THROUGH(i);
}

struct Worker {
	void member()
	{
		CUT_THROUGH(2);
	}
};

static void cut(int i)
{
	window_enter(i);
	x[i].store(5);
	window_leave(i);
}

int main()
{
	Worker worker;
	std::thread one(function, 0);
	cut(0);
	std::thread two([] { CUT_THROUGH(1); });
	cut(1);
	std::thread three(&Worker::member, &worker);
	cut(2);
	auto four = std::async(std::launch::async, [] { CUT_THROUGH(3); });
	cut(3);
	one.join();
	two.join();
	three.join();
	four.get();
	printf("%d %d %d %d\n", x[0].load(), x[1].load(), x[2].load(), x[3].load());
}
