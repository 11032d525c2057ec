// Threads of the C++ library; a function whose name the runtime uses internally, too.
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static int sum;
static thread_local int mine;

extern "C" int rt_die(void);
extern "C" int rt_die(void)
{
	return 7;
}

static void work()
{
	for (int i = 0; i < 1000; i++) {
		std::lock_guard<std::mutex> held(lock);
		sum++;
		mine++;
	}
}

int main()
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work);
	for (auto &t : threads)
		t.join();
	std::printf("sum %d, %d\n", sum, std::async(std::launch::async, rt_die).get());
	return 0;
}
