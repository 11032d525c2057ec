/*
 * An object that becomes another kind of object between two virtual calls: the
 * hidden pointer to its functions is a variable too.
 *
 * buggy blame: describe()
 * buggy refuted: describe()
 * buggy rests: data
 * buggy prints: triangle with 4 sides
 * fixed prints: triangle with 3 sides
 */
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "window.h"

static std::mutex mutex;

struct Shape {
	virtual ~Shape()
	{
	}
	virtual const char *name() = 0;
	virtual int sides() = 0;
};
struct Triangle : Shape {
	const char *name() override
	{
		return "triangle";
	}
	int sides() override
	{
		return 3;
	}
};
struct Square : Shape {
	const char *name() override
	{
		return "square";
	}
	int sides() override
	{
		return 4;
	}
};

alignas(Square) static char place[sizeof(Square)];
static Shape *volatile shape = new (place) Triangle;
static std::string text;

BLOCK void describe()
{
	std::unique_lock<std::mutex> lock(mutex);
	const char *name = shape->name();
#ifndef FIXED
	lock.unlock();
#endif
	window_hold(1);
#ifndef FIXED
	lock.lock();
#endif
	text = std::string(name) + " with " + std::to_string(shape->sides()) + " sides";
}

BLOCK void become_square()
{
	std::lock_guard<std::mutex> guard(mutex);
	shape->~Shape();
	new (place) Square;
}

int main()
{
	std::thread one([] { describe(); });
	std::thread other([] {
		window_enter(1);
		become_square();
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%s\n", text.c_str());
}
