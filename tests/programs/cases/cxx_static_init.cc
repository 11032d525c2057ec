/*
 * A static variable in a function is initialised once: the second thread waits for
 * that, and the first thread does not cut its block. After an exception the variable
 * is initialised again.
 *
 * silent prints: 1 made, 42 42, 2 tries
 */
#include <mutex>
#include <stdexcept>
#include <thread>

#include "window.h"

static std::mutex mutex;
static int made, tries;
static int seen[2];

struct Config {
	int value;
	Config()
	{
		std::lock_guard<std::mutex> guard(mutex);
		made++;
		window_hold_for(1, 20);
		value = 42;
	}
};

BLOCK int setting()
{
	static Config config;
	return config.value;
}

struct Fickle {
	Fickle()
	{
		if (++tries == 1)
			throw std::runtime_error("again");
	}
};

BLOCK void fickle()
{
	static Fickle f;
	(void)f;
}

int main()
{
	std::thread one([] { seen[0] = setting(); });
	std::thread other([] {
		window_enter(1);
		seen[1] = setting();
		window_leave(1);
	});
	one.join();
	other.join();
	try {
		fickle();
	} catch (const std::exception &) {
		fickle();
	}
	printf("%d made, %d %d, %d tries\n", made, seen[0], seen[1], tries);
}
