/*
 * Two threads write different bytes of the same 64, while a third thread reads yet other bytes of
 * them in a block. After the blocks of the writers have ended, a fourth thread reads these bytes in
 * a block, too. Another thread then writes what both have read, and both read it once more. Writes
 * to other bytes of the same 64 cut neither of them.
 *
 * buggy blame: early
 * buggy blame: late
 * buggy variable: s.x
 * buggy rests: data
 * buggy step: w put
 * buggy tsan: race
 * buggy prints: 7 7
 * fixed prints: 0 0
 */
#include "window.h"

struct {
	long one, other, x, y;
} s __attribute__((aligned(64)));
static long first_sum, second_sum;

BLOCK void hold_one(void)
{
	s.one = 1;
	reached(1);
	await(3);
}

BLOCK void hold_other(void)
{
	s.other = 1;
}

BLOCK void early(void)
{
	long before = s.x;

	reached(3);
	await(6);
	first_sum = before + s.x;
}

BLOCK void late(void)
{
	long before = s.x;

	reached(5);
	await(6);
	second_sum = before + s.x;
}

BLOCK void put(void)
{
#ifdef FIXED
	s.y = 7;
#else
	s.x = 7; /* step: put */
#endif
}

static void *writer(void *arg)
{
	hold_one();
	reached(4);
	return arg;
}

static void *another(void *arg)
{
	await(1);
	hold_other();
	reached(2);
	await(5);
	put();
	reached(6);
	return arg;
}

static void *reader(void *arg)
{
	await(2);
	early();
	return arg;
}

static void *last(void *arg)
{
	await(4);
	late();
	return arg;
}

int main(void)
{
	static void *(*const all[])(void *) = {writer, another, reader, last};
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, all[i], NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld\n", first_sum, second_sum);
}
