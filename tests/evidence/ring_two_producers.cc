/*
 * A ring buffer for one producer and one consumer, correct as such: the producer loads the head,
 * fills the slot, and stores the next head. Later a second thread was made a producer. Both can
 * load the same head, and then one message is overwritten. Message queues of embedded systems and
 * game engines are known for this mistake.
 *
 * Meant to be atomic: loading the head, filling the slot, storing the head. All are atomic
 * variables. The twin puts the producers under a lock, which the consumer does not need.
 */
// expect: function=send_messages variable=head,slots class=ring-buffer where=loop
#include <atomic>
#include <mutex>
#include <thread>
#include "prove.h"

namespace
{
constexpr unsigned size = 64;
constexpr int messages = 10;

std::atomic<unsigned> head{0};
std::atomic<int> slots[size];
#ifdef FIXED
std::mutex producer_lock;
#endif

void send_messages(int first)
{
	for (int i = 0; i < messages; i++) {
#ifdef FIXED
		std::lock_guard<std::mutex> guard(producer_lock);
#endif
		unsigned at = head.load(std::memory_order_relaxed);
		pass_window();
		slots[at % size].store(first + i, std::memory_order_relaxed);
		head.store(at + 1, std::memory_order_release);
	}
}
} // namespace

int main()
{
	std::thread sensor(send_messages, 100);
	std::thread radio(send_messages, 200);

	sensor.join();
	radio.join();
	return print_outcome(head.load() == 2 * messages);
}
