/*
 * A high-water mark in a server's statistics: the largest number of bytes that were ever in use.
 * The maximum is an atomic variable, and the code compares and stores in two operations, which many
 * published code reviews find: a larger maximum that another thread stores in between is
 * overwritten with a smaller one.
 *
 * The twin uses a loop of compare_exchange_weak().
 */
// expect: function=handle_request variable=peak class=lost-update where=thread
#include <atomic>
#include <thread>
#include <vector>
#include "prove.h"

static std::atomic<long> in_use{0};
static std::atomic<long> peak{0};

static void handle_request(long size)
{
	long now = in_use.fetch_add(size) + size;
	std::vector<char> buffer(size, 'x');
#ifdef FIXED
	long seen = peak.load();
	while (now > seen && !peak.compare_exchange_weak(seen, now))
		;
#else
	if (now > peak.load()) {
		if (now < 6000) /* the largest is stored first */
			pass_window();
		peak.store(now);
	}
#endif
	if (buffer.back() != 'x')
		peak.store(-1);
	pass_window();
	pass_window();
	in_use.fetch_sub(size);
}

int main()
{
	const std::vector<long> sizes = {1000, 2000, 3000};
	std::vector<std::thread> threads;
	for (long size : sizes)
		threads.emplace_back(handle_request, size);
	for (std::thread &thread : threads)
		thread.join();
	return print_outcome(peak == 6000); /* if all three run at the same time, as with -DPROVE */
}
