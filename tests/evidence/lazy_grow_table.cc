/*
 * A table that grows when it is first needed larger, with half of the double-checked pattern: the
 * capacity is tested without the lock, the table is replaced under the lock, and the test is not
 * repeated there. Reports about allocators and about tables of thread-local data describe it. If
 * another thread has grown the table further in between, it becomes smaller again.
 *
 * The twin tests again under the lock.
 */
// expect: function=reserve variable=capacity class=lazy-init where=function
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include "prove.h"

class Table
{
      public:
	void reserve(int need)
	{
		if (need <= capacity.load())
			return;
		pass_window();
#ifdef PROVE
		if (need < 64)
			pass_window();
#endif
		std::lock_guard<std::mutex> guard(mutex);
#ifdef FIXED
		if (need <= capacity.load())
			return;
#endif
		std::unique_ptr<int[]> larger(new int[need]());
		for (int i = 0; i < used && i < need; i++)
			larger[i] = rows[i];
		rows = std::move(larger);
		capacity.store(need);
	}
	bool set(int index, int value)
	{
		std::lock_guard<std::mutex> guard(mutex);
		if (index >= capacity.load())
			return false;
		rows[index] = value;
		used = index + 1 > used ? index + 1 : used;
		return true;
	}

      private:
	std::mutex mutex;
	std::atomic<int> capacity{0};
	int used = 0;
	std::unique_ptr<int[]> rows;
};

static Table table;

static void add_column(int size, bool *good)
{
	table.reserve(size);
	pass_window();
	pass_window();
	*good = table.set(size - 1, size);
}

int main()
{
	bool good[2];
	std::thread small(add_column, 16, &good[0]);
	usleep(5000); /* A table is usually small at first. */
	std::thread large(add_column, 64, &good[1]);
	small.join();
	large.join();
	return print_outcome(good[0] && good[1]);
}
