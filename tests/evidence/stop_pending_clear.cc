/*
 * A flag that says "there is work", found in interrupt handlers, in Mozilla's event queue and in many
 * textbooks: the consumer tests the flag, empties the queue, and clears the flag afterwards. A
 * message that arrives between emptying and clearing sets the flag, the flag is cleared, and the message
 * stays in the queue. Testing and clearing the flag are meant to be one step.
 *
 * The twin clears the flag with an exchange before it empties the queue.
 */
// expect: function=consume variable=pending class=stop-flag where=loop
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>
#include "prove.h"

static std::atomic<bool> pending{false}, done{false};
static std::mutex queue_mutex;
static std::deque<int> queue;
static int sum;

static void empty_queue()
{
	std::lock_guard<std::mutex> guard(queue_mutex);
	while (!queue.empty()) {
		sum += queue.front();
		queue.pop_front();
	}
}

static void consume()
{
	for (bool last = false; !last;) {
		last = done.load();
#ifdef FIXED
		if (pending.exchange(false))
			empty_queue();
#else
		if (pending.load()) {
			empty_queue();
			pass_window();
			pending.store(false);
		}
#endif
		std::this_thread::yield();
	}
}

static void produce()
{
	for (int i = 1; i <= 4; i++) {
		{
			std::lock_guard<std::mutex> guard(queue_mutex);
			queue.push_back(i);
		}
		pending.store(true);
#ifdef PROVE
		usleep(10000);
#endif
	}
	pass_window();
	pass_window();
	done.store(true);
}

int main()
{
	std::thread consumer(consume), producer(produce);
	consumer.join();
	producer.join();
	return print_outcome(sum == 10);
}
