/*
 * A generator of request numbers. The counter was made atomic to silence a race detector, but it is
 * still loaded and stored in two operations, so two threads can get the same number. Numbers that
 * are not unique have led to mixed-up answers in RPC libraries and to colliding keys in databases.
 *
 * Meant to be atomic: loading the counter and storing the next number. The twin uses one atomic
 * addition. The generator is used through an interface, so the compiler does not inline it.
 */
// expect: function=next variable=counter class=lost-update where=function
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>
#include "prove.h"

class IdSource
{
      public:
	virtual ~IdSource() = default;
	virtual unsigned next() = 0;
};

class Counter : public IdSource
{
	std::atomic<unsigned> counter{1};

      public:
	unsigned next() override
	{
#ifdef FIXED
		return counter.fetch_add(1);
#else
		unsigned id = counter.load();
		pass_window();
		counter.store(id + 1);
		return id;
#endif
	}
};

static void send_requests(IdSource *source, std::vector<unsigned> *ids)
{
	for (int i = 0; i < 10; i++)
		ids->push_back(source->next());
}
int main()
{
	std::unique_ptr<IdSource> source = std::make_unique<Counter>();
	std::vector<unsigned> one, two;
	std::thread first(send_requests, source.get(), &one);
	std::thread second(send_requests, source.get(), &two);

	first.join();
	second.join();
	one.insert(one.end(), two.begin(), two.end());
	std::sort(one.begin(), one.end());
	return print_outcome(std::adjacent_find(one.begin(), one.end()) == one.end());
}
