/* What C++20 has for threads, used correctly. */
#include <algorithm>
#include <atomic>
#include <barrier>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <map>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static std::map<std::string, int> table;
static int sum;

static void add(const std::string &key)
{
	std::lock_guard lock(mutex);

	table[key]++;
	sum++;
}

static void use_latch()
{
	std::latch done(3);
	std::vector<std::jthread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			add("latch");
			done.count_down();
		});
	done.wait();
	add("latch");
}

static void use_barrier()
{
	std::barrier meet(3);
	std::vector<std::jthread> threads;

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			add("barrier");
			meet.arrive_and_wait();
			add("barrier");
			meet.arrive_and_wait();
		});
}

static void use_semaphore()
{
	std::counting_semaphore<2> two(2);
	std::vector<std::jthread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			two.acquire();
			add("semaphore");
			two.release();
		});
}

static void use_stop()
{
	std::jthread waits([](std::stop_token stop) {
		std::mutex own;
		std::condition_variable_any never;
		std::unique_lock lock(own);

		never.wait(lock, stop, [] { return false; });
		add("stop");
	});

	waits.request_stop();
}

static void use_atomic_wait()
{
	std::atomic<int> turn{0};

	std::jthread waits([&] {
		turn.wait(0);
		add("wait");
	});
	turn.store(1);
	turn.notify_one();
}

static void use_others()
{
	std::shared_mutex shared;
	std::once_flag once;
	int x = 0;

	{
		std::vector<std::jthread> threads;

		for (int i = 0; i < 3; i++)
			threads.emplace_back([&] {
				std::call_once(once, [] { add("once"); });
				std::unique_lock lock(shared);
				x++;
			});
	}
	auto three = std::async(std::launch::async, [] {
		add("async");
		return 3;
	});
	add("main");
	std::shared_lock lock(shared);
	if (x + three.get() != 6)
		std::puts("wrong");
}

int main()
{
	use_latch();
	use_barrier();
	use_semaphore();
	use_stop();
	use_atomic_wait();
	use_others();
	std::printf("%zu %d\n", table.size(), sum);
}
