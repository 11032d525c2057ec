/*
 * Promises and packaged tasks: get() waits inside the library's own code,
 * which is no block of the program.
 *
 * silent prints: 42 7
 */
#include <future>
#include <thread>

#include "window.h"

BLOCK int work(int x)
{
	return x * 6;
}

int main()
{
	std::promise<int> promise;
	std::future<int> answer = promise.get_future();
	std::packaged_task<int()> task([] {
		await(1);
		return 7;
	});
	std::future<int> lucky = task.get_future();
	std::thread one([&promise] {
		await(2);
		promise.set_value(work(7));
	});
	std::thread other(std::move(task));
	reached(2);
	int a = answer.get();
	reached(1);
	lucky.wait();
	/* The task checks whether it holds the last reference to its state, then drops it. */
	other.join();
	int b = lucky.get();
	printf("%d %d\n", a, b);
	one.join();
}
