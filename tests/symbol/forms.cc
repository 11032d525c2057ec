// Accesses in C++, for tests/symbol/expressions; forms.c explains the comments.
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace bank
{
struct limit {
	short low, high;
};

class account
{
    public:
	long get() const;
	void set(long v);
	void guarded(long v);
	void lambda();
	static long total(std::vector<account> &all, size_t i);
	std::atomic<int> uses;
	long balance;
	limit bounds;
	std::mutex m;
	account *parent;
};

struct savings : account {
	double rate;
};

long account::get() const
{
	return balance;
}
//= r8 balance account.balance

void account::set(long v)
{
	balance = v;
	this->bounds.high = 3;
}
//= w8 balance account.balance
//= w2 this->bounds.high account.bounds.high

void account::guarded(long v)
{
	std::lock_guard<std::mutex> guard(m);

	balance += v;
}
//= l0 m
//= r8 balance account.balance
//= w8 balance account.balance

int atomics(account &a)
{
	a.uses.fetch_add(1);
	a.uses++;
	return a.uses.load();
}
//= a4 a.uses account.uses

void reference(account &a, long &b)
{
	a.balance = b;
	a.parent->balance++;
}
//= r8 b
//= w8 a.balance account.balance
//= r8 a.parent account.parent
//= r8 a.parent->balance account.balance
//= w8 a.parent->balance account.balance

void smart(const std::unique_ptr<account> &p, std::shared_ptr<savings> q)
{
	p->balance = 1;
	q->rate = 2;
}
//= r8 p
//= w8 p->balance account.balance
//= r8 q
//= w8 q->rate savings.rate

savings *make()
{
	return new savings;
}

long inherited(savings *s)
{
	s->rate = 1;
	return s->balance;
}
//= w8 s->rate savings.rate
//= r8 s->balance savings.balance
} // namespace bank
