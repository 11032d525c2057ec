/*
 * Every atomic operation of every size gives the right result, also while another
 * thread does the same.
 *
 * silent prints: ok
 *
 * flags: -mcx16
 * libs: -latomic
 */
#include <stdbool.h>
#include <stdint.h>

#include "window.h"

static int wrong;

#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			wrong++;                                                                   \
			printf("line %d: %s\n", __LINE__, #what);                                  \
		}                                                                                  \
	} while (0)

#define SC __ATOMIC_SEQ_CST
#define TEST(name, type)                                                                           \
	static void name(void)                                                                     \
	{                                                                                          \
		static _Alignas(16) type v;                                                        \
		type top = (type)1 << (sizeof(type) * 8 - 1), old = 0;                             \
                                                                                                   \
		__atomic_store_n(&v, 5, __ATOMIC_RELAXED);                                         \
		EXPECT(__atomic_load_n(&v, __ATOMIC_ACQUIRE) == 5);                                \
		EXPECT(__atomic_exchange_n(&v, 9, __ATOMIC_ACQ_REL) == 5);                         \
		EXPECT(__atomic_fetch_add(&v, (type)-10, SC) == 9);                                \
		EXPECT(__atomic_add_fetch(&v, 3, SC) == 2);                                        \
		EXPECT(__atomic_fetch_sub(&v, 1, SC) == 2);                                        \
		EXPECT(__atomic_sub_fetch(&v, 2, SC) == (type)-1);                                 \
		EXPECT(__atomic_fetch_and(&v, (type)(top | 12), SC) == (type)-1);                  \
		EXPECT(__atomic_fetch_or(&v, 3, SC) == (type)(top | 12));                          \
		EXPECT(__atomic_fetch_xor(&v, 5, SC) == (type)(top | 15));                         \
		EXPECT(__atomic_fetch_nand(&v, 6, SC) == (type)(top | 10));                        \
		EXPECT(__atomic_load_n(&v, SC) == (type)~2);                                       \
		EXPECT(!__atomic_compare_exchange_n(&v, &old, 1, false, SC, __ATOMIC_RELAXED));    \
		EXPECT(old == (type)~2);                                                           \
		EXPECT(__atomic_compare_exchange_n(&v, &old, 1, false, SC, SC));                   \
		old = 1;                                                                           \
		while (!__atomic_compare_exchange_n(&v, &old, top, true, __ATOMIC_RELEASE,         \
						    __ATOMIC_RELAXED))                             \
			;                                                                          \
		EXPECT(__atomic_load_n(&v, __ATOMIC_CONSUME) == top);                              \
	}

TEST(test1, uint8_t)
TEST(test2, uint16_t)
TEST(test4, uint32_t)
TEST(test8, uint64_t)
TEST(test16, unsigned __int128)

static uint8_t sum1;
static uint16_t sum2;
static uint32_t sum4;
static uint64_t sum8;

BLOCK void add(void)
{
	__atomic_fetch_add(&sum1, 1, SC);
	__atomic_fetch_sub(&sum2, 1, SC);
	__atomic_fetch_xor(&sum4, 1, SC);
	__atomic_fetch_add(&sum8, (uint64_t)1 << 33, SC);
}

static void *adder(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		__atomic_fetch_add(&sum1, 1, SC);
		__atomic_fetch_sub(&sum2, 1, SC);
		__atomic_fetch_xor(&sum4, 1, SC);
		__atomic_fetch_add(&sum8, (uint64_t)1 << 33, SC);
	}
	return arg;
}

int main(void)
{
	bool flag = false;

	EXPECT(!__atomic_test_and_set(&flag, SC));
	EXPECT(__atomic_test_and_set(&flag, SC));
	__atomic_clear(&flag, SC);
	EXPECT(!flag);
	test1();
	test2();
	test4();
	test8();
	test16();
	add();
	run_two(adder, adder);
	EXPECT(sum1 == (uint8_t)2001);
	EXPECT(sum2 == (uint16_t)-2001);
	EXPECT(sum4 == 1);
	EXPECT(sum8 == (uint64_t)2001 << 33);
	if (!wrong)
		printf("ok\n");
	return wrong;
}
