/*
 * A queue with std::condition_variable and std::deque. It waits with a predicate and
 * without one.
 *
 * silent prints: sum 5050
 */
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "window.h"

class Queue
{
      public:
	BLOCK void put(int v)
	{
		std::lock_guard<std::mutex> guard(mutex);
		items.push_back(v);
		cond.notify_one();
	}
	BLOCK int take()
	{
		std::unique_lock<std::mutex> lock(mutex);
		cond.wait(lock, [this] { return !items.empty(); });
		return pop();
	}
	BLOCK int take_soon()
	{
		std::unique_lock<std::mutex> lock(mutex);
		while (items.empty())
			cond.wait_for(lock, std::chrono::milliseconds(1));
		return pop();
	}

      private:
	BLOCK int pop()
	{
		int v = items.front();
		items.pop_front();
		return v;
	}
	std::mutex mutex;
	std::condition_variable cond;
	std::deque<int> items;
};

int main()
{
	Queue queue;
	int sum = 0;
	std::thread producer([&queue] {
		for (int i = 1; i <= 100; i++)
			queue.put(i);
	});
	std::thread consumer([&queue, &sum] {
		for (int i = 0; i < 50; i++)
			sum += queue.take() + queue.take_soon();
	});
	producer.join();
	consumer.join();
	printf("sum %d\n", sum);
}
