/*
 * A cache of decoded images, like Mozilla's. The thread that frees memory asks each image under the
 * lock whether it is in use, and throws it away under the lock again. A thread that begins to use the
 * image in between loses its pixels. Question and eviction are meant to be one step.
 *
 * The twin evicts in the critical section in which it asks.
 */
// expect: function=evict_images variable=users,pixels,images class=refcount where=loop
#include <mutex>
#include <thread>
#include <vector>
#include "prove.h"

struct Image {
	int users = 0;
	std::vector<int> pixels;
};

static std::mutex cache_mutex;
static std::vector<Image> images(3);
static int missing;

static void evict_images()
{
	for (Image &image : images) {
#ifdef FIXED
		std::lock_guard<std::mutex> guard(cache_mutex);
		if (image.users == 0)
			image.pixels.clear();
#else
		bool unused;
		{
			std::lock_guard<std::mutex> guard(cache_mutex);
			unused = image.users == 0;
		}
		pass_window();
		if (unused) {
			std::lock_guard<std::mutex> guard(cache_mutex);
			image.pixels.clear();
		}
#endif
	}
}

static void draw_images()
{
	for (Image &image : images) {
		{
			std::lock_guard<std::mutex> guard(cache_mutex);
			image.users++;
			if (image.pixels.empty())
				image.pixels.assign(16, 7);
		}
		pass_window();
		pass_window();
		std::lock_guard<std::mutex> guard(cache_mutex);
		missing += image.pixels.empty();
		image.users--;
	}
}

int main()
{
#ifdef PROVE
	std::thread evicting(evict_images);
	usleep(5000);
	std::thread drawing(draw_images);
#else
	std::thread drawing(draw_images);
	std::thread evicting(evict_images);
#endif
	drawing.join();
	evicting.join();
	return print_outcome(missing == 0);
}
