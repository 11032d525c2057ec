/* What the programs here do with the header, in C and in C++; see `run`. */
#include <atomsan/atomsan.h>
#include <stdio.h>

static int scope(int early)
{
	ATOMSAN_ATOMIC("outer");
	puts("in outer");
	if (early)
		return 1;
	{
		ATOMSAN_ATOMIC("inner");
		puts("in inner");
	}
	puts("after inner");
	return 0;
}

static void by_hand(void)
{
	ATOMSAN_BEGIN("by hand");
	puts("in by hand");
	if (1)
		ATOMSAN_END();
	else
		puts("never");
}

static __attribute__((noinline)) void not_atomic(void)
{
	ATOMSAN_NOT_ATOMIC;
	puts("in not atomic");
}

static void leave(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		ATOMSAN_ATOMIC("loop");
		if (i == 0)
			continue;
		break;
	}
}

static void use(void)
{
	scope(0);
	scope(1);
	by_hand();
	not_atomic();
	leave();
}
