#include "use.h"

static void throws()
{
	ATOMSAN_ATOMIC("throws");
	throw 1;
}

int main()
{
	use();
	try {
		throws();
	} catch (int) {
		puts("caught");
	}
	return 0;
}
