/*
 * Members of templates, operators, namespaces: the report has the names of the source.
 *
 * buggy blame: bank::Cell<int>::operator+=(int)
 * buggy refuted: bank::Cell<int>::operator+=(int)
 * buggy variable: bank::cell.value
 * buggy step: r read
 * buggy step: w write
 * buggy prints: 1
 * fixed prints: 3
 */
#include <mutex>
#include <thread>

#include "window.h"

namespace bank
{

template <class T> struct Cell {
	std::mutex mutex;
	T value;
	BLOCK Cell &operator+=(T amount)
	{
		std::unique_lock<std::mutex> lock(mutex);
		T v = value; /* step: read */
#ifndef FIXED
		lock.unlock();
#endif
		window_hold(1);
#ifndef FIXED
		lock.lock();
#endif
		value = v + amount; /* step: write */
		return *this;
	}
};

static Cell<int> cell;

} // namespace bank

int main()
{
	std::thread one([] { bank::cell += 1; });
	std::thread other([] {
		window_enter(1);
		bank::cell += 2;
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%d\n", bank::cell.value);
}
