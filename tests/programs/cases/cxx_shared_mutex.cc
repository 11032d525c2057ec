/*
 * std::shared_mutex: a shared lock, then an exclusive one. Readers in between
 * do not cut the block.
 *
 * buggy blame: Table::put_if_absent(int)
 * buggy refuted: Table::put_if_absent(int)
 * buggy rests: data
 * buggy prints: 2 puts
 * fixed prints: 1 puts
 */
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "window.h"

class Table
{
      public:
	BLOCK bool has(int key)
	{
		std::shared_lock<std::shared_mutex> lock(mutex);
		return present[key];
	}
	BLOCK void put_if_absent(int key)
	{
#ifdef FIXED
		std::unique_lock<std::shared_mutex> lock(mutex);
		if (!present[key]) {
			window_hold(1);
			present[key] = true;
			puts++;
		}
#else
		if (!has(key)) {
			window_hold(1);
			std::unique_lock<std::shared_mutex> lock(mutex);
			present[key] = true;
			puts++;
		}
#endif
	}
	int puts = 0;

      private:
	std::shared_mutex mutex;
	bool present[4] = {};
};

static Table table;

int main()
{
	std::thread one([] { table.put_if_absent(2); });
	std::thread other([] {
		window_enter(1);
		table.has(1);
		table.put_if_absent(2);
		window_leave(1);
	});
	one.join();
	other.join();
	printf("%d puts\n", table.puts);
}
