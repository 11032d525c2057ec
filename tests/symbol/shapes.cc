// What the tests look up; lines are found by their marks, not by number.
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace shapes
{
struct base {
	long id = 0;
};

class shape : public base
{
      public:
	static int alive;
	inline static int drawn = 0;
	int sides = 0;
	std::mutex guard;
	std::atomic<int> uses{0};

	__attribute__((noinline)) int area(int scale) const;
	shape operator|(const shape &other) const;
};

int shape::alive;
shape one;
static shape three[3];
extern void *const kept[];
void *const kept[] = {three}; // else optimised away

__attribute__((noinline)) int shape::area(int scale) const
{
	static int calls;

	return sides * scale + calls++; /* MARK area */
}

__attribute__((noinline)) shape *both(const shape &a, const shape &b);

namespace
{
volatile int hidden;

template <typename T> __attribute__((noinline)) T twice(T x)
{
	hidden = 1; /* MARK twice */
	return x + x;
}
} // namespace

__attribute__((noinline)) int operator|(const base &a, const base &b)
{
	return (int)(a.id + b.id + hidden); /* MARK bar */
}
} // namespace shapes

std::string text = "text";

int main(int argc, char **)
{
	std::vector<int> v(10, argc);
	auto add = [&](int x) { return x + (int)v.size(); };

	std::lock_guard<std::mutex> hold(shapes::one.guard);
	shapes::one.sides = argc;
	shapes::one.uses++;
	shapes::three[argc % 3].sides++;
	shapes::shape::alive++;
	shapes::shape::drawn++;
	shapes::one.id = shapes::twice(argc) + shapes::twice(2L);
	return shapes::one.area(add(argc)) + ((shapes::base &)shapes::one | (shapes::base &)shapes::three[0]) ? 0 : 1;
}
