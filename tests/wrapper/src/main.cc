#include <atomic>
#include <cstdio>
#include <memory>
#include <stdexcept>

struct shape {
	virtual ~shape() = default;
	virtual int area() = 0;
};
struct square : shape {
	int side = 3;
	int area() override { return side * side; }
};

static std::atomic<int> count;

int main()
{
	std::unique_ptr<shape> s = std::make_unique<square>();
	count.fetch_add(s->area());
	try {
		throw std::runtime_error("caught");
	} catch (const std::exception &e) {
		std::printf("area %d, %s\n", s->area(), e.what());
	}
	return 0;
}
