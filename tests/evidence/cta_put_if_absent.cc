/*
 * The best-known misuse of concurrent collections, found in dozens of Java programs by a study of
 * them and just as usual in C++: contains() is locked, insert() is locked, and the program calls
 * one after the other. Test and insertion are meant to be one step: a name that another thread
 * inserts in between is in the list twice, and its listener is called twice.
 *
 * The twin adds a method that tests and inserts under one lock.
 */
// expect: function=subscribe variable=names class=check-then-act where=loop
#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
#include "prove.h"

class Registry
{
      public:
	bool contains(const std::string &name)
	{
		std::lock_guard<std::mutex> guard(mutex);
		return std::find(names.begin(), names.end(), name) != names.end();
	}
	void insert(const std::string &name)
	{
		std::lock_guard<std::mutex> guard(mutex);
		names.push_back(name);
	}
	bool insert_if_absent(const std::string &name)
	{
		std::lock_guard<std::mutex> guard(mutex);
		if (std::find(names.begin(), names.end(), name) != names.end())
			return false;
		names.push_back(name);
		return true;
	}
	size_t size()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return names.size();
	}

      private:
	std::mutex mutex;
	std::vector<std::string> names;
};

static Registry registry;
static const std::vector<std::string> window_topics = {"resize", "key", "mouse"};
static const std::vector<std::string> menu_topics = {"quit", "key", "mouse"};

static void subscribe(const std::vector<std::string> &topics)
{
	for (const std::string &topic : topics) {
#ifdef FIXED
		registry.insert_if_absent(topic);
#else
		if (!registry.contains(topic)) {
			pass_window();
			registry.insert(topic);
		}
#endif
	}
}

int main()
{
	std::thread first(subscribe, std::cref(window_topics)),
		second(subscribe, std::cref(menu_topics));
	first.join();
	second.join();
	return print_outcome(registry.size() == 4);
}
