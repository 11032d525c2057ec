/*
 * std::thread, std::mutex, std::lock_guard: the lost update in a class.
 *
 * buggy blame: Account::deposit(int)
 * buggy refuted: Account::deposit(int)
 * buggy rests: data
 * buggy step: r read
 * buggy step: w write
 * buggy prints: balance 10
 * fixed prints: balance 30
 */
#include <functional>
#include <mutex>
#include <thread>

#include "window.h"

class Account
{
      public:
	BLOCK int get()
	{
		std::lock_guard<std::mutex> guard(mutex);
		return balance; /* step: read */
	}
	BLOCK void set(int b)
	{
		std::lock_guard<std::mutex> guard(mutex);
		balance = b; /* step: write */
	}
	BLOCK void deposit(int amount)
	{
#ifdef FIXED
		std::lock_guard<std::mutex> guard(whole);
#endif
		int b = get();
		window_hold(1);
		set(b + amount);
	}

      private:
	std::mutex mutex, whole;
	int balance = 0;
};

/* A thread's start function is no block, nor is the function by which std::thread calls it. */
static void start_first(Account &account)
{
	account.deposit(10);
}

int main()
{
	Account account;
	std::thread one(start_first, std::ref(account));
	std::thread other([&account] {
		window_enter(1);
		account.deposit(20);
		window_leave(1);
	});
	one.join();
	other.join();
	printf("balance %d\n", account.get());
}
