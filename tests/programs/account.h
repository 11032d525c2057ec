/*
 * The lost update, for locks of every kind. A case defines, before it includes
 * this,
 *
 *	static void setup(void)     make the lock
 *	static void lock(void)      and unlock()
 *	static void lock_to_read(void)   if ACCOUNT_READ_LOCK is defined: and unlock_read()
 *
 * Two threads deposit 10 and 20; the second comes between the first one's
 * reading and writing, unless the program is fixed.
 */
#include "window.h"

#ifndef ACCOUNT_READ_LOCK
#define lock_to_read lock
#define unlock_read  unlock
#endif

static struct {
	int owner;
	int balance;
} account;

#ifdef FIXED

BLOCK void deposit(int amount)
{
	lock();
	int b = account.balance;
	window_hold(1);
	account.balance = b + amount;
	unlock();
}

#else

BLOCK int get(void)
{
	lock_to_read();
	int b = account.balance; /* step: read */
	unlock_read();
	return b;
}

BLOCK void set(int b)
{
	lock();
	account.balance = b; /* step: write */
	unlock();
}

BLOCK void deposit(int amount)
{
	int b = get();
	window_hold(1);
	set(b + amount);
}

#endif

TWO_THREADS(deposit(10), deposit(20))

int main(void)
{
	setup();
	run_two(first, second);
	printf("balance %d\n", account.balance);
}
