/*
 * Global objects that are constructed before main() and destroyed after it, both with
 * threads.
 *
 * silent prints: made 1
 * silent prints: main 2
 * silent prints: destroyed 3
 */
#include <mutex>
#include <thread>

#include "window.h"

static std::mutex mutex;
static int x;

BLOCK int bump()
{
	std::lock_guard<std::mutex> guard(mutex);
	return ++x;
}

static void in_a_thread(const char *where)
{
	std::thread t([where] { printf("%s %d\n", where, bump()); });
	t.join();
}

struct Global {
	Global()
	{
		in_a_thread("made");
	}
	~Global()
	{
		in_a_thread("destroyed");
	}
};

static Global global;

int main()
{
	in_a_thread("main");
}
