/*
 * A pool that opens at most a given number of connections. It compares the number with the limit
 * under the lock, releases the lock because connecting is slow, and counts the new connection under
 * the lock afterwards. Several threads can pass the comparison before any of them counts: the limit
 * is exceeded and the server refuses. Pools of database drivers have had this bug.
 *
 * Meant to be atomic: the comparison and the count. The twin counts the connection before it
 * connects.
 */
// expect: function=acquire variable=open_count class=check-then-act where=function
#include <memory>
#include <mutex>
#include <thread>
#include "prove.h"

class Pool
{
      public:
	virtual ~Pool() = default;
	virtual bool acquire() = 0;
	virtual bool was_exceeded() = 0;
};

class LimitedPool : public Pool
{
	std::mutex lock;
	int open_count = 0;
	int most = 0;
	const int limit;

	void count_one()
	{
		open_count++;
		if (open_count > most)
			most = open_count;
	}
	static void connect()
	{
		pass_window();
	}

      public:
	explicit LimitedPool(int n) : limit(n)
	{
	}
	bool acquire() override
	{
#ifdef FIXED
		{
			std::lock_guard<std::mutex> guard(lock);
			if (open_count >= limit)
				return false;
			count_one();
		}
		connect();
#else
		{
			std::lock_guard<std::mutex> guard(lock);
			if (open_count >= limit)
				return false;
		}
		connect();
		std::lock_guard<std::mutex> guard(lock);
		count_one();
#endif
		return true;
	}
	bool was_exceeded() override
	{
		std::lock_guard<std::mutex> guard(lock);
		return most > limit;
	}
};
int main()
{
	std::unique_ptr<Pool> pool = std::make_unique<LimitedPool>(3);
	auto client = [&pool] {
		for (int i = 0; i < 2; i++)
			pool->acquire();
	};
	std::thread one(client), two(client);

	one.join();
	two.join();
	return print_outcome(!pool->was_exceeded());
}
