// The same as attack.c, for exceptions, thread-local and static objects.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::mutex mutex;
static long sum;

static void add(long n)
{
	std::lock_guard<std::mutex> hold(mutex);
	sum += n;
}

// --- blocks that exceptions leave, from any depth ---

static void throws(int depth)
{
	if (depth)
		throws(depth - 1);
	add(1);
	throw std::runtime_error("on purpose");
}

static void catcher(int rounds)
{
	for (int i = 0; i < rounds; i++)
		try {
			throws(i % 9);
		} catch (const std::runtime_error &) {
		}
}

static void run(void (*fn)(int), int arg)
{
	std::vector<std::thread> t;

	for (int i = 0; i < 3; i++)
		t.emplace_back(fn, arg);
	for (auto &one : t)
		one.join();
}

static int exceptions()
{
	run(catcher, 2000);
	printf("%ld\n", sum);
	return 0;
}

// --- destructors of thread-local and static data ---

struct counted {
	std::string text = std::string(100, 'x');

	~counted()
	{
		add((long)text.size());
	}
};
static thread_local counted local;

static void user(int n)
{
	for (int i = 0; i < n; i++)
		local.text[0] = (char)i;
}

static int locals()
{
	for (int i = 0; i < 100; i++)
		run(user, 10);
	printf("%ld\n", sum);
	return 0;
}

struct late {
	std::thread *worker = nullptr;

	~late()
	{
		if (!worker)
			return;
		worker->join();
		delete worker;
		run([](int n) { add(n); }, 5);
		printf("late %ld\n", sum);
	}
};
static late last;

static int statics()
{
	last.worker = new std::thread([] { add(1); });
	return 6;
}

static int uncaught()
{
	std::thread t([] { throws(3); });

	t.join();
	return 0;
}

int main(int, char **argv)
{
	if (!strcmp(argv[1], "exceptions"))
		return exceptions();
	if (!strcmp(argv[1], "locals"))
		return locals();
	if (!strcmp(argv[1], "statics"))
		return statics();
	return uncaught();
}
