/*
 * Velodrome's first example: a set that uses a vector, whose functions are atomic, each
 * by itself.
 *
 * buggy blame: Set::add(int)
 * buggy refuted: Set::add(int)
 * buggy rests: data
 * buggy step: r contains
 * buggy prints: 2 elements
 * fixed prints: 1 elements
 */
#include <mutex>
#include <thread>
#include <vector>

#include "window.h"

class Vector
{
      public:
	BLOCK bool contains(int x)
	{
		std::lock_guard<std::mutex> guard(mutex);
		return count > 0 && data[0] == x; /* step: contains */
	}
	BLOCK void add(int x)
	{
		std::lock_guard<std::mutex> guard(mutex);
		data[count] = x;
		count++; /* step: add */
	}
	int count = 0;

      private:
	std::mutex mutex;
	int data[8] = {};
};

class Set
{
      public:
	BLOCK void add(int x)
	{
#ifdef FIXED
		std::lock_guard<std::mutex> guard(mutex);
#endif
		if (!elems.contains(x)) {
			window_hold(1);
			elems.add(x);
		}
	}
	Vector elems;

      private:
	std::mutex mutex;
};

static Set set;

int main()
{
	std::thread one([] { set.add(7); });
	std::thread other([] {
		window_enter(1);
		set.add(7);
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%d elements\n", set.elems.count);
}
