/*
 * A download in a browser's network layer has a status and a body. Several published Mozilla bugs
 * have this form: the network thread sets the status to done in one critical section and stores the
 * body in the next, and a thread that looks in between finds a finished download with the body of
 * the previous one.
 *
 * Meant to be atomic: setting the status together with the body. The reader is correct. The twin
 * sets both in one critical section.
 */
// expect: function=fetch variable=status,body class=torn-pair where=thread
#include <chrono>
#include <mutex>
#include <thread>
#include "prove.h"

namespace
{
enum class Status { waiting, done };

struct Request {
	std::mutex lock;
	Status status = Status::waiting;
	int body = 0;
};

Request request;
int bodies_missed;

void fetch()
{
	const int body = 200;

#ifdef FIXED
	std::lock_guard<std::mutex> guard(request.lock);
	request.status = Status::done;
	request.body = body;
#else
	{
		std::lock_guard<std::mutex> guard(request.lock);
		request.status = Status::done;
	}
	pass_window();
	{
		std::lock_guard<std::mutex> guard(request.lock);
		request.body = body;
	}
#endif
}

void show()
{
	for (int i = 0; i < 20; i++) {
		std::this_thread::sleep_for(std::chrono::microseconds(200)); // a frame
		std::lock_guard<std::mutex> guard(request.lock);
		if (request.status == Status::done && request.body == 0)
			bodies_missed++;
	}
}
} // namespace

int main()
{
	std::thread network(fetch);
	std::thread viewer(show);

	viewer.join();
	network.join();
	return print_outcome(bodies_missed == 0);
}
