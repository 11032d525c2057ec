/*
 * A guard without a name, which talks about C++ collect as a frequent mistake: the temporary object
 * locks the mutex and unlocks it at the end of the same line, and everything after that line runs
 * without the lock. The two sums are meant to change in one step, and each addition is lost if another
 * thread comes in between.
 *
 * The twin gives the guard a name.
 */
// expect: function=add variable=sum,count class=wrong-lock where=inlined
#include <mutex>
#include <thread>
#include <vector>
#include "prove.h"

class Mean
{
      public:
	void add(long value)
	{
#ifdef FIXED
		std::lock_guard<std::mutex> guard(mutex);
#else
		std::lock_guard<std::mutex>{mutex};
#endif
		long before = sum;
		pass_window();
		sum = before + value;
		count = count + 1;
	}
	long total()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return sum;
	}
	double get()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return count ? double(sum) / double(count) : 0;
	}

      private:
	std::mutex mutex;
	long sum = 0;
	int count = 0;
};

static Mean latency;
static constexpr int measurements = 10;

static void measure(long value)
{
	for (int i = 0; i < measurements; i++)
		latency.add(value);
}

int main()
{
	std::vector<std::thread> threads;
	for (long value : {5, 7})
		threads.emplace_back(measure, value);
	for (std::thread &thread : threads)
		thread.join();
	return print_outcome(latency.total() == 12 * measurements && latency.get() == 6);
}
