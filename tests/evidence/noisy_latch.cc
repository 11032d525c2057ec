/*
 * Correct: a latch and a reusable barrier made of an atomic counter and a generation, as std::latch and
 * std::barrier are. Threads fill their parts of a vector, wait for each other, and read the parts of
 * the others. The counter is read again and again while others change it.
 */
#include <atomic>
#include <thread>
#include <vector>
#include "prove.h"

class Latch
{
      public:
	explicit Latch(int n) : left(n)
	{
	}
	void count_down()
	{
		left.fetch_sub(1, std::memory_order_release);
	}
	void wait() const
	{
		while (left.load(std::memory_order_acquire) > 0)
			std::this_thread::yield();
	}

      private:
	std::atomic<int> left;
};

class Barrier
{
      public:
	explicit Barrier(int n) : size(n)
	{
	}
	void arrive_and_wait()
	{
		int mine = generation.load();
		if (arrived.fetch_add(1) + 1 == size) {
			arrived.store(0);
			generation.fetch_add(1);
			return;
		}
		while (generation.load() == mine)
			std::this_thread::yield();
	}

      private:
	const int size;
	std::atomic<int> arrived{0}, generation{0};
};

static constexpr int threads_n = 3, rounds = 4;
static std::vector<long> values(threads_n, 1);
static Barrier barrier(threads_n);
static Latch done(threads_n);

static void compute(int me)
{
	for (int round = 0; round < rounds; round++) {
		long sum = 0;
		for (long value : values)
			sum += value;
		barrier.arrive_and_wait();
		values[me] = sum % 1000 + me;
		barrier.arrive_and_wait();
	}
	done.count_down();
}

int main()
{
	std::vector<std::thread> threads;
	for (int i = 0; i < threads_n; i++)
		threads.emplace_back(compute, i);
	done.wait();
	bool right = values[1] == values[0] + 1 && values[2] == values[0] + 2;
	for (std::thread &thread : threads)
		thread.join();
	return print_outcome(right);
}
