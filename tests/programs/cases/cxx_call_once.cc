/*
 * std::call_once: the second thread waits, and is not cut by the first.
 *
 * silent prints: 1 made, 7 7
 */
#include <mutex>
#include <stdexcept>
#include <thread>

#include "window.h"

static std::once_flag once;
static int made, value;
static int seen[2];

static void make()
{
	window_hold_for(1, 20);
	made++;
	value = 7;
}

BLOCK int get()
{
	std::call_once(once, make);
	return value;
}

int main()
{
	std::thread one([] { seen[0] = get(); });
	std::thread other([] {
		window_enter(1);
		seen[1] = get();
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%d made, %d %d\n", made, seen[0], seen[1]);
}
