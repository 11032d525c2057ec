// No bug: the lock is held all the time.
#include <mutex>
#include <thread>

static std::mutex m;
static int balance;

static void deposit(int amount)
{
	std::lock_guard<std::mutex> guard(m);
	balance += amount;
}

int main()
{
	std::thread a(deposit, 1), b(deposit, 2);
	a.join();
	b.join();
}
