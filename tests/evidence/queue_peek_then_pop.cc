/*
 * A queue of jobs with the interface of the standard containers: front() and pop() are separate,
 * and the wrapper makes each of them safe with the lock. Two workers can both read the same front
 * and then remove two jobs: one job is done twice and one never. Stroustrup, Williams and others
 * use this queue to explain why a concurrent queue needs one operation that does both.
 *
 * Meant to be atomic: reading the front and removing it. The twin has that operation.
 */
// expect: function=work variable=first,jobs class=work-queue where=loop
#include <chrono>
#include <mutex>
#include <thread>
#include "prove.h"

namespace
{
constexpr int total = 12;

class JobQueue
{
	std::mutex lock;
	int jobs[total];
	int first = 0;

      public:
	JobQueue()
	{
		for (int i = 0; i < total; i++)
			jobs[i] = i;
	}
	int front()
	{
		std::lock_guard<std::mutex> guard(lock);
		return first < total ? jobs[first] : -1;
	}
	void pop()
	{
		std::lock_guard<std::mutex> guard(lock);
		first++;
	}
	int take()
	{
		std::lock_guard<std::mutex> guard(lock);
		return first < total ? jobs[first++] : -1;
	}
};

JobQueue queue;
int times_done[2][total];

void work(int *mine)
{
	for (;;) {
#ifdef FIXED
		int job = queue.take();
		if (job < 0)
			return;
#else
		int job = queue.front();
		if (job < 0)
			return;
		pass_window();
		queue.pop();
#endif
		mine[job]++;
		std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the job
	}
}
} // namespace

int main()
{
	std::thread one(work, times_done[0]);
	std::thread two(work, times_done[1]);
	bool right = true;

	one.join();
	two.join();
	for (int i = 0; i < total; i++)
		right = right && times_done[0][i] + times_done[1][i] == 1;
	return print_outcome(right);
}
